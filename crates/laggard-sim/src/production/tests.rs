use super::*;
use laggard_core::model::Topology;

const SITE: Site = Site { hardware: 1, priorities: 2, level: Level::Even };

fn simulate(incidents: Vec<Incident>, hours: usize) -> Vec<Slot> {
    let mut production = Production::new(SITE, 15, 4, incidents);
    (0..hours * 240).map(|_| production.next_slot()).collect()
}

fn mean(slots: &[Slot], name: &str, value: impl Fn(&Reading) -> f64) -> f64 {
    let index = SITE.index(Attachment::parse(name).unwrap());
    let known: Vec<f64> = slots.iter().filter_map(|slot| slot.readings[index].as_ref()).map(value).collect();
    known.iter().sum::<f64>() / known.len() as f64
}

fn from_the_start(happening: Happening) -> Vec<Incident> {
    vec![Incident { happening, from_s: 0.0, to_s: f64::INFINITY }]
}

#[test]
fn the_same_seed_gives_the_same_recording() {
    let (one, other) = (simulate(Vec::new(), 1), simulate(Vec::new(), 1));
    assert!(one.iter().zip(&other).all(|(a, b)| a.readings == b.readings));
}

#[test]
fn samples_are_lost_now_and_then_and_by_whole_servers() {
    let slots = simulate(Vec::new(), 24);
    let missing = |slot: &Slot| slot.readings.iter().filter(|reading| reading.is_none()).count();
    let lost: usize = slots.iter().map(missing).sum();
    let per_server_day = lost as f64 / SITE.len() as f64;
    assert!((1.2..4.0).contains(&per_server_day), "{per_server_day}");
    assert!(slots.iter().all(|slot| missing(slot).is_multiple_of(18)), "a server records 18 attachments");
}

#[test]
fn the_topology_file_names_every_attachment() {
    let topology = Topology::parse(&SITE.topology()).unwrap();
    assert_eq!(topology.attachments.len(), LUNS * PRIORITIES);
    assert_eq!(topology.luns.len(), LUNS);
}

#[test]
fn load_is_on_primary_attachments_and_the_generations_differ() {
    let slots = simulate(Vec::new(), 6);
    assert!(mean(&slots, "6.00.1", |reading| reading.tps) > 1.0);
    assert!(mean(&slots, "6.00.2", |reading| reading.tps) < 0.5);
    let written = |name: &str| mean(&slots, name, |reading| reading.wr_sec);
    assert!(written("6.48.1") > 1.2 * written("6.00.1"));
}

#[test]
fn a_server_that_is_down_is_silent_and_its_load_is_on_the_next() {
    let slots = simulate(from_the_start(Happening::ServerDown { server: 23 }), 4);
    let primary = SITE.index(Attachment::parse("8.07.24").unwrap());
    assert!(slots.iter().all(|slot| slot.readings[primary].is_none()));
    assert!(mean(&slots, "8.07.17", |reading| reading.tps) > 1.0);
}

#[test]
fn a_failed_controller_takes_four_servers_paths() {
    let slots = simulate(from_the_start(Happening::ControllerFailed { array: 13, is_b: false }), 1);
    let lost: Vec<usize> = SITE
        .attachments()
        .filter(|attachment| slots[0].readings[SITE.index(*attachment)].is_none() && attachment.array() == 13)
        .map(Attachment::server)
        .collect();
    let servers: std::collections::BTreeSet<usize> = lost.into_iter().collect();
    assert_eq!(servers, [104, 105, 108, 109].into());
}

#[test]
fn a_slow_lun_slows_every_burst() {
    let offered = |incidents: Vec<Incident>| {
        let slots = simulate(incidents, 12);
        mean(&slots, "7.00.9", |reading| reading.rd_sec + reading.wr_sec)
    };
    let lun = Attachment::parse("15.37.78").unwrap().lun;
    let (healthy, slowed) =
        (offered(Vec::new()), offered(from_the_start(Happening::SlowLun { lun, factor: 20.0 })));
    assert!(slowed < 0.9 * healthy, "{slowed} against {healthy}");
}

#[test]
fn an_intermittent_lun_is_slow_for_ten_seconds_of_every_two_minutes() {
    let happening = Happening::IntermittentLun { lun: 7, factor: 4.0 };
    let factor = |after_s: f64, slot_s: f64| happening.delay(7, after_s, slot_s).0;
    assert_eq!([factor(0.0, 10.0), factor(10.0, 10.0), factor(120.0, 10.0)], [4.0, 1.0, 4.0]);
    assert_eq!([factor(0.0, 15.0), factor(110.0, 15.0)], [3.0, 2.0], "a part of the slot");
    let mean = (0..80).map(|slot| factor(f64::from(slot) * 15.0, 15.0)).sum::<f64>() / 80.0;
    assert!((mean - 1.25).abs() < 1e-9, "{mean}");
    assert_eq!(happening.delay(8, 0.0, 10.0).0, 1.0);
}

#[test]
fn drawer_errors_jitter_and_resets_wait_long() {
    let largest = |happening: Happening| {
        let slots = simulate(from_the_start(happening), 1);
        let index = SITE.index(Attachment::parse("12.00.49").unwrap());
        slots
            .iter()
            .filter_map(|slot| slot.readings[index])
            .map(|reading| reading.await_ms)
            .fold(0.0, f64::max)
    };
    assert!(largest(Happening::DrawerErrors { array: 6, luns: 60 }) > 300.0);
    let resets = largest(Happening::LunResets { array: 6, servers: 0b0011_0011 });
    assert!((50_000.0..103_500.0).contains(&resets), "{resets}");
}

#[test]
fn every_event_of_the_paper_is_in_the_catalogue() {
    let of_kind = |kind: &str| CATALOGUE.iter().filter(|entry| entry.kind == kind).count();
    assert_eq!(["Controller failure", "File server down"].map(of_kind), [5, 3]);
    assert_eq!(["Misconfiguration / bad state", "Drawer error", "Single LUN"].map(of_kind), [6, 4, 5]);
    for entry in CATALOGUE {
        for happening in (entry.happenings)() {
            let shown = SITE.attachments().filter(|attachment| happening.shows_in(*attachment, 1e6)).count();
            let expected = match happening {
                // Nine primaries, nine secondaries, and nine that take over.
                Happening::ServerDown { .. } | Happening::ServerUnused { .. } => 27,
                // 36 primaries, 36 secondaries, and 18 that take over: the others' secondary went too.
                Happening::ControllerFailed { .. } => 90,
                Happening::DrawerErrors { luns, .. } => luns,
                Happening::SlowLun { .. }
                | Happening::IntermittentLun { .. }
                | Happening::LunWorkload { .. }
                | Happening::SlowWithoutLoad { .. } => 1,
                Happening::LunResets { .. } | Happening::PathsLost { .. } => shown,
            };
            assert_eq!(shown, expected, "{} {}", entry.device, entry.time);
            assert!((1..144).contains(&shown), "{} {}", entry.device, entry.time);
        }
    }
}
