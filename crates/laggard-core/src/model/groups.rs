//! Peer groups: components that should behave alike, derived from the topology (role x priority x generation), given
//! by it, or, without a topology, one group for all (one per value of a `group` column).

use super::topology::{Topology, short};
use crate::grid::FEWEST_PEERS;
use crate::ids::{ComponentId, GroupId, MemberIndex, Table};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What a component or an accused part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "the names are the documentation")]
pub enum Kind {
    Server,
    Controller,
    Drawer,
    Lun,
    Attachment,
    Device,
    /// A whole peer group.
    Group,
}

impl Kind {
    /// The word used in reports.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Server => "server",
            Kind::Controller => "controller",
            Kind::Drawer => "drawer",
            Kind::Lun => "lun",
            Kind::Attachment => "attachment",
            Kind::Device => "device",
            Kind::Group => "group",
        }
    }
}

/// What the data says about a component, beside its samples.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Observed {
    /// Its name in the data.
    pub name: String,
    /// The `group` column, if there was one.
    pub group: Option<String>,
    /// The `server` column, if there was one.
    pub server: Option<String>,
    /// Whether any network metric was seen: then it is a server.
    pub has_network: bool,
    /// What its disk is, where that was recorded: `flash, 1.6 TB, MODEL`.
    pub medium: Option<String>,
}

/// One component under comparison, with its place in the topology.
#[derive(Debug, Clone, PartialEq)]
pub struct Component {
    /// Its name in the data.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// Its peer group.
    pub group: GroupId,
    /// Parts that it depends on, any of which may explain its trouble.
    pub parts: Vec<Part>,
    /// For attachments: what is attached.
    pub attachment: Option<Attachment>,
    /// What its disk is, where that was recorded: `flash, 1.6 TB, MODEL`.
    pub medium: Option<String>,
}

impl Component {
    /// A component that depends on nothing, of which nothing else is known.
    pub fn new(kind: Kind, name: &str) -> Component {
        let group = GroupId::new(0);
        Component { name: name.into(), kind, group, parts: Vec::new(), attachment: None, medium: None }
    }

    /// The part of a kind that it depends on, the first if there are several.
    pub fn part(&self, kind: Kind) -> Option<&str> {
        self.parts.iter().find(|part| part.kind == kind).map(|part| part.name.as_str())
    }
}

/// A part of the topology that components depend on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Part {
    /// What it is.
    pub kind: Kind,
    /// Its name in the topology.
    pub name: String,
}

impl Part {
    /// A part by kind and name.
    pub fn new(kind: Kind, name: impl Into<String>) -> Part {
        Part { kind, name: name.into() }
    }
}

/// A LUN as one server reaches it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// The LUN.
    pub lun: String,
    /// 1 is the server that should serve it.
    pub priority: u32,
}

/// The peer group of hosts that are clients of others in the same recording.
pub const CLIENTS: &str = "clients";

/// Why components are peers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alike {
    /// They are of one kind; nothing says which are more alike.
    ByKind,
    /// They are disks of one sort: medium, size and model.
    BySort,
    /// The data name their group.
    ByData,
    /// The topology says so.
    ByTopology,
    /// The topology does not name them.
    Strangers,
}

impl Alike {
    /// As a clause.
    pub fn clause(self) -> &'static str {
        match self {
            Alike::ByKind => "all of one kind: nothing says which of them are alike",
            Alike::BySort => "disks of one sort",
            Alike::ByData => "the data name their group",
            Alike::ByTopology => "the topology says that they are alike",
            Alike::Strangers => "the topology does not name them",
        }
    }
}

/// A peer group.
#[derive(Debug, Clone, PartialEq)]
pub struct PeerGroup {
    /// Its name in reports.
    pub name: String,
    /// Why its members are peers.
    pub alike: Alike,
    /// Its components, in name order.
    pub members: Table<MemberIndex, ComponentId>,
}

/// All components under comparison and their groups.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Roster {
    /// Components, sorted by name.
    pub components: Table<ComponentId, Component>,
    /// Groups, sorted by name.
    pub groups: Table<GroupId, PeerGroup>,
    /// Components that the topology names but the data does not.
    pub never_recorded: Vec<String>,
    /// Components that the data has but the topology does not.
    pub not_in_topology: Vec<String>,
}

impl Roster {
    /// Groups what was observed, by the topology where there is one.
    pub fn new(observed: &[Observed], topology: Option<&Topology>) -> Roster {
        let mut observed: Vec<&Observed> = observed.iter().collect();
        observed.sort_by(|a, b| a.name.cmp(&b.name));
        observed.dedup_by(|a, b| a.name == b.name);
        let empty = Topology::default();
        let places = Places::new(topology.unwrap_or(&empty));
        let media = Media::of(&observed);
        let mut roster = Roster::default();
        let mut group_names: Vec<(String, Alike)> = Vec::new();
        let mut seen = BTreeSet::new();
        for item in observed {
            let placed = places.place(item);
            let is_placed = placed.is_some();
            let place = placed.unwrap_or_else(|| {
                if topology.is_some() {
                    roster.not_in_topology.push(item.name.clone());
                }
                Place::without_topology(item, topology.is_some())
            });
            // Without a topology that says what is alike, disks of one sort are.
            let medium = media.told(item).filter(|_| topology.is_none() && item.group.is_none());
            seen.insert(place.canonical);
            let alike = match (medium, &item.group) {
                (Some(_), _) => Alike::BySort,
                _ if is_placed => Alike::ByTopology,
                (None, Some(_)) => Alike::ByData,
                (None, None) if topology.is_some() => Alike::Strangers,
                (None, None) => Alike::ByKind,
            };
            let name = medium.map_or(place.group.clone(), |medium| format!("{} ({medium})", place.group));
            group_names.push((name, alike));
            roster.components.push(Component {
                parts: place.parts,
                attachment: place.attachment,
                medium: item.medium.clone(),
                ..Component::new(place.kind, &item.name)
            });
        }
        roster.form_groups(&group_names);
        roster.never_recorded = places.expected(&seen).into_iter().collect();
        roster
    }

    fn form_groups(&mut self, names: &[(String, Alike)]) {
        let mut members: BTreeMap<&String, (Alike, Table<MemberIndex, ComponentId>)> = BTreeMap::new();
        for (id, (name, alike)) in self.components.ids().zip(names) {
            members.entry(name).or_insert_with(|| (*alike, Table::default())).1.push(id);
        }
        for (name, (alike, members)) in members {
            let group = self.groups.push(PeerGroup { name: name.clone(), alike, members });
            self.groups[group].members.iter().for_each(|&member| self.components[member].group = group);
        }
    }

    /// A component by name.
    pub fn find(&self, name: &str) -> Option<ComponentId> {
        let components = self.components.as_slice();
        components.binary_search_by(|component| component.name.as_str().cmp(name)).ok().map(ComponentId::new)
    }

    /// The components of a part: itself, or what depends on it.
    pub fn components_of(&self, part: &str) -> Vec<ComponentId> {
        let is_of = |component: &Component| {
            component.name == part || component.parts.iter().any(|known| known.name == part)
        };
        self.components.enumerate().filter(|(_, component)| is_of(component)).map(|(id, _)| id).collect()
    }

    /// The name of a component.
    pub fn name(&self, component: ComponentId) -> &str {
        &self.components[component].name
    }

    /// The members of a component's peer group, itself among them.
    pub fn peers(&self, component: ComponentId) -> &Table<MemberIndex, ComponentId> {
        &self.groups[self.components[component].group].members
    }
}

/// Which sorts of disks there are, and how many of each: a fast one among slow ones makes them all look slow, and itself hides.
struct Media<'a> {
    /// By kind, and by what a disk is.
    sorts: BTreeMap<(bool, &'a str), usize>,
}

impl<'a> Media<'a> {
    fn of(observed: &[&'a Observed]) -> Media<'a> {
        let mut sorts: BTreeMap<(bool, &str), usize> = BTreeMap::new();
        for item in observed {
            let medium = item.medium.iter().map(|medium| (item.has_network, medium.as_str()));
            medium.for_each(|sort| *sorts.entry(sort).or_default() += 1);
        }
        Media { sorts }
    }

    /// What tells a disk from the others of its kind: nothing where all are alike; medium, size and model where enough are of each to be
    /// compared, else the medium alone.
    fn told(&self, item: &'a Observed) -> Option<&'a str> {
        let medium = item.medium.as_deref()?;
        let of_kind = || self.sorts.iter().filter(|((has_network, _), _)| *has_network == item.has_network);
        if of_kind().count() < 2 {
            return None;
        }
        let class = |medium: &'a str| medium.split(',').next().unwrap_or(medium);
        let of_class = || of_kind().filter(|((_, other), _)| class(other) == class(medium));
        let is_enough_of_each = of_class().all(|(_, count)| *count >= FEWEST_PEERS);
        let is_one_class = of_kind().count() == of_class().count();
        match (is_enough_of_each, is_one_class) {
            (true, _) => Some(medium),
            (false, true) => None,
            (false, false) => Some(class(medium)),
        }
    }
}

struct Place {
    canonical: String,
    kind: Kind,
    group: String,
    parts: Vec<Part>,
    attachment: Option<Attachment>,
}

impl Place {
    fn without_topology(item: &Observed, unlisted: bool) -> Place {
        let kind = if item.has_network { Kind::Server } else { Kind::Device };
        let default = || {
            if unlisted {
                format!("{}s not in the topology", kind.name())
            } else {
                format!("{}s", kind.name())
            }
        };
        Place {
            canonical: item.name.clone(),
            kind,
            group: item.group.clone().unwrap_or_else(default),
            parts: item.server.iter().map(|server| Part::new(Kind::Server, server)).collect(),
            attachment: None,
        }
    }
}

/// Finds components in the topology by their full or short names.
struct Places<'a> {
    topology: &'a Topology,
    short_forms: HashMap<String, Option<&'a str>>,
    /// The server that each LUN is reached through first.
    primaries: HashMap<&'a str, &'a str>,
}

impl<'a> Places<'a> {
    fn new(topology: &'a Topology) -> Self {
        let mut short_forms = HashMap::new();
        for name in topology.attachments.keys().chain(topology.luns.keys()) {
            // Two names with one short form: neither is found by it.
            short_forms.entry(short(name)).and_modify(|known| *known = None).or_insert(Some(name.as_str()));
        }
        let first = topology.attachments.values().filter(|known| known.priority == 1);
        let primaries = first.map(|known| (known.lun.as_str(), known.server.as_str())).collect();
        Places { topology, short_forms, primaries }
    }

    fn place(&self, item: &Observed) -> Option<Place> {
        let name = self.canonical(&item.name)?;
        let given =
            self.topology.given_groups.get(name).or_else(|| self.topology.given_groups.get(&item.name));
        let mut place = self.derive(name, item)?;
        if let Some(group) = given.or(item.group.as_ref()) {
            place.group.clone_from(group);
        }
        Some(place)
    }

    fn canonical<'n>(&self, name: &'n str) -> Option<&'n str>
    where
        'a: 'n,
    {
        let topology = self.topology;
        let known = topology.attachments.contains_key(name)
            || topology.luns.contains_key(name)
            || topology.servers.contains_key(name);
        // A short form names a place; only what has none is known by its group alone.
        let by_short_form = || self.short_forms.get(name).copied().flatten();
        let by_group = || topology.given_groups.contains_key(name).then_some(name);
        if known { Some(name) } else { by_short_form().or_else(|| self.by_device(name)).or_else(by_group) }
    }

    /// `SERVER:DEVICE`, as hosts record their disks: the attachment of the LUN that has this device, or this name.
    fn by_device(&self, name: &str) -> Option<&'a str> {
        let (server, device) = name.split_once(':')?;
        let listed = self.topology.devices.get(device).map(String::as_str);
        let lun = listed.unwrap_or(device);
        let full = format!("{lun}.{server}");
        let attachment = self.topology.attachments.get_key_value(&full).map(|(name, _)| name.as_str());
        attachment
            .or_else(|| self.short_forms.get(&short(&full)).copied().flatten().filter(|_| listed.is_none()))
    }

    fn derive(&self, name: &str, item: &Observed) -> Option<Place> {
        let topology = self.topology;
        if let Some(attachment) = topology.attachments.get(name) {
            let lun = topology.luns.get(&attachment.lun);
            let mut parts =
                vec![Part::new(Kind::Server, &attachment.server), Part::new(Kind::Lun, &attachment.lun)];
            parts.extend(lun.into_iter().flat_map(lun_parts));
            let generation = lun.and_then(|lun| lun.generation.as_deref());
            return Some(Place {
                canonical: name.into(),
                kind: Kind::Attachment,
                group: group_name(
                    "attachments",
                    &[generation, Some(&format!("priority {}", attachment.priority))],
                ),
                parts,
                attachment: Some(Attachment { lun: attachment.lun.clone(), priority: attachment.priority }),
            });
        }
        if let Some(lun) = topology.luns.get(name) {
            let mut parts: Vec<_> = lun_parts(lun).collect();
            parts.extend(self.primaries.get(name).map(|server| Part::new(Kind::Server, *server)));
            return Some(Place {
                canonical: name.into(),
                kind: Kind::Lun,
                group: group_name("luns", &[lun.generation.as_deref()]),
                parts,
                attachment: None,
            });
        }
        if let Some(server) = topology.servers.get(name) {
            let group =
                group_name(&server.role, &[server.filesystem.as_deref(), server.generation.as_deref()]);
            return Some(Place {
                canonical: name.into(),
                kind: Kind::Server,
                group,
                parts: Vec::new(),
                attachment: None,
            });
        }
        topology.given_groups.get(name).map(|_| Place::without_topology(item, false))
    }

    /// What the topology leads one to expect in data of this kind, and what is not there.
    fn expected(&self, seen: &BTreeSet<String>) -> BTreeSet<String> {
        let missing = |names: Vec<&String>| -> Vec<String> {
            // Only kinds of which something was recorded: a recording of servers need not have every attachment.
            let any = names.iter().any(|name| seen.contains(*name));
            names.into_iter().filter(|name| any && !seen.contains(*name)).cloned().collect()
        };
        let mut never: BTreeSet<String> =
            missing(self.topology.servers.keys().collect()).into_iter().collect();
        never.extend(missing(self.topology.luns.keys().collect()));
        let seen_or_short = |name: &&String| {
            seen.contains(*name) || self.canonical(name).is_some_and(|full| seen.contains(full))
        };
        never.extend(self.topology.given_groups.keys().filter(|name| !seen_or_short(name)).cloned());
        let priorities: BTreeSet<u32> =
            self.topology.attachments.values().map(|known| known.priority).collect();
        for priority in priorities {
            let of_priority =
                self.topology.attachments.iter().filter(|(_, known)| known.priority == priority);
            never.extend(missing(of_priority.map(|(name, _)| name).collect()));
        }
        never
    }
}

fn lun_parts(lun: &super::topology::Lun) -> impl Iterator<Item = Part> {
    let controller = lun.controller.iter().map(|name| Part::new(Kind::Controller, name));
    controller.chain(lun.drawers.iter().map(|name| Part::new(Kind::Drawer, name)))
}

fn group_name(what: &str, qualities: &[Option<&str>]) -> String {
    let qualities: Vec<&str> = qualities.iter().flatten().copied().collect();
    if qualities.is_empty() { what.into() } else { format!("{what} ({})", qualities.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed(names: &[&str]) -> Vec<Observed> {
        names.iter().map(|name| Observed { name: (*name).into(), ..Observed::default() }).collect()
    }

    #[test]
    fn it_is_known_why_components_are_peers() {
        let alike = |observed: &[Observed], topology: Option<&str>| -> Vec<(String, Alike)> {
            let topology = topology.map(|text| Topology::parse(text).unwrap());
            let groups = Roster::new(observed, topology.as_ref()).groups;
            groups.iter().map(|group| (group.name.clone(), group.alike)).collect()
        };
        let disks = observed(&["a", "b", "c", "d", "e", "f"]);
        assert_eq!(alike(&disks, None), [("devices".into(), Alike::ByKind)]);
        let mut named = disks.clone();
        named[0].group = Some("fast".into());
        assert!(alike(&named, None).contains(&("fast".into(), Alike::ByData)));
        let mut sorted = disks;
        for (place, disk) in sorted.iter_mut().enumerate() {
            disk.medium = Some(if place < 3 { "flash" } else { "rotational" }.into());
        }
        assert!(alike(&sorted, None).iter().all(|(_, alike)| *alike == Alike::BySort));
        let mut servers = observed(&["oss1", "oss2", "oss3", "x"]);
        servers.iter_mut().for_each(|server| server.has_network = true);
        let known: Vec<Alike> = alike(&servers, Some("[[servers]]\nnames = \"oss[1-3]\"\n"))
            .into_iter()
            .map(|known| known.1)
            .collect();
        assert!(known.contains(&Alike::ByTopology) && known.contains(&Alike::Strangers), "{known:?}");
    }

    #[test]
    fn disks_are_compared_with_disks_of_their_sort() {
        let groups = |media: &[&str]| -> Vec<String> {
            let disk = |(number, medium): (usize, &&str)| Observed {
                name: format!("d{number}"),
                medium: Some(medium.to_string()).filter(|medium| !medium.is_empty()),
                ..Observed::default()
            };
            let observed: Vec<Observed> = media.iter().enumerate().map(disk).collect();
            let roster = Roster::new(&observed, None);
            roster.components.iter().map(|known| roster.groups[known.group].name.clone()).collect()
        };
        let (disk, other, flash) = ("disk, 4.0 TB, A", "disk, 8.0 TB, B", "flash, 1.6 TB, C");
        assert_eq!(groups(&[disk, disk, disk, disk]), ["devices"; 4], "all are alike");
        let mixed = groups(&[disk, disk, disk, flash]);
        assert_eq!(
            mixed,
            [
                "devices (disk, 4.0 TB, A)",
                "devices (disk, 4.0 TB, A)",
                "devices (disk, 4.0 TB, A)",
                "devices (flash)"
            ]
        );
        assert_eq!(
            groups(&[disk, disk, other, other]),
            ["devices"; 4],
            "too few of each model: one medium is enough"
        );
        let exchanged = groups(&[disk, disk, disk, disk, other]);
        assert_eq!(exchanged, ["devices"; 5], "one disk of another model is compared with the others");
        let three = groups(&[disk, disk, other, flash, flash, flash]);
        assert_eq!(three[..3], ["devices (disk)", "devices (disk)", "devices (disk)"]);
        assert_eq!(groups(&["", "", disk])[0], "devices", "not recorded");
    }

    #[test]
    fn groups_are_role_priority_generation() {
        let topology = Topology::parse(
            "[[servers]]\nnames = \"fs[1-2]\"\n[[controllers]]\nnames = \"ddn6\"\n\
             [[luns]]\nnames = \"[00-01]\"\ncontroller = \"ddn6\"\ngeneration = \"old\"\nservers = \"fs[1-2]\"\n",
        )
        .unwrap();
        let roster = Roster::new(&observed(&["6.00.1", "6.01.1", "6.00.2", "unlisted"]), Some(&topology));
        let names: Vec<_> = roster.groups.iter().map(|group| group.name.as_str()).collect();
        assert_eq!(
            names,
            ["attachments (old, priority 1)", "attachments (old, priority 2)", "devices not in the topology"]
        );
        assert_eq!(roster.not_in_topology, ["unlisted"]);
        assert_eq!(roster.never_recorded, ["ddn6.01.fs2"]);
        let first = &roster.components[roster.find("6.00.1").unwrap()];
        assert!(first.parts.contains(&Part::new(Kind::Controller, "ddn6")));
    }

    #[test]
    fn without_a_topology_there_is_one_group_or_one_per_group_column() {
        let mut items = observed(&["a", "b", "c"]);
        assert_eq!(Roster::new(&items, None).groups.len(), 1);
        items[1].group = Some("new".into());
        assert_eq!(Roster::new(&items, None).groups.len(), 2);
    }
}
