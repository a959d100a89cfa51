//! How good the untrained mode is, on synthetic recordings with a known truth:
//! `cargo run --release -p laggard-core --example untrained_accuracy`. The table is in docs/accuracy.md.
//!
//! Two models, both noise around levels and no physics (laggard-sim has that): a storage node with twelve disks whose
//! load swings and differs between them, and a test bench of nine servers with the six faults as a real bench showed them.
//! Thresholds were chosen on the development seeds only; the held-out seeds are the score.

use laggard_core::compare::{Method, cdf::CDF, limp::LIMP};
use laggard_core::diagnose::{Config, Diagnoser, Sample};
use laggard_core::ids::{ComponentId, UnixSeconds};
use laggard_core::model::groups::Observed;
use laggard_core::model::{Metric, Roster};
use laggard_sim::chance::Chance;
use std::ops::Range;

const DEVELOPMENT: Range<u64> = 0..120;
const HELD_OUT: Range<u64> = 300_000..300_240;

fn main() {
    println!(
        "| model | seeds | faults | found | right cause | healthy recordings | with a false alarm | false incidents beside a fault |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for (name, seeds) in [("development", DEVELOPMENT), ("held-out", HELD_OUT)] {
        score(&format!("twelve disks, 5 days | {name}"), seeds.clone(), twelve_disks);
        score(&format!("test bench, 150 s | {name}"), seeds, test_bench);
    }
}

/// A recording and its truth: the faulty component and the cause, or nothing.
struct Experiment {
    method: &'static Method,
    components: usize,
    has_network: bool,
    samples: Vec<Sample>,
    truth: Option<(usize, &'static str)>,
}

fn sample(second: i64, component: usize, metric: Metric, value: f64) -> Sample {
    Sample { time: UnixSeconds(second), component: ComponentId::new(component), metric, value }
}

fn score(name: &str, seeds: Range<u64>, model: fn(u64) -> Experiment) {
    let (mut faults, mut found, mut right, mut healthy, mut alarmed, mut beside) = (0, 0, 0, 0, 0, 0);
    for seed in seeds {
        let experiment = model(seed);
        let observed: Vec<Observed> = (0..experiment.components)
            .map(|n| Observed {
                name: format!("c{n:02}"),
                has_network: experiment.has_network,
                ..Observed::default()
            })
            .collect();
        let config = Config::untrained(experiment.method, experiment.method.params.interval_s);
        let mut diagnoser = Diagnoser::new(config, Roster::new(&observed, None));
        experiment.samples.into_iter().for_each(|sample| diagnoser.push(sample));
        diagnoser.finish();
        let incidents = diagnoser.diagnosis().incidents;
        let Some((faulty, cause)) = experiment.truth else {
            healthy += 1;
            alarmed += usize::from(!incidents.is_empty());
            continue;
        };
        faults += 1;
        let hit = incidents.iter().find(|incident| incident.component == format!("c{faulty:02}"));
        found += usize::from(hit.is_some());
        right += usize::from(hit.is_some_and(|incident| incident.cause.name() == cause));
        beside += incidents.len() - usize::from(hit.is_some());
    }
    println!("| {name} | {faults} | {found} | {right} | {healthy} | {alarmed} | {beside} |");
}

/// A node whose disks differ in load by up to half, three hours a day; one disk 1.6 to 8 times as slow, always, from half-way,
/// on the last day, or now and then.
fn twelve_disks(seed: u64) -> Experiment {
    let chance = &mut Chance::new(seed);
    let truth = (seed % 2 == 1).then(|| (chance.below(12), "disk-busy"));
    let (factor, mode) = ([1.6, 2.0, 3.0, 5.0, 8.0][chance.below(5)], chance.below(4));
    let (spread, sway, steadiness) =
        (chance.between(0.03, 0.5), chance.between(0.05, 0.4), chance.between(0.9, 0.999));
    let (base, sensitivity, noise) =
        ([0.2, 6.0, 200.0][seed as usize % 3], chance.between(0.05, 0.6), chance.between(0.05, 0.35));
    let load: Vec<f64> = (0..12).map(|_| (spread * chance.normal()).exp()).collect();
    let make: Vec<f64> = (0..12).map(|_| (0.04 * chance.normal()).exp()).collect();
    let mut wander = [0.0; 12];
    let mut samples = Vec::new();
    for day in 0..5 {
        for slot in 0..720 {
            let shared = (0.4 * (slot as f64 / 200.0 + day as f64).sin()).exp();
            let time_s = day * 86_400 + slot * 15;
            let phase = day * 3 + slot / 240;
            for (disk, wander) in wander.iter_mut().enumerate() {
                *wander = steadiness * *wander + (1.0 - steadiness * steadiness).sqrt() * chance.normal();
                let work = shared * load[disk] * (sway * *wander).exp();
                let hit = match mode {
                    0 => true,
                    1 => day * 720 + slot >= 1800,
                    2 => day == 4,
                    _ => phase % 2 == 0,
                };
                let slow = if hit && truth.is_some_and(|(faulty, _)| faulty == disk) { factor } else { 1.0 };
                let spike = if chance.uniform() < 0.003 { chance.between(2.0, 20.0) } else { 1.0 };
                let value = slow
                    * spike
                    * base
                    * make[disk]
                    * (1.0 + sensitivity * work)
                    * (noise * chance.normal()).exp();
                samples.push(sample(time_s, disk, Metric::Throughput, 100.0 * work));
                samples.push(sample(time_s, disk, Metric::Await, value));
            }
        }
    }
    Experiment { method: &CDF, components: 12, has_network: false, samples, truth }
}

const FAULTS: [(&str, &str); 7] = [
    ("none", ""),
    ("disk-hog", "disk-hog"),
    ("disk-busy", "disk-busy"),
    ("write-network-hog", "network-hog"),
    ("read-network-hog", "network-hog"),
    ("receive-pktloss", "packet-loss"),
    ("send-pktloss", "packet-loss"),
];

/// Nine servers under a write, read or small-file load, 50 s clean, 80 s fault, 20 s clean; sizes of the effects as measured on a
/// real bench with these faults.
fn test_bench(seed: u64) -> Experiment {
    let chance = &mut Chance::new(seed ^ 0xbe9c);
    let (fault, cause) = FAULTS[seed as usize % 7];
    let workload = (seed as usize / 7) % 3;
    let faulty = chance.below(9);
    let truth = (fault != "none").then_some((faulty, cause));
    let spread = [0.02, 0.015, 0.05][workload];
    let unrest = [0.14, 0.08, 0.5][workload];
    let own: Vec<(f64, f64)> =
        (0..9).map(|_| ((spread * chance.normal()).exp(), (2.0 * spread * chance.normal()).exp())).collect();
    let mut wander = [[0.0; 4]; 9];
    let mut samples = Vec::new();
    for second in 0..150 {
        let on = (50..130).contains(&second);
        let drop = match fault {
            "disk-hog" => 0.3,
            "receive-pktloss" | "send-pktloss" => 0.4,
            "none" => 1.0,
            _ => 0.6,
        };
        let volume = 8000.0 * if on { drop } else { 1.0 };
        for (server, wander) in wander.iter_mut().enumerate() {
            for (index, state) in wander.iter_mut().enumerate() {
                let rho: f64 = if index < 2 { 0.6 } else { 0.9 };
                *state = rho * *state + (1.0 - rho * rho).sqrt() * chance.normal();
            }
            let bad = on && server == faulty;
            let moved = volume * own[server].0 * (0.08 * wander[0]).exp();
            let (mut rd, wr) = match workload {
                0 => (if chance.uniform() < 0.05 { chance.between(0.0, 80.0) } else { 0.0 }, moved),
                1 => (moved, if chance.uniform() < 0.1 { chance.between(0.0, 100.0) } else { 0.0 }),
                _ => (0.05 * moved * (0.5 * wander[1]).exp(), 0.3 * moved * (0.3 * wander[0]).exp()),
            };
            let mut rx = (wr * 540.0 + 20_000.0) * (0.02 * chance.normal()).exp();
            let mut tx = (rd * 540.0 + wr * 15.0 + 20_000.0) * (0.02 * chance.normal()).exp();
            let mut latency = 13.0 * own[server].1 * (unrest * wander[1]).exp();
            let (mut to, mut from) = (60.0 * (0.3 * wander[2]).exp(), 200.0 * (0.4 * wander[3]).exp());
            if bad {
                match fault {
                    "disk-hog" => {
                        rd += chance.between(5600.0, 8400.0);
                        latency *= 4.8;
                        to *= 1.8;
                    }
                    "disk-busy" => {
                        latency *= if workload == 1 { 5.0 } else { 2.4 };
                        to *= 1.8;
                    }
                    "write-network-hog" => {
                        rx += 1.6e6;
                        tx = tx * 1.5 + 5e4;
                        from *= 0.15;
                    }
                    "read-network-hog" => {
                        tx += 1.5e6;
                        rx += 4e4;
                    }
                    "receive-pktloss" => {
                        from = (from * 0.015).max(1.2);
                        tx *= 1.4;
                    }
                    "send-pktloss" => {
                        to = (to * 0.02).max(1.1);
                        rx *= 1.8;
                    }
                    _ => {}
                }
            }
            let values = [
                (Metric::RdSec, rd),
                (Metric::WrSec, wr),
                (Metric::Await, latency),
                (Metric::Rxbyt, rx),
                (Metric::Txbyt, tx),
                (Metric::CwndToClients, to),
                (Metric::CwndFromClients, from),
            ];
            samples.extend(values.map(|(metric, value)| sample(second, server, metric, value)));
        }
    }
    Experiment { method: &LIMP, components: 9, has_network: true, samples, truth }
}
