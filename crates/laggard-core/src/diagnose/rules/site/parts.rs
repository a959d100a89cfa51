//! Which parts explain the components in trouble: lost paths, parts behind which trouble is dense, jobs that touch several.

use super::*;

/// Whether an attachment carries no load any more.
pub(super) fn is_unused(episode: &Episode) -> bool {
    episode.is_mostly(Relation::Silent) || episode.is_mostly(Relation::Idle)
}

/// LUNs that lost an attachment.
pub(super) fn lost_luns(site: &Site) -> Vec<LostLun> {
    let mut by_lun: BTreeMap<&String, Vec<(u32, ComponentId)>> = BTreeMap::new();
    for (id, component) in site.roster.components.enumerate() {
        if let Some(attachment) = &component.attachment {
            by_lun.entry(&attachment.lun).or_default().push((attachment.priority, id));
        }
    }
    let mut of_component: BTreeMap<ComponentId, Vec<TroubleId>> = BTreeMap::new();
    for (id, trouble) in site.open.iter().chain(&site.loads) {
        of_component.entry(trouble.component).or_default().push(*id);
    }
    let mut lost = Vec::new();
    for (lun, mut attachments) in by_lun {
        attachments.sort_unstable();
        let troubles = |component: ComponentId| {
            let known = of_component.get(&component).map_or(&[][..], Vec::as_slice);
            known.iter().filter_map(|id| Some((*id, site.trouble(*id)?)))
        };
        // Each time in which the first of them is unused; without it, each time in which another has a load.
        let Some(&(_, first)) = attachments.first() else { continue };
        let times = troubles(first).filter(|(_, trouble)| is_unused(&trouble.episode) || is_loaded(trouble));
        for (id, time) in times {
            let at_that_time = |component: ComponentId, is_wanted: &dyn Fn(&Trouble) -> bool| {
                let mut found = troubles(component)
                    .filter(|(_, trouble)| is_wanted(trouble) && trouble.episode.overlaps(&time.episode));
                found.next().map(|(id, _)| id)
            };
            let unused = |component: ComponentId| {
                at_that_time(component, &|trouble| !trouble.is_load && is_unused(&trouble.episode))
            };
            let loaded = |component: ComponentId| at_that_time(component, &is_loaded);
            // The one that takes the load; all before it must be unused or have never been recorded. Where all are unused, one that was
            // not recorded has it.
            let taker = attachments.iter().position(|&(priority, id)| priority > 1 && loaded(id).is_some());
            let before = &attachments[..taker.unwrap_or(attachments.len())];
            let is_seen_by_one = taker.is_none() && (before.len() as f64) < MIN_UNUSED.value;
            let shown: Option<Vec<TroubleId>> = before.iter().map(|&(_, id)| unused(id)).collect();
            let Some(mut shown) = shown.filter(|_| !is_seen_by_one) else { continue };
            shown.extend(taker.and_then(|taker| loaded(attachments[taker].1)));
            // A preferred attachment with a load, for one, shows no loss.
            if !shown.contains(&id) {
                continue;
            }
            let preferred = before.first().map(|&(_, id)| id);
            lost.push(LostLun { lun: lun.clone(), preferred, shown, since: time.episode.first });
        }
    }
    lost.sort_by_key(|lost| lost.since);
    lost
}

/// Whether a component has more to do than its peers.
fn is_loaded(trouble: &Trouble) -> bool {
    trouble.episode.is_mostly(Relation::High)
}

/// Servers all of whose preferred attachments are lost at one time.
pub(super) fn servers_down(site: &mut Site) -> Vec<Claim> {
    parts_down(site, Kind::Server)
}

/// Controllers all of whose preferred attachments are lost at one time.
pub(super) fn controllers_failed(site: &mut Site) -> Vec<Claim> {
    parts_down(site, Kind::Controller)
}

/// Parts of a kind that are down. Servers and controllers are found together, since a LUN has both: the part that lost most first.
fn parts_down(site: &mut Site, kind: Kind) -> Vec<Claim> {
    let (mut down, mut left) = (Vec::new(), Vec::new());
    while let Some(found) = part_down(site) {
        let is_found = |lost: &LostLun| found.luns.contains(&lost.lun) && found.since.contains(&lost.since);
        let (of_part, others) = std::mem::take(&mut site.lost).into_iter().partition(is_found);
        let of_part: Vec<LostLun> = of_part;
        site.lost = others;
        if found.part.kind != kind {
            left.extend(of_part);
            continue;
        }
        let mut explained: Vec<TroubleId> =
            of_part.iter().flat_map(|lost| lost.shown.iter().copied()).collect();
        // What else went quiet with it: attachments that it held as a second choice.
        let seen: Vec<&Trouble> = explained.iter().filter_map(|id| site.open.get(id)).collect();
        let (from, to) = (
            seen.iter().map(|seen| seen.episode.first).min(),
            seen.iter().map(|seen| seen.episode.last).max(),
        );
        let quiet = site.open.iter().filter(|(_, trouble)| {
            let is_then = from.is_some_and(|from| trouble.episode.last >= from)
                && to.is_some_and(|to| trouble.episode.first <= to);
            is_then && site.component(trouble).parts.contains(&found.part) && is_unused(&trouble.episode)
        });
        explained.extend(quiet.map(|(id, _)| *id));
        explained.sort_unstable();
        explained.dedup();
        let numbers = Numbers::of(&[("lost", found.luns.len() as f64), ("luns", found.served as f64)]);
        down.push(Claim::new(found.part, explained, numbers));
    }
    site.lost.extend(left);
    site.lost.sort_by_key(|lost| lost.since);
    down
}

/// A part and the LUNs that it lost at one time.
struct Down {
    part: Part,
    luns: BTreeSet<String>,
    since: std::ops::RangeInclusive<UnixSeconds>,
    /// LUNs that it should serve first.
    served: usize,
}

/// A server or controller that has lost (nearly) all LUNs it should serve first.
fn part_down(site: &Site) -> Option<Down> {
    let mut served: BTreeMap<&Part, BTreeSet<&String>> = BTreeMap::new();
    for component in &site.roster.components {
        let Some(attachment) = component.attachment.as_ref().filter(|known| known.priority == 1) else {
            continue;
        };
        let parts = component.parts.iter();
        for part in parts.filter(|part| matches!(part.kind, Kind::Server | Kind::Controller)) {
            served.entry(part).or_default().insert(&attachment.lun);
        }
    }
    let candidates =
        served.into_iter().filter_map(|(part, luns)| {
            let lost: Vec<&LostLun> = site.lost.iter().filter(|lost| luns.contains(&lost.lun)).collect();
            // Lost one soon after the other, in the order of time.
            let times = lost.chunk_by(|a, b| b.since.since(a.since) as f64 <= TOGETHER_WITHIN.value);
            let down =
                times.filter_map(|lost| {
                    let names: BTreeSet<String> = lost.iter().map(|lost| lost.lun.clone()).collect();
                    let count = names.len() as f64;
                    let since = lost.first()?.since..=lost.last()?.since;
                    (count >= DOWN_LUNS.value && count >= DOWN_SHARE.value * luns.len() as f64)
                        .then(|| Down { part: part.clone(), luns: names, since, served: luns.len() })
                });
            down.max_by_key(|down| down.luns.len())
        });
    // A controller with one server behind it: the server is the smaller claim.
    candidates.max_by_key(|down| (down.luns.len(), down.part.kind == Kind::Server))
}

pub(super) fn controller_of_servers(site: &Site, claims: Vec<Claim>) -> Vec<Claim> {
    let controller = |claim: &Claim| {
        let explained = claim.explained.iter().filter_map(|id| site.trouble(*id));
        let parts = explained.flat_map(|trouble| &site.component(trouble).parts);
        let controllers: BTreeSet<&Part> = parts.filter(|part| part.kind == Kind::Controller).collect();
        controllers.first().filter(|_| controllers.len() == 1).map(|part| (*part).clone())
    };
    let since = |claim: &Claim| {
        let first = claim.explained.iter().filter_map(|id| Some(site.open.get(id)?.episode.first));
        first.min().unwrap_or_default()
    };
    let mut found: Vec<Claim> = Vec::new();
    let mut behind: BTreeMap<Part, Vec<Claim>> = BTreeMap::new();
    for claim in claims {
        match controller(&claim).filter(|_| claim.cause == Some(Cause::ServerDown)) {
            Some(controller) => behind.entry(controller).or_default().push(claim),
            None => found.push(claim),
        }
    }
    for (controller, servers) in behind {
        let times = servers.iter().map(&since);
        let first: UnixSeconds = times.clone().min().unwrap_or_default();
        let within_s = times.max().unwrap_or_default().since(first) as f64;
        let count = servers.len() as f64;
        let is_soon = count >= MIN_SERVERS.value && within_s <= TOGETHER_WITHIN.value;
        let is_at_once = count >= FEWER_SERVERS.value && within_s <= AT_ONCE.value;
        if is_soon || is_at_once {
            let numbers = Numbers::of(&[("servers", count), ("seconds", within_s)]);
            let explained = servers.into_iter().flat_map(|claim| claim.explained).collect();
            found.push(Claim { is_merged: true, ..Claim::new(controller, explained, numbers) });
        } else {
            found.extend(servers);
        }
    }
    found
}

/// Misconfiguration or a bad state, gathered by the server that lost the LUNs.
pub(super) fn lost_attachments(site: &mut Site) -> Vec<Claim> {
    let mut by_server: BTreeMap<String, Vec<LostLun>> = BTreeMap::new();
    for lost in std::mem::take(&mut site.lost) {
        let server = lost.preferred.and_then(|id| site.roster.components[id].part(Kind::Server));
        by_server.entry(server.unwrap_or(&lost.lun).into()).or_default().push(lost);
    }
    let mut claims = Vec::new();
    for (server, lost) in by_server {
        // Lost one soon after the other, in the order of time.
        for lost in lost.chunk_by(|a, b| b.since.since(a.since) as f64 <= TOGETHER_WITHIN.value) {
            let shown: Vec<TroubleId> = lost.iter().flat_map(|lost| lost.shown.iter().copied()).collect();
            let is_alone = shown.len() as f64 <= MAX_ALONE.value;
            let part = match shown.first().and_then(|id| site.trouble(*id)) {
                Some(trouble) if is_alone => Part::new(Kind::Attachment, &site.component(trouble).name),
                _ => Part::new(Kind::Server, &server),
            };
            let numbers = Numbers::of(&[("components", shown.len() as f64)]);
            claims.push(Claim::new(part, shown, numbers));
        }
    }
    claims
}

/// A part behind which trouble is dense, and what it explains.
struct Dense {
    part: Part,
    explained: Vec<TroubleId>,
    components: usize,
    /// Share of its components that is in trouble, and of all others at that time.
    inside: f64,
    outside: f64,
}

pub(super) fn dense_part(site: &mut Site) -> Vec<Claim> {
    let (roster, open) = (site.roster, &site.open);
    let groups: BTreeSet<_> = open.values().map(|trouble| site.component(trouble).group).collect();
    // Only groups with trouble count: idle secondaries say nothing about the primaries' controller.
    let in_groups: Vec<ComponentId> =
        groups.iter().flat_map(|&group| roster.groups[group].members.iter().copied()).collect();
    let mut behind: BTreeMap<&Part, Vec<ComponentId>> = BTreeMap::new();
    for &id in &in_groups {
        for part in &roster.components[id].parts {
            behind.entry(part).or_default().push(id);
        }
    }
    let mut by_part: BTreeMap<&Part, Vec<TroubleId>> = BTreeMap::new();
    for (id, trouble) in open {
        for part in &site.component(trouble).parts {
            by_part.entry(part).or_default().push(*id);
        }
    }
    let candidate = |(part, suspects): (&Part, &Vec<TroubleId>)| {
        let members = &behind[part];
        let worst =
            suspects.iter().max_by(|a, b| open[a].episode.impact().total_cmp(&open[b].episode.impact()))?;
        let time = &open[worst].episode;
        // Trouble of another kind, or at another time, is another trouble.
        let is_then =
            |trouble: &Trouble| trouble.episode.domain == time.domain && trouble.episode.overlaps(time);
        let explained: Vec<TroubleId> = suspects.iter().copied().filter(|id| is_then(&open[id])).collect();
        let count = |ids: &mut dyn Iterator<Item = ComponentId>| ids.collect::<BTreeSet<_>>().len() as f64;
        let inside_count = count(&mut explained.iter().map(|id| open[id].component));
        let all_count =
            count(&mut open.values().filter(|trouble| is_then(trouble)).map(|trouble| trouble.component));
        let inside = inside_count / members.len() as f64;
        let outside = (all_count - inside_count) / (in_groups.len() - members.len()).max(1) as f64;
        let are_both = inside_count == ALL_OF_FEW.value && members.len() as f64 == ALL_OF_FEW.value;
        let is_several = inside_count >= MIN_COMPONENTS.value || are_both;
        // With nothing outside to compare with, the whole group would be accused: that is no peer comparison.
        let is_comparable = members.len() < in_groups.len();
        let is_dense = inside >= MIN_DENSITY.value && inside >= MIN_DENSITY_RATIO.value * outside;
        (is_several && is_comparable && is_dense).then(|| Dense {
            part: part.clone(),
            explained,
            components: members.len(),
            inside,
            outside,
        })
    };
    let best = by_part.iter().filter_map(|(part, suspects)| candidate((part, suspects))).max_by(|a, b| {
        let by_count = a.explained.len().cmp(&b.explained.len());
        by_count.then(a.inside.total_cmp(&b.inside)).then(b.part.kind.cmp(&a.part.kind))
    });
    let claim = |dense: Dense| {
        let numbers = Numbers::of(&[
            ("explained", dense.explained.len() as f64),
            ("components", dense.components as f64),
            ("density_ratio", dense.inside / dense.outside),
        ]);
        Claim::new(dense.part, dense.explained, numbers)
    };
    best.map(claim).into_iter().collect()
}

pub(super) fn alone(site: &mut Site) -> Vec<Claim> {
    let claim = |(id, trouble): (&TroubleId, &Trouble)| {
        let known = site.component(trouble);
        Claim::new(Part::new(known.kind, &known.name), vec![*id], Numbers::NONE)
    };
    site.open.iter().map(claim).collect()
}

/// Loads that begin at one moment are one job that touches several parts: the part with the largest stands for all.
pub(super) fn one_job(site: &Site, claims: Vec<Claim>) -> Vec<Claim> {
    let since = |claim: &Claim| {
        let explained = || claim.explained.iter().filter_map(|id| site.trouble(*id));
        let first = explained().map(|trouble| trouble.episode.first).min();
        first.filter(|_| explained().all(|trouble| trouble.is_load))
    };
    let impact = |claim: &Claim| {
        let explained = claim.explained.iter().filter_map(|id| site.trouble(*id));
        explained.map(|trouble| trouble.episode.impact()).sum::<f64>()
    };
    let (mut loads, mut found): (Vec<Claim>, Vec<Claim>) =
        claims.into_iter().partition(|claim| since(claim).is_some());
    loads.sort_by_key(&since);
    while !loads.is_empty() {
        let first = since(&loads[0]).unwrap_or_default();
        let is_of_job =
            |claim: &Claim| since(claim).is_some_and(|since| since.since(first) as f64 <= AT_ONCE.value);
        let length = loads.iter().take_while(|claim| is_of_job(claim)).count().max(1);
        let mut job: Vec<Claim> = loads.drain(..length).collect();
        job.sort_by(|a, b| impact(b).total_cmp(&impact(a)));
        let parts = job.len() as f64;
        let mut job = job.into_iter();
        let Some(largest) = job.next() else { break };
        if parts < MIN_PARTS.value {
            found.push(largest);
            continue;
        }
        let explained = largest.explained.iter().copied().chain(job.flat_map(|claim| claim.explained));
        let numbers = Numbers::of(&[("parts", parts)]);
        found.push(Claim { explained: explained.collect(), numbers, is_merged: true, by: None, ..largest });
    }
    found
}

/// Whether a device took longer for its work, or answered later, and is neither loaded nor silent.
fn is_slow(episode: &Episode) -> bool {
    let shows = |role: Role| {
        let mut evidence = episode.evidence.iter().filter(|(metric, _)| metric.role() == role);
        evidence.any(|(_, seen)| seen.relation() == Relation::High)
    };
    (shows(Role::Cost) || shows(Role::StorageLatency)) && !shows(Role::Work) && !is_unused(episode)
}

/// Whether it has more to do than its peers while it is slow.
fn has_load(site: &Site, trouble: &Trouble) -> bool {
    let shows_load = |episode: &Episode| {
        let mut evidence = episode.evidence.iter().filter(|(_, seen)| seen.relation() == Relation::High);
        evidence.any(|(metric, _)| matches!(metric.role(), Role::Work | Role::StorageVolume | Role::Load))
    };
    let mut loads = site.loads.values().filter(|load| load.component == trouble.component);
    shows_load(&trouble.episode) || loads.any(|load| load.episode.overlaps(&trouble.episode))
}

/// Slowness of several parts of a group that begins at one moment and is over within the hour: the worst part stands for all. Of servers some
/// must show the job: what stalls, or is slow for the same work as its peers', is no job's.
pub(super) fn one_moment(site: &Site, claims: Vec<Claim>) -> Vec<Claim> {
    let passing = |claim: &Claim| {
        let (_, trouble) = site.single(claim)?;
        let episode = &trouble.episode;
        let lasted_s = episode.last.since(episode.first) as f64;
        let is_over = !trouble.is_open && lasted_s < TOGETHER_WITHIN.value;
        let is_disk = episode.domain == Domain::Storage && is_slow(episode);
        let is_stalled = site.own_cause(trouble).cause == Cause::DiskStall;
        (!trouble.is_load && is_disk && is_over && !is_stalled).then_some(trouble)
    };
    let key =
        |claim: &Claim| passing(claim).map(|trouble| (site.component(trouble).group, trouble.episode.first));
    let (mut slow, mut found): (Vec<Claim>, Vec<Claim>) =
        claims.into_iter().partition(|claim| key(claim).is_some());
    slow.sort_by_key(key);
    while let Some((group, first)) = slow.first().and_then(key) {
        let is_of_moment = |claim: &&Claim| {
            key(claim)
                .is_some_and(|(other, since)| group == other && since.since(first) as f64 <= AT_ONCE.value)
        };
        let length = slow.iter().take_while(is_of_moment).count().max(1);
        let mut moment: Vec<Claim> = slow.drain(..length).collect();
        // Files lie on few LUNs, and a job that touches them may show on none; servers that share all files have loads alike.
        let shows_job =
            |trouble: &&Trouble| site.component(trouble).kind != Kind::Server || has_load(site, trouble);
        let of_job = moment.iter().filter_map(passing).filter(shows_job).count();
        if (length as f64) < MIN_COMPONENTS.value || (of_job as f64) < MIN_LOADED.value * length as f64 {
            found.extend(moment);
            continue;
        }
        let impact = |claim: &Claim| passing(claim).map_or(0.0, |trouble| trouble.episode.impact());
        moment.sort_by(|a, b| impact(b).total_cmp(&impact(a)));
        let explained = moment.iter().flat_map(|claim| claim.explained.iter().copied()).collect();
        let numbers = Numbers::of(&[("parts", length as f64)]);
        let worst = moment.into_iter().next();
        found.extend(worst.map(|worst| Claim { explained, numbers, is_merged: true, by: None, ..worst }));
    }
    found
}

/// The same trouble of a part again within the day, after it was over.
pub(super) fn reopened(site: &Site, claims: Vec<Claim>) -> Vec<Claim> {
    let single = |claim: &Claim| site.single(claim).map(|(_, trouble)| trouble).filter(|own| !own.is_load);
    let sort = |trouble: &Trouble| (trouble.component, trouble.episode.domain, site.own_cause(trouble).cause);
    let (mut ordered, mut found): (Vec<Claim>, Vec<Claim>) =
        claims.into_iter().partition(|claim| single(claim).is_some());
    ordered.sort_by_key(|claim| single(claim).map(|trouble| (sort(trouble), trouble.episode.first)));
    let first_of = |claim: &Claim| single(claim).map(|trouble| (sort(trouble), trouble.episode.first));
    let mut rest = ordered.as_slice();
    while let Some((own, first)) = rest.first().and_then(first_of) {
        let mut until = first;
        let mut is_same = |claim: &&Claim| {
            let (other, since) = first_of(claim).unwrap_or((own, first));
            let is_of_day = since.since(first) as f64 <= REOPENED_WITHIN.value;
            let goes_on = since.since(until) as f64 <= TOGETHER_WITHIN.value;
            let is_same = other == own && (is_of_day || goes_on);
            until = until.max(single(claim).map_or(until, |trouble| trouble.episode.last));
            is_same
        };
        let (times, others) = rest.split_at(rest.iter().take_while(|claim| is_same(claim)).count().max(1));
        rest = others;
        let [first, ..] = times else { continue };
        if times.len() == 1 {
            found.push(first.clone());
            continue;
        }
        let episodes: Vec<&Episode> =
            times.iter().filter_map(single).map(|trouble| &trouble.episode).collect();
        let pause_s = episodes.windows(2).map(|pair| pair[1].first.since(pair[0].last)).max().unwrap_or(0);
        let numbers = Numbers::of(&[("times", times.len() as f64), ("pause", pause_s as f64 / 3600.0)]);
        let cause = single(first).map(|trouble| sort(trouble).2);
        let explained = times.iter().flat_map(|claim| claim.explained.iter().copied()).collect();
        found.push(Claim { cause, explained, numbers, is_merged: true, ..first.clone() });
    }
    found
}

/// Whether a trouble of the second cause may be a consequence of one of the first.
fn may_cause(host: Cause, consequence: Cause) -> bool {
    let by_cpu = host == Cause::CpuStarved && consequence == Cause::PacketLoss;
    let by_memory =
        host == Cause::MemoryPressure && matches!(consequence, Cause::PacketLoss | Cause::DiskHog);
    by_cpu || by_memory
}

pub(super) fn host_explains(site: &Site, claims: Vec<Claim>) -> Vec<Claim> {
    let own = |claim: &Claim| site.single(claim);
    let cause = |trouble: &Trouble| site.own_cause(trouble).cause;
    let mut consequences: BTreeMap<TroubleId, Vec<TroubleId>> = BTreeMap::new();
    let hosts: Vec<(TroubleId, &Trouble)> =
        claims.iter().filter_map(own).filter(|(_, trouble)| trouble.episode.domain == Domain::Host).collect();
    for (id, trouble) in claims.iter().filter_map(own).filter(|_| !hosts.is_empty()) {
        let explains = |host: &Trouble| {
            host.component == trouble.component
                && host.episode.overlaps(&trouble.episode)
                && host.episode.severity() > trouble.episode.severity()
                && may_cause(cause(host), cause(trouble))
        };
        if let Some((host, _)) = hosts.iter().find(|(_, host)| explains(host)) {
            consequences.entry(*host).or_default().push(id);
        }
    }
    let explained: BTreeSet<TroubleId> = consequences.values().flatten().copied().collect();
    let keeps = |claim: &Claim| own(claim).is_none_or(|(id, _)| !explained.contains(&id));
    let mut found: Vec<Claim> = claims.into_iter().filter(keeps).collect();
    for claim in &mut found {
        let Some((id, host)) = claim.explained.first().and_then(|id| Some((*id, site.open.get(id)?))) else {
            continue;
        };
        if let Some(more) = consequences.get(&id) {
            claim.cause = Some(cause(host));
            claim.numbers = Numbers::of(&[("consequences", more.len() as f64)]);
            claim.explained.extend(more);
            claim.is_merged = true;
        }
    }
    found
}
