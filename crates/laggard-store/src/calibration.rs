//! Recorded calibration tests: CSV with `test,direction,seconds,size_bytes,count`, a row for each size of transactions that was
//! observed, and where targets differ `target` and `fullness`.
//!
//! Unlike a recording, a calibration is small and everything hangs on it: a row that cannot be understood is an error.

use crate::problem::FormatError;
use laggard_core::fsu::Direction;
use laggard_core::fsu::calibrate::Test;
use std::collections::BTreeMap;
use std::io::Read;

/// Tests that belong together: of one target, or of all, at one fullness.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Series {
    /// The target; nothing where the file does not tell targets apart.
    pub target: Option<String>,
    /// How full it was, 0 to 1.
    pub fullness: Option<f64>,
    /// The tests, in the order of the file.
    pub tests: Vec<Test>,
}

/// Where the columns are.
struct Columns {
    test: usize,
    direction: usize,
    seconds: usize,
    size: usize,
    count: usize,
    target: Option<usize>,
    fullness: Option<usize>,
}

impl Columns {
    fn find(header: &csv::StringRecord) -> Result<Columns, FormatError> {
        let place = |name: &str| header.iter().position(|column| column.trim().eq_ignore_ascii_case(name));
        let needed = |name: &str| {
            place(name).ok_or_else(|| {
                format!("line 1: no column `{name}`; needed are test, direction, seconds, size_bytes, count")
            })
        };
        Ok(Columns {
            test: needed("test")?,
            direction: needed("direction")?,
            seconds: needed("seconds")?,
            size: needed("size_bytes")?,
            count: needed("count")?,
            target: place("target"),
            fullness: place("fullness"),
        })
    }
}

/// Reads tests. The error names line and column.
pub fn read(input: impl Read) -> Result<Vec<Series>, FormatError> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).comment(Some(b'#')).from_reader(input);
    let header = reader.headers().map_err(|error| error.to_string())?.clone();
    let columns = Columns::find(&header)?;
    let mut all: Vec<Series> = Vec::new();
    // Where each test is, by series, name and direction.
    let mut places: BTreeMap<(usize, String, Direction), usize> = BTreeMap::new();
    for record in reader.records() {
        let record = record.map_err(|error| error.to_string())?;
        let line = record.position().map_or(0, csv::Position::line);
        // Files that were put together have their first lines in between.
        if record == header {
            continue;
        }
        let text = |column: usize| record.get(column).unwrap_or("");
        let number = |column: usize, name: &str, what: &str, is_good: fn(f64) -> bool| {
            let value = text(column).parse::<f64>().ok().filter(|value| value.is_finite() && is_good(*value));
            value.ok_or_else(|| {
                let found = format!("column {name}: `{}` is no number {what}", text(column));
                FormatError::at(line, found)
            })
        };
        let positive = |column: usize, name: &str| number(column, name, "above 0", |value| value > 0.0);
        let direction = Direction::parse(&text(columns.direction).to_ascii_lowercase()).ok_or_else(|| {
            let found = format!("column direction: `{}` is neither read nor write", text(columns.direction));
            FormatError::at(line, found)
        })?;
        let seconds = positive(columns.seconds, "seconds")?;
        let count = number(columns.count, "count", "from 0 on", |value| value >= 0.0)?;
        let transactions = (positive(columns.size, "size_bytes")?, count);
        let target = columns.target.map(|column| text(column).to_string()).filter(|name| !name.is_empty());
        let fullness = columns.fullness.filter(|column| !text(*column).is_empty());
        let is_share = |value: f64| (0.0..=1.0).contains(&value);
        let fullness =
            fullness.map(|column| number(column, "fullness", "from 0 to 1", is_share)).transpose()?;
        let known = all.iter().position(|series| series.target == target && series.fullness == fullness);
        let series = known.unwrap_or_else(|| {
            all.push(Series { target, fullness, tests: Vec::new() });
            all.len() - 1
        });
        let tests = &mut all[series].tests;
        let name = text(columns.test).to_string();
        let place = *places.entry((series, name.clone(), direction)).or_insert_with(|| {
            tests.push(Test { name, direction, seconds, transactions: Vec::new() });
            tests.len() - 1
        });
        if tests[place].seconds != seconds {
            let (name, first) = (&tests[place].name, tests[place].seconds);
            let found = format!("column seconds: test {name} had {first} before, and now {seconds}");
            return Err(FormatError::at(line, found));
        }
        tests[place].transactions.push(transactions);
    }
    for series in &mut all {
        // A test in which nothing moved says nothing of the disk.
        series.tests.retain(|test| test.bytes() > 0.0);
    }
    all.retain(|series| !series.tests.is_empty());
    if all.is_empty() { Err("no tests in it".into()) } else { Ok(all) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> Result<Vec<Series>, String> {
        read(text.as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_test_may_have_several_sizes() {
        let text = "test,direction,seconds,size_bytes,count\nw4k,write,10,4096,1000\nr4k,read,5,4096,10\nr4k,read,5,65536,20\n";
        let all = parse(text).unwrap();
        assert_eq!((all.len(), all[0].tests.len()), (1, 2));
        assert_eq!(all[0].tests[1].transactions, [(4096.0, 10.0), (65536.0, 20.0)]);
        assert_eq!(all[0].tests[1].seconds, 5.0);
    }

    #[test]
    fn targets_and_fullness_are_kept_apart() {
        let text = "target,fullness,test,direction,seconds,size_bytes,count\nost1,0.1,a,write,1,1,1\nost1,0.9,a,write,2,1,1\nost2,,a,write,1,1,1\n";
        let keys: Vec<(Option<String>, Option<f64>)> =
            parse(text).unwrap().into_iter().map(|series| (series.target, series.fullness)).collect();
        let ost = |name: &str| Some(name.to_string());
        assert_eq!(keys, [(ost("ost1"), Some(0.1)), (ost("ost1"), Some(0.9)), (ost("ost2"), None)]);
    }

    #[test]
    fn errors_name_line_and_column() {
        let header = "test,direction,seconds,size_bytes,count\n";
        let error = |rows: &str| parse(&format!("{header}{rows}")).unwrap_err();
        assert!(parse("test,direction\n").unwrap_err().contains("no column `seconds`"));
        assert!(error("a,sideways,1,1,1\n").contains("line 2, column direction"));
        assert!(error("a,read,0,1,1\n").contains("line 2, column seconds"));
        assert!(error("a,read,1,x,1\n").contains("column size_bytes: `x`"));
        assert!(error("a,read,1,1,1\na,read,2,2,1\n").contains("line 3, column seconds: test a"));
        assert!(error("a,read,1\n").contains("line"));
        assert_eq!(error(""), "no tests in it");
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in "\\PC{0,200}") {
            let _ = parse(&text);
            let _ = parse(&format!("test,direction,seconds,size_bytes,count\n{text}"));
        }
    }
}
