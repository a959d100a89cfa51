//! Properties that every method keeps: the fast path decides as the plain definition does, the order of peers is
//! irrelevant, identical peers yield nothing, more severe never scores less, too few peers is undecided.

use super::*;
use proptest::prelude::*;

/// Samples with ties, constants, holes and infinities, in groups of 3 to `most` components.
fn windows(most: usize, size: usize) -> impl Strategy<Value = Window> {
    let sample = prop_oneof![
        6 => (0..40i32).prop_map(|v| f64::from(v) / 4.0),
        3 => 0.0..1000.0f64,
        2 => Just(1.0),
        1 => Just(f64::NAN),
        1 => Just(f64::INFINITY),
    ];
    let component = prop_oneof![
        6 => proptest::collection::vec(sample, size),
        1 => (0..9i32).prop_map(move |v| vec![f64::from(v); size]),
        1 => Just(vec![f64::NAN; size]),
    ];
    proptest::collection::vec(component, 3..=most).prop_map(move |parts| Window::new(parts.concat(), size))
}

fn assert_close(fast: &[f64], plain: &[f64]) -> Result<(), TestCaseError> {
    for (fast, plain) in fast.iter().zip(plain) {
        prop_assert!(
            fast.is_nan() && plain.is_nan() || (fast - plain).abs() < 1e-9,
            "{fast} against {plain}"
        );
    }
    Ok(())
}

/// Thresholds between scores, so that rounding in the plain definition cannot decide.
fn check_decisions(method: &Method, window: &Window, plain: &[f64]) -> Result<(), TestCaseError> {
    let mut levels: Vec<f64> = plain.iter().copied().filter(|score| !score.is_nan()).collect();
    levels.sort_by(f64::total_cmp);
    for quantile in [0, levels.len() / 2, levels.len().saturating_sub(2)] {
        let Some(&level) = levels.get(quantile) else { continue };
        let thresholds = vec![level + 1e-6; window.components()];
        let judgement = (method.judge)(window, Threshold::Trained(&thresholds));
        for (p, score) in judgement.scores.into_iter().enumerate() {
            let above = score.exact().is_some_and(|score| score > thresholds[p]);
            prop_assert_eq!(above, plain[p] > thresholds[p], "{}: component {} at {}", method.name, p, level);
            if let Some(exact) = score.exact() {
                prop_assert!((exact - plain[p]).abs() < 1e-9);
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn the_fast_path_is_the_definition(window in windows(40, 60)) {
        for method in METHODS {
            let plain = (method.plain)(&window);
            assert_close(&(method.scores)(&window), &plain)?;
            check_decisions(method, &window, &plain)?;
        }
    }

    #[test]
    fn the_order_of_peers_is_irrelevant(window in windows(12, 8), turn in 0usize..12) {
        let n = window.components();
        let turned: Vec<f64> = (0..n).flat_map(|p| window.of((p + turn) % n).to_vec()).collect();
        for method in METHODS {
            let (before, after) = ((method.scores)(&window), (method.scores)(&Window::new(turned.clone(), 8)));
            let expected: Vec<f64> = (0..n).map(|p| before[(p + turn) % n]).collect();
            assert_close(&after, &expected)?;
        }
    }

    #[test]
    fn more_severe_never_scores_less(base in 1.0..50.0f64, step in 1.0..50.0f64) {
        // Peers that differ a little; one component rises (for cwnd: falls) step by step.
        let score = |method: &Method, shift: f64| {
            let mut values: Vec<f64> = (0..8 * 60).map(|i| base + f64::from(i * 7 % 11)).collect();
            values[..60].iter_mut().for_each(|value| *value += shift);
            if method.name == "cwnd" {
                values[..60].iter_mut().for_each(|value| *value = 1e4 / *value);
                values[60..].iter_mut().for_each(|value| *value = 1e4 / *value);
            }
            (method.scores)(&Window::new(values, 60))[0]
        };
        for method in METHODS.iter().filter(|method| method.name != "kl") {
            let (mild, severe) = (score(method, 20.0 + step), score(method, 20.0 + 4.0 * step));
            // The bins of cdf follow the data: one bin of play.
            let play = if method.name == "cdf" { 1.0 } else { 1e-9 };
            prop_assert!(severe >= mild - play, "{}: {} then {}", method.name, mild, severe);
        }
    }
}

proptest! {
    // Large groups: few cases, plain definitions are slow. Small windows reach 2000 peers in the same time.
    #![proptest_config(ProptestConfig::with_cases(3))]

    #[test]
    fn large_groups_decide_as_the_definition(window in windows(2000, 6)) {
        let plain = (cdf::CDF.plain)(&window);
        check_decisions(&cdf::CDF, &window, &plain)?;
    }
}

#[test]
fn two_thousand_peers_with_one_slow_decide_as_the_definition() {
    let size = 12;
    let mut values: Vec<f64> =
        (0..2000 * size).map(|i| 5.0 + ((i * 2_654_435_761_usize) % 1000) as f64 / 500.0).collect();
    values[777 * size..778 * size].fill(11.0);
    values[42 * size..43 * size].fill(f64::NAN);
    let window = Window::new(values, size);
    for method in METHODS {
        let plain = (method.plain)(&window);
        assert_close(&(method.scores)(&window), &plain).unwrap();
        check_decisions(method, &window, &plain).unwrap();
    }
}

/// Thresholds that equal a score, a threshold from a sample of peers, and groups large enough for several cores.
#[test]
fn judgements_agree_with_all_scores_in_large_groups() {
    let size = 8;
    let values: Vec<f64> =
        (0..4200 * size).map(|i| ((i * 2_654_435_761_usize) % 997) as f64 / 50.0).collect();
    let window = Window::new(values, size);
    let scores = (cdf::CDF.scores)(&window);
    let sample: Vec<usize> = (0..4200).step_by(97).collect();
    let rule = |known: &[f64]| known.iter().copied().fold(0.0, f64::max);
    let judgement = (cdf::CDF.judge)(&window, Threshold::FromPeers { sample: &sample, rule: &rule });
    let threshold = sample.iter().map(|&p| scores[p]).fold(0.0, f64::max);
    for (p, score) in judgement.scores.iter().enumerate() {
        assert_eq!(judgement.thresholds[p], threshold);
        assert_eq!(score.exact().is_some(), scores[p] > threshold, "component {p}");
    }
}

#[test]
fn identical_peers_yield_nothing() {
    let values: Vec<f64> = (0..5).flat_map(|_| (0..60).map(|i| f64::from(i % 13))).collect();
    // `thresh` compares with no one; what `perseus` takes is compared already.
    for method in METHODS.iter().filter(|method| !["thresh", "perseus"].contains(&method.name)) {
        let scores = (method.scores)(&Window::new(values.clone(), 60));
        assert!(scores.iter().all(|score| score.abs() < 1e-12), "{}: {scores:?}", method.name);
    }
}

#[test]
fn too_few_peers_is_undecided() {
    let mut values = vec![f64::NAN; 5 * 60];
    values[..120].fill(3.0);
    for method in METHODS {
        let window = Window::new(values.clone(), 60);
        assert!((method.scores)(&window).iter().all(|score| score.is_nan()), "{}", method.name);
        let judgement = (method.judge)(&window, Threshold::Trained(&[1.0; 5]));
        assert!(judgement.scores.iter().all(|score| *score == Score::Missing));
    }
}
