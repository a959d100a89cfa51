//! Processes that the laboratory starts of itself: `disk`, `hand`, `work`. Not for the command line of people.

use super::Outcome;
use crate::bench::cgroup;
use crate::disk::{control, model, serve};
use crate::host::hand;
use crate::workload::stream::Streams;
use crate::workload::{Workload, files, hog, postmark};
use clap::{Args as ClapArgs, Subcommand};
use std::path::PathBuf;

/// An emulated disk
#[derive(Subcommand)]
pub enum Disk {
    /// Serve it at a mountpoint
    Serve {
        /// What it can do, in JSON
        #[arg(long)]
        shape: String,
        /// Its control
        #[arg(long)]
        socket: PathBuf,
        /// Name of its file
        #[arg(long)]
        file: String,
        /// Its content
        image: PathBuf,
        /// Where its file appears
        mountpoint: PathBuf,
    },
    /// Say what is wrong with it from now on
    Set {
        /// Its control
        socket: PathBuf,
        /// In JSON: {"hidden_kib":1024}, {"slow_ms":40}, {"hang":true}, {"fail":true}; {} is a healthy disk
        condition: String,
    },
}

pub fn disk(verb: &Disk) -> Result<Outcome, String> {
    match verb {
        Disk::Serve { shape, socket, file, image, mountpoint } => {
            let shape = serde_json::from_str(shape).map_err(|error| format!("--shape: {error}"))?;
            serve::serve(shape, file, image, socket, mountpoint)?;
        }
        Disk::Set { socket, condition } => {
            let condition: model::Condition =
                serde_json::from_str(condition).map_err(|error| format!("{condition}: {error}"))?;
            control::set(socket, &condition)?;
        }
    }
    Ok(Outcome::Good)
}

/// Does on this machine what its stdin asks for
#[derive(ClapArgs)]
pub struct Hand {
    /// Where it notes what it would have to undo
    #[arg(long)]
    journals: Option<PathBuf>,
    /// Control groups to be in
    #[arg(long = "group")]
    groups: Vec<PathBuf>,
}

pub fn hand(args: &Hand) -> Result<Outcome, String> {
    cgroup::enter(&args.groups, std::process::id())?;
    match &args.journals {
        Some(folder) if hand::is_on_bench() => hand::serve(folder)?,
        // Not on a bench: the machine is somebody's.
        _ => {
            hand::check_marker(hand::MARKER.as_ref())?;
            hand::serve(hand::JOURNALS.as_ref())?;
        }
    }
    Ok(Outcome::Good)
}

/// A part of a workload or of a fault
#[derive(Subcommand)]
pub enum Work {
    /// A workload in a client's folder; prints seconds and bytes (postmark: transactions) so far
    Load {
        workload: Workload,
        folder: PathBuf,
        #[arg(long, default_value_t = 2)]
        streams: usize,
        #[arg(long, default_value_t = 64)]
        file_mib: u64,
        #[arg(long, default_value_t = 1024)]
        record_kib: usize,
        #[arg(long)]
        seconds: f64,
    },
    /// The files that reading workloads read
    Prepare {
        folder: PathBuf,
        #[arg(long, default_value_t = 2)]
        streams: usize,
        #[arg(long)]
        file_mib: u64,
    },
    /// Read a device without end
    ReadDevice {
        #[arg(long)]
        block_mib: usize,
        device: PathBuf,
    },
    /// Take what is sent to an address
    Drain { address: String },
    /// Send zeros to an address
    Pour { address: String },
    /// Let a netfilter chain drop everything, and then nothing, again and again
    Flap {
        #[arg(long)]
        down_s: f64,
        #[arg(long)]
        up_s: f64,
        chain: String,
    },
    /// Take an interface down and up, again and again
    FlapLink {
        #[arg(long)]
        down_s: f64,
        #[arg(long)]
        up_s: f64,
        interface: String,
    },
    /// Let an interface drop what is large, for a moment, again and again
    Drop {
        #[arg(long)]
        for_ms: u64,
        #[arg(long)]
        every_ms: u64,
        #[arg(long)]
        mtu: u32,
        interface: String,
    },
    /// Compute
    Spin {
        #[arg(long)]
        threads: usize,
    },
    /// Hold memory
    HoldMemory {
        #[arg(long)]
        share: f64,
        #[arg(long = "group")]
        groups: Vec<PathBuf>,
    },
    /// Use up all inodes
    FillInodes { folder: PathBuf },
}

pub fn work(verb: &Work) -> Result<Outcome, String> {
    if let Work::Load { folder, .. } | Work::Prepare { folder, .. } = verb {
        std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    match verb {
        Work::Load { workload, folder, streams, file_mib, record_kib, seconds } => match workload {
            Workload::Postmark => postmark::run(folder, *streams, *seconds)?,
            Workload::Small => files::run(folder, *streams, *seconds)?,
            other => {
                let (folder, streams, seconds) = (folder.clone(), *streams, *seconds);
                let load = Streams { folder, streams, file_mib: *file_mib, record_kib: *record_kib, seconds };
                load.run(*other)?;
            }
        },
        Work::Prepare { folder, streams, file_mib } => {
            let folder = folder.clone();
            Streams { folder, streams: *streams, file_mib: *file_mib, record_kib: 1024, seconds: 0.0 }
                .prepare()?;
        }
        Work::ReadDevice { block_mib, device } => match hog::read_device(device, *block_mib)? {},
        Work::Drain { address } => match hog::drain(address)? {},
        Work::Pour { address } => match hog::pour(address)? {},
        Work::Flap { down_s, up_s, chain } => match hog::flap(chain, *down_s, *up_s)? {},
        Work::FlapLink { down_s, up_s, interface } => match hog::flap_link(interface, *down_s, *up_s)? {},
        Work::Drop { for_ms, every_ms, mtu, interface } => {
            match hog::drop_large(interface, *mtu, *for_ms, *every_ms)? {}
        }
        Work::Spin { threads } => match hog::spin(*threads)? {},
        Work::HoldMemory { share, groups } => match hog::hold_memory(*share, groups)? {},
        Work::FillInodes { folder } => hog::fill_inodes(folder)?,
    }
    Ok(Outcome::Good)
}
