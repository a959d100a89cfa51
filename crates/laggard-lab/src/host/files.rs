//! Files of a machine as text, for the pipe of a hand. Recordings of a run are some hundred kilobytes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// All files below a folder, in hexadecimal.
pub fn below(folder: &Path) -> Result<BTreeMap<PathBuf, String>, String> {
    let mut found = BTreeMap::new();
    let mut pending = vec![folder.to_path_buf()];
    while let Some(next) = pending.pop() {
        let said = |error: std::io::Error| format!("{}: {error}", next.display());
        for entry in fs::read_dir(&next).map_err(said)? {
            let path = entry.map_err(said)?.path();
            if path.is_dir() {
                pending.push(path);
            } else {
                let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
                let name = path.strip_prefix(folder).unwrap_or(&path).to_path_buf();
                found.insert(name, bytes.iter().map(|byte| format!("{byte:02x}")).collect());
            }
        }
    }
    Ok(found)
}

/// Writes them below another folder. A name that leads out of it is refused: another machine has sent it.
pub fn write(files: &BTreeMap<PathBuf, String>, folder: &Path) -> Result<(), String> {
    for (name, text) in files {
        let is_plain = name.components().all(|part| matches!(part, std::path::Component::Normal(_)));
        if !is_plain {
            return Err(format!("{}: not a name below a folder", name.display()));
        }
        let path = folder.join(name);
        let said = |error: std::io::Error| format!("{}: {error}", path.display());
        let bytes = bytes(text).ok_or_else(|| format!("{}: not hexadecimal", name.display()))?;
        fs::create_dir_all(path.parent().unwrap_or(folder)).map_err(said)?;
        fs::write(&path, bytes).map_err(said)?;
    }
    Ok(())
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    if !text.is_ascii() || text.len() % 2 == 1 {
        return None;
    }
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_arrive_as_they_were_and_nothing_leads_out_of_the_folder() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir(from.path().join("oss1")).unwrap();
        fs::write(from.path().join("oss1/a.tail"), [0, 255, 16]).unwrap();
        let found = below(from.path()).unwrap();
        write(&found, to.path()).unwrap();
        assert_eq!(fs::read(to.path().join("oss1/a.tail")).unwrap(), [0, 255, 16]);
        for name in ["../evil", "/etc/evil"] {
            let evil = BTreeMap::from([(PathBuf::from(name), "00".to_string())]);
            assert!(write(&evil, to.path()).is_err(), "{name}");
        }
        let torn = BTreeMap::from([(PathBuf::from("x"), "0".to_string())]);
        assert!(write(&torn, to.path()).is_err());
    }
}
