//! Loads of files that are still written.

use super::pass::Pass;
use super::slots::{Slot, Slots};
use super::source::Source;
use super::{Account, PATIENCE, SIZES, Target, file_system, has_targets, is_for_data, name_of, sources};
use crate::activity::Hosts;
use crate::activity::following::Following;
use crate::counters::{Counters, Fresh};
use laggard_activity::Thing;
use laggard_activity::kind::{DISK, TRANSFER};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Files under observation.
pub struct LiveLoads {
    following: Following,
    pass: Pass,
    slots: Slots,
    sources: Vec<(Source, bool)>,
    /// The index of each target, and whether its sizes are counted.
    index: BTreeMap<String, (usize, bool)>,
    /// The hosts, and whether each serves targets.
    hosts: BTreeMap<String, bool>,
    account: Account,
}

impl LiveLoads {
    /// Follows the files at some paths, for these targets.
    pub fn new(hosts: &Hosts, targets: &[Target], paths: &[PathBuf], grid_s: i64) -> LiveLoads {
        let index = |(index, target): (usize, &Target)| (target.name.clone(), (index, target.has_sizes));
        LiveLoads {
            following: Following::new(hosts, paths),
            // What is optimal is for reports.
            pass: Pass::new(targets, &vec![SIZES; targets.len()], (i64::MIN, i64::MAX)),
            slots: Slots::new(targets.len(), grid_s),
            sources: sources(targets),
            index: targets.iter().enumerate().map(index).collect(),
            hosts: hosts.iter().map(|host| (host.name.clone(), has_targets(host))).collect(),
            account: Account { compositions: vec![[[0; SIZES]; 2]; targets.len()], ..Account::default() },
        }
    }

    /// Looks at the files; yields the slots that are complete. Names a target that was not there before: then all has to be made anew.
    pub fn look(&mut self, each: &mut dyn FnMut(&Slot<'_>)) -> Option<String> {
        let LiveLoads { following, pass, slots, sources, index, hosts, account } = self;
        let mut stranger = None;
        following.look(&mut |host, fresh, _| {
            let is_known = |name: &str| index.contains_key(name);
            stranger = stranger.take().or_else(|| unknown(host, hosts.get(host).copied(), fresh, &is_known));
            let patience_ms = PATIENCE * 1000 * i64::from(fresh.origin().interval_s.max(1));
            let mut damaged = Vec::new();
            for (source, has_sizes) in sources.iter() {
                let place = |thing: &str| {
                    let known = index.get(&name_of(host, thing)).filter(|(_, sizes)| sizes == has_sizes);
                    known.map(|(index, _)| *index)
                };
                match pass.read(fresh, 0, source, patience_ms, &place) {
                    Ok(()) => pass.hand_over(slots, account),
                    Err(damage) => damaged.push(damage.to_string()),
                }
            }
            damaged
        });
        self.slots.complete_before(self.following.complete_s(), each);
        stranger
    }
}

/// A target, or on a host that serves none a disk, that is not known.
fn unknown(
    host: &str,
    serves: Option<bool>,
    fresh: &Fresh,
    is_known: &dyn Fn(&str) -> bool,
) -> Option<String> {
    let is_target = |thing: &Thing| match file_system(&thing.name) {
        Some(_) => std::ptr::eq(thing.kind, &TRANSFER),
        None => {
            serves != Some(true) && (std::ptr::eq(thing.kind, &DISK) || std::ptr::eq(thing.kind, &TRANSFER))
        }
    };
    let things = fresh.inventory(0).unwrap_or_default();
    let names = things.iter().filter(|thing| is_target(thing) && is_for_data(&thing.name));
    names.map(|thing| name_of(host, &thing.name)).find(|name| !is_known(name))
}
