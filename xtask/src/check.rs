//! Checks that need no test run: format, clippy, docs, file length, direction of dependencies.

use crate::{Outcome, cargo, root, run};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// No file written by hand is longer.
const MOST_LINES: usize = 800;

/// Which of our crates each may depend on. The arrow points one way: collect, store, compare, diagnose, report.
const MAY_DEPEND_ON: [(&str, &[&str]); 9] = [
    ("laggard-activity", &[]),
    ("laggard-agent", &["laggard-activity"]),
    ("laggard-core", &[]),
    ("laggard-store", &["laggard-activity", "laggard-core"]),
    ("laggard-sim", &["laggard-core"]),
    ("laggard-engine", &["laggard-core", "laggard-store"]),
    ("laggard", &["laggard-activity", "laggard-core", "laggard-store", "laggard-engine", "laggard-sim"]),
    ("laggard-lab", &["laggard-core", "laggard-store", "laggard-engine", "laggard-sim"]),
    ("xtask", &["laggard-activity"]),
];

/// Modules of a crate in the order of the arrow: each may use those before it, and none after it.
const MODULES: [(&str, &[&str]); 3] = [
    ("laggard-core", &["ids", "stats", "grid", "model", "cost", "compare", "fsu", "diagnose"]),
    (
        "laggard-engine",
        &[
            "page",
            "warning",
            "error",
            "noted",
            "plausible",
            "input",
            "plan",
            "offline",
            "explain",
            "live",
            "training",
            "utilization",
        ],
    ),
    ("laggard", &["demo", "report", "cli"]),
];

pub fn all() -> Outcome {
    file_length()?;
    dependencies()?;
    modules()?;
    cargo(&["fmt", "--all", "--check"])?;
    cargo(&["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"])?;
    eprintln!("xtask: cargo doc");
    run(Command::new(env!("CARGO"))
        .args(["doc", "--workspace", "--no-deps", "--document-private-items", "--quiet"])
        .env("RUSTDOCFLAGS", "--deny warnings --allow rustdoc::private_intra_doc_links"))
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && path.file_name().is_none_or(|name| name != "target") {
            sources(&path, found);
        } else if path
            .extension()
            .is_some_and(|extension| ["rs", "js", "css"].iter().any(|known| extension == *known))
        {
            found.push(path);
        }
    }
}

fn file_length() -> Outcome {
    let mut found = Vec::new();
    sources(&root().join("crates"), &mut found);
    sources(&root().join("xtask"), &mut found);
    for path in found {
        let lines = fs::read_to_string(&path)
            .map_err(|error| format!("{}: {error}", path.display()))?
            .lines()
            .count();
        if lines > MOST_LINES {
            return Err(format!("{}: {lines} lines, more than {MOST_LINES}", path.display()));
        }
    }
    Ok(())
}

fn dependencies() -> Outcome {
    let mut manifests: Vec<PathBuf> = vec![root().join("xtask/Cargo.toml")];
    for entry in fs::read_dir(root().join("crates")).map_err(|error| error.to_string())?.flatten() {
        manifests.push(entry.path().join("Cargo.toml"));
    }
    for manifest in manifests {
        let text =
            fs::read_to_string(&manifest).map_err(|error| format!("{}: {error}", manifest.display()))?;
        let name =
            manifest.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
        let Some((_, allowed)) = MAY_DEPEND_ON.iter().find(|(known, _)| *known == name) else {
            return Err(format!(
                "{}: a new crate; say in xtask/src/check.rs what it may depend on",
                manifest.display()
            ));
        };
        // What only tests use, they may.
        let built = text.split("[dev-dependencies]").next().unwrap_or(&text);
        for line in built.lines().filter(|line| line.starts_with("laggard")) {
            let dependency = line.split(['.', ' ', '=']).next().unwrap_or("");
            if !allowed.contains(&dependency) {
                return Err(format!("{}: {name} may not depend on {dependency}", manifest.display()));
            }
        }
    }
    Ok(())
}

/// No module uses one that stands after it, and every module has its place.
fn modules() -> Outcome {
    for (name, order) in MODULES {
        let folder = root().join("crates").join(name).join("src");
        for (place, module) in order.iter().enumerate() {
            let mut files = Vec::new();
            sources(&folder.join(module), &mut files);
            files.push(folder.join(format!("{module}.rs")));
            for path in files.iter().filter(|path| path.extension().is_some_and(|ending| ending == "rs")) {
                let text = fs::read_to_string(path).unwrap_or_default();
                let code = |line: &&str| !line.trim_start().starts_with("//");
                let text: String = text.lines().filter(code).collect::<Vec<_>>().join("\n");
                for later in &order[place + 1..] {
                    if uses(&text, later) {
                        let path = path.display();
                        return Err(format!("{path}: {name}'s `{module}` may not use `{later}`"));
                    }
                }
            }
        }
        let entries = fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        for entry in entries.flatten() {
            let path = entry.path();
            let module = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if !["lib", "main", "tests"].contains(&module.as_str()) && !order.contains(&module.as_str()) {
                let path = path.display();
                return Err(format!("{path}: a new module; say in xtask/src/check.rs where it stands"));
            }
        }
    }
    Ok(())
}

/// Whether code uses a module of its crate: `crate::module`, or `crate::{…, module, …}`.
fn uses(code: &str, module: &str) -> bool {
    let is_word = |text: &str| !text.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    code.split("crate::").skip(1).any(|rest| match rest.strip_prefix('{') {
        Some(list) => {
            let list = list.split('}').next().unwrap_or(list);
            list.split(',').any(|item| item.trim().strip_prefix(module).is_some_and(is_word))
        }
        None => rest.strip_prefix(module).is_some_and(is_word),
    })
}
