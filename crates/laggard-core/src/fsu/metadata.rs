//! Experimental: load on a metadata target, from its operation counts.
//!
//! CUG'13 leaves it as future work. Newer Lustre also sums the time of each operation, and the load is the time that all operations
//! together took. Older Lustre only counts: then the costs must come from elsewhere.
//! Operations overlap, so 100 % is one operation under way all the time, not a limit.

use std::collections::BTreeMap;

/// Seconds of a mean operation, by name.
pub type Costs = BTreeMap<String, f64>;

/// Calls of one operation in some time, and the time they took together where it is known.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Calls {
    /// How many.
    pub calls: f64,
    /// Seconds of all of them.
    pub seconds: Option<f64>,
}

/// Load in percent, and the operations that have neither a time nor a cost: they count for nothing, which must be said.
pub fn load<'a>(
    operations: impl IntoIterator<Item = (&'a str, Calls)>,
    costs: &Costs,
    seconds: f64,
) -> (f64, Vec<&'a str>) {
    let mut busy_s = 0.0;
    let mut unknown = Vec::new();
    for (name, calls) in operations {
        match calls.seconds.or_else(|| Some(costs.get(name)? * calls.calls)) {
            Some(spent) => busy_s += spent,
            None if calls.calls > 0.0 => unknown.push(name),
            None => {}
        }
    }
    (100.0 * busy_s / seconds, unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_time_wins_over_costs_and_what_has_neither_is_told() {
        let costs = Costs::from([("open".to_string(), 1e-3), ("getattr".to_string(), 1e-4)]);
        let calls = |calls, seconds| Calls { calls, seconds };
        let operations = [
            ("open", calls(1000.0, None)),
            ("getattr", calls(5000.0, Some(2.0))),
            ("rename", calls(3.0, None)),
        ];
        let (percent, unknown) = load(operations, &costs, 10.0);
        assert!((percent - 30.0).abs() < 1e-9, "{percent}");
        assert_eq!(unknown, ["rename"]);
    }
}
