//! How fast the comparison is: `cargo bench -p laggard-core`. Figures and machine in docs/performance.md.
//!
//! Single-threaded unless the name says otherwise. Data are drawn once, outside of the clock.

use divan::{Bencher, counter::ItemsCount};
use laggard_core::compare::{Method, Threshold, cdf::CDF, kl::KL, limp::LIMP};
use laggard_core::diagnose::training::Trained;
use laggard_core::diagnose::{Config, Diagnoser, Sample, Thresholds};
use laggard_core::grid::{Params, Window, Windower};
use laggard_core::ids::{ComponentId, Slot, UnixSeconds};
use laggard_core::model::groups::Observed;
use laggard_core::model::{Metric, Roster};
use laggard_sim::chance::Chance;

fn main() {
    divan::main();
}

/// await of a lightly loaded group: zeros between requests, a heavy tail, one component in 400 slow.
fn awaits(chance: &mut Chance, components: usize) -> Vec<f64> {
    let value = |component: usize, chance: &mut Chance| {
        let idle = chance.uniform() < 0.3;
        let slow = if component % 400 == 7 { 4.0 } else { 1.0 };
        if idle { 0.0 } else { slow * 5.0 * -(1.0 - chance.uniform()).ln() }
    };
    (0..components).map(|component| value(component, chance)).collect()
}

/// LISA'13, table 3: peer groups of 768, 384, 768, 384 attachments, 24 hours at 15 s.
const INTREPID_GROUPS: [usize; 4] = [768, 384, 768, 384];
const INTREPID_SLOTS: usize = 5760;

fn intrepid() -> (Roster, Vec<Vec<f64>>) {
    let mut observed = Vec::new();
    for (group, members) in INTREPID_GROUPS.iter().enumerate() {
        observed.extend((0..*members).map(|member| Observed {
            name: format!("{group}.{member:03}"),
            group: Some(group.to_string()),
            ..Observed::default()
        }));
    }
    let roster = Roster::new(&observed, None);
    let mut chance = Chance::new(0x5eed);
    let rows = (0..INTREPID_SLOTS).map(|_| awaits(&mut chance, observed.len())).collect();
    (roster, rows)
}

fn trained(roster: &Roster) -> Thresholds {
    let learnt = roster.components.iter().map(|component| (component.name.as_str(), Some(20.0)));
    Thresholds::new(String::new(), vec![Trained::new(&CDF, Metric::Await, 15, learnt)])
}

fn sample(second: i64, component: usize, value: f64) -> Sample {
    let component = ComponentId::new(component);
    Sample { time: UnixSeconds(second), component, metric: Metric::Await, value }
}

/// From samples to verdicts: smoothing, windows, scores, filter, persistence, incidents.
fn intrepid_day(bencher: Bencher, threads: usize, thresholds: impl Fn(&Roster) -> Option<Thresholds>) {
    let (roster, rows) = intrepid();
    let thresholds = thresholds(&roster);
    let pool = pool(threads);
    bencher.counter(ItemsCount::new(rows.len() * roster.components.len())).bench_local(|| {
        pool.install(|| {
            let config = Config { thresholds: thresholds.clone(), ..Config::untrained(&CDF, 15) };
            let mut diagnoser = Diagnoser::new(config, roster.clone());
            for (slot, row) in rows.iter().enumerate() {
                for (component, &value) in row.iter().enumerate() {
                    diagnoser.push(sample(slot as i64 * 15, component, value));
                }
                diagnoser.drain();
            }
            diagnoser.finish();
            diagnoser.diagnosis().incidents.len()
        })
    });
}

#[divan::bench(sample_count = 5)]
fn intrepid_day_trained(bencher: Bencher) {
    intrepid_day(bencher, 1, |roster| Some(trained(roster)));
}

#[divan::bench(sample_count = 5)]
fn intrepid_day_untrained(bencher: Bencher) {
    intrepid_day(bencher, 1, |_| None);
}

#[divan::bench(sample_count = 5)]
fn intrepid_day_untrained_on_two_threads(bencher: Bencher) {
    intrepid_day(bencher, 2, |_| None);
}

/// The same day as it is judged unless told otherwise: by `limp` and what work costs, with everything recorded that this asks for.
#[divan::bench(sample_count = 3)]
fn intrepid_day_by_work(bencher: Bencher) {
    let (roster, rows) = intrepid();
    let pool = pool(1);
    // Requests of 64 KiB, half of them read, in service for a third of their latency.
    let metrics = |await_ms: f64| {
        let tps = if await_ms > 0.0 { 20.0 } else { 0.0 };
        [
            (Metric::Await, await_ms),
            (Metric::Tps, tps),
            (Metric::RdSec, 64.0 * tps),
            (Metric::WrSec, 64.0 * tps),
            (Metric::Util, (tps * await_ms / 30.0).min(100.0)),
        ]
    };
    bencher.counter(ItemsCount::new(5 * rows.len() * roster.components.len())).bench_local(|| {
        pool.install(|| {
            let mut diagnoser = Diagnoser::new(Config::untrained(&LIMP, 15), roster.clone());
            for (slot, row) in rows.iter().enumerate() {
                for (component, &value) in row.iter().enumerate() {
                    for (metric, value) in metrics(value) {
                        let of_await = sample(slot as i64 * 15, component, value);
                        diagnoser.push(Sample { metric, ..of_await });
                    }
                }
                diagnoser.drain();
            }
            diagnoser.finish();
            diagnoser.diagnosis().incidents.len()
        })
    });
}

fn pool(threads: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool of few threads")
}

/// One live window of 100,000 components: everything that happens between two windows, 30 slots and a judgement.
fn live_window(bencher: Bencher, threads: usize) {
    const COMPONENTS: usize = 100_000;
    let observed: Vec<Observed> =
        (0..COMPONENTS).map(|n| Observed { name: format!("d{n:06}"), ..Observed::default() }).collect();
    let roster = Roster::new(&observed, None);
    let mut chance = Chance::new(0xface);
    let rows: Vec<Vec<f64>> = (0..30).map(|_| awaits(&mut chance, COMPONENTS)).collect();
    let mut diagnoser = Diagnoser::new(Config::untrained(&CDF, 15), roster);
    let mut slot: i64 = 0;
    let mut shift = |diagnoser: &mut Diagnoser| {
        for row in &rows {
            for (component, &value) in row.iter().enumerate() {
                diagnoser.push(sample(slot * 15, component, value));
            }
            slot += 1;
        }
        diagnoser.drain().len()
    };
    let pool = pool(threads);
    let mut next = || pool.install(|| shift(&mut diagnoser));
    next();
    next();
    bencher.bench_local(next);
    eprintln!("\npeak memory of this process so far: {} MiB", peak_mib());
}

#[divan::bench(sample_count = 3)]
fn live_window_of_100000(bencher: Bencher) {
    live_window(bencher, 1);
}

#[divan::bench(sample_count = 3)]
fn live_window_of_100000_on_two_threads(bencher: Bencher) {
    live_window(bencher, 2);
}

fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) / 1024
}

/// A window of a group of Intrepid's size.
fn window(components: usize, size: usize) -> Window {
    let mut chance = Chance::new(7);
    let mut windower = Windower::new(Params { smoothing: 15, size, ..CDF.params }, components);
    let mut found = None;
    for slot in 0..size as u64 {
        windower.push(Slot(slot), &awaits(&mut chance, components), &mut |_, window| found = Some(window));
    }
    found.expect("size slots make a window")
}

/// The fast path against the plain definition, in one run: divide the two.
#[divan::bench(args = ["kl", "cwnd", "cdf", "median", "thresh"], sample_count = 3)]
fn plain_definition_768(bencher: Bencher, name: &str) {
    let method = Method::parse(name).expect("a method");
    let window = window(768, method.params.size.max(8));
    bencher.bench_local(|| (method.plain)(&window));
}

#[divan::bench(args = ["kl", "cwnd", "cdf", "median", "thresh"], sample_count = 20)]
fn all_scores_768(bencher: Bencher, name: &str) {
    let method = Method::parse(name).expect("a method");
    let window = window(768, method.params.size.max(8));
    bencher.bench_local(|| (method.scores)(&window));
}

#[divan::bench(sample_count = 20)]
fn decisions_768_cdf(bencher: Bencher) {
    let window = window(768, 60);
    let thresholds = vec![20.0; 768];
    bencher.bench_local(|| (CDF.judge)(&window, Threshold::Trained(&thresholds)));
}

#[divan::bench(sample_count = 20)]
fn all_scores_12_kl(bencher: Bencher) {
    let window = window(12, 64);
    bencher.bench_local(|| (KL.scores)(&window));
}
