//! Documents tell the truth: commands in them are run, tables in them are compared.

use crate::{Bench, root};
use laggard_core::model::metric::{Averaging, TABLE};
use std::fmt::Write;
use std::path::PathBuf;

/// Runs every `$ laggard …` of a document's `console` blocks, in order, in one folder, and compares what it prints.
fn check_console(document: &str) {
    let text = std::fs::read_to_string(root().join(document)).expect(document);
    let bench = Bench::new();
    let mut commands = 0;
    for block in text.split("```console\n").skip(1).filter_map(|rest| rest.split("```").next()) {
        let mut expected: Option<(String, String)> = None;
        for line in block.lines().chain(["$ end"]) {
            let Some(command) = line.strip_prefix("$ ") else {
                if let Some((_, lines)) = &mut expected {
                    lines.push_str(line);
                    lines.push('\n');
                }
                continue;
            };
            if let Some((command, lines)) = expected.take()
                && let Some(arguments) = command.strip_prefix("laggard ")
            {
                let ran = bench.laggard(&arguments.split_whitespace().collect::<Vec<_>>());
                assert_eq!(ran.out.trim_end(), lines.trim_end(), "{document}: {command}\n{}", ran.err);
                commands += 1;
            }
            expected = Some((command.to_string(), String::new()));
        }
    }
    assert!(commands > 0, "{document} has no console blocks");
}

#[test]
fn the_commands_of_the_readme_print_what_it_says() {
    check_console("README.md");
}

#[test]
fn the_commands_of_the_tutorial_print_what_it_says() {
    check_console("docs/first-diagnosis.md");
}

#[test]
fn the_table_of_metrics_is_the_one_in_the_code() {
    let mut table =
        String::from("| metric | unit | downsampled by | negligible | meaning |\n|---|---|---|---|---|\n");
    for row in TABLE {
        let averaging = if row.averaging == Averaging::Time { "time" } else { "requests" };
        let _ = writeln!(
            table,
            "| `{}` | {} | {averaging} | {} | {} |",
            row.name, row.unit, row.negligible, row.help
        );
    }
    let document = std::fs::read_to_string(root().join("docs/metrics.md")).expect("docs/metrics.md");
    assert!(document.contains(&table), "docs/metrics.md should hold this table:\n{table}");
}

#[test]
fn the_table_of_rules_is_the_one_in_the_code() {
    let table = Bench::new().laggard(&["rules", "--format", "markdown"]).out;
    let document = std::fs::read_to_string(root().join("docs/methods.md")).expect("docs/methods.md");
    assert!(
        document.contains(&table),
        "docs/methods.md should hold the table that `laggard rules --format markdown` prints:\n{table}"
    );
}

/// Files of the measurement and the decision, whose numbers are all in docs/methods.md.
fn measuring_files() -> Vec<PathBuf> {
    let core = root().join("crates/laggard-core/src");
    let mut pending = vec![core.join("compare"), core.join("cost"), core.join("diagnose")];
    let mut files = vec![
        core.join("grid/window.rs"),
        core.join("stats.rs"),
        root().join("crates/laggard-engine/src/live.rs"),
        root().join("crates/laggard-engine/src/plan.rs"),
        root().join("crates/laggard-engine/src/plausible.rs"),
        root().join("crates/laggard-store/src/activity/following.rs"),
        root().join("crates/laggard-store/src/read.rs"),
        root().join("crates/laggard-store/src/recording.rs"),
    ];
    while let Some(folder) = pending.pop() {
        for entry in std::fs::read_dir(folder).expect("sources").flatten() {
            if entry.path().is_dir() { pending.push(entry.path()) } else { files.push(entry.path()) }
        }
    }
    files.retain(|file| !file.ends_with("tests.rs"));
    files.sort();
    files
}

/// A constant of a number type: its name and its value.
fn number(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = line
        .trim_start_matches("pub ")
        .trim_start_matches("pub(super) ")
        .strip_prefix("const ")?
        .split_once(": ")?;
    let (kind, value) = rest.trim_end_matches(';').split_once(" = ")?;
    // Of an array, what it is an array of.
    let kind = kind.trim_start_matches('[').split(';').next().unwrap_or(kind);
    ["f64", "i64", "u32", "u64", "usize"].contains(&kind).then_some((name, value))
}

#[test]
fn the_table_of_the_numbers_of_the_measurement_is_the_one_in_the_code() {
    let mut table = String::from("| number | value | in | what it is |\n|---|---|---|---|\n");
    for file in measuring_files() {
        let text = std::fs::read_to_string(&file).expect("a source");
        let place = file
            .to_string_lossy()
            .split_once("crates/laggard-")
            .expect("of a crate")
            .1
            .replace("/src/", ": ");
        let mut says = String::new();
        for line in text.lines().map(str::trim_start) {
            match (line.strip_prefix("/// "), number(line)) {
                (Some(more), _) => says = format!("{says} {more}").trim_start().into(),
                // Indices of columns have no sentence.
                (None, Some((name, value))) if !says.is_empty() => {
                    let _ =
                        writeln!(table, "| `{name}` | {value} | {place} | {} |", std::mem::take(&mut says));
                }
                (None, _) => says.clear(),
            }
        }
    }
    let document = std::fs::read_to_string(root().join("docs/methods.md")).expect("docs/methods.md");
    assert!(document.contains(&table), "docs/methods.md should hold this table:\n{table}");
}

#[test]
fn links_between_documents_lead_somewhere() {
    let mut pending = vec![root().join("docs")];
    let mut documents: Vec<_> = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"]
        .iter()
        .map(|name| root().join(name))
        .collect();
    while let Some(folder) = pending.pop() {
        for entry in std::fs::read_dir(folder).expect("docs").flatten() {
            if entry.path().is_dir() { pending.push(entry.path()) } else { documents.push(entry.path()) }
        }
    }
    for document in documents {
        let text = std::fs::read_to_string(&document).expect("a document");
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let target = link.split('#').next().unwrap_or("");
            if target.is_empty() || target.contains("://") {
                continue;
            }
            let path = document.parent().expect("a folder").join(target);
            assert!(path.exists(), "{}: broken link {link}", document.display());
        }
    }
}
