//! Loads of files that are still written.

use super::pass::Pass;
use super::slots::{Block, Slots};
use super::{Account, Plan, SIZES, Target, file_system, has_targets, is_for_data, name_of};
use crate::activity::Hosts;
use crate::activity::following::Following;
use crate::activity::live::Look;
use laggard_activity::Thing;
use laggard_activity::kind::KindId;
use laggard_activity::{Counters, Fresh};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Files under observation.
pub struct LiveLoads {
    following: Following,
    pass: Pass,
    slots: Slots,
    plan: Plan,
    /// The hosts, and whether each serves targets.
    hosts: BTreeMap<String, bool>,
    account: Account,
}

impl LiveLoads {
    /// Follows the files at some paths, for these targets.
    pub fn new(hosts: &Hosts, targets: &[Target], paths: &[PathBuf], grid_s: i64) -> LiveLoads {
        // What is optimal is for reports.
        let best = vec![SIZES; targets.len()];
        LiveLoads {
            following: Following::new(hosts, paths),
            pass: Pass::new(&best, (i64::MIN, i64::MAX)),
            slots: Slots::new(targets.len(), grid_s),
            plan: Plan::new(targets, &best),
            hosts: hosts.iter().map(|host| (host.name.clone(), has_targets(host))).collect(),
            account: Account::new(targets.len()),
        }
    }

    /// Looks at the files; yields the slots that are complete. A newcomer is a target that was not there before: then all has to be
    /// made anew.
    pub fn look(&mut self, each: &mut dyn FnMut(&Block<'_>)) -> Look {
        let LiveLoads { following, pass, slots, plan, hosts, account } = self;
        let mut newcomer = None;
        let unread = following.look(&mut |host, fresh, _| {
            let is_known = |name: &str| plan.index.contains_key(name);
            newcomer = newcomer.take().or_else(|| unknown(host, hosts.get(host).copied(), fresh, &is_known));
            let (_, damaged) = plan.read((&mut *pass, &mut *slots, &mut *account), host, fresh, 0);
            damaged.iter().map(ToString::to_string).collect()
        });
        self.slots.complete_before(self.following.complete_s(), each);
        Look { newcomer, unread }
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
        Some(_) => thing.kind.id == KindId::Transfer,
        None => serves != Some(true) && matches!(thing.kind.id, KindId::Disk | KindId::Transfer),
    };
    let things = fresh.inventory(0).unwrap_or_default();
    let names = things.iter().filter(|thing| is_target(thing) && is_for_data(&thing.name));
    names.map(|thing| name_of(host, &thing.name)).find(|name| !is_known(name))
}
