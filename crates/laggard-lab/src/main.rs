//! The laboratory: simulated clusters with known faults, and the score of every verdict on them.

mod bench;
mod verdict;

use bench::matrix::{Matrix, conditions};
use indicatif::ProgressBar;
use laggard_sim::bench::{FaultKind, Workload};

fn main() {
    let a: Vec<String> = std::env::args().collect();
    let n: usize = a[1].parse().unwrap();
    let matrix = Matrix { held_out: false, repetitions: n, training: n, scale: 1.0, severity: 1.0 };
    let bar = ProgressBar::new(matrix.len() as u64);
    let t = std::time::Instant::now();
    let cells = matrix.judge(laggard_core::compare::Method::parse(&a[2]).unwrap(), &bar);
    println!("{:?}", t.elapsed());
    for (c, cluster) in matrix.clusters().iter().enumerate() {
        for (f, fault) in conditions().iter().enumerate() {
            print!(
                "{:13}{:18} paper {:3.0?} ",
                cluster.name(),
                fault.map_or("none", FaultKind::name),
                bench::paper::TABLES[c][f]
            );
            let mut p = bench::tally::Tally::default();
            let mut o = bench::tally::Tally::default();
            for cell in &cells[c][f] {
                p.merge(&cell.published);
                o.merge(&cell.ours);
            }
            print!(
                "pub {:3.0?} {:3.0?} ours {:3.0?} {:3.0?} ",
                p.rates(),
                p.latency_s().unwrap_or(0.0),
                o.rates(),
                o.latency_s().unwrap_or(0.0)
            );
            for (w, cell) in Workload::ALL.iter().zip(&cells[c][f]) {
                let (p, o) = (cell.published.rates(), cell.ours.rates());
                print!(
                    "{} x{:.2} {:.0}/{:.0}|{:.0}/{:.0}/{:.0}; ",
                    w.name(),
                    cell.slowdown,
                    p[0],
                    p[2],
                    o[0],
                    o[2],
                    o[1]
                );
            }
            println!();
        }
    }
}
