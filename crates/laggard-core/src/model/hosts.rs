//! Host ranges as in ClusterShell: `oss[001-128]`, `fs[1-3,7],mds1`, `r[1-2]n[01-16]`, `n[0-10/5]`.
//!
//! [`expand`] turns a range into names, [`fold`] turns names into the shortest range for a report.

use std::collections::{BTreeMap, BTreeSet};

/// More names than any site has; a typing error must not eat the memory.
const MOST_NAMES: usize = 1_000_000;

/// What is wrong with a host range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostsError {
    /// A bracket without its partner.
    #[error("`{0}`: unbalanced bracket")]
    Bracket(String),
    /// Not a number, a range or a range with a step.
    #[error("`{0}`: `{1}` is not a number or a range such as 001-128")]
    Range(String, String),
    /// Nothing between two commas.
    #[error("`{0}`: empty name")]
    Empty(String),
    /// More than a million names.
    #[error("`{0}`: more than {MOST_NAMES} names")]
    TooMany(String),
}

/// The names that a range stands for, in the order written, each once.
pub fn expand(text: &str) -> Result<Vec<String>, HostsError> {
    let mut names = Vec::new();
    let mut seen = BTreeSet::new();
    for part in split_outside_brackets(text)? {
        let part = part.trim();
        if part.is_empty() {
            return Err(HostsError::Empty(text.into()));
        }
        for name in expand_one(part)? {
            if seen.len() > MOST_NAMES {
                return Err(HostsError::TooMany(text.into()));
            }
            if seen.insert(name.clone()) {
                names.push(name);
            }
        }
    }
    Ok(names)
}

fn split_outside_brackets(text: &str) -> Result<Vec<&str>, HostsError> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for (at, character) in text.char_indices() {
        match character {
            '[' => depth += 1,
            ']' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
        if !(0..=1).contains(&depth) {
            return Err(HostsError::Bracket(text.into()));
        }
    }
    if depth != 0 {
        return Err(HostsError::Bracket(text.into()));
    }
    parts.push(&text[start..]);
    Ok(parts)
}

fn expand_one(part: &str) -> Result<Vec<String>, HostsError> {
    let mut names = vec![String::new()];
    let mut rest = part;
    while let Some(open) = rest.find('[') {
        let close = rest[open..].find(']').ok_or_else(|| HostsError::Bracket(part.into()))? + open;
        let numbers = numbers(part, &rest[open + 1..close], MOST_NAMES / names.len())?;
        names = names
            .iter()
            .flat_map(|name| numbers.iter().map(move |number| format!("{name}{}{number}", &rest[..open])))
            .collect();
        rest = &rest[close + 1..];
    }
    names.iter_mut().for_each(|name| name.push_str(rest));
    Ok(names)
}

fn numbers(whole: &str, text: &str, most: usize) -> Result<Vec<String>, HostsError> {
    let mut numbers = Vec::new();
    for item in text.split(',').map(str::trim) {
        let bad = || HostsError::Range(whole.into(), item.into());
        let parse = |digits: &str| {
            let valid = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            valid.then(|| digits.parse::<u64>().ok()).flatten().ok_or_else(bad)
        };
        let (range, step) = item.split_once('/').unwrap_or((item, "1"));
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (from, to, step) = (parse(first)?, parse(last)?, parse(step)?);
        if from > to || step == 0 {
            return Err(bad());
        }
        if (to - from) / step >= (most - numbers.len().min(most)) as u64 {
            return Err(HostsError::TooMany(whole.into()));
        }
        // Leading zeros are part of the name: 001-128 is three digits wide, 1-128 is not.
        let width = if first.starts_with('0') { first.len() } else { 0 };
        let mut value = from;
        while value <= to {
            numbers.push(format!("{value:0width$}"));
            let Some(next) = value.checked_add(step) else { break };
            value = next;
        }
    }
    Ok(numbers)
}

/// Before the number, after it, digits if padded: names that differ in one number only.
type Family = (String, String, usize);

/// The name nearest to a mistyped one, for error messages.
pub fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    names.min_by_key(|known| strsim::damerau_levenshtein(known, name))
}

/// A range that stands for exactly these names, sorted. Folds one number of each name: that which gives the fewest parts.
pub fn fold<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> String {
    const MOST_NUMBERS: usize = 4;
    let names: BTreeSet<String> = names.into_iter().map(|name| name.as_ref().to_string()).collect();
    let candidates = (0..MOST_NUMBERS).map(|from_the_end| fold_number(&names, from_the_end));
    candidates.min_by_key(Vec::len).unwrap_or_default().join(",")
}

fn fold_number(names: &BTreeSet<String>, from_the_end: usize) -> Vec<String> {
    let mut families: BTreeMap<Family, BTreeSet<u64>> = BTreeMap::new();
    let mut parts = Vec::new();
    for name in names {
        match number(name, from_the_end) {
            Some((before, digits, after, value)) => {
                let width = if digits.starts_with('0') && digits.len() > 1 { digits.len() } else { 0 };
                families.entry((before.into(), after.into(), width)).or_default().insert(value);
            }
            None => parts.push(name.clone()),
        }
    }
    adopt_unpadded(&mut families);
    for ((before, after, width), values) in families {
        let ranges = ranges(&values, width);
        parts.push(match values.len() {
            1 => format!("{before}{ranges}{after}"),
            _ => format!("{before}[{ranges}]{after}"),
        });
    }
    parts
}

/// `oss099` is padded to three, `oss100` shows no padding but belongs to the same family.
fn adopt_unpadded(families: &mut BTreeMap<Family, BTreeSet<u64>>) {
    let padded: Vec<_> = families.keys().filter(|(_, _, width)| *width > 0).cloned().collect();
    for (before, after, width) in padded {
        let Some(loose) = families.get_mut(&(before.clone(), after.clone(), 0)) else { continue };
        let fits = |value: &u64| value.to_string().len() == width;
        let moved: Vec<u64> = loose.iter().copied().filter(fits).collect();
        loose.retain(|value| !fits(value));
        if loose.is_empty() {
            families.remove(&(before.clone(), after.clone(), 0));
        }
        families.entry((before, after, width)).or_default().extend(moved);
    }
}

/// Splits a name at one of its numbers, counted from the end.
fn number(name: &str, from_the_end: usize) -> Option<(&str, &str, &str, u64)> {
    let mut end = name.len();
    for skipped in 0.. {
        let last = name[..end].rfind(|character: char| character.is_ascii_digit())? + 1;
        let start = name[..last].rfind(|character: char| !character.is_ascii_digit());
        let start = start.map_or(0, |at| at + name[at..].chars().next().map_or(1, char::len_utf8));
        if skipped == from_the_end {
            let value = name[start..last].parse().ok()?;
            return Some((&name[..start], &name[start..last], &name[last..], value));
        }
        end = start;
    }
    None
}

fn ranges(values: &BTreeSet<u64>, width: usize) -> String {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for &value in values {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == value => *last = value,
            _ => runs.push((value, value)),
        }
    }
    let text = runs.iter().map(|(first, last)| match first == last {
        true => format!("{first:0width$}"),
        false => format!("{first:0width$}-{last:0width$}"),
    });
    text.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn clustershell_ranges_expand() {
        assert_eq!(expand("oss[001-003]").unwrap(), ["oss001", "oss002", "oss003"]);
        assert_eq!(expand("fs[1,3-4],mds1").unwrap(), ["fs1", "fs3", "fs4", "mds1"]);
        assert_eq!(expand("r[1-2]n[01-02]").unwrap(), ["r1n01", "r1n02", "r2n01", "r2n02"]);
        assert_eq!(expand("n[0-10/5]x").unwrap(), ["n0x", "n5x", "n10x"]);
    }

    #[test]
    fn bad_ranges_are_named() {
        for (text, part) in [
            ("a[1-", "bracket"),
            ("a[1-x]", "1-x"),
            ("a[3-1]", "3-1"),
            ("a,,b", "empty"),
            ("a[1-9999999]", "more"),
        ] {
            let message = expand(text).unwrap_err().to_string();
            assert!(message.contains(part), "{text}: {message}");
        }
    }

    #[test]
    fn names_fold_to_the_shortest_range() {
        assert_eq!(fold(["oss3", "oss1", "oss2", "oss9"]), "oss[1-3,9]");
        assert_eq!(fold(["oss099", "oss100", "oss098"]), "oss[098-100]");
        assert_eq!(fold(["mds", "oss7"]), "mds,oss7");
        assert_eq!(fold(["18.50.100", "18.51.100", "18.52.100"]), "18.[50-52].100");
    }

    proptest! {
        #[test]
        fn folding_then_expanding_gives_the_same_names(names in proptest::collection::btree_set("[a-c]{1,2}[0-9]{1,3}(\\.[0-9]{1,2})?", 1..40)) {
            let expanded: BTreeSet<String> = expand(&fold(&names)).unwrap().into_iter().collect();
            prop_assert_eq!(expanded, names);
        }

        #[test]
        fn any_text_expands_or_is_refused_without_panic(text in "[a-c0-9\\[\\],/ -]{0,24}") {
            let _ = expand(&text);
        }
    }
}
