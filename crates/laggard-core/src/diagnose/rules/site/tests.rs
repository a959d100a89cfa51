use super::*;
use crate::compare::cdf::CDF;
use crate::diagnose::{Config, Diagnoser, Diagnosis, Incident, Sample};
use crate::model::groups::Observed;
use crate::model::{Metric, Topology};

/// Four controllers with 24 LUNs and four servers each; every LUN has a primary and a secondary server.
fn topology() -> Topology {
    let mut text = String::from("[[servers]]\nnames = \"fs[1-16]\"\n[[controllers]]\nnames = \"ddn[1-4]\"\n");
    for controller in 1..=4 {
        let (first, last) = (controller * 4 - 3, controller * 4);
        text.push_str(&format!(
            "[[luns]]\nnames = \"[00-23]\"\ncontroller = \"ddn{controller}\"\nservers = \"fs[{first}-{last}]\"\nrotate = true\n"
        ));
    }
    Topology::parse(&text).unwrap()
}

/// What an attachment shows in a slot: await in ms, or nothing.
type Shows<'a> = &'a dyn Fn(&str, &str, u32, i64) -> Option<f64>;

/// Runs a day of primaries and secondaries; `shows` gets LUN, server, priority and slot.
fn diagnose(shows: Shows) -> Diagnosis {
    let topology = topology();
    let attachments: Vec<_> = topology.attachments.iter().filter(|(_, known)| known.priority <= 2).collect();
    let observed: Vec<Observed> = attachments
        .iter()
        .map(|(name, _)| Observed { name: (*name).clone(), ..Observed::default() })
        .collect();
    let roster = Roster::new(&observed, Some(&topology));
    let mut diagnoser = Diagnoser::new(Config::untrained(&CDF, 15), roster.clone());
    for slot in 0..600 {
        for (name, known) in &attachments {
            let component = roster.find(name).unwrap();
            let wobble =
                0.9 + 0.2 * (((component.index() as i64 * 7919 + slot * 104_729) % 1009) as f64 / 1009.0);
            if let Some(value) = shows(&known.lun, &known.server, known.priority, slot) {
                diagnoser.push(Sample {
                    time: UnixSeconds(slot * 15),
                    component,
                    metric: Metric::Await,
                    value: value * wobble,
                });
            }
        }
    }
    diagnoser.finish();
    diagnoser.diagnosis()
}

/// Fault-free: the primaries carry the load, the secondaries are idle.
fn usual(priority: u32) -> f64 {
    if priority == 1 { 8.0 } else { 0.0 }
}

fn only(diagnosis: &Diagnosis) -> (&str, Kind, Cause, usize) {
    let all: Vec<_> = diagnosis
        .incidents
        .iter()
        .map(|i| (i.component.as_str(), i.cause.name(), i.explains.len()))
        .collect();
    assert_eq!(diagnosis.incidents.len(), 1, "{all:?}");
    let incident = &diagnosis.incidents[0];
    (&incident.component, incident.kind, incident.cause, incident.explains.len())
}

#[test]
fn a_quiet_day_is_quiet() {
    assert!(diagnose(&|_, _, priority, _| Some(usual(priority))).incidents.is_empty());
}

#[test]
fn slow_luns_behind_one_controller_are_one_incident() {
    let diagnosis = diagnose(&|lun, _, priority, slot| {
        let slow = lun.starts_with("ddn2.") && !lun.ends_with('7') && slot > 200;
        Some(usual(priority) * if slow { 3.0 } else { 1.0 })
    });
    assert_eq!(only(&diagnosis), ("ddn2", Kind::Controller, Cause::ComponentFault, 22));
}

#[test]
fn slow_luns_of_one_server_name_the_server() {
    let diagnosis = diagnose(&|_, server, priority, slot| {
        Some(usual(priority) * if server == "fs6" && slot > 200 { 3.0 } else { 1.0 })
    });
    let (name, kind, ..) = only(&diagnosis);
    assert_eq!((name, kind), ("fs6", Kind::Server));
}

#[test]
fn one_slow_lun_stands_for_itself() {
    let diagnosis = diagnose(&|lun, _, priority, slot| {
        Some(usual(priority) * if lun == "ddn3.05" && slot > 100 { 4.0 } else { 1.0 })
    });
    let (name, kind, cause, _) = only(&diagnosis);
    assert_eq!((kind, cause), (Kind::Attachment, Cause::ComponentFault));
    assert!(name.starts_with("ddn3.05."), "{name}");
}

#[test]
fn luns_that_jitter_together_are_a_drawer_error() {
    let diagnosis = diagnose(&|lun, _, priority, slot| {
        let number: i64 = lun.rsplit('.').next().unwrap().parse().unwrap();
        let hit = lun.starts_with("ddn4.") && number < 14 && slot > 150 && (slot * 31 + number * 17) % 40 < 6;
        Some(usual(priority) * if hit { 25.0 } else { 1.0 })
    });
    let (name, _, cause, explained) = only(&diagnosis);
    assert_eq!((name, cause), ("ddn4", Cause::DrawerError));
    assert!(explained >= 12, "{explained}");
}

/// The server is silent; its LUNs' load appears on their secondaries.
#[test]
fn a_server_that_is_down_is_named() {
    let diagnosis = diagnose(&|lun, server, priority, slot| {
        let down = slot > 200;
        let primary_is_down = down && topology_primary(lun) == "fs5";
        match priority {
            _ if down && server == "fs5" => None,
            2 if primary_is_down => Some(9.0),
            _ => Some(usual(priority)),
        }
    });
    // The secondaries that fs5 itself held are silent too, and are part of the same trouble.
    let (name, kind, cause, _) = only(&diagnosis);
    assert_eq!((name, kind, cause), ("fs5", Kind::Server, Cause::ServerDown));
}

#[test]
fn a_failed_controller_is_named_and_not_its_servers() {
    let diagnosis =
        diagnose(&|lun, _, priority, slot| match (lun.starts_with("ddn3.") && slot > 200, priority) {
            (true, 1) => None,
            (true, _) => Some(9.0),
            (false, _) => Some(usual(priority)),
        });
    let (name, kind, cause, explained) = only(&diagnosis);
    assert_eq!((name, kind, cause, explained), ("ddn3", Kind::Controller, Cause::ControllerFailed, 48));
}

#[test]
fn servers_that_go_at_once_behind_one_controller_are_its_controller() {
    let named = |servers: &[&str]| {
        let diagnosis = diagnose(&|lun, _, priority, slot| {
            let lost = servers.contains(&topology_primary(lun).as_str()) && slot > 200;
            match priority {
                1 if lost => None,
                2 if lost => Some(9.0),
                priority => Some(usual(priority)),
            }
        });
        let name = |i: &Incident| (i.component.clone(), i.kind, i.cause);
        diagnosis.incidents.iter().map(name).collect::<Vec<_>>()
    };
    let three = named(&["fs9", "fs10", "fs11"]);
    assert_eq!(three, [("ddn3".to_string(), Kind::Controller, Cause::ControllerFailed)]);
    assert_eq!(named(&["fs9", "fs10"]), three, "also two, at the same moment");
    let one = named(&["fs9"]);
    assert_eq!(one, [("fs9".to_string(), Kind::Server, Cause::ServerDown)]);
}

#[test]
fn one_idle_primary_whose_secondary_takes_the_load_is_a_lost_attachment() {
    let diagnosis = diagnose(&|lun, _, priority, slot| match (lun == "ddn1.10" && slot > 200, priority) {
        (true, 1) => Some(0.0),
        (true, _) => Some(9.0),
        (false, _) => Some(usual(priority)),
    });
    let (name, kind, cause, explained) = only(&diagnosis);
    assert_eq!((name, kind, cause, explained), ("ddn1.10.fs3", Kind::Attachment, Cause::LostAttachment, 2));
    let incident = &diagnosis.incidents[0];
    assert_eq!(incident.explains[0], incident.worst, "worst first, also of lost attachments");
}

fn topology_primary(lun: &str) -> String {
    let (controller, number) = lun.split_once('.').unwrap();
    let controller: usize = controller.trim_start_matches("ddn").parse().unwrap();
    let number: usize = number.parse().unwrap();
    format!("fs{}", controller * 4 - 3 + number % 4)
}

/// The roster of primaries and secondaries.
fn roster() -> Roster {
    let topology = topology();
    let observed: Vec<Observed> = topology
        .attachments
        .iter()
        .filter(|(_, known)| known.priority <= 2)
        .map(|(name, _)| Observed { name: name.clone(), ..Observed::default() })
        .collect();
    Roster::new(&observed, Some(&topology))
}

/// A component in trouble since some moment.
fn trouble(relation: Relation, first_s: i64) -> Episode {
    let mut episode = Episode::default();
    let seen = crate::diagnose::evidence::Observation {
        from: UnixSeconds(first_s),
        to: UnixSeconds(20_000),
        score: 3.0,
        threshold: 1.0,
        level: 20.0,
        peer_level: 8.0,
        ratio: 2.5,
        relation,
        jitters: false,
        by_load: None,
    };
    episode.observe(Metric::Await, &CDF, UnixSeconds(first_s), seen);
    episode.persistence = 5;
    episode
}

fn faults(roster: &Roster, suspects: &[(String, Episode)]) -> Vec<Trouble> {
    let fault = |(name, episode): &(String, Episode)| Trouble {
        component: roster.find(name).expect(name),
        episode: episode.clone(),
        is_load: false,
        is_open: true,
    };
    suspects.iter().map(fault).collect()
}

/// The parts that explain these attachments, with their rules.
fn explained(suspects: &[(String, Episode)]) -> Vec<(String, &'static str)> {
    let roster = roster();
    let found = explain(&roster, faults(&roster, suspects), &Without::default()).0;
    let mut found: Vec<_> = found.into_iter().map(|found| (found.claim.part.name, found.rule.id)).collect();
    found.sort();
    found
}

fn primary(lun: &str) -> String {
    format!("{lun}.{}", topology_primary(lun))
}

fn slow(luns: &[&str]) -> Vec<(String, Episode)> {
    luns.iter().map(|lun| (primary(lun), trouble(Relation::High, 1000))).collect()
}

#[test]
fn trouble_is_dense_from_three_components_and_five_times_the_density_elsewhere() {
    // LUNs 0 to 2 of ddn2 are of three servers; 24 LUNs behind each of four controllers.
    assert_eq!(explained(&slow(&["ddn2.00", "ddn2.01", "ddn2.02"])), [("ddn2".into(), "dense-part")]);
    let two = explained(&slow(&["ddn2.00", "ddn2.01"]));
    assert_eq!(two.iter().map(|(_, rule)| *rule).collect::<Vec<_>>(), ["alone", "alone"]);
    // 3 of 24 is nine times 1 of 72, and less than five times 2 of 72.
    let one_elsewhere = explained(&slow(&["ddn2.00", "ddn2.01", "ddn2.02", "ddn3.00"]));
    assert!(one_elsewhere.contains(&("ddn2".into(), "dense-part")), "{one_elsewhere:?}");
    let two_elsewhere = explained(&slow(&["ddn2.00", "ddn2.01", "ddn2.02", "ddn3.00", "ddn4.01"]));
    assert!(two_elsewhere.iter().all(|(_, rule)| *rule == "alone"), "{two_elsewhere:?}");
}

#[test]
fn only_trouble_of_one_time_is_explained_by_one_part() {
    let mut suspects = slow(&["ddn2.00", "ddn2.01"]);
    let mut early = trouble(Relation::High, 0);
    early.last = UnixSeconds(999);
    suspects.push((primary("ddn2.02"), early.clone()));
    assert!(explained(&suspects).iter().all(|(_, rule)| *rule == "alone"));
    early.last = UnixSeconds(1000);
    suspects[2].1 = early;
    assert_eq!(explained(&suspects), [("ddn2".into(), "dense-part")]);
}

/// All LUNs that a server should serve first, lost since some moment: silent there, loaded at the second server.
fn lost(server: &str, luns: usize, since_s: i64) -> Vec<(String, Episode)> {
    let topology = topology();
    let names = topology.luns.keys().filter(|lun| topology_primary(lun) == server).take(luns);
    let second = |lun: &str| {
        let known = topology.attachments.iter();
        let of_lun = known.filter(|(_, known)| known.lun == lun && known.priority == 2);
        of_lun.map(|(name, _)| name.clone()).next().expect("a second path")
    };
    names
        .flat_map(|lun| {
            let silent = (primary(lun), trouble(Relation::Silent, since_s));
            [silent, (second(lun), trouble(Relation::High, since_s))]
        })
        .collect()
}

#[test]
fn a_server_is_down_if_nine_tenths_of_its_luns_are_lost() {
    assert_eq!(explained(&lost("fs5", 6, 1000)), [("fs5".into(), "server-down")], "six of six");
    assert_eq!(explained(&lost("fs5", 5, 1000)), [("fs5".into(), "lost-attachment")], "five of six");
}

#[test]
fn a_preferred_path_with_a_load_takes_no_load_from_others() {
    // The first path is busy and the second idle: that is how it should be, and nothing is lost.
    let topology = topology();
    let second = topology.attachments.iter().find(|(_, known)| known.lun == "ddn2.05" && known.priority == 2);
    let seen = [
        (primary("ddn2.05"), trouble(Relation::High, 1000)),
        (second.expect("a second path").0.clone(), trouble(Relation::Idle, 1000)),
    ];
    assert!(explained(&seen).iter().all(|(_, rule)| *rule != "lost-attachment"), "{:?}", explained(&seen));
}

/// The part that explains some attachments, where only these are recorded at all.
fn explained_alone(text: &str, suspects: &[(&str, Relation)]) -> Vec<(String, &'static str)> {
    let topology = Topology::parse(text).unwrap();
    let observed: Vec<Observed> =
        suspects.iter().map(|(name, _)| Observed { name: (*name).into(), ..Observed::default() }).collect();
    let roster = Roster::new(&observed, Some(&topology));
    let suspects: Vec<(String, Episode)> =
        suspects.iter().map(|(name, relation)| ((*name).into(), trouble(*relation, 1000))).collect();
    let found = explain(&roster, faults(&roster, &suspects), &Without::default()).0;
    found.into_iter().map(|found| (found.claim.part.name, found.rule.id)).collect()
}

/// LUNs 00 to 02, each with three servers.
const THREE_PATHS: &str = "[[servers]]\nnames = \"fs[1-3]\"\n[[controllers]]\nnames = \"ddn1\"\n\
    [[luns]]\nnames = \"[00-02]\"\ncontroller = \"ddn1\"\nservers = \"fs[1-3]\"\n";

#[test]
fn a_second_path_with_a_load_shows_a_loss_where_the_first_is_not_recorded() {
    let found = |relation: Relation| explained_alone(THREE_PATHS, &[("ddn1.00.fs2", relation)]);
    assert_eq!(found(Relation::High), [("ddn1.00.fs2".into(), "lost-attachment")]);
    let one = found(Relation::Idle);
    assert_eq!(one, [("ddn1.00.fs2".into(), "alone")], "one idle path shows nothing");
    let both =
        explained_alone(THREE_PATHS, &[("ddn1.00.fs1", Relation::Idle), ("ddn1.00.fs2", Relation::Idle)]);
    assert_eq!(both[0].1, "lost-attachment", "the third has the load, and is not recorded: {both:?}");
}

#[test]
fn a_server_is_named_before_the_controller_that_has_no_other() {
    let text = "[[servers]]\nnames = \"fs[1-2]\"\n[[controllers]]\nnames = \"ddn1\"\n\
        [[luns]]\nnames = \"[00-02]\"\ncontroller = \"ddn1\"\nservers = \"fs[1-2]\"\n";
    let silent = ["ddn1.00.fs1", "ddn1.01.fs1", "ddn1.02.fs1"].map(|name| (name, Relation::Silent));
    let taking = ["ddn1.00.fs2", "ddn1.01.fs2", "ddn1.02.fs2"].map(|name| (name, Relation::High));
    assert_eq!(explained_alone(text, &[silent, taking].concat()), [("fs1".into(), "server-down")]);
}

#[test]
fn one_lost_lun_names_the_attachment_and_two_their_server() {
    let name = |luns: usize| explained(&lost("fs5", luns, 1000)).remove(0).0;
    assert!(name(1).starts_with("ddn2.") && name(1).ends_with(".fs5"), "{}", name(1));
    assert_eq!(name(2), "fs5");
}

#[test]
fn three_servers_within_an_hour_are_their_controller() {
    let three = |last_s: i64| {
        let servers = [("fs5", 0), ("fs6", 100), ("fs7", last_s)];
        explained(&servers.map(|(server, since_s)| lost(server, 6, since_s)).concat())
    };
    assert_eq!(three(3600), [("ddn2".into(), "controller-of-servers")]);
    assert_eq!(three(3601).len(), 3, "one by one");
    let two = |last_s: i64| explained(&[lost("fs5", 6, 0), lost("fs6", 6, last_s)].concat());
    assert_eq!(two(300), [("ddn2".into(), "controller-of-servers")], "two at the same moment");
    assert_eq!(two(301).len(), 2);
}

#[test]
fn trouble_elsewhere_at_another_time_does_not_hide_a_part() {
    let mut suspects = slow(&["ddn2.00", "ddn2.01", "ddn2.02"]);
    // A backup of the night before, on many LUNs of other controllers.
    let mut night = trouble(Relation::High, 0);
    night.last = UnixSeconds(500);
    let others = ["ddn1.00", "ddn1.05", "ddn3.00", "ddn3.09", "ddn4.01", "ddn4.10"];
    suspects.extend(others.map(|lun| (primary(lun), night.clone())));
    assert!(explained(&suspects).contains(&("ddn2".into(), "dense-part")));
}

#[test]
fn a_server_that_was_down_is_not_dated_by_what_it_lost_before() {
    let server = |mut lost: Vec<(String, Episode)>| {
        let mut early = trouble(Relation::Silent, 0);
        early.last = UnixSeconds(900);
        lost.push((lost[0].0.clone(), early));
        let roster = roster();
        let found = explain(&roster, faults(&roster, &lost), &Without::default()).0;
        let down = found.iter().find(|found| found.rule.id == "server-down").expect("it is down");
        down.troubles.iter().map(|trouble| trouble.episode.first).min()
    };
    assert_eq!(server(lost("fs5", 6, 10_000)), Some(UnixSeconds(10_000)));
}

#[test]
fn loads_are_told_last_and_by_the_part_that_they_share() {
    let roster = roster();
    let load = |name: String| {
        let mut episode = Episode::default();
        let known = trouble(Relation::High, 1000);
        episode.observe(Metric::Work, &CDF, UnixSeconds(1000), known.evidence[&Metric::Await].peak);
        Trouble { component: roster.find(&name).expect(&name), episode, is_load: true, is_open: true }
    };
    let topology = topology();
    let of_server = topology.luns.keys().filter(|lun| topology_primary(lun) == "fs5").map(|lun| primary(lun));
    let mut troubles: Vec<Trouble> = of_server.map(load).collect();
    troubles.extend(faults(&roster, &slow(&["ddn4.00"])));
    let found = explain(&roster, troubles, &Without::default()).0;
    let said: Vec<_> =
        found.iter().map(|found| (found.claim.part.name.as_str(), found.named.cause)).collect();
    assert_eq!(
        said,
        [(primary("ddn4.00").as_str(), Cause::ComponentFault), ("fs5", Cause::SingleLunWorkload)]
    );
}

#[test]
fn a_component_jitters_beyond_a_quarter_and_twice_its_peers() {
    assert!(jitters(0.251, 0.1) && !jitters(0.25, 0.1));
    assert!(jitters(0.501, 0.25) && !jitters(0.5, 0.25));
}

#[test]
fn several_parts_are_found_one_after_the_other() {
    let topology = topology();
    let of = |server: &str| {
        let luns = topology.luns.keys().filter(|lun| topology_primary(lun) == server);
        luns.map(|lun| (primary(lun), trouble(Relation::High, 1000))).collect::<Vec<_>>()
    };
    let found = explained(&[of("fs5"), of("fs9")].concat());
    assert_eq!(found, [("fs5".into(), "dense-part"), ("fs9".into(), "dense-part")]);
}

#[test]
fn preferred_attachments_that_are_unused_are_lost_also_where_no_taker_was_recorded() {
    let cause = |priority: u32| {
        let (roster, topology) = (roster(), topology());
        let of = |name: &String| {
            let known = &topology.attachments[name];
            known.priority == priority && known.lun.starts_with("ddn2.0")
        };
        let names = topology.attachments.keys().filter(|name| of(name));
        let suspects: Vec<(String, Episode)> =
            names.map(|name| (name.clone(), trouble(Relation::Idle, 1000))).collect();
        let found = explain(&roster, faults(&roster, &suspects), &Without::default()).0;
        assert_eq!(found.len(), 1);
        found[0].named.cause
    };
    assert_eq!(cause(1), Cause::LostAttachment);
    assert_eq!(cause(2), Cause::Unknown, "a second path may be idle");
}

#[test]
fn causes_of_several_components_behind_one_part() {
    let named = |kind: Kind, most: Cause, jittery: usize, is_unused: bool| {
        let shared = SharedTrouble { kind, most, with_most: 3, components: 4, jittery, is_unused };
        let named = shared.cause(&Without::default());
        (named.cause, named.spoken[0].rule.id)
    };
    let unused = |most: Cause, is_unused: bool| named(Kind::Server, most, 0, is_unused);
    assert_eq!(unused(Cause::Unknown, true), (Cause::LostAttachment, "unused-paths"));
    assert_eq!(unused(Cause::Unknown, false), (Cause::Unknown, "majority"));
    assert_eq!(unused(Cause::PacketLoss, true), (Cause::PacketLoss, "majority"));
    let jitter = |kind: Kind, jittery: usize| named(kind, Cause::ComponentFault, jittery, false).0;
    assert_eq!(jitter(Kind::Controller, 3), Cause::DrawerError);
    assert_eq!(jitter(Kind::Drawer, 3), Cause::DrawerError);
    assert_eq!(jitter(Kind::Controller, 2), Cause::ComponentFault, "half is not most");
    assert_eq!(jitter(Kind::Server, 4), Cause::ComponentFault);
    for most in [Cause::DiskBusy, Cause::FailSlow, Cause::DiskStall] {
        assert_eq!(named(Kind::Server, most, 0, false), (Cause::ComponentFault, "part-fault"));
    }
    assert_eq!(named(Kind::Server, Cause::SingleLunWorkload, 0, false).1, "majority");
}

#[test]
fn a_lun_whose_recorded_attachments_are_all_unused_is_lost_if_there_are_two() {
    let topology = topology();
    let paths: Vec<String> = topology
        .attachments
        .iter()
        .filter(|(_, known)| known.lun == "ddn2.05" && known.priority <= 2)
        .map(|(name, _)| name.clone())
        .collect();
    let idle: Vec<_> = paths.iter().map(|name| (name.clone(), trouble(Relation::Idle, 1000))).collect();
    assert_eq!(explained(&idle)[0].1, "lost-attachment", "both are unused");
    let one: Vec<_> = idle.into_iter().filter(|(name, _)| *name == primary("ddn2.05")).collect();
    assert_eq!(explained(&one)[0].1, "alone", "the second is idle as usual");
}

/// Troubles of one server: what each metric shows, from when until when, and how severe.
fn troubles_of(server: &str, seen: &[(Metric, Relation, f64, i64, i64)], is_load: bool) -> Vec<Trouble> {
    let roster = site_of_three();
    let component = roster.find(server).unwrap();
    let trouble = |&(metric, relation, severity, from, to): &(Metric, Relation, f64, i64, i64)| {
        let mut episode = Episode { domain: metric.role().domain(), persistence: 5, ..Episode::default() };
        let seen = crate::diagnose::evidence::Observation {
            from: UnixSeconds(from),
            to: UnixSeconds(to),
            score: severity,
            threshold: 1.0,
            level: 2.0,
            peer_level: 1.0,
            ratio: 2.0,
            relation,
            jitters: false,
            by_load: None,
        };
        episode.observe(metric, &CDF, UnixSeconds(from), seen);
        Trouble { component, episode, is_load, is_open: false }
    };
    seen.iter().map(trouble).collect()
}

fn site_of_three() -> Roster {
    let observed: Vec<Observed> = (1..=3)
        .map(|n| Observed { name: format!("oss{n}"), has_network: true, ..Observed::default() })
        .collect();
    Roster::new(&observed, None)
}

fn causes(troubles: Vec<Trouble>) -> Vec<(String, Cause, usize)> {
    let explained = explain(&site_of_three(), troubles, &Without::default()).0;
    let mut said: Vec<(String, Cause, usize)> = explained
        .into_iter()
        .map(|found| (found.claim.part.name, found.named.cause, found.troubles.len()))
        .collect();
    said.sort();
    said
}

#[test]
fn a_host_short_of_cpu_explains_a_less_severe_loss_of_its_own_time() {
    let starved = (Metric::CpuWait, Relation::High, 4.0, 100, 200);
    let loss =
        |severity: f64, from: i64, to: i64| (Metric::RetransFromClients, Relation::High, severity, from, to);
    let said = |loss| causes(troubles_of("oss1", &[starved, loss], false));
    let both = [("oss1".to_string(), Cause::PacketLoss, 1), ("oss1".to_string(), Cause::CpuStarved, 1)];
    assert_eq!(said(loss(2.0, 100, 200)), [("oss1".to_string(), Cause::CpuStarved, 2)]);
    assert_eq!(said(loss(4.0, 100, 200)), both, "as severe is a trouble of its own");
    assert_eq!(said(loss(2.0, 300, 400)), both, "at another time");
    let other = [troubles_of("oss1", &[starved], false), troubles_of("oss2", &[loss(2.0, 100, 200)], false)];
    assert_eq!(causes(other.concat()).len(), 2, "of another server");
    let hog = (Metric::Work, Relation::High, 2.0, 100, 200);
    assert_eq!(causes(troubles_of("oss1", &[starved, hog], false)).len(), 2, "a CPU hog reads nothing");
    let pressed = (Metric::MemoryWait, Relation::High, 4.0, 100, 200);
    assert_eq!(
        causes(troubles_of("oss1", &[pressed, hog], false)),
        [("oss1".to_string(), Cause::MemoryPressure, 2)],
        "what was dropped is read again"
    );
}

#[test]
fn a_host_stands_before_its_consequences_however_long_they_last() {
    let starved = (Metric::CpuWait, Relation::High, 4.0, 100, 200);
    let mut troubles =
        troubles_of("oss1", &[(Metric::RetransFromClients, Relation::High, 3.9, 100, 200), starved], false);
    troubles[0].episode.persistence = 500;
    let explained = explain(&site_of_three(), troubles, &Without::default()).0;
    let domains: Vec<Domain> = explained[0].troubles.iter().map(|trouble| trouble.episode.domain).collect();
    assert_eq!(domains, [Domain::Host, Domain::Network]);
}

#[test]
fn a_load_without_more_work_is_not_told_and_that_is_said() {
    let load = troubles_of("oss1", &[(Metric::WrSec, Relation::High, 2.0, 100, 900)], true);
    let (explained, excused) = explain(&site_of_three(), load.clone(), &Without::default());
    assert!(explained.is_empty());
    assert_eq!((excused[0].by.rule.id, excused.len()), ("no-extra-work", 1));
    let without = Without::rule(crate::diagnose::rules::find("no-extra-work").unwrap());
    assert_eq!(explain(&site_of_three(), load, &without).0.len(), 1);
}

#[test]
fn loads_that_begin_at_one_moment_are_one_job() {
    let load = |server: &str, from: i64| {
        troubles_of(server, &[(Metric::Work, Relation::High, 2.0, from, 900)], true)
    };
    let said = |second: i64| causes([load("oss1", 100), load("oss2", second)].concat());
    assert_eq!(said(400), [("oss1".to_string(), Cause::Load, 2)], "within five minutes");
    assert_eq!(said(401).len(), 2);
    let three = causes([load("oss1", 100), load("oss2", 100), load("oss3", 200)].concat());
    assert_eq!(three, [("oss1".to_string(), Cause::Load, 3)]);
    let alone = explain(&site_of_three(), load("oss1", 100), &Without::default()).0;
    assert!(alone.len() == 1 && !alone[0].claim.is_merged, "one load is no job of several");
    let fault = troubles_of("oss3", &[(Metric::Cost, Relation::High, 3.0, 100, 900)], false);
    let with_fault = causes([load("oss1", 100), load("oss2", 100), fault].concat());
    assert_eq!(with_fault.len(), 2, "a fault is no part of a job: {with_fault:?}");
}

#[test]
fn three_parts_that_become_slow_at_one_moment_and_not_for_an_hour_are_an_observation() {
    let slow = |server: &str, from: i64, to: i64| {
        troubles_of(server, &[(Metric::Cost, Relation::High, 2.0, from, to)], false)
    };
    let load =
        |from: i64, to: i64| troubles_of("oss2", &[(Metric::Work, Relation::High, 2.0, from, to)], true);
    let without_load = |third: i64, to: i64| {
        [slow("oss1", 100, to), slow("oss2", 200, to), slow("oss3", third, to)].concat()
    };
    let said = |third: i64, to: i64| {
        let all = [without_load(third, to), load(200, to)].concat();
        let mut said = causes(all);
        said.retain(|(_, cause, _)| *cause != Cause::Load);
        said
    };
    let no_job = causes(without_load(400, 3699));
    assert!(no_job.iter().all(|(_, cause, _)| *cause == Cause::DiskBusy), "no job shows: {no_job:?}");
    assert_eq!(no_job.len(), 3);
    assert_eq!(said(400, 3699), [("oss1".to_string(), Cause::SlowTogether, 3)]);
    assert_eq!(said(401, 3699).len(), 3, "not at one moment");
    let lasting = said(400, 3800);
    assert!(lasting.iter().all(|(_, cause, _)| *cause == Cause::DiskBusy), "an hour: {lasting:?}");
    assert_eq!(
        causes([slow("oss1", 100, 900), slow("oss2", 100, 900)].concat()).len(),
        2,
        "two are two faults"
    );
}

#[test]
fn the_same_trouble_again_within_the_day_is_the_same_incident() {
    let slow = |server: &str, metric: Metric, from: i64, to: i64| {
        troubles_of(server, &[(metric, Relation::High, 2.0, from, to)], false)
    };
    let disk = |from: i64, to: i64| slow("oss1", Metric::Cost, from, to);
    let said = |troubles: &[Vec<Trouble>]| causes(troubles.concat()).len();
    assert_eq!(said(&[disk(0, 900), disk(86_400, 90_000)]), 1);
    assert_eq!(said(&[disk(0, 900), disk(86_401, 90_000)]), 2, "a day later it is another");
    assert_eq!(
        said(&[disk(0, 900), disk(50_000, 51_000), disk(100_000, 101_000)]),
        2,
        "every night is no single one"
    );
    assert_eq!(said(&[disk(0, 90_000), disk(93_600, 95_000)]), 1, "an hour after it was over");
    assert_eq!(said(&[disk(0, 90_000), disk(93_601, 95_000)]), 2);
    assert_eq!(said(&[disk(0, 900), slow("oss2", Metric::Cost, 5000, 6000)]), 2, "another part");
    assert_eq!(said(&[disk(0, 900), slow("oss1", Metric::Txbyt, 5000, 6000)]), 2, "another cause");
    let found = explain(&site_of_three(), [disk(9000, 9900), disk(0, 900)].concat(), &Without::default()).0;
    assert_eq!((found.len(), found[0].rule.id, found[0].troubles.len()), (1, "reopened", 2));
    assert_eq!(found[0].claim.numbers.get("pause"), Some(8100.0 / 3600.0));
    assert_eq!(found[0].named.cause, Cause::DiskBusy);
}

#[test]
fn a_group_is_slow_at_twice_its_past_with_a_tenth_of_the_time_lost_and_the_same_work() {
    let speaks = |ratio: f64, lost: f64, unlike: f64| {
        everybody_slow(&GroupEffect { effect: ratio.ln(), lost, unlike }, &Without::default()).is_some()
    };
    assert!(speaks(2.01, 0.11, 1.0) && !speaks(1.99, 0.5, 1.0) && !speaks(5.0, 0.09, 1.0));
    assert!(speaks(3.0, 0.1, 2.0) && !speaks(3.0, 0.5, 2.01));
    let switched_off = Without::rule(everybody_slow_rule());
    let slow = GroupEffect { effect: 2.0, lost: 0.5, unlike: 1.0 };
    assert_eq!(everybody_slow(&slow, &switched_off), None);
    assert_eq!(everybody_slow_rule().id, "everybody-slow");
}

/// Which parts explain slow disks, given how many disks each server has and which are slow.
fn slow_disks(disks_of: &[usize], slow: &[(usize, usize)]) -> Vec<(Kind, String)> {
    let name = |server: usize, disk: usize| format!("oss{server}:sd{disk}");
    let all =
        disks_of.iter().enumerate().flat_map(|(server, disks)| (0..*disks).map(move |disk| (server, disk)));
    let observed: Vec<Observed> = all
        .map(|(server, disk)| Observed {
            name: name(server, disk),
            server: Some(format!("oss{server}")),
            ..Observed::default()
        })
        .collect();
    let roster = Roster::new(&observed, None);
    let trouble = |&(server, disk): &(usize, usize)| {
        let [trouble] = troubles_of("oss1", &[(Metric::Cost, Relation::High, 3.0, 0, 100)], false)
            .try_into()
            .expect("one trouble");
        Trouble { component: roster.find(&name(server, disk)).unwrap(), ..trouble }
    };
    let troubles = slow.iter().map(trouble).collect();
    let mut parts: Vec<(Kind, String)> = explain(&roster, troubles, &Without::default())
        .0
        .into_iter()
        .map(|found| (found.claim.part.kind, found.claim.part.name))
        .collect();
    parts.sort();
    parts
}

#[test]
fn both_of_two_disks_name_their_server_and_two_of_three_do_not() {
    let server = |name: &str| (Kind::Server, name.to_string());
    assert_eq!(slow_disks(&[2, 20, 20], &[(0, 0), (0, 1)]), [server("oss0")]);
    let two_of_three = slow_disks(&[3, 20, 20], &[(0, 0), (0, 1)]);
    assert_eq!(two_of_three.len(), 2, "{two_of_three:?}");
    assert_eq!(slow_disks(&[3, 20, 20], &[(0, 0), (0, 1), (0, 2)]), [server("oss0")]);
    let all_of_one = slow_disks(&[4], &[(0, 0), (0, 1), (0, 2)]);
    assert_eq!(
        all_of_one,
        [(Kind::Device, "oss0:sd0".to_string())],
        "with nothing outside to compare with, no part is accused: they are slow together"
    );
}
