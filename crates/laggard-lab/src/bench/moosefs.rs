//! MooseFS: a master and chunk servers, each in user space. Files are spread by chunks of 64 MiB, so servers are peers only in
//! the long run: good for crashes, hangs, errors and logs.

use super::config::Config;
use super::layout::{self, Layout, MASTER, MASTER_ADDRESS};
use super::{FileSystem, Service};
use std::fs;
use std::path::{Path, PathBuf};

/// The file system.
pub struct MooseFs;

const PORT: u16 = 9422;
const MASTER_PORT: u16 = 9421;

/// An empty file system's metadata, as the package brings it.
const EMPTY: &str = "MFSM NEW";

fn folder(path: PathBuf) -> Result<PathBuf, String> {
    fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path)
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

impl FileSystem for MooseFs {
    fn name(&self) -> &'static str {
        "moosefs"
    }

    fn packages(&self) -> &'static [&'static str] {
        &["moosefs-master", "moosefs-chunkserver", "moosefs-client"]
    }

    fn port(&self) -> u16 {
        PORT
    }

    fn check(&self, config: &Config) -> Result<(), String> {
        match config.server.memory_mib {
            // With less, a chunk server is killed or never gets ready.
            memory_mib if memory_mib < 1024 => {
                Err(format!("server.memory_mib = {memory_mib}: MooseFS needs 1024"))
            }
            _ => Ok(()),
        }
    }

    fn prepare(&self, config: &Config, layout: &Layout) -> Result<(), String> {
        let data = folder(layout.conf("master"))?;
        write(&data.join("metadata.mfs"), EMPTY)?;
        write(&layout.conf("exports.cfg"), "* / rw,alldirs,maproot=0\n* . rw\n")?;
        let master = format!(
            "WORKING_USER = root\nWORKING_GROUP = root\nSYSLOG_IDENT = mfsmaster\nDATA_PATH = {}\n\
             EXPORTS_FILENAME = {}\nTOPOLOGY_FILENAME = /dev/null\nIPMAP_FILENAME = /dev/null\n",
            data.display(),
            layout.conf("exports.cfg").display()
        );
        write(&layout.conf("master.cfg"), &master)?;
        for index in 0..config.servers {
            let name = layout::server(index);
            let state = folder(layout.conf(&name))?;
            let chunks = folder(layout.brick(&name).join("data"))?;
            write(&layout.conf(&format!("{name}.hdd")), &format!("{}\n", chunks.display()))?;
            let text = format!(
                "WORKING_USER = root\nWORKING_GROUP = root\nSYSLOG_IDENT = mfschunkserver\nDATA_PATH = {}\n\
                 HDD_CONF_FILENAME = {}\nMASTER_HOST = {MASTER_ADDRESS}\nHDD_SPARSIFY_ON_WRITE = 0\n\
                 HDD_LEAVE_SPACE_DEFAULT = 16MiB\nMASTER_RECONNECTION_DELAY = 1\n",
                state.display(),
                layout.conf(&format!("{name}.hdd")).display()
            );
            write(&layout.conf(&format!("{name}.cfg")), &text)?;
        }
        Ok(())
    }

    fn services(&self, layout: &Layout) -> Vec<Service> {
        let file = layout.conf("master.cfg").display().to_string();
        let argv = ["mfsmaster", "-d", "-c", &file, "start"].map(String::from).into();
        vec![Service { host: MASTER.into(), argv, port: MASTER_PORT }]
    }

    fn server(&self, index: usize, layout: &Layout) -> Vec<String> {
        let file = layout.conf(&format!("{}.cfg", layout::server(index))).display().to_string();
        ["mfschunkserver", "-d", "-c", &file, "start"].map(String::from).into()
    }

    fn is_whole(&self, _: &Config, _: &Path) -> bool {
        // Chunk servers may come and go; the master places chunks on those that are there.
        true
    }

    fn client(&self, index: usize, layout: &Layout) -> Vec<String> {
        let mountpoint = layout.mountpoint(&layout::client(index)).display().to_string();
        let options = "-omfscachemode=DIRECT";
        ["mfsmount", "-f", "-H", MASTER_ADDRESS, options, &mountpoint].map(String::from).into()
    }
}
