//! `cargo xtask check` and `cargo xtask test`: everything that a change must pass, in the order that fails fastest.

mod bench;
mod bpf;
mod check;
mod dist;
mod golden;
mod packages;

use std::process::{Command, ExitCode};

/// What a task says when it fails.
type Outcome = Result<(), String>;

fn main() -> ExitCode {
    let task = std::env::args().nth(1).unwrap_or_default();
    let outcome = match task.as_str() {
        "check" => check::all(),
        "test" => test(),
        "dist" => dist::run_dist(),
        "bpf" => bpf::build(),
        "golden" => golden::golden(&std::env::args().skip(2).collect::<Vec<_>>()),
        "bench" => bench::run(&std::env::args().skip(2).collect::<Vec<_>>()),
        _ => Err("the tasks are `check` (format, clippy, docs, file length, dependencies) `test` (those, and all tests), `dist` (the static agent), `bpf` (its eBPF program), `golden` (verdicts on many recordings, compared with those of before) and `bench`".into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

fn test() -> Outcome {
    packages::install()?;
    check::all()?;
    cargo(&["test", "--workspace", "--all-targets"])?;
    cargo(&["test", "--workspace", "--doc"])?;
    // The main job, as a newcomer runs it.
    // One build for both: each selection of packages has its own features, and would build its dependencies anew.
    cargo(&["build", "--release", "-p", "laggard", "-p", "laggard-lab"])?;
    let program = |name: &str| Command::new(root().join("target/release").join(name));
    let report = std::env::temp_dir().join(format!("laggard-demo-{}.html", std::process::id()));
    let outcome = run(program("laggard").args(["demo", "--output"]).arg(&report));
    let _ = std::fs::remove_file(report);
    outcome?;
    // Verdicts on simulated clusters with known faults; fails where a bound is broken.
    run(program("laggard-lab").args(["score", "--quick"]))?;
    bench_tests()
}

/// A real file system, real faults, real verdicts. What they need, `laggard-lab` installs itself.
fn bench_tests() -> Outcome {
    if !rustix::process::geteuid().is_root() {
        eprintln!(
            "xtask: skipped, they need root: the tests of the bench (crates/laggard-lab/tests/bench.rs)"
        );
        return Ok(());
    }
    // The collector and the diagnosis that were built for the other tests are beside the laboratory; nothing is built anew.
    cargo(&["test", "--workspace", "--test", "bench", "--", "--ignored", "--test-threads", "2"])
}

/// The repository's root.
fn root() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .map_or_else(|| ".".into(), std::path::Path::to_path_buf)
}

/// Runs cargo with the given arguments.
fn cargo(arguments: &[&str]) -> Outcome {
    eprintln!("xtask: cargo {}", arguments.join(" "));
    // No test may skip itself here: whatever it needs has just been installed.
    run(Command::new(env!("CARGO")).args(arguments).env("LAGGARD_REQUIRE_PACKAGES", "1"))
}

fn run(command: &mut Command) -> Outcome {
    let described = format!("{command:?}");
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{described}: {status}")),
        Err(error) => Err(format!("{described}: {error}")),
    }
}
