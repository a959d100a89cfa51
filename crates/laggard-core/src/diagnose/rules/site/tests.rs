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
    let two = named(&["fs9", "fs10"]);
    assert!(two.len() == 2 && two.iter().all(|(_, kind, _)| *kind == Kind::Server), "{two:?}");
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
