//! TCP congestion by remote host: congestion window, round-trip time and retransmissions of established sockets, asked of the
//! kernel by INET_DIAG (what `ss -ti` uses), no privilege needed.
//!
//! Cost: grows with all established sockets of the host, about 0.6 µs each; what is kept grows with remote hosts only.

use super::Source;
use crate::config::{PeerConfig, Selection};
use laggard_activity::Table;
use laggard_activity::kind::{Kind, PEER};
use rustix::fd::OwnedFd;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with, sockopt,
};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

// Numbers of linux/netlink.h, linux/sock_diag.h, linux/inet_diag.h and net/tcp_states.h.
/// The older question, which one walk of the kernel's table of sockets answers for both families; the newer needs two.
const TCPDIAG_GETSOCK: u16 = 18;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const REQUEST_DUMP: u16 = 0x301;
const MESSAGE_ERROR: u16 = 2;
const MESSAGE_DONE: u16 = 3;
const FAMILIES: [u8; 2] = [2, 10];
const TCP: u8 = 6;
const ESTABLISHED: u32 = 1 << 1;
const WANT_INFO: u8 = 1 << 1;
const ATTRIBUTE_INFO: u16 = 2;
const MESSAGE_HEADER: usize = 16;
const SOCKET_MESSAGE: usize = 72;

/// Sockets by remote host.
pub struct Peers {
    selection: Selection,
    socket: Option<OwnedFd>,
    both_refused: bool,
    buffer: Vec<u8>,
}

/// One established socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Socket {
    local_port: u16,
    remote_port: u16,
    remote: IpAddr,
    cwnd: u32,
    rtt_us: u32,
    retransmits: u32,
}

impl Peers {
    /// The sockets of this process's network namespace.
    pub fn new(config: &PeerConfig) -> Peers {
        Peers { selection: config.selection(), socket: None, both_refused: false, buffer: vec![0; 1 << 16] }
    }

    fn dump(&mut self, question: Question, each: &mut dyn FnMut(Socket)) -> rustix::io::Result<()> {
        let socket = match self.socket.take() {
            Some(socket) => socket,
            None => open()?,
        };
        send(&socket, &request(question), SendFlags::empty())?;
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

impl Source for Peers {
    fn name(&self) -> &'static str {
        "peer"
    }

    fn kinds(&self) -> Vec<&'static Kind> {
        vec![&PEER]
    }

    fn read(&mut self) -> Result<Vec<Table>, String> {
        let mut sums: BTreeMap<(bool, IpAddr), [i64; 4]> = BTreeMap::new();
        let selection = self.selection.clone();
        let mut count = |socket: Socket| {
            let selected = selection.we_serve(socket.local_port, socket.remote_port, socket.remote);
            let Some(we_serve) = selected else { return };
            let sum = sums.entry((we_serve, socket.remote)).or_default();
            let values = [1, i64::from(socket.cwnd), i64::from(socket.rtt_us), i64::from(socket.retransmits)];
            sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        };
        let said = |error| format!("INET_DIAG: {error}");
        if !self.both_refused {
            match self.dump(Question::BothFamilies, &mut count) {
                Err(rustix::io::Errno::PROTO) => self.both_refused = true,
                other => other.map_err(said)?,
            }
        }
        if self.both_refused {
            for family in FAMILIES {
                self.dump(Question::Family(family), &mut count).map_err(said)?;
            }
        }
        let mut table = Table::new(&PEER);
        for ((we_serve, remote), sum) in sums {
            table.push(format!("{}:{remote}", if we_serve { "client" } else { "server" }), &sum);
        }
        Ok(vec![table])
    }
}

fn open() -> rustix::io::Result<OwnedFd> {
    let socket =
        socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, Some(netlink::SOCK_DIAG))?;
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(Duration::from_millis(500)))?;
    Ok(socket)
}

/// One question to the kernel.
#[derive(Debug, Clone, Copy)]
enum Question {
    BothFamilies,
    Family(u8),
}

fn request(question: Question) -> Vec<u8> {
    let (kind, length) = match question {
        Question::BothFamilies => (TCPDIAG_GETSOCK, 76u32),
        Question::Family(_) => (SOCK_DIAG_BY_FAMILY, 72),
    };
    let mut bytes = vec![0; length as usize];
    bytes[..4].copy_from_slice(&length.to_ne_bytes());
    bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
    bytes[6..8].copy_from_slice(&REQUEST_DUMP.to_ne_bytes());
    match question {
        Question::BothFamilies => {
            bytes[16..20].copy_from_slice(&[FAMILIES[0], 0, 0, WANT_INFO]);
            bytes[68..72].copy_from_slice(&ESTABLISHED.to_ne_bytes());
        }
        Question::Family(family) => {
            bytes[16..19].copy_from_slice(&[family, TCP, WANT_INFO]);
            bytes[20..24].copy_from_slice(&ESTABLISHED.to_ne_bytes());
        }
    }
    bytes
}

#[derive(Debug, PartialEq, Eq)]
enum Progress {
    More,
    Done,
    Refused,
}

/// The sockets of one answer; what does not look like a socket is passed over.
fn messages(mut bytes: &[u8], each: &mut dyn FnMut(Socket)) -> Progress {
    while let Some(header) = bytes.get(..MESSAGE_HEADER) {
        let length = u32_at(header, 0) as usize;
        match u16::from_ne_bytes([header[4], header[5]]) {
            MESSAGE_DONE => return Progress::Done,
            MESSAGE_ERROR => return Progress::Refused,
            _ => {}
        }
        let Some(body) = bytes.get(MESSAGE_HEADER..length) else { return Progress::More };
        if let Some(socket) = socket(body) {
            each(socket);
        }
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or(&[]);
    }
    Progress::More
}

fn socket(body: &[u8]) -> Option<Socket> {
    let (message, mut attributes) = body.split_at_checked(SOCKET_MESSAGE)?;
    let port = |at: usize| u16::from_be_bytes([message[at], message[at + 1]]);
    let address: [u8; 16] = message[24..40].try_into().ok()?;
    let remote = match message[0] {
        2 => IpAddr::V4(Ipv4Addr::new(address[0], address[1], address[2], address[3])),
        _ => Ipv6Addr::from(address).to_canonical(),
    };
    loop {
        let length = usize::from(u16::from_ne_bytes([*attributes.first()?, *attributes.get(1)?]));
        let kind = u16::from_ne_bytes([*attributes.get(2)?, *attributes.get(3)?]);
        let info = attributes.get(4..length)?;
        if kind == ATTRIBUTE_INFO {
            // struct tcp_info: tcpi_rtt, tcpi_snd_cwnd, tcpi_total_retrans.
            let value = |at: usize| info.get(at..at + 4).map(|word| u32_at(word, 0));
            let (rtt_us, cwnd, retransmits) = (value(68)?, value(80)?, value(100)?);
            return Some(Socket {
                local_port: port(4),
                remote_port: port(6),
                remote,
                cwnd,
                rtt_us,
                retransmits,
            });
        }
        attributes = attributes.get(length.next_multiple_of(4)..)?;
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn real_sockets_are_seen_from_both_sides_and_summed_by_host() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let clients: Vec<TcpStream> =
            (0..50).map(|_| TcpStream::connect(("127.0.0.1", port)).unwrap()).collect();
        let served: Vec<TcpStream> = clients.iter().map(|_| listener.accept().unwrap().0).collect();
        let config = PeerConfig { ports: vec![port.to_string()], ..PeerConfig::default() };
        let mut peers = Peers::new(&config);
        for round in 0..4 {
            // Also as on kernels that know only the newer question.
            peers.both_refused |= round == 2;
            let table = peers.read().unwrap().remove(0);
            let names: Vec<&str> = table.names.iter().map(AsRef::as_ref).collect();
            assert_eq!(names, ["server:127.0.0.1", "client:127.0.0.1"]);
            for side in 0..2 {
                assert_eq!(table.row(side)[0], 50);
                assert!(table.row(side)[1] >= 50, "each has a window of a segment at least");
            }
        }
        drop((clients, served));
        let nobody = PeerConfig { ports: vec!["1".into()], ..PeerConfig::default() };
        assert_eq!(Peers::new(&nobody).read().unwrap().remove(0).names.len(), 0);
    }

    proptest! {
        #[test]
        fn any_answer_is_read_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = messages(&bytes, &mut |_| {});
        }

        #[test]
        fn any_message_of_a_right_length_is_read_without_panic(mut bytes in proptest::collection::vec(any::<u8>(), 100..400)) {
            let length = bytes.len() as u32;
            bytes[..4].copy_from_slice(&length.to_ne_bytes());
            bytes[4..6].copy_from_slice(&20u16.to_ne_bytes());
            let _ = messages(&bytes, &mut |_| {});
        }
    }
}
