//! scratch
use laggard_core::model::Metric;
use laggard_sim::bench::*;
fn dump() {
    let a: Vec<String> = std::env::args().collect();
    let cluster = Cluster::parse(&a[2], 1).unwrap();
    let t = run(&Experiment {
        cluster,
        workload: Workload::parse(&a[3]).unwrap(),
        fault: FaultKind::parse(&a[4]).map(|k| Fault::published(k, 3)),
        seed: 5,
        scale: 1.0,
    });
    for m in &a[5..] {
        let m = Metric::parse(m).unwrap();
        println!("{m:?}");
        for s in (90..t.seconds).step_by(15) {
            let mut o: Vec<f64> =
                (0..t.servers).filter(|x| *x != 3).map(|x| t.mean(m, x, s..s + 15)).collect();
            o.sort_by(f64::total_cmp);
            println!(
                "{s} {:.2} | {:.2} {:.2} {:.2}",
                t.mean(m, 3, s..s + 15),
                o[0],
                o[o.len() / 2],
                o[o.len() - 1]
            );
        }
    }
}
fn main() {
    if std::env::args().nth(1).as_deref() == Some("dump") {
        return dump();
    }
    let filter: Vec<String> = std::env::args().skip(1).collect();
    let has = |w: &str| filter.is_empty() || filter.iter().any(|f| f == w);
    for cluster in Cluster::all(1) {
        for workload in Workload::ALL {
            if !has(workload.name()) && !has(&cluster.name()) {
                continue;
            }
            let mut base = 0.0;
            for fault in std::iter::once(None).chain(FaultKind::ALL.map(Some)) {
                let e = Experiment {
                    cluster,
                    workload,
                    fault: fault.map(|k| Fault::published(k, 3)),
                    seed: 5,
                    scale: 1.0,
                };
                let t0 = std::time::Instant::now();
                let t = run(&e);
                let took = t0.elapsed().as_millis();
                if fault.is_none() {
                    base = t.runtime_s;
                }
                print!(
                    "{:12} {:9} {:18} {:5.0}s x{:.2} {:4}ms ",
                    cluster.name(),
                    workload.name(),
                    fault.map_or("none", |f| f.name()),
                    t.runtime_s,
                    t.runtime_s / base,
                    took
                );
                for m in [
                    Metric::RdSec,
                    Metric::WrSec,
                    Metric::Await,
                    Metric::Util,
                    Metric::AvgquSz,
                    Metric::Rxbyt,
                    Metric::Txbyt,
                    Metric::CwndToClients,
                    Metric::CwndFromClients,
                ] {
                    let mut o: Vec<f64> =
                        (0..t.servers).filter(|s| *s != 3).map(|s| t.mean(m, s, 150..420)).collect();
                    o.sort_by(f64::total_cmp);
                    let sc = match m {
                        Metric::RdSec | Metric::WrSec => 2048.0,
                        Metric::Rxbyt | Metric::Txbyt => 1e6,
                        _ => 1.0,
                    };
                    print!(
                        "{}={:.3}/{:.3}[{:.3}-{:.3}] ",
                        m.name().replace("_clients", ""),
                        t.mean(m, 3, 150..420) / sc,
                        o[o.len() / 2] / sc,
                        o[0] / sc,
                        o[o.len() - 1] / sc
                    );
                }
                println!();
            }
        }
    }
}
