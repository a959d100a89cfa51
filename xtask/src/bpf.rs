//! `cargo xtask bpf`: builds the eBPF programs of the agent. Only who changes them needs it: the objects are kept beside their text.

use crate::{Outcome, root, run};
use std::path::Path;
use std::process::Command;

/// Builds what is in crates/laggard-agent/bpf.
pub fn build() -> Outcome {
    if !Path::new("/usr/bin/clang").exists() {
        run(Command::new("apt-get").args([
            "install",
            "-q",
            "-y",
            "--no-install-recommends",
            "clang",
            "llvm",
        ]))?;
    }
    let folder = root().join("crates/laggard-agent/bpf");
    let (text, object) = (folder.join("block.bpf.c"), folder.join("block.bpf.o"));
    let bytes = std::fs::read(&text).map_err(|error| format!("{}: {error}", text.display()))?;
    // A test of the agent looks for it in the object.
    let checksum = format!("-DCHECKSUM=\"laggard-bpf-{:08x}\"", crc32fast::hash(&bytes));
    let compile = ["-g", "-O2", "-mcpu=v3", "-target", "bpf", "-Wall", "-Werror", &checksum, "-c"];
    run(Command::new("clang").args(compile).arg(&text).arg("-o").arg(&object))?;
    run(Command::new("llvm-strip").arg("-g").arg(&object))
}
