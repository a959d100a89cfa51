//! scratch
use laggard_sim::bench::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let cluster = Cluster::parse(&a[1], 1).unwrap();
    for _ in 0..5 {
        let t0 = std::time::Instant::now();
        let t = run(&Experiment {
            cluster,
            workload: Workload::parse(&a[2]).unwrap(),
            fault: None,
            seed: 5,
            scale: 1.0,
        });
        println!("{} {:?}", t.runtime_s, t0.elapsed());
    }
}
