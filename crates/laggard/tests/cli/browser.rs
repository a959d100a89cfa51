//! The report in a real browser: it renders, its script runs, and nothing is loaded from elsewhere.

use crate::{Bench, is_there};
use std::path::Path;
use std::process::Command;

const BROWSER: &str = "/usr/bin/chromium";

fn has_browser() -> bool {
    is_there(Path::new(BROWSER), "the_report_renders_in_a_browser")
}

fn chromium(bench: &Bench, arguments: &[&str]) -> String {
    let profile = format!("--user-data-dir={}", bench.path("profile").display());
    let flags = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--hide-scrollbars",
        "--virtual-time-budget=5000",
    ];
    let output =
        Command::new(BROWSER).args(flags).arg(profile).args(arguments).output().expect("chromium runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn the_report_renders_in_a_browser() {
    if !has_browser() {
        return;
    }
    let bench = Bench::new();
    assert_eq!(bench.laggard(&["demo"]).code, 0);
    let page = format!("file://{}", bench.path("laggard-report.html").display());
    let dom = chromium(&bench, &["--dump-dom", &page]);
    assert!(dom.contains("data-ready=\"yes\""), "the script did not run to its end");
    for section in ["problem-0", "problem-1", "scores", "persistence", "groups"] {
        assert!(dom.contains(&format!("id=\"{section}\"")), "no section {section}");
    }
    assert!(dom.matches("class=\"suspect\"").count() >= 4, "the suspects' lines and distributions are drawn");
    assert!(dom.matches("class=\"peer\"").count() >= 40, "the peers are drawn");
    assert!(!dom.contains("NaN"), "a coordinate is not a number");
    let picture = bench.path("report.png");
    chromium(&bench, &["--window-size=1200,1600", &format!("--screenshot={}", picture.display()), &page]);
    // A blank page of this size compresses to a few kilobytes.
    let size = std::fs::metadata(picture).expect("a screenshot").len();
    assert!(size > 50_000, "the page looks blank: {size} bytes");
}
