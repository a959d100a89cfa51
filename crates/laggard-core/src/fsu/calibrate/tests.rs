use super::*;
use proptest::prelude::*;

const WRITE: Line = Line { latency_s: 1.04e-3, per_byte_s: 1.73e-9 };
const READ: Line = Line { latency_s: 8.02e-4, per_byte_s: 1.23e-9 };

/// Noise between -1 and 1, the same every time: splitmix64.
fn noise(seed: u64) -> f64 {
    let mut x = (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^= x >> 31;
    (x >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

/// Tests of the paper's eleven sizes; like the server, it splits what is larger than 1 MiB.
fn tests_of(line: Line, direction: Direction, spread: f64, seed: u64) -> Vec<Test> {
    let test = |power: u32| {
        let asked = f64::from(1 << power);
        let size = asked.min(1048576.0);
        let count = (8e9 / size).ceil();
        let off = 1.0 + spread * noise(seed * 100 + u64::from(power));
        Test {
            name: format!("{}K", asked / 1024.0),
            direction,
            seconds: line.seconds(count, count * size) * off,
            transactions: vec![(size, count)],
        }
    };
    (12..=22).map(test).collect()
}

fn is_near(value: f64, truth: f64, share: f64) -> bool {
    (value / truth - 1.0).abs() < share
}

#[test]
fn table_1_is_recovered_from_tests_that_were_made_with_it() {
    for (line, direction) in [(WRITE, Direction::Write), (READ, Direction::Read)] {
        let exact = fit(&tests_of(line, direction, 0.0, 1)).unwrap();
        assert!(is_near(exact.line.latency_s, line.latency_s, 1e-9), "{exact:?}");
        assert!(is_near(exact.line.per_byte_s, line.per_byte_s, 1e-9), "{exact:?}");
        assert!(exact.residual < 1e-9 && exact.doubts.is_empty(), "{exact:?}");
        for seed in 0..20 {
            let noisy = fit(&tests_of(line, direction, 0.05, seed)).unwrap();
            assert!(is_near(noisy.line.latency_s, line.latency_s, 0.05), "{noisy:?}");
            assert!(is_near(noisy.line.per_byte_s, line.per_byte_s, 0.10), "{noisy:?}");
            assert!(noisy.doubts.is_empty(), "{:?}", noisy.doubts);
        }
    }
}

#[test]
fn standard_errors_are_how_far_the_coefficients_scatter() {
    let many = 400;
    let fits: Vec<Fit> =
        (0..many).map(|seed| fit(&tests_of(WRITE, Direction::Write, 0.05, seed)).unwrap()).collect();
    let root_mean =
        |of: &dyn Fn(&Fit) -> f64| (fits.iter().map(|fit| of(fit).powi(2)).sum::<f64>() / many as f64).sqrt();
    let scatter = [
        root_mean(&|fit| fit.line.latency_s - WRITE.latency_s),
        root_mean(&|fit| fit.line.per_byte_s - WRITE.per_byte_s),
    ];
    let errors = [0, 1].map(|which| root_mean(&|fit| fit.errors.unwrap()[which]));
    assert!(
        is_near(errors[0], scatter[0], 0.2) && is_near(errors[1], scatter[1], 0.2),
        "{errors:?} {scatter:?}"
    );
}

#[test]
fn a_coefficient_below_zero_is_none() {
    // The larger, the faster by far: no latency and time per byte do that.
    let test = |size: f64, count: f64| Test {
        name: size.to_string(),
        direction: Direction::Write,
        seconds: 1.0,
        transactions: vec![(size, count)],
    };
    let fit = fit(&[test(4096.0, 100.0), test(65536.0, 120.0), test(1048576.0, 150.0)]).unwrap();
    assert_eq!(fit.line.per_byte_s, 0.0);
    assert!(fit.line.latency_s > 0.0);
    assert!(fit.doubts.contains(&Doubt::Negative("the time per byte")), "{:?}", fit.doubts);
}

#[test]
fn a_test_with_several_sizes_counts_by_what_it_moved() {
    let mut tests = tests_of(READ, Direction::Read, 0.0, 1);
    // Read-ahead: 4 KiB were asked for, 64 KiB and 1 MiB came along.
    let mixed = vec![(4096.0, 5000.0), (65536.0, 3000.0), (1048576.0, 9000.0)];
    let seconds = mixed.iter().map(|(size, count)| READ.seconds(*count, size * count)).sum();
    tests[0] = Test { transactions: mixed, seconds, ..tests[0].clone() };
    let fit = fit(&tests).unwrap();
    assert!(is_near(fit.line.latency_s, READ.latency_s, 1e-9), "{fit:?}");
    assert!(fit.predictions.windows(2).all(|pair| pair[0].mean_size <= pair[1].mean_size));
}

#[test]
fn too_little_to_fit_is_said() {
    let tests = tests_of(WRITE, Direction::Write, 0.0, 1);
    assert_eq!(fit(&[]), Err(Unfit::TooFew(0)));
    assert_eq!(fit(&tests[..1]), Err(Unfit::TooFew(1)));
    // From 1 MiB on the server splits: three tests, one size.
    assert!(matches!(fit(&tests[8..]), Err(Unfit::OneSize(_))));
    let two = fit(&tests[..2]).unwrap();
    assert!(two.errors.is_none() && two.doubts.contains(&Doubt::TwoTests));
}

#[test]
fn a_cache_is_seen() {
    let mut tests = tests_of(READ, Direction::Read, 0.0, 1);
    // The small tests came from memory.
    tests[..4].iter_mut().for_each(|test| test.seconds /= 20.0);
    let fit = fit(&tests).unwrap();
    assert!(fit.doubts.iter().any(|doubt| matches!(doubt, Doubt::Bent(..))), "{:?}", fit.doubts);
}

proptest! {
    #[test]
    fn any_line_is_recovered(latency in 1e-6..1e-1f64, per_byte in 1e-11..1e-6f64) {
        let line = Line { latency_s: latency, per_byte_s: per_byte };
        let found = fit(&tests_of(line, Direction::Write, 0.0, 1)).unwrap();
        for size in [4096.0, 65536.0, 1048576.0] {
            prop_assert!(is_near(found.line.bandwidth(size), line.bandwidth(size), 1e-6));
        }
    }

    #[test]
    fn order_does_not_matter(seed in 0u64..100) {
        let tests = tests_of(WRITE, Direction::Write, 0.1, seed);
        let mut turned = tests.clone();
        turned.reverse();
        let (a, b) = (fit(&tests).unwrap(), fit(&turned).unwrap());
        prop_assert!(is_near(a.line.latency_s, b.line.latency_s, 1e-9));
    }
}
