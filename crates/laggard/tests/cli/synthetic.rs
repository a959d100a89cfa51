//! Recordings made for the tests: seeded, with a known truth.

use laggard_sim::chance::Chance;
use std::fmt::Write;

/// Twelve disks of one node, latency every 15 s, three hours a day, with a load that swings and differs between disks.
/// `slow` disks take `factor` times as long.
pub fn twelve_disks(seed: u64, days: i64, slow: Option<(usize, f64)>) -> String {
    let mut chance = Chance::new(seed);
    let static_load: Vec<f64> = (0..12).map(|_| (0.15 * chance.normal()).exp()).collect();
    let mut text = String::from("ts,disk_id,throughput,latency\n");
    for (disk, static_load) in static_load.iter().enumerate() {
        for day in 0..days {
            for slot in 0..720 {
                let time = 1_614_556_800 + day * 86_400 + 75_600 + slot * 15;
                let swing = 1.0 + 0.4 * ((slot + 97 * day) as f64 / 150.0).sin();
                let load = 100.0 * swing * static_load * (0.2 * chance.normal()).exp();
                let factor = slow.filter(|(which, _)| *which == disk).map_or(1.0, |(_, factor)| factor);
                let latency = factor * 0.3 * (1.0 + 0.3 * load / 100.0) * (0.2 * chance.normal()).exp();
                let missing = chance.uniform() < 0.002;
                let _ = if missing {
                    writeln!(text, "{time},disk{disk:02},{load:.2},")
                } else {
                    writeln!(text, "{time},disk{disk:02},{load:.2},{latency:.5}")
                };
            }
        }
    }
    text
}

/// Long CSV of `servers` with one metric at one level per server, a little noise, every `step` seconds.
pub fn long(metric: &str, levels: &[f64], seconds: i64, step: i64) -> String {
    let mut chance = Chance::new(77);
    let mut text = String::from("timestamp,component,metric,value\n");
    for time in (0..seconds).step_by(step as usize) {
        for (server, level) in levels.iter().enumerate() {
            let value = level * (1.0 + 0.05 * chance.normal());
            let _ = writeln!(text, "{},oss{:02},{metric},{value:.4}", 1_700_000_100 + time, server + 1);
        }
    }
    text
}
