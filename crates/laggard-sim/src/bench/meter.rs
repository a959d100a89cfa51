//! The sysstat of every server: counters by the second, turned into the metrics of FAST'10 table 1.

use laggard_core::model::Metric;

/// What one server did in one second.
#[derive(Debug, Clone, Copy, Default)]
pub struct Second {
    pub rx_bytes: f64,
    pub tx_bytes: f64,
    pub rx_packets: f64,
    pub tx_packets: f64,
    pub read_sectors: f64,
    pub written_sectors: f64,
    /// Requests completed, and the seconds they took together.
    pub completed: f64,
    pub waited_s: f64,
    /// Seconds with requests in flight, and requests in flight times seconds.
    pub busy_s: f64,
    pub queued_s: f64,
    /// Requests in flight at its end.
    pub in_flight: f64,
}

/// Counters of one server. Seconds come into being when something happens in them.
#[derive(Debug, Clone, Default)]
pub struct Meter(Vec<Second>);

impl Meter {
    /// The second that a moment is in.
    pub fn at(&mut self, time: f64) -> &mut Second {
        let index = time as usize;
        if index >= self.0.len() {
            self.0.resize(index + 64, Second::default());
        }
        &mut self.0[index]
    }

    /// Spreads an interval over the seconds it covers.
    pub fn spread(&mut self, from: f64, to: f64, mut add: impl FnMut(&mut Second, f64)) {
        let mut start = from;
        while start < to {
            let end = to.min((start as usize + 1) as f64);
            add(self.at(start), end - start);
            start = end;
        }
    }

    /// A request of the block layer.
    pub fn request(&mut self, submitted: f64, completed: f64, sectors: f64, is_write: bool) {
        let second = self.at(completed);
        second.completed += 1.0;
        second.waited_s += completed - submitted;
        *if is_write { &mut second.written_sectors } else { &mut second.read_sectors } += sectors;
        self.spread(submitted, completed, |second, seconds| second.queued_s += seconds);
        (submitted as usize..completed as usize).for_each(|index| self.0[index].in_flight += 1.0);
    }

    fn second(&self, index: usize) -> Second {
        self.0.get(index).copied().unwrap_or_default()
    }
}

/// The congestion window of one end of one connection, by the second.
#[derive(Debug, Clone, PartialEq)]
pub struct Socket {
    /// The client.
    pub client: usize,
    /// The server.
    pub server: usize,
    /// The socket on the server, or the one on the client.
    pub on_server: bool,
    /// Segments.
    pub cwnd: Vec<f32>,
}

/// The recording of one experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// Number of servers.
    pub servers: usize,
    /// Seconds recorded.
    pub seconds: usize,
    /// When the last client had finished.
    pub runtime_s: f64,
    /// Every socket.
    pub sockets: Vec<Socket>,
    /// By metric, second, server.
    values: Vec<Vec<f64>>,
}

/// What the bench records, all of FAST'10 table 1 and requests in flight; cwnd as the mean over a server's sockets, by direction.
pub const METRICS: [Metric; 15] = [
    Metric::Tps,
    Metric::RdSec,
    Metric::WrSec,
    Metric::AvgrqSz,
    Metric::AvgquSz,
    Metric::Await,
    Metric::Svctm,
    Metric::Util,
    Metric::Rxpck,
    Metric::Txpck,
    Metric::Rxbyt,
    Metric::Txbyt,
    Metric::CwndToClients,
    Metric::CwndFromClients,
    Metric::InFlight,
];

impl Trace {
    /// Turns counters into metrics, as sysstat does: a mean over no requests is 0.
    pub fn new(meters: &[Meter], sockets: Vec<Socket>, runtime_s: f64) -> Trace {
        let servers = meters.len();
        let seconds = runtime_s as usize;
        let ratio = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        // Congestion windows are whole numbers of segments, the rest has sysstat's two decimals.
        let rounded = |value: f64| (value * 100.0).round() / 100.0;
        let mut cwnd = [vec![0.0; servers * seconds], vec![0.0; servers * seconds]];
        for socket in &sockets {
            for (second, &window) in socket.cwnd.iter().take(seconds).enumerate() {
                cwnd[usize::from(socket.on_server)][second * servers + socket.server] += f64::from(window);
            }
        }
        let clients = sockets.len() as f64 / 2.0 / servers as f64;
        let mean_cwnd = |server: usize, on_server: bool, second: usize| {
            ratio(cwnd[usize::from(on_server)][second * servers + server], clients)
        };
        let value = |metric: Metric, server: usize, second: usize| {
            let seen = meters[server].second(second);
            rounded(match metric {
                Metric::Tps => seen.completed,
                Metric::RdSec => seen.read_sectors,
                Metric::WrSec => seen.written_sectors,
                Metric::AvgrqSz => ratio(seen.read_sectors + seen.written_sectors, seen.completed),
                Metric::AvgquSz => seen.queued_s,
                Metric::Await => 1e3 * ratio(seen.waited_s, seen.completed),
                Metric::Svctm => 1e3 * ratio(seen.busy_s, seen.completed),
                Metric::Util => (100.0 * seen.busy_s).min(100.0),
                Metric::Rxpck => seen.rx_packets,
                Metric::Txpck => seen.tx_packets,
                Metric::Rxbyt => seen.rx_bytes,
                Metric::Txbyt => seen.tx_bytes,
                Metric::CwndToClients => mean_cwnd(server, true, second),
                Metric::CwndFromClients => mean_cwnd(server, false, second),
                Metric::InFlight => seen.in_flight,
                Metric::Throughput
                | Metric::RetransToClients
                | Metric::RetransFromClients
                | Metric::Retrans
                | Metric::CpuWait
                | Metric::CpuBusy
                | Metric::MemoryWait
                | Metric::MemoryAvailable
                | Metric::NetErrors
                | Metric::CarrierChanges
                | Metric::LinkSpeed
                | Metric::Cost
                | Metric::Work => f64::NAN,
            })
        };
        let of_metric = |metric: Metric| {
            (0..seconds)
                .flat_map(|second| (0..servers).map(move |server| (second, server)))
                .map(|(second, server)| value(metric, server, second))
                .collect()
        };
        let values = METRICS.iter().map(|&metric| of_metric(metric)).collect();
        Trace { servers, seconds, runtime_s, sockets, values }
    }

    /// What somebody else has recorded: for each of [`METRICS`], second after second, the servers' values.
    pub fn recorded(servers: usize, seconds: usize, values: Vec<Vec<f64>>) -> Trace {
        Trace { servers, seconds, runtime_s: seconds as f64, sockets: Vec::new(), values }
    }

    /// The values of all servers in one second.
    pub fn row(&self, metric: Metric, second: usize) -> &[f64] {
        let index = METRICS.iter().position(|known| *known == metric).unwrap_or(0);
        &self.values[index][second * self.servers..][..self.servers]
    }

    /// The mean of one server's metric over some seconds.
    pub fn mean(&self, metric: Metric, server: usize, seconds: std::ops::Range<usize>) -> f64 {
        let seconds = seconds.start..seconds.end.min(self.seconds);
        let count = seconds.len() as f64;
        seconds.map(|second| self.row(metric, second)[server]).sum::<f64>() / count
    }
}
