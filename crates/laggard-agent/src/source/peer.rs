//! TCP congestion by remote host: congestion window, round-trip time and retransmissions of established sockets, asked of the
//! kernel by INET_DIAG (what `ss -ti` uses), no privilege needed.
//!
//! Cost: grows with all established sockets of the host, about 0.6 µs each; what is kept grows with remote hosts only.

use super::Source;
use super::netlink::{Netlink, attribute, u32_at};
use crate::config::{PeerConfig, Selection};
use laggard_activity::Table;
use laggard_activity::kind::{Kind, PEER};
use rustix::net::netlink;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

// Numbers of linux/sock_diag.h, linux/inet_diag.h and net/tcp_states.h.
/// The older question, which one walk of the kernel's table of sockets answers for both families; the newer needs two.
const TCPDIAG_GETSOCK: u16 = 18;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const FAMILIES: [u8; 2] = [2, 10];
const TCP: u8 = 6;
const ESTABLISHED: u32 = 1 << 1;
const WANT_INFO: u8 = 1 << 1;
const ATTRIBUTE_INFO: u16 = 2;
const SOCKET_MESSAGE: usize = 72;

/// Sockets by remote host.
pub struct Peers {
    selection: Selection,
    netlink: Netlink,
    both_refused: bool,
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
        let netlink = Netlink::new(Some(netlink::SOCK_DIAG));
        Peers { selection: config.selection(), netlink, both_refused: false }
    }

    fn dump(&mut self, question: Question, each: &mut dyn FnMut(Socket)) -> rustix::io::Result<()> {
        let (kind, bytes) = request(question);
        // What does not look like a socket is passed over.
        self.netlink.dump(kind, &bytes, &mut |body| {
            socket(body).into_iter().for_each(&mut *each);
        })
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

/// One question to the kernel.
#[derive(Debug, Clone, Copy)]
enum Question {
    BothFamilies,
    Family(u8),
}

/// The kind of a question, and what is asked.
fn request(question: Question) -> (u16, Vec<u8>) {
    match question {
        Question::BothFamilies => {
            let mut bytes = vec![0; 60];
            bytes[..4].copy_from_slice(&[FAMILIES[0], 0, 0, WANT_INFO]);
            bytes[52..56].copy_from_slice(&ESTABLISHED.to_ne_bytes());
            (TCPDIAG_GETSOCK, bytes)
        }
        Question::Family(family) => {
            let mut bytes = vec![0; 56];
            bytes[..3].copy_from_slice(&[family, TCP, WANT_INFO]);
            bytes[4..8].copy_from_slice(&ESTABLISHED.to_ne_bytes());
            (SOCK_DIAG_BY_FAMILY, bytes)
        }
    }
}

fn socket(body: &[u8]) -> Option<Socket> {
    let (message, attributes) = body.split_at_checked(SOCKET_MESSAGE)?;
    let port = |at: usize| u16::from_be_bytes([message[at], message[at + 1]]);
    let address: [u8; 16] = message[24..40].try_into().ok()?;
    let remote = match message[0] {
        2 => IpAddr::V4(Ipv4Addr::new(address[0], address[1], address[2], address[3])),
        _ => Ipv6Addr::from(address).to_canonical(),
    };
    // struct tcp_info: tcpi_rtt, tcpi_snd_cwnd, tcpi_total_retrans.
    let info = attribute(attributes, ATTRIBUTE_INFO)?;
    let value = |at: usize| info.get(at..at + 4).map(|word| u32_at(word, 0));
    Some(Socket {
        local_port: port(4),
        remote_port: port(6),
        remote,
        rtt_us: value(68)?,
        cwnd: value(80)?,
        retransmits: value(100)?,
    })
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
        fn any_socket_is_read_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = socket(&bytes);
        }
    }
}
