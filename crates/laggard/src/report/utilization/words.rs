//! Numbers of a utilization report, for people.

/// `1.2 GB/s`.
pub fn rate(bytes_s: f64) -> String {
    let (value, unit) = match bytes_s {
        value if value >= 1e9 => (value / 1e9, "GB/s"),
        value if value >= 1e6 => (value / 1e6, "MB/s"),
        value => (value / 1e3, "kB/s"),
    };
    if value < 10.0 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

/// `4K`, `1M`, as Lustre prints sizes.
pub fn size(bytes: u64) -> String {
    match bytes {
        bytes if bytes >= 1 << 20 => format!("{}M", bytes >> 20),
        bytes if bytes >= 1 << 10 => format!("{}K", bytes >> 10),
        bytes => bytes.to_string(),
    }
}

/// `7.3 %`.
pub fn percent(value: f64) -> String {
    if value.abs() < 10.0 { format!("{value:.1} %") } else { format!("{value:.0} %") }
}

/// A share as a percentage; a dash where there is none.
pub fn share(part: Option<f64>) -> String {
    part.map_or_else(|| "-".into(), |part| percent(100.0 * part))
}

/// `12,345,678`.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!([rate(1.23e9), rate(45.6e6), rate(700.0)], ["1.2 GB/s", "46 MB/s", "0.7 kB/s"]);
        assert_eq!([size(512), size(4096), size(1 << 24)], ["512", "4K", "16M"]);
        assert_eq!([count(7), count(1234), count(12_345_678)], ["7", "1,234", "12,345,678"]);
        assert_eq!([share(None), share(Some(0.455)), share(Some(0.01))], ["-", "46 %", "1.0 %"]);
    }
}
