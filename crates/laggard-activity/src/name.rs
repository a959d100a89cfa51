//! Names of activity files: `HOST-20110509T000005Z`, by the first sample, in UTC (LISA'13, section 6).

use std::path::{Path, PathBuf};

/// Ending of what is sealed.
pub const SEALED: &str = "parquet";
/// Ending of what is not sealed yet.
pub const TAIL: &str = "tail";

/// Year, month, day of a moment.
fn civil(time_s: i64) -> (i64, i64, i64) {
    // Years that begin in March have their leap day last; 400 of them are an era of 146,097 days.
    let days = time_s.div_euclid(86_400) + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    (era * 400 + year + i64::from(month <= 2), month, day)
}

/// `20110509T000005Z`.
pub fn stamp(time_s: i64) -> String {
    let (year, month, day) = civil(time_s);
    let second = time_s.rem_euclid(86_400);
    format!("{year:04}{month:02}{day:02}T{:02}{:02}{:02}Z", second / 3600, second / 60 % 60, second % 60)
}

/// A file's name without ending.
pub fn stem(host: &str, first_s: i64) -> String {
    format!("{}-{}", safe(host), stamp(first_s))
}

/// A host's name as part of a file's: no separators, no hidden files, not too long.
pub fn safe(host: &str) -> String {
    let keep = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_' | '-');
    let name: String = host.chars().take(200).map(|letter| if keep(letter) { letter } else { '_' }).collect();
    let name = name.trim_start_matches('.');
    if name.is_empty() { "host".into() } else { name.into() }
}

/// Host and stamp of a file's name, if it is an activity file's.
pub fn parse(path: &Path) -> Option<(&str, &str)> {
    let name = path.file_name()?.to_str()?;
    let stem = name.strip_suffix(".parquet").or_else(|| name.strip_suffix(".tail"))?;
    let (host, stamp) = stem.rsplit_once('-')?;
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (date, clock) = stamp.strip_suffix('Z')?.split_once('T')?;
    (date.len() == 8 && clock.len() == 6 && digits(date) && digits(clock)).then_some((host, stamp))
}

/// The same file with another ending.
pub fn beside(path: &Path, ending: &str) -> PathBuf {
    path.with_extension(ending)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_example() {
        assert_eq!(stem("fs1", 1_304_899_205), "fs1-20110509T000005Z");
        assert_eq!(parse(Path::new("/x/fs-1-20110509T000005Z.parquet")), Some(("fs-1", "20110509T000005Z")));
        assert_eq!(parse(Path::new("fs1-20110509T000005.parquet")), None);
        assert_eq!(stamp(951_782_400), "20000229T000000Z");
        assert_eq!(stamp(-1), "19691231T235959Z");
        assert_eq!(safe("../../etc"), "_.._etc");
    }
}
