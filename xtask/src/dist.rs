//! `cargo xtask dist`: the agent as one static file.

use crate::{Outcome, root, run};
use std::fs;
use std::process::Command;

/// Builds it, checks that it is static, and says where it is.
pub fn run_dist() -> Outcome {
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    run(Command::new(env!("CARGO"))
        .args(["build", "--release", "-p", "laggard-agent", "--target", &target])
        .env("RUSTFLAGS", "-C target-feature=+crt-static"))?;
    let built = root().join("target").join(&target).join("release/laggard-agent");
    let dist = root().join("target/dist");
    let said = |error: std::io::Error| format!("{}: {error}", dist.display());
    fs::create_dir_all(&dist).map_err(said)?;
    fs::copy(&built, dist.join("laggard-agent")).map_err(said)?;
    let linked = Command::new("ldd").arg(&built).output().map_err(|error| format!("ldd: {error}"))?;
    let told = String::from_utf8_lossy(&[linked.stdout, linked.stderr].concat()).into_owned();
    if !(told.contains("statically linked") || told.contains("not a dynamic executable")) {
        return Err(format!("{} is not static: {told}", built.display()));
    }
    println!(
        "{}, {:.1} MB, static",
        dist.join("laggard-agent").display(),
        built.metadata().map_or(0, |known| known.len()) as f64 / 1e6
    );
    Ok(())
}
