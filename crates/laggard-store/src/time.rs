//! Timestamps: seconds since 1970 or ISO 8601, always UTC.

use jiff::Timestamp;
use jiff::civil::DateTime;
use laggard_core::ids::UnixSeconds;

/// Beyond this, a number cannot be seconds (it is the year 5138) and is taken as milli-, micro- or nanoseconds.
const LARGEST_SECONDS: f64 = 1e11;

/// Reads a timestamp; fractions of a second are dropped. Without a zone it is UTC.
pub fn parse(text: &str) -> Option<i64> {
    let text = text.trim();
    if let Ok(number) = text.parse::<f64>() {
        // As they are, or milli-, micro-, nanoseconds.
        let seconds = [1.0, 1e3, 1e6, 1e9].into_iter().map(|unit| number / unit);
        return seconds
            .into_iter()
            .find(|seconds| seconds.abs() < LARGEST_SECONDS)
            .map(|seconds| seconds.floor() as i64);
    }
    if let Ok(timestamp) = text.parse::<Timestamp>() {
        return Some(timestamp.as_nanosecond().div_euclid(1_000_000_000) as i64);
    }
    let civil: DateTime = text.parse().ok()?;
    let zoned = civil.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    Some(zoned.timestamp().as_nanosecond().div_euclid(1_000_000_000) as i64)
}

/// ISO 8601 in UTC, to the second.
pub fn format(moment: impl Into<UnixSeconds>) -> String {
    let UnixSeconds(seconds) = moment.into();
    let known = Timestamp::from_second(seconds).ok();
    known.map_or_else(
        || format!("{seconds} s"),
        |timestamp| timestamp.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
    )
}

/// The UTC day, `20261115`.
pub fn day(seconds: i64) -> String {
    let known = Timestamp::from_second(seconds).ok();
    known.map_or_else(|| "unknown".into(), |timestamp| timestamp.strftime("%Y%m%d").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_text_is_a_time_or_not_without_panic(text in "\\PC{0,40}") {
            let _ = parse(&text);
        }

        #[test]
        fn what_is_written_reads_back(seconds in -10_000_000_000i64..100_000_000_000) {
            prop_assert_eq!(parse(&format(seconds)), Some(seconds));
        }
    }

    #[test]
    fn numbers_and_iso_8601_mean_the_same() {
        assert_eq!(parse("1304899205"), Some(1_304_899_205));
        assert_eq!(parse("1304899205.9"), Some(1_304_899_205));
        assert_eq!(parse("1304899205000"), Some(1_304_899_205));
        assert_eq!(parse("2011-05-09T00:00:05Z"), Some(1_304_899_205));
        assert_eq!(parse("2011-05-09T02:00:05+02:00"), Some(1_304_899_205));
        assert_eq!(parse("2011-05-09 00:00:05"), Some(1_304_899_205));
        assert_eq!(parse("yesterday"), None);
        assert_eq!(parse("1304899205000000000"), Some(1_304_899_205));
        assert_eq!(parse("1e300"), None);
        assert_eq!(parse("nan"), None);
        assert_eq!(parse("inf"), None);
        assert_eq!(format(1_304_899_205), "2011-05-09T00:00:05Z");
        assert_eq!(day(1_304_899_205), "20110509");
    }
}
