//! Questions to the kernel by netlink that are answered by a dump: many messages, then an end.

use rustix::fd::OwnedFd;
use rustix::net::Protocol;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with, sockopt,
};
use std::time::Duration;

// Numbers of linux/netlink.h.
const REQUEST_DUMP: u16 = 0x301;
const MESSAGE_ERROR: u16 = 2;
const MESSAGE_DONE: u16 = 3;
const MESSAGE_HEADER: usize = 16;

/// A socket to the kernel, opened when it is needed.
pub struct Netlink {
    protocol: Option<Protocol>,
    socket: Option<OwnedFd>,
    buffer: Vec<u8>,
}

impl Netlink {
    /// Of one protocol (without one, that of links and routes), in this process's network namespace.
    pub fn new(protocol: Option<Protocol>) -> Netlink {
        Netlink { protocol, socket: None, buffer: vec![0; 1 << 16] }
    }

    /// Asks a question of a kind; yields the body of each message of the answer. `PROTO` if the kernel refuses.
    pub fn dump(
        &mut self,
        kind: u16,
        question: &[u8],
        each: &mut dyn FnMut(&[u8]),
    ) -> rustix::io::Result<()> {
        let socket = match self.socket.take() {
            Some(socket) => socket,
            None => open(self.protocol)?,
        };
        send(&socket, &request(kind, question), SendFlags::empty())?;
        loop {
            let (count, _) = recv(&socket, &mut self.buffer, RecvFlags::empty())?;
            match messages(&self.buffer[..count], each) {
                Progress::More => {}
                // Only a socket that has been read to its end can be used again.
                Progress::Done => {
                    self.socket = Some(socket);
                    return Ok(());
                }
                Progress::Refused => return Err(rustix::io::Errno::PROTO),
            }
        }
    }
}

fn open(protocol: Option<Protocol>) -> rustix::io::Result<OwnedFd> {
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, protocol)?;
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(Duration::from_millis(500)))?;
    Ok(socket)
}

fn request(kind: u16, question: &[u8]) -> Vec<u8> {
    let length = (MESSAGE_HEADER + question.len()) as u32;
    let mut bytes = vec![0; MESSAGE_HEADER];
    bytes[..4].copy_from_slice(&length.to_ne_bytes());
    bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
    bytes[6..8].copy_from_slice(&REQUEST_DUMP.to_ne_bytes());
    bytes.extend_from_slice(question);
    bytes
}

#[derive(Debug, PartialEq, Eq)]
enum Progress {
    More,
    Done,
    Refused,
}

/// The messages of one answer; what is cut off is passed over.
fn messages(mut bytes: &[u8], each: &mut dyn FnMut(&[u8])) -> Progress {
    while let Some(header) = bytes.get(..MESSAGE_HEADER) {
        let length = u32_at(header, 0) as usize;
        match u16::from_ne_bytes([header[4], header[5]]) {
            MESSAGE_DONE => return Progress::Done,
            MESSAGE_ERROR => return Progress::Refused,
            _ => {}
        }
        let Some(body) = bytes.get(MESSAGE_HEADER..length) else { return Progress::More };
        each(body);
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or(&[]);
    }
    Progress::More
}

/// The value of an attribute, by its kind.
pub fn attribute(mut attributes: &[u8], wanted: u16) -> Option<&[u8]> {
    loop {
        let length = usize::from(u16::from_ne_bytes([*attributes.first()?, *attributes.get(1)?]));
        let kind = u16::from_ne_bytes([*attributes.get(2)?, *attributes.get(3)?]);
        let value = attributes.get(4..length)?;
        if kind == wanted {
            return Some(value);
        }
        attributes = attributes.get(length.next_multiple_of(4)..)?;
    }
}

/// Four bytes as a number.
pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_answer_is_read_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = messages(&bytes, &mut |_| {});
            let _ = attribute(&bytes, 3);
        }

        #[test]
        fn any_message_of_a_right_length_is_read_without_panic(mut bytes in proptest::collection::vec(any::<u8>(), 100..400)) {
            let length = bytes.len() as u32;
            bytes[..4].copy_from_slice(&length.to_ne_bytes());
            bytes[4..6].copy_from_slice(&20u16.to_ne_bytes());
            let _ = messages(&bytes, &mut |body| {
                let _ = attribute(body, 2);
            });
        }
    }
}
