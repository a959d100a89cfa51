//! Every bound at its edge.

use super::*;
use crate::diagnose::budget::{Rarity, Rate};
use crate::diagnose::case::{Context, Reading, Surroundings};
use crate::diagnose::ledger::{Account, Accounts, Brief, Unlike};
use crate::diagnose::score::{ScoredWindow, Scorer};
use crate::diagnose::threshold::Policy;
use crate::grid::Params;
use crate::ids::{GroupId, MemberIndex, Slot, WindowIndex};
use crate::model::Metric;
use crate::model::groups::Component;

const MEMBER: usize = 4;
const PARAMS: Params = Params { interval_s: 1, smoothing: 1, size: 8, shift: 8, k: 3 };

/// A window in which every member stays at its level.
fn window(metric: Metric, levels: &[f64]) -> ScoredWindow {
    let method = &crate::compare::limp::LIMP;
    let mut scorer = Scorer::new(GroupId::new(0), metric, method, PARAMS, Policy::FromPeers, levels.len());
    // All have joined, also those that are silent in the window that counts.
    scorer.push(Slot(0), &vec![1.0; levels.len()]);
    let mut found = Vec::new();
    (8..16).for_each(|slot| found.extend(scorer.push(Slot(slot), levels)));
    found.pop().expect("eight slots make a window")
}

/// What the rules say of the fifth member, whose score exceeds.
struct Asked {
    kind: Kind,
    metric: Metric,
    levels: Vec<f64>,
    load: Vec<f64>,
    /// Levels of other metrics in the same window.
    others: Vec<(Metric, Vec<f64>)>,
    account: Option<Account>,
    movement: f64,
    /// Packets sent again to clients: awaited, or their levels.
    resent: Option<Vec<f64>>,
    is_recorded: bool,
    is_replaced: bool,
    /// What was explained as a load until now.
    explained: f64,
    rarity: Option<Rarity>,
    without: Without,
}

impl Asked {
    fn new(kind: Kind, metric: Metric, peers: f64, own: f64) -> Asked {
        Asked {
            kind,
            metric,
            levels: vec![peers, peers, peers, peers, own],
            load: Vec::new(),
            others: Vec::new(),
            account: None,
            movement: f64::NAN,
            resent: None,
            is_recorded: true,
            is_replaced: false,
            explained: 0.0,
            rarity: None,
            without: Without::default(),
        }
    }

    fn decide(&self) -> Decision {
        self.with_case(|case| decide(case, &self.without).expect("the last rule speaks always"))
    }

    fn with_case<T>(&self, ask: impl Fn(&Case) -> T) -> T {
        let scored = window(self.metric, &self.levels);
        let mut context = Context::default();
        if !self.load.is_empty() {
            context.keep(&window(Metric::Tps, &self.load), Slot(16));
        }
        if let Some(resent) = &self.resent {
            context.expect(Metric::RetransToClients, Slot(0));
            if !resent.is_empty() {
                context.keep(&window(Metric::RetransToClients, resent), Slot(16));
            }
        }
        let others = self.others.iter().map(|(metric, levels)| window(*metric, levels));
        let windows: Vec<ScoredWindow> = [scored].into_iter().chain(others).collect();
        let accounts = self.account.map(|account| Accounts {
            index: WindowIndex(1),
            members: vec![Some(account); MEMBER + 1],
            ratios: Vec::new(),
            costs: Vec::new(),
            pieces: 1,
            group: None,
        });
        let seen = windows[0].reading_of(MemberIndex::new(MEMBER)).expect("it took part");
        let case = Case {
            component: &Component::new(self.kind, "disk5"),
            reading: Reading { score: Score::Exact(9.0), threshold: 1.0, movement: self.movement, ..seen },
            is_recorded: self.is_recorded,
            is_silent: !self.is_recorded && seen.presence == 0.0,
            is_incomplete: false,
            is_replaced: self.is_replaced,
            window: WindowIndex(1),
            member: MemberIndex::new(MEMBER),
            explained: self.explained,
            rarity: self.rarity,
            surroundings: Surroundings {
                group: GroupId::new(0),
                context: &context,
                windows: &windows,
                accounts: accounts.as_ref(),
            },
        };
        ask(&case)
    }

    fn rule(&self) -> &'static str {
        self.decide().rule.id
    }
}

fn rule(kind: Kind, metric: Metric, peers: f64, own: f64) -> &'static str {
    Asked::new(kind, metric, peers, own).rule()
}

#[test]
fn a_score_within_the_threshold_is_no_difference() {
    let asked = Asked::new(Kind::Device, Metric::Await, 5.0, 50.0);
    let scored = window(asked.metric, &asked.levels);
    let windows = [scored];
    let seen = windows[0].reading_of(MemberIndex::new(MEMBER)).unwrap();
    let with = |score: f64| {
        let case = Case {
            component: &Component::new(Kind::Device, "disk5"),
            reading: Reading { score: Score::Exact(score), threshold: 1.0, ..seen },
            is_recorded: true,
            is_silent: false,
            is_incomplete: false,
            is_replaced: false,
            window: WindowIndex(1),
            member: MemberIndex::new(MEMBER),
            explained: 0.0,
            rarity: None,
            surroundings: Surroundings {
                group: GroupId::new(0),
                context: &Context::default(),
                windows: &windows,
                accounts: None,
            },
        };
        decide(&case, &Without::default()).unwrap().rule.id
    };
    assert_eq!([with(1.0), with(1.0001)], ["threshold", "differs"]);
}

#[test]
fn steps_that_the_judge_asks_for_have_one_rule_each() {
    let count = |is_wanted: fn(&Step) -> bool| RULES.iter().filter(|rule| is_wanted(&rule.step)).count();
    assert_eq!(count(|step| matches!(step, Step::Exceeds(_))), 1);
    assert_eq!(count(|step| matches!(step, Step::Published)), 1);
    assert_eq!(count(|step| matches!(step, Step::Lasts)), 1);
    assert_eq!(
        [threshold_rule().id, published_rule().id, filter_rule().id],
        ["threshold", "published", "filter"]
    );
}

#[test]
fn a_few_sectors_against_none_do_not_matter() {
    assert_eq!(rule(Kind::Device, Metric::RdSec, 0.0, 400.0), "negligible");
    assert_eq!(rule(Kind::Device, Metric::RdSec, 0.0, 7000.0), "differs");
}

#[test]
fn housekeeping_on_an_idle_group_does_not_matter() {
    assert_eq!(rule(Kind::Device, Metric::Await, 0.0, 1.0), "negligible");
    assert_eq!(rule(Kind::Device, Metric::Await, 0.0, 1.01), "differs");
    assert_eq!(
        rule(Kind::Device, Metric::Await, 0.1, 1.09),
        "negligible",
        "at what is negligible, the group is idle"
    );
    assert_eq!(rule(Kind::Device, Metric::Await, 0.11, 1.09), "differs");
}

#[test]
fn a_latency_in_another_unit_than_milliseconds_has_no_negligible_difference() {
    assert_eq!(rule(Kind::Device, Metric::Await, 0.019, 0.09), "differs");
    assert_eq!(rule(Kind::Device, Metric::Await, 0.02, 0.09), "negligible");
}

#[test]
fn four_spreads_are_not_chance() {
    // Peers at 10 exactly: the spread is the least, 2 % of 10.
    let own = |spreads: f64| rule(Kind::Device, Metric::Txbyt, 1e8, 1e8 + spreads * 2e6);
    assert_eq!(own(3.99), "spread");
    assert_eq!(own(4.01), "ratio", "8 % more");
    assert_eq!(own(5.01), "differs", "10 % more");
}

#[test]
fn a_latency_of_fourteen_tenths_is_a_fault_and_any_other_level_of_eleven() {
    assert_eq!(rule(Kind::Device, Metric::Await, 10.0, 13.99), "ratio");
    assert_eq!(rule(Kind::Device, Metric::Await, 10.0, 14.0), "differs");
    assert_eq!(rule(Kind::Server, Metric::Rxbyt, 1e9, 1.0999e9), "ratio");
    assert_eq!(rule(Kind::Server, Metric::Rxbyt, 1e9, 1.1001e9), "differs");
}

#[test]
fn a_latency_that_its_load_explains_is_no_fault() {
    let with = |load: f64, own: f64| {
        let load = vec![100.0, 100.0, 100.0, 100.0, 100.0 * load];
        Asked { load, ..Asked::new(Kind::Device, Metric::Await, 5.0, own) }.rule()
    };
    assert_eq!(with(2.0, 13.99), "load");
    assert_eq!([with(1.25, 8.74), with(1.25, 8.75)], ["load", "differs"]);
    assert_eq!(with(2.0, 14.0), "queue");
    assert_eq!(with(0.5, 7.0), "differs", "less load allows no less");
    let asked = Asked {
        load: vec![100.0, 100.0, 100.0, 100.0, 210.0],
        ..Asked::new(Kind::Device, Metric::Await, 5.0, 11.0)
    };
    let numbers = asked.decide().numbers;
    assert_eq!(numbers.get("load"), Some(2.1));
    assert!((numbers.get("allowed").unwrap() - 2.94).abs() < 1e-9);
    assert!((numbers.get("ratio").unwrap() - 2.2).abs() < 1e-9);
}

#[test]
fn less_than_its_peers_does_no_harm() {
    assert_eq!(rule(Kind::Server, Metric::Rxbyt, 1e9, 5e8), "harmless-side");
    assert_eq!(rule(Kind::Attachment, Metric::Await, 10.0, 5.0), "harmless-side");
    assert_eq!(rule(Kind::Server, Metric::Await, 10.0, 8.0), "ratio");
}

#[test]
fn an_idle_disk_is_idle_and_an_idle_attachment_has_lost_its_load() {
    assert_eq!(rule(Kind::Device, Metric::Await, 10.0, 0.99), "idle");
    assert_eq!(rule(Kind::Device, Metric::Await, 10.0, 1.01), "harmless-side");
    assert_eq!(rule(Kind::Attachment, Metric::Await, 10.0, 0.99), "differs");
}

#[test]
fn silence_is_trouble_unless_another_replaced_it() {
    let silent = |is_recorded: bool, is_replaced: bool, kind: Kind| {
        Asked { is_recorded, is_replaced, ..Asked::new(kind, Metric::Await, 10.0, f64::NAN) }.decide()
    };
    let found = silent(false, false, Kind::Device);
    assert_eq!((found.rule.id, found.relation), ("silent", Relation::Silent));
    let replaced = silent(false, true, Kind::Device);
    assert_eq!((replaced.rule.id, replaced.ruling), ("replaced", Ruling::Undecided));
    // It is recorded and has no latency: no requests, or none that is completed.
    let unclear = silent(true, false, Kind::Device);
    assert_eq!((unclear.rule.id, unclear.ruling), ("idle-or-hung", Ruling::Undecided));
    let booked =
        Asked { account: Some(account(0.0, 0.0)), ..Asked::new(Kind::Device, Metric::Await, 10.0, f64::NAN) };
    assert_ne!(booked.rule(), "idle-or-hung", "its busy time tells that it is idle");
    let idle = silent(true, false, Kind::Attachment);
    assert_eq!((idle.rule.id, idle.relation), ("differs", Relation::Idle));
}

#[test]
fn silence_is_no_small_volume() {
    for kind in [Kind::Device, Kind::Server, Kind::Attachment] {
        let asked = Asked { is_recorded: false, ..Asked::new(kind, Metric::WrSec, 1e5, f64::NAN) };
        assert_eq!(asked.rule(), "silent", "{}", kind.name());
    }
}

#[test]
fn a_congestion_window_is_low_at_ten_segments_or_three_tenths() {
    let own = |level: f64| {
        Asked { movement: 1.0, ..Asked::new(Kind::Server, Metric::CwndToClients, 20.0, level) }.rule()
    };
    assert_eq!(own(9.99), "differs");
    assert_eq!(own(10.01), "window-size");
    let of_large = |level: f64| {
        Asked { movement: 1.0, ..Asked::new(Kind::Server, Metric::CwndToClients, 100.0, level) }.rule()
    };
    assert_eq!(of_large(30.0), "differs");
    assert_eq!(of_large(30.1), "window-size");
    assert_eq!(of_large(300.0), "window-size", "a large one is no loss");
    let of_huge = |level: f64| {
        Asked { movement: 1.0, ..Asked::new(Kind::Server, Metric::CwndToClients, 900.0, level) }.rule()
    };
    assert_eq!([of_huge(40.0), of_huge(40.1)], ["differs", "window-size"], "a loss of 0.1 % does no harm");
}

#[test]
fn a_congestion_window_without_packets_sent_again_is_not_held_down_by_loss() {
    let own = |resent: Option<Vec<f64>>| {
        Asked { movement: 1.0, resent, ..Asked::new(Kind::Server, Metric::CwndToClients, 100.0, 2.0) }.rule()
    };
    let rate = |own: f64| Some(vec![0.0, 0.0, 0.0, 0.0, own]);
    assert_eq!(own(None), "differs", "not recorded");
    assert_eq!(own(Some(Vec::new())), "nothing-resent", "recorded, and not known yet");
    assert_eq!(
        [own(rate(0.0)), own(rate(0.0099)), own(rate(0.01))],
        ["nothing-resent", "nothing-resent", "differs"]
    );
    let other = Asked {
        movement: 1.0,
        resent: rate(0.0),
        ..Asked::new(Kind::Server, Metric::CwndFromClients, 100.0, 2.0)
    };
    assert_eq!(other.rule(), "differs", "of the other direction nothing is recorded");
}

#[test]
fn segments_sent_again_that_hold_no_window_down_are_lost_by_no_link() {
    let own = |resent: f64, window: Option<f64>| {
        let others = window.map(|own| (Metric::CwndFromClients, vec![20.0, 20.0, 20.0, 20.0, own]));
        let others = others.into_iter().collect();
        Asked { others, ..Asked::new(Kind::Server, Metric::RetransFromClients, 2.0, resent) }.rule()
    };
    assert_eq!([own(5.9, Some(18.0)), own(6.0, Some(18.0))], ["harmless-resent", "differs"]);
    assert_eq!([own(5.9, Some(15.1)), own(5.9, Some(15.0))], ["harmless-resent", "differs"]);
    assert_eq!(own(5.9, None), "differs", "no window is recorded");
    let others = vec![(Metric::CwndFromClients, vec![20.0; 5])];
    let other = Asked { others, ..Asked::new(Kind::Server, Metric::RetransToClients, 2.0, 5.0) };
    assert_eq!(other.rule(), "differs", "the window of the other direction");
}

#[test]
fn rare_loss_that_holds_no_window_down_is_harmless_however_rarely_the_peers_send_again() {
    // Ten segments a second, of a thousand and of 990.
    let own = |metric: Metric, traffic: Metric, segments: f64, window: f64| {
        let cwnd = if metric == Metric::RetransFromClients {
            Metric::CwndFromClients
        } else {
            Metric::CwndToClients
        };
        let others = vec![
            (cwnd, vec![50.0, 50.0, 50.0, 50.0, window]),
            (traffic, vec![1e6, 1e6, 1e6, 1e6, segments * 1448.0]),
        ];
        Asked { others, ..Asked::new(Kind::Server, metric, 1.0, 10.0) }.rule()
    };
    let from_clients = |segments, window| own(Metric::RetransFromClients, Metric::Rxbyt, segments, window);
    assert_eq!([from_clients(1001.0, 50.0), from_clients(1000.0, 50.0)], ["harmless-resent", "differs"]);
    assert_eq!(from_clients(1001.0, 37.0), "differs", "the window is held down");
    let to_clients = |traffic| own(Metric::RetransToClients, traffic, 1001.0, 50.0);
    assert_eq!([to_clients(Metric::Txbyt), to_clients(Metric::Rxbyt)], ["harmless-resent", "differs"]);
}

#[test]
fn latency_decides_where_one_device_alone_is_saturated_by_the_same_work() {
    let own = |await_ratio: f64, service: f64, cost: f64, work: f64| {
        let others = vec![(Metric::Work, vec![0.8, 0.8, 0.8, 0.8, work])];
        let account = Some(account(service, cost));
        Asked { account, others, ..Asked::new(Kind::Server, Metric::Await, 10.0, 10.0 * await_ratio) }.rule()
    };
    assert_eq!(own(3.0, 0.95, 0.89, 0.8), "differs");
    assert_eq!(own(2.9, 0.95, 0.89, 0.8), "cost-decides", "it hardly waits");
    assert_eq!(own(3.0, 0.94, 0.80, 0.8), "cost-decides", "it is not saturated");
    assert_eq!(own(3.0, 0.95, 0.91, 0.8), "cost-decides", "its work explains it");
    assert_eq!(
        [own(9.0, 1.0, 0.8, 0.88), own(9.0, 1.0, 0.8, 0.89)],
        ["differs", "cost-decides"],
        "more work"
    );
}

#[test]
fn a_congestion_window_that_stands_still_is_no_loss_unless_it_is_held_down() {
    let own = |level: f64, movement: f64| {
        Asked { movement, ..Asked::new(Kind::Server, Metric::CwndToClients, 100.0, level) }.rule()
    };
    assert_eq!(own(5.0, 0.24), "still-window");
    assert_eq!(own(5.0, 0.25), "differs");
    assert_eq!(own(2.01, 0.0), "still-window");
    assert_eq!(own(2.0, 0.0), "differs");
}

#[test]
fn what_a_server_reads_beside_its_peers_must_be_much() {
    let own = |extra: f64| rule(Kind::Server, Metric::RdSec, 1000.0, 1000.0 + extra);
    assert_eq!(own(1999.0), "server-volume");
    assert_eq!(own(2000.0), "differs", "five times what is negligible");
}

#[test]
fn volume_indicts_luns_and_disks_at_three_times_their_peers() {
    for kind in [Kind::Attachment, Kind::Device, Kind::Lun] {
        let own = |ratio: f64| rule(kind, Metric::WrSec, 1e5, 1e5 * ratio);
        assert_eq!([own(2.99), own(3.0)], ["more-volume", "differs"]);
    }
    assert_eq!(rule(Kind::Attachment, Metric::WrSec, 1e5, 5e3), "differs", "its load went elsewhere");
}

#[test]
fn a_rule_that_is_switched_off_is_not_asked() {
    let asked = |without: &[&str]| {
        let rules = without.iter().map(|id| crate::diagnose::rules::find(id).unwrap()).collect();
        Asked {
            without: Without::rules(rules),
            load: vec![100.0, 100.0, 100.0, 100.0, 140.0],
            ..Asked::new(Kind::Device, Metric::Await, 5.0, 9.0)
        }
        .rule()
    };
    assert_eq!(asked(&[]), "load");
    assert_eq!(asked(&["load"]), "differs");
}

#[test]
fn spread_peers_hide_what_is_not_unusual_among_them() {
    let mut asked = Asked::new(Kind::Device, Metric::Await, 0.0, 8.0);
    asked.levels = vec![2.0, 3.0, 4.0, 5.0, 8.0];
    assert_eq!(asked.rule(), "spread");
}

#[test]
fn only_more_work_says_which_share_of_the_slowness_it_is() {
    for (metric, share) in [(Metric::Work, Some(1.0)), (Metric::Await, None)] {
        let asked = Asked { account: Some(account(0.5, 0.5)), ..Asked::new(Kind::Device, metric, 0.25, 0.5) };
        asked.with_case(|case| assert_eq!(case.by_load(), share, "{metric}"));
    }
}

#[test]
fn a_case_knows_every_metric_of_its_window() {
    let windows = [
        window(Metric::Await, &[5.0, 5.0, 5.0, 5.0, 10.0]),
        window(Metric::RdSec, &[9.0, 9.0, 9.0, 9.0, 18.0]),
    ];
    let mut context = Context::default();
    context.keep(&window(Metric::Tps, &[1.0, 1.0, 1.0, 1.0, 3.0]), Slot(16));
    let case = Case {
        component: &Component::new(Kind::Device, "disk5"),
        reading: windows[0].reading_of(MemberIndex::new(MEMBER)).unwrap(),
        is_recorded: true,
        is_silent: false,
        is_incomplete: false,
        is_replaced: false,
        window: WindowIndex(1),
        member: MemberIndex::new(MEMBER),
        explained: 0.0,
        rarity: None,
        surroundings: Surroundings {
            group: GroupId::new(0),
            context: &context,
            windows: &windows,
            accounts: None,
        },
    };
    let level = |metric: Metric| case.reading_of(metric).map(|seen| seen.level);
    assert_eq!(level(Metric::Await), Some(10.0));
    assert_eq!(level(Metric::RdSec), Some(18.0));
    assert_eq!(level(Metric::Tps), Some(3.0));
    assert_eq!(level(Metric::WrSec), None, "not recorded");
    assert_eq!(case.reading.peer_level, 5.0);
}

/// A device in service for this share of 40 s, whose work costs this share.
fn account(service: f64, cost: f64) -> Account {
    Account {
        seconds: 40.0,
        service,
        cost,
        effect: (service / cost).ln(),
        usual: 0.0,
        peer_effect: 0.0,
        spread: 0.02,
        unlike: Unlike { size: 1.0, mix: 0.0 },
        brief: Brief::UNKNOWN,
    }
}

#[test]
fn the_budget_is_held_against_what_a_member_always_has_too() {
    let seen = slowness_for_work(&Account { usual: 0.1, effect: 0.1, ..account(0.6, 0.4) });
    assert!((seen.window - 0.2).abs() < 1e-12, "{seen:?}");
}

#[test]
fn a_device_is_slow_at_a_quarter_more_or_five_spreads() {
    assert!((cost_threshold(0.02) - 1.25_f64.ln()).abs() < 1e-12);
    assert!((cost_threshold(0.2) - 1.0).abs() < 1e-12);
}

#[test]
fn what_loses_no_time_does_no_harm() {
    let lost = |service: f64, cost: f64, seconds: f64| {
        let account = Some(Account { seconds, ..account(service, cost) });
        Asked { account, ..Asked::new(Kind::Server, Metric::Cost, 1.0, service / cost) }.rule()
    };
    assert_eq!([lost(0.149, 0.05, 40.0), lost(0.151, 0.05, 40.0)], ["lost-time", "differs"], "4 s of 40");
    assert_eq!([lost(0.016, 0.01, 600.0), lost(0.017, 0.01, 600.0)], ["lost-time", "differs"], "4 s of 600");
    assert_eq!([lost(0.014, 0.01, 24_000.0), lost(0.016, 0.01, 24_000.0)], ["lost-time", "differs"], "0.5 %");
}

#[test]
fn where_work_is_booked_latency_and_volume_only_show_it() {
    let with = |metric: Metric, own: f64, account: Option<Account>| {
        Asked { account, ..Asked::new(Kind::Server, metric, 1e5, own) }.rule()
    };
    let booked = Some(account(0.5, 0.5));
    assert_eq!(with(Metric::Await, 5e5, booked), "cost-decides");
    assert_eq!(with(Metric::WrSec, 5e5, booked), "cost-decides");
    assert_eq!(with(Metric::Await, 5e5, None), "differs");
    assert_eq!(with(Metric::Await, 1e4, booked), "idle", "it shows nothing more");
    assert_eq!(with(Metric::Rxbyt, 1e8, booked), "differs", "the network is not in the books");
}

/// A server whose disk has more to do: sectors and bytes of network, of its peers and its own.
fn more_work(kind: Kind, [peers, own]: [[f64; 5]; 2]) -> &'static str {
    let [tps, read, written, sent, received] = std::array::from_fn(|place| {
        let mut levels = vec![peers[place]; MEMBER];
        levels.push(own[place]);
        levels
    });
    let others = vec![
        (Metric::RdSec, read),
        (Metric::WrSec, written),
        (Metric::Txbyt, sent),
        (Metric::Rxbyt, received),
    ];
    Asked { load: tps, others, ..Asked::new(kind, Metric::Work, 0.3, 0.6) }.rule()
}

#[test]
fn what_came_by_the_network_is_no_process_of_the_server() {
    // Requests, sectors read and written, bytes sent and received, per second.
    let peers = [100.0, 0.0, 10_000.0, 1e5, 5.2e6];
    let own =
        |written: f64, received: f64| more_work(Kind::Server, [peers, [200.0, 0.0, written, 1e5, received]]);
    assert_eq!(
        own(20_000.0, 5.2e6),
        "differs",
        "the network accounts for the peers' disks, not for this one"
    );
    assert_eq!(own(20_000.0, 5.2e6 + 2.55e6), "differs", "less than half of it came by the network");
    assert_eq!(own(20_000.0, 5.2e6 + 2.57e6), "asked-for");
    assert_eq!(more_work(Kind::Device, [peers, [200.0, 0.0, 20_000.0, 1e5, 5.2e6]]), "asked-for");
}

#[test]
fn a_volume_that_came_by_the_network_is_no_hog_where_no_work_is_recorded() {
    let volume = |received: f64| {
        let others =
            vec![(Metric::Txbyt, vec![1e5; 5]), (Metric::Rxbyt, vec![5.2e6, 5.2e6, 5.2e6, 5.2e6, received])];
        Asked { others, ..Asked::new(Kind::Server, Metric::WrSec, 10_000.0, 14_000.0) }.rule()
    };
    assert_eq!([volume(5.2e6 + 1.02e6), volume(5.2e6 + 1.03e6)], ["differs", "asked-for"], "half of it");
    assert_eq!(
        rule(Kind::Server, Metric::WrSec, 10_000.0, 14_000.0),
        "differs",
        "nothing is known of the network"
    );
}

#[test]
fn work_that_was_a_load_until_now_and_has_hardly_grown_is_still_that_load() {
    let own =
        |explained: f64| Asked { explained, ..Asked::new(Kind::Server, Metric::Work, 0.25, 0.75) }.rule();
    assert_eq!([own(0.0), own(0.34), own(0.36)], ["differs", "differs", "same-load"]);
    let sent =
        |explained: f64| Asked { explained, ..Asked::new(Kind::Server, Metric::Txbyt, 1e6, 9e6) }.rule();
    assert_eq!([sent(6.9e6), sent(7.1e6)], ["differs", "same-load"], "what is negligible is added");
}

#[test]
fn a_latency_that_is_lower_is_not_explained_by_a_load() {
    let asked = |own: f64| Asked {
        load: vec![10.0, 10.0, 10.0, 10.0, 30.0],
        ..Asked::new(Kind::Device, Metric::Await, 10.0, own)
    };
    assert_eq!([asked(25.0).rule(), asked(4.0).rule()], ["load", "harmless-side"]);
}

#[test]
fn what_is_rarer_than_the_budget_indicts_while_it_goes_on() {
    let seen = Rarity { seconds: 3600.0, slowness: 0.25, newest: 0.2, recent: 0.1, bar: 0.2, rate: 1e-9 };
    let own = |seen: Rarity| {
        let asked = Asked { rarity: Some(seen), ..Asked::new(Kind::Device, Metric::Await, 10.0, 12.0) };
        asked.rule()
    };
    assert_eq!(own(seen), "rare", "all of it is at its bound");
    let not = |seen: Rarity| assert_eq!(own(seen), "ratio", "{seen:?}");
    not(Rarity { slowness: 0.199, ..seen });
    not(Rarity { newest: 0.199, ..seen });
    not(Rarity { recent: 0.099, ..seen });
    let excess = |seconds: f64| least_slowness(seconds, false, Rate::default()).exp() - 1.0;
    assert!((excess(120.0) - 1.0).abs() < 1e-12 && (excess(480.0) - 0.5).abs() < 1e-12);
    assert!((excess(12_000.0) - 0.1).abs() < 1e-12 && (excess(1e6) - 0.1).abs() < 1e-12);
    let accepting = |times: f64| least_slowness(120.0, false, Rate(times * Rate::default().0)).exp() - 1.0;
    assert!((accepting(16.0) - 0.5).abs() < 1e-12 && (accepting(0.1) - 1.0).abs() < 1e-12);
}

#[test]
fn where_the_network_does_not_tell_only_other_work_is_a_hog() {
    // Metadata: more is written than came.
    let peers = [100.0, 0.0, 2000.0, 1e5, 1e5];
    let own = |tps: f64, read: f64, written: f64| {
        more_work(Kind::Server, [peers, [100.0 + tps, read, 2000.0 + written, 1e5, 1e5]])
    };
    assert_eq!(own(100.0, 0.0, 2000.0), "asked-for", "more of the same");
    assert_eq!(
        [own(100.0, 0.0, 3990.0), own(100.0, 0.0, 4010.0)],
        ["asked-for", "differs"],
        "twice as large"
    );
    assert_eq!([own(100.0, 0.0, 1010.0), own(100.0, 0.0, 990.0)], ["asked-for", "differs"], "half as large");
    assert_eq!(
        [own(100.0, 990.0, 1010.0), own(100.0, 1010.0, 990.0)],
        ["asked-for", "differs"],
        "half of it read"
    );
    let idle = [0.0, 0.0, 0.0, 1e5, 1e5];
    assert_eq!(
        more_work(Kind::Server, [idle, [100.0, 0.0, 2000.0, 1e5, 1e5]]),
        "differs",
        "peers without a kind"
    );
}

#[test]
fn traffic_that_the_disk_serves_is_no_hog() {
    let sent = |read: f64| {
        let others = vec![(Metric::RdSec, vec![1000.0, 1000.0, 1000.0, 1000.0, 1000.0 + read / 512.0])];
        Asked { others, ..Asked::new(Kind::Server, Metric::Txbyt, 2e6, 10e6) }.rule()
    };
    assert_eq!([sent(4.01e6), sent(3.99e6)], ["served", "differs"]);
    let written = vec![(Metric::WrSec, vec![1000.0, 1000.0, 1000.0, 1000.0, 50_000.0])];
    let received = |metric: Metric| {
        Asked { others: written.clone(), ..Asked::new(Kind::Server, metric, 2e6, 10e6) }.rule()
    };
    assert_eq!([received(Metric::Rxbyt), received(Metric::Txbyt)], ["served", "differs"]);
}

#[test]
fn at_a_bound_itself_the_sentence_of_the_rule_holds() {
    assert_eq!(
        rule(Kind::Server, Metric::CwndToClients, 20.0, 10.0),
        "window-size",
        "ten segments are not few"
    );
    assert_eq!(
        rule(Kind::Server, Metric::Await, 7.0, 5.0),
        "harmless-side",
        "1.4 times less is a difference"
    );
    let exact = Account { seconds: 32.0, ..account(0.25, 0.125) };
    let asked = Asked { account: Some(exact), ..Asked::new(Kind::Server, Metric::Cost, 1.0, 2.0) };
    assert_eq!(asked.rule(), "differs", "4 s of 32 are lost time");
    let peers = [100.0, 0.0, 2048.0, 1e5, 1e5];
    let own = |tps: f64, read: f64, written: f64| {
        more_work(Kind::Server, [peers, [100.0 + tps, read, 2048.0 + written, 1e5, 1e5]])
    };
    assert_eq!(own(100.0, 0.0, 4096.0), "differs", "twice as large");
    assert_eq!(own(200.0, 0.0, 2048.0), "differs", "half as large");
    assert_eq!(own(100.0, 1024.0, 1024.0), "differs", "half of it read");
    let written = [100.0, 0.0, 10_000.0, 1e5, 5.2e6];
    let by_network = [200.0, 0.0, 20_000.0, 1e5, 5.2e6 + 2.56e6];
    assert_eq!(more_work(Kind::Server, [written, by_network]), "asked-for", "half came by the network");
}

#[test]
fn a_component_is_absent_below_a_quarter_of_its_samples_where_peers_have_most() {
    let absent = |presence: f64, peer_presence: f64| {
        let scored = window(Metric::Await, &[5.0; 5]);
        let seen = scored.reading_of(MemberIndex::new(MEMBER)).unwrap();
        let case = Case {
            component: &Component::new(Kind::Device, "disk5"),
            reading: Reading { presence, peer_presence, ..seen },
            is_recorded: true,
            is_silent: false,
            is_incomplete: false,
            is_replaced: false,
            window: WindowIndex(1),
            member: MemberIndex::new(MEMBER),
            explained: 0.0,
            rarity: None,
            surroundings: Surroundings {
                group: GroupId::new(0),
                context: &Context::default(),
                windows: &[],
                accounts: None,
            },
        };
        case.is_absent()
    };
    assert_eq!([absent(0.24, 1.0), absent(0.25, 1.0)], [true, false]);
    assert_eq!([absent(0.0, 0.76), absent(0.0, 0.75)], [true, false]);
}

#[test]
fn work_that_no_peer_has_cannot_be_judged_unless_it_is_far_too_slow() {
    let with = |ratio: f64, size: f64, mix: f64| {
        let account = Account { unlike: Unlike { size, mix }, ..account(0.5 * ratio.min(1.9), 0.5) };
        Asked { account: Some(account), ..Asked::new(Kind::Lun, Metric::Cost, 1.0, ratio) }.rule()
    };
    assert_eq!(with(1.5, 1.0, 0.0), "differs");
    assert_eq!(
        [with(1.5, 2.0, 0.0), with(1.5, 2.5, 0.0)],
        ["differs", "unlike-work"],
        "beyond twice the sizes"
    );
    assert_eq!([with(2.49, 4.0, 0.0), with(2.5, 4.0, 0.0)], ["unlike-work", "differs"]);
    assert_eq!(
        [with(3.12, 1.0, 1.0), with(3.13, 1.0, 1.0)],
        ["unlike-work", "differs"],
        "2.5 times for all of it"
    );
}

#[test]
fn links_and_hosts_are_harmed_on_one_side_and_where_nothing_is_left() {
    let server = |metric: Metric, peers: f64, own: f64| rule(Kind::Server, metric, peers, own);
    assert_eq!(server(Metric::LinkSpeed, 10_000.0, 1000.0), "differs");
    assert_eq!(server(Metric::LinkSpeed, 10_000.0, 25_000.0), "harmless-side");
    assert_eq!(server(Metric::CarrierChanges, 0.0, 0.4), "differs");
    assert_eq!(server(Metric::CarrierChanges, 0.0, 0.005), "negligible");
    assert_eq!(server(Metric::NetErrors, 0.0, 20.0), "differs");
    assert_eq!(server(Metric::CpuWait, 10.0, 80.0), "differs");
    assert_eq!(server(Metric::CpuWait, 10.0, 34.0), "negligible");
    assert_eq!(
        [server(Metric::CpuBusy, 30.0, 90.0), server(Metric::CpuBusy, 30.0, 89.0)],
        ["differs", "headroom"]
    );
    let free = |own: f64| server(Metric::MemoryAvailable, 60.0, own);
    assert_eq!([free(15.0), free(15.1), free(90.0)], ["differs", "headroom", "harmless-side"]);
    assert_eq!(server(Metric::MemoryWait, 0.0, 30.0), "differs");
}

#[test]
fn a_latency_is_brief_where_three_of_its_last_four_pieces_are_slow() {
    let scored = window(Metric::Await, &[10.0, 10.0, 10.0, 10.0, 10.0]);
    let reading = scored.reading_of(MemberIndex::new(MEMBER)).unwrap();
    let brief = |levels: [f64; 4], by_load: f64| {
        let pieces = levels.into_iter().map(|level| reading.at(level));
        slowness_in_latency(&reading, std::iter::empty(), pieces, by_load).brief
    };
    assert!((brief([10.0, 50.0, 60.0, 50.0], 0.0) - 5f64.ln()).abs() < 1e-9, "one may be as usual");
    assert!(brief([10.0, 10.0, 60.0, 50.0], 0.0).abs() < 1e-9, "two may not");
    assert!((brief([50.0; 4], 2f64.ln()) - 2.5f64.ln()).abs() < 1e-9, "less what its load explains");
    assert!((brief([f64::NAN, 50.0, 60.0, 50.0], 0.0)).is_nan(), "a piece without requests");
    assert!(slowness_in_latency(&reading, std::iter::empty(), std::iter::empty(), 0.0).brief.is_nan());
}

#[test]
fn the_last_half_of_a_window_has_four_pieces_of_two_samples_or_more() {
    let params = |size: usize| Params { interval_s: 1, smoothing: 1, size, shift: size, k: 3 };
    let pieces = |size: usize| {
        let method = &crate::compare::limp::LIMP;
        let mut scorer =
            Scorer::new(GroupId::new(0), Metric::Await, method, params(size), Policy::FromPeers, 3);
        let rows = (0..=size as u64).map(|slot| (Slot(slot), [slot as f64; 3]));
        let mut found: Vec<ScoredWindow> = rows.flat_map(|(slot, row)| scorer.push(slot, &row)).collect();
        found.pop().and_then(|scored| scored.late_pieces(0))
    };
    assert_eq!(pieces(16), Some([8.5, 10.5, 12.5, 14.5]));
    assert_eq!(pieces(15), None);
}

#[test]
fn what_a_queue_does_to_latency_is_not_known_at_half_as_much_load_again() {
    let own = |load: f64, account: Option<Account>| {
        let load = vec![10.0, 10.0, 10.0, 10.0, load];
        Asked { load, account, ..Asked::new(Kind::Device, Metric::Await, 10.0, 90.0) }.decide()
    };
    let (less, more) = (own(14.9, None), own(15.0, None));
    assert_eq!([less.rule.id, more.rule.id], ["differs", "queue"]);
    assert_eq!(more.ruling, Ruling::Undecided);
    assert_ne!(own(15.0, Some(account(0.5, 0.4))).rule.id, "queue", "its busy time tells");
}
