//! The disk's one file, whose requests take as long as the model says.

use super::control;
use super::model::{Arm, Condition, Extent, Next, Shape, Waiting};
use fuser::{
    Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite,
    Request, Session, SessionACL, WriteFlags,
};
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, UNIX_EPOCH};

const INODE: INodeNo = INodeNo(2);
const FOREVER: Duration = Duration::from_secs(3600);

/// A request of the kernel.
enum Asked {
    Read(Extent, ReplyData),
    Write(Extent, Vec<u8>, ReplyWrite),
    Flush(ReplyEmpty),
}

impl Asked {
    fn extent(&self) -> Option<Extent> {
        match self {
            Asked::Read(extent, _) | Asked::Write(extent, ..) => Some(*extent),
            Asked::Flush(_) => None,
        }
    }
}

#[derive(Default)]
struct Queue {
    /// Came since the arm last looked.
    fresh: Vec<Asked>,
    waiting: VecDeque<Waiting<Asked>>,
    condition: Condition,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, request: Asked) {
        self.queue().fresh.push(request);
        self.changed.notify_one();
    }

    fn set(&self, condition: Condition) {
        self.queue().condition = condition;
        self.changed.notify_one();
    }

    /// The next request, or a block of the hidden reader, and what is wrong with the disk while it is served.
    fn next(&self, arm: &mut Arm) -> (Option<Asked>, Condition) {
        let mut queue = self.queue();
        loop {
            let fresh = std::mem::take(&mut queue.fresh);
            queue.waiting.extend(fresh.into_iter().map(|request| arm.queued(request)));
            let condition = queue.condition;
            match arm.next(&queue.waiting, &condition, Asked::extent) {
                Next::Hidden => return (None, condition),
                Next::Request(index) => {
                    if let Some(next) = queue.waiting.remove(index) {
                        return (Some(next.request), condition);
                    }
                }
                Next::Nothing => queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

/// Serves requests one at a time, each as long as the model says.
fn spin(shared: &Shared, backing: &File, shape: Shape) {
    const FLUSH: Extent = Extent { offset: 0, length: 0 };
    let mut arm = Arm::new(shape);
    let mut free_at = Instant::now();
    loop {
        let (request, condition) = shared.next(&mut arm);
        let service = match &request {
            Some(request) => arm.serve(request.extent().unwrap_or(FLUSH), &condition),
            None => arm.serve_hidden(&condition),
        };
        // A late wake-up is made good by the next request, as long as the disk is never idle.
        let now = Instant::now();
        free_at = free_at.max(now.checked_sub(Duration::from_millis(2)).unwrap_or(now)) + service;
        std::thread::sleep(free_at.saturating_duration_since(now));
        if let Some(request) = request {
            answer(request, backing, condition.fail);
        }
    }
}

fn answer(request: Asked, backing: &File, fail: bool) {
    match request {
        Asked::Read(_, reply) if fail => reply.error(Errno::EIO),
        Asked::Write(_, _, reply) if fail => reply.error(Errno::EIO),
        Asked::Flush(reply) if fail => reply.error(Errno::EIO),
        Asked::Read(extent, reply) => {
            let mut data = vec![0; extent.length as usize];
            match backing.read_exact_at(&mut data, extent.offset) {
                Ok(()) => reply.data(&data),
                Err(_) => reply.error(Errno::EIO),
            }
        }
        Asked::Write(extent, data, reply) => match backing.write_all_at(&data, extent.offset) {
            Ok(()) => reply.written(data.len() as u32),
            Err(_) => reply.error(Errno::EIO),
        },
        Asked::Flush(reply) => reply.ok(),
    }
}

struct Disk {
    shared: Arc<Shared>,
    /// Of the only file.
    name: String,
    size: u64,
}

impl Disk {
    fn attributes(&self, inode: INodeNo) -> FileAttr {
        let is_file = inode == INODE;
        FileAttr {
            ino: inode,
            size: if is_file { self.size } else { 0 },
            blocks: self.size / 512,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind: if is_file { FileType::RegularFile } else { FileType::Directory },
            perm: if is_file { 0o600 } else { 0o700 },
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            flags: 0,
            blksize: 4096,
        }
    }
}

impl Filesystem for Disk {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> std::io::Result<()> {
        // What the kernel holds back would not be waiting in the disk's queue; it is the disk that is to be slow.
        let _ = config.set_max_background(256);
        let _ = config.set_congestion_threshold(256);
        let _ = config.set_max_write(1 << 20);
        let _ = config.add_capabilities(InitFlags::FUSE_ASYNC_DIO);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if parent == INodeNo::ROOT && name == self.name.as_str() {
            reply.entry(&FOREVER, &self.attributes(INODE), Generation(0));
        } else {
            reply.error(Errno::ENOENT);
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&FOREVER, &self.attributes(inode));
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let length = u64::from(size).min(self.size.saturating_sub(offset));
        self.shared.push(Asked::Read(Extent { offset, length }, reply));
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        if offset + data.len() as u64 > self.size {
            return reply.error(Errno::ENOSPC);
        }
        let extent = Extent { offset, length: data.len() as u64 };
        self.shared.push(Asked::Write(extent, data.to_vec(), reply));
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.shared.push(Asked::Flush(reply));
    }
}

/// Serves one disk until it is unmounted. Its content is the sparse file `backing`.
pub fn serve(
    shape: Shape,
    name: &str,
    backing: &Path,
    socket: &Path,
    mountpoint: &Path,
) -> Result<(), String> {
    let said = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    let file = File::options().read(true).write(true).create(true).truncate(false).open(backing);
    let file = file.map_err(|error| said(backing, error))?;
    let size = shape.size_mib << 20;
    file.set_len(size).map_err(|error| said(backing, error))?;
    let listener = UnixListener::bind(socket).map_err(|error| said(socket, error))?;
    let shared = Arc::new(Shared::default());
    let (for_control, for_arm) = (shared.clone(), shared.clone());
    std::thread::spawn(move || control::listen(&listener, |condition| for_control.set(condition)));
    std::thread::spawn(move || spin(&for_arm, &file, shape));
    let mut config = Config::default();
    config.acl = SessionACL::Owner;
    config.mount_options = vec![fuser::MountOption::FSName("laggard-disk".into())];
    Session::new(Disk { shared, name: name.into(), size }, mountpoint, &config)
        .and_then(Session::run)
        .map_err(|error| said(mountpoint, error))
}
