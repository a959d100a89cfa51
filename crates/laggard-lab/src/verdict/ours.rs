//! Ours: the operator of `laggard diagnose` without training, fed as it would be live.

use super::Indictment;
use laggard_core::compare::Method;
use laggard_core::diagnose::{Config, Diagnoser, Event, Sample};
use laggard_core::model::Roster;
use laggard_core::model::groups::Observed;
use laggard_core::model::metric::Role;
use laggard_sim::bench::{METRICS, Trace};

/// The peer group of a bench.
pub fn roster(servers: usize) -> Roster {
    let observed = |server: usize| Observed {
        name: format!("oss{:02}", server + 1),
        group: None,
        server: None,
        has_network: true,
    };
    Roster::new(&(0..servers).map(observed).collect::<Vec<_>>(), None)
}

/// Who is indicted at the end, why, and when each was first.
pub fn judge(trace: &Trace, method: &'static Method) -> Vec<Indictment> {
    let config = Config { interval_s: 1, method, thresholds: None, lateness_slots: 0, resolved: Vec::new() };
    let mut diagnoser = Diagnoser::new(config, roster(trace.servers));
    let mut said: Vec<Option<f64>> = vec![None; trace.servers];
    let compared = METRICS.iter().filter(|metric| metric.properties().role != Role::Context);
    let compared: Vec<_> = compared.copied().collect();
    for second in 0..trace.seconds {
        for &metric in &compared {
            for (component, &value) in trace.row(metric, second).iter().enumerate() {
                diagnoser.push(Sample { time_s: second as i64, component, metric, value });
            }
        }
        let moved = diagnoser
            .drain()
            .iter()
            .any(|event| matches!(event, Event::Persistence { ranking, .. } if !ranking.is_empty()));
        if moved {
            for incident in diagnoser.diagnosis().incidents {
                said[incident.worst].get_or_insert(second as f64);
            }
        }
    }
    diagnoser.finish();
    let incidents = diagnoser.diagnosis().incidents;
    let indict = |incident: &laggard_core::diagnose::Incident| Indictment {
        server: incident.worst,
        cause: incident.cause,
        said_s: said[incident.worst].unwrap_or(trace.seconds as f64),
    };
    incidents.iter().map(indict).collect()
}
