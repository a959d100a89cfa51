//! Prometheus, VictoriaMetrics, Thanos over HTTP: node_exporter's counters become activity files in a folder.
//!
//! What is asked for are the samples as they were scraped (`metric[1h]`), not `query_range`: that fills holes of up to five minutes
//! with the last value, and a missing sample must stay missing. With `--step` it is used all the same, where a server allows nothing
//! else. An hour is asked for at a time, less where the server finds that too much.

use crate::time;
use laggard_activity::kind::{DISK, DiskField, HOST, HostField, Kind, KindId, NET, NetField, TCP, TcpField};
use laggard_activity::{ABSENT, Damage, Origin, Snapshot, Table, TailReader, TailWriter, name, seal};
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What to ask for.
#[derive(Debug, Clone)]
pub struct Request {
    /// `http://prometheus:9090`, or below a path.
    pub url: String,
    /// First second.
    pub from_s: i64,
    /// Last second.
    pub to_s: i64,
    /// Seconds between samples; `None`: as scraped.
    pub step_s: Option<u32>,
    /// Label matchers, such as `job="node"`.
    pub selector: String,
    /// A bearer token.
    pub token: Option<String>,
    /// Certificates of the authority that signed the server's, in PEM.
    pub authority: Option<Vec<u8>>,
}

/// Why nothing was fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The server did not answer, or refused.
    #[error("{url}: {message}")]
    Refused {
        /// Its address.
        url: String,
        /// What it said.
        message: String,
    },
    /// It answered, and had nothing.
    #[error(
        "{url}: no metrics of node_exporter between {from} and {to}{selector}; is the label selector right?"
    )]
    Nothing {
        /// Its address.
        url: String,
        /// From when ...
        from: String,
        /// ... until when ...
        to: String,
        /// ... and of what was asked.
        selector: String,
    },
    /// No certificate to trust it by.
    #[error("the file of the authority has no certificate in PEM")]
    Authority,
    /// What it sent could not be kept.
    #[error("{}: {source}", folder.display())]
    Write {
        /// The folder.
        folder: PathBuf,
        /// Why.
        source: Damage,
    },
}

/// A metric of node_exporter, the field it fills, and its factor.
type Wanted = (&'static str, &'static Kind, usize, f64);

const WANTED: [Wanted; 36] = [
    ("node_disk_reads_completed_total", &DISK, DiskField::Reads.index(), 1.0),
    ("node_disk_reads_merged_total", &DISK, DiskField::ReadsMerged.index(), 1.0),
    ("node_disk_read_bytes_total", &DISK, DiskField::SectorsRead.index(), 1.0 / 512.0),
    ("node_disk_read_time_seconds_total", &DISK, DiskField::ReadMs.index(), 1000.0),
    ("node_disk_writes_completed_total", &DISK, DiskField::Writes.index(), 1.0),
    ("node_disk_writes_merged_total", &DISK, DiskField::WritesMerged.index(), 1.0),
    ("node_disk_written_bytes_total", &DISK, DiskField::SectorsWritten.index(), 1.0 / 512.0),
    ("node_disk_write_time_seconds_total", &DISK, DiskField::WriteMs.index(), 1000.0),
    ("node_disk_io_now", &DISK, DiskField::InFlight.index(), 1.0),
    ("node_disk_io_time_seconds_total", &DISK, DiskField::IoMs.index(), 1000.0),
    ("node_disk_io_time_weighted_seconds_total", &DISK, DiskField::QueueExtraMs.index(), 1000.0),
    ("node_disk_discards_completed_total", &DISK, DiskField::Discards.index(), 1.0),
    ("node_disk_discards_merged_total", &DISK, DiskField::DiscardsMerged.index(), 1.0),
    ("node_disk_discarded_sectors_total", &DISK, DiskField::SectorsDiscarded.index(), 1.0),
    ("node_disk_discard_time_seconds_total", &DISK, DiskField::DiscardMs.index(), 1000.0),
    ("node_disk_flush_requests_total", &DISK, DiskField::Flushes.index(), 1.0),
    ("node_disk_flush_requests_time_seconds_total", &DISK, DiskField::FlushMs.index(), 1000.0),
    ("node_network_receive_bytes_total", &NET, NetField::RxBytes.index(), 1.0),
    ("node_network_receive_packets_total", &NET, NetField::RxPackets.index(), 1.0),
    ("node_network_receive_errs_total", &NET, NetField::RxErrors.index(), 1.0),
    ("node_network_receive_drop_total", &NET, NetField::RxDropped.index(), 1.0),
    ("node_network_transmit_bytes_total", &NET, NetField::TxBytes.index(), 1.0),
    ("node_network_transmit_packets_total", &NET, NetField::TxPackets.index(), 1.0),
    ("node_network_transmit_errs_total", &NET, NetField::TxErrors.index(), 1.0),
    ("node_network_transmit_drop_total", &NET, NetField::TxDropped.index(), 1.0),
    ("node_network_carrier_changes_total", &NET, NetField::CarrierChanges.index(), 1.0),
    ("node_network_speed_bytes", &NET, NetField::SpeedMbit.index(), 8e-6),
    ("node_netstat_Tcp_CurrEstab", &TCP, TcpField::Established.index(), 1.0),
    ("node_netstat_Tcp_InSegs", &TCP, TcpField::InSegments.index(), 1.0),
    ("node_netstat_Tcp_OutSegs", &TCP, TcpField::OutSegments.index(), 1.0),
    ("node_netstat_Tcp_RetransSegs", &TCP, TcpField::Retransmitted.index(), 1.0),
    ("node_netstat_Tcp_InErrs", &TCP, TcpField::InErrors.index(), 1.0),
    ("node_memory_MemTotal_bytes", &HOST, HostField::MemoryTotalKb.index(), 1.0 / 1024.0),
    ("node_memory_MemAvailable_bytes", &HOST, HostField::MemoryAvailableKb.index(), 1.0 / 1024.0),
    ("node_pressure_cpu_waiting_seconds_total", &HOST, HostField::PressureCpuUs.index(), 1e6),
    ("node_pressure_memory_waiting_seconds_total", &HOST, HostField::PressureMemorySomeUs.index(), 1e6),
];

/// Asked for at once; and the least before giving up.
const CHUNK_S: i64 = 3600;
const SMALLEST_CHUNK_S: i64 = 60;
const TRIES: u32 = 3;
const TIMEOUT: Duration = Duration::from_secs(120);
/// Points of one series that every server answers with.
const MOST_POINTS: i64 = 10_000;

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    error: String,
    data: Option<Data>,
}

#[derive(Deserialize)]
struct Data {
    #[serde(default)]
    result: Vec<Series>,
}

#[derive(Deserialize)]
struct Series {
    metric: HashMap<String, String>,
    #[serde(default)]
    values: Vec<(f64, String)>,
}

/// Why a question was not answered.
enum Refusal {
    TooMuch(String),
    Other(String),
}

/// Samples of one host in one chunk: moment in milliseconds, kind, thing, fields.
type Samples = BTreeMap<String, BTreeMap<i64, BTreeMap<(usize, String), Vec<i64>>>>;

/// Fetches everything into activity files below a folder, which must be there. Told of progress as seconds done of seconds asked for.
pub fn fetch(
    request: &Request,
    folder: &Path,
    progress: &dyn Fn(u64, u64),
) -> Result<Vec<PathBuf>, FetchError> {
    let agent = agent(request)?;
    let mut files: BTreeMap<String, HostFile> = BTreeMap::new();
    let longest_s = request.step_s.map_or(CHUNK_S, |step_s| CHUNK_S.max(MOST_POINTS * i64::from(step_s) / 4));
    let mut chunk_s = longest_s;
    let mut at = request.from_s;
    while at <= request.to_s {
        let end = (at + chunk_s - 1).min(request.to_s);
        match samples(&agent, request, at, end) {
            Ok(found) => {
                for (host, moments) in found {
                    let file = files.entry(host.clone()).or_insert_with(|| HostFile::new(folder, &host));
                    file.write(request, moments)
                        .map_err(|source| FetchError::Write { folder: folder.into(), source })?;
                }
                at = end + 1;
                progress(
                    (at - request.from_s).max(0) as u64,
                    (request.to_s - request.from_s + 1).max(1) as u64,
                );
            }
            Err(Refusal::TooMuch(_)) if chunk_s > SMALLEST_CHUNK_S => {
                chunk_s = (chunk_s / 2).max(SMALLEST_CHUNK_S);
            }
            Err(Refusal::TooMuch(message) | Refusal::Other(message)) => {
                return Err(FetchError::Refused { url: request.url.clone(), message });
            }
        }
    }
    if files.is_empty() {
        let selector = match request.selector.as_str() {
            "" => String::new(),
            selector => format!(" for {{{selector}}}"),
        };
        let (from, to) = (time::format(request.from_s), time::format(request.to_s));
        return Err(FetchError::Nothing { url: request.url.clone(), from, to, selector });
    }
    Ok(files.into_values().map(|file| file.path).collect())
}

fn agent(request: &Request) -> Result<ureq::Agent, FetchError> {
    let mut config = ureq::Agent::config_builder().timeout_global(Some(TIMEOUT)).http_status_as_error(false);
    if let Some(pem) = &request.authority {
        let certificates: Vec<_> = ureq::tls::parse_pem(pem)
            .filter_map(Result::ok)
            .filter_map(|item| match item {
                ureq::tls::PemItem::Certificate(certificate) => Some(certificate),
                _ => None,
            })
            .collect();
        if certificates.is_empty() {
            return Err(FetchError::Authority);
        }
        let roots = ureq::tls::RootCerts::new_with_certs(&certificates);
        config = config.tls_config(ureq::tls::TlsConfig::builder().root_certs(roots).build());
    }
    Ok(config.build().new_agent())
}

fn samples(agent: &ureq::Agent, request: &Request, from_s: i64, to_s: i64) -> Result<Samples, Refusal> {
    let mut all = Samples::new();
    for (metric, kind, place, factor) in WANTED {
        for series in ask(agent, request, metric, from_s, to_s)? {
            let label = |name: &str| series.metric.get(name).map(String::as_str);
            let Some(host) = label("instance").map(host_of) else { continue };
            let thing = label("device").unwrap_or(kind.name).to_string();
            let order = kind.id as usize;
            let moments = all.entry(host).or_default();
            for (moment, value) in &series.values {
                let Ok(value) = value.parse::<f64>() else { continue };
                let moment_ms = (moment * 1000.0).round() as i64;
                // No counter and no level is below nothing; a speed that is not known is.
                if value.is_finite() && value >= 0.0 {
                    let row = moments.entry(moment_ms).or_default().entry((order, thing.clone()));
                    row.or_insert_with(|| vec![ABSENT; kind.fields.len()])[place] =
                        (value * factor).round() as i64;
                }
            }
        }
    }
    for row in all.values_mut().flat_map(BTreeMap::values_mut).flatten() {
        as_difference(row.0, row.1);
    }
    Ok(all)
}

/// The weighted time is told as a difference to the others.
fn as_difference((order, _): &(usize, String), row: &mut [i64]) {
    if laggard_activity::kind::KINDS[*order].id != KindId::Disk {
        return;
    }
    let spent = [DiskField::ReadMs, DiskField::WriteMs, DiskField::DiscardMs, DiskField::FlushMs];
    let spent = spent.map(|field| row[field.index()]);
    let queue = &mut row[DiskField::QueueExtraMs.index()];
    if *queue != ABSENT {
        *queue -= spent.into_iter().filter(|ms| *ms != ABSENT).sum::<i64>();
    }
}

/// `oss001.cluster:9100` is oss001; an address stays one.
fn host_of(instance: &str) -> String {
    let host = match instance.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host.trim_matches(['[', ']']),
        _ => instance,
    };
    if host.parse::<std::net::IpAddr>().is_ok() {
        host.into()
    } else {
        host.split('.').next().unwrap_or(host).into()
    }
}

fn ask(
    agent: &ureq::Agent,
    request: &Request,
    metric: &str,
    from_s: i64,
    to_s: i64,
) -> Result<Vec<Series>, Refusal> {
    let query = format!("{metric}{{{}}}", request.selector);
    let base = request.url.trim_end_matches('/');
    let mut last = String::new();
    for attempt in 0..TRIES {
        let mut question = match request.step_s {
            Some(step_s) => agent
                .get(format!("{base}/api/v1/query_range"))
                .query("query", &query)
                .query("start", from_s.to_string())
                .query("end", to_s.to_string())
                .query("step", step_s.to_string()),
            // A range ends at its moment and does not include its beginning.
            None => agent
                .get(format!("{base}/api/v1/query"))
                .query("query", format!("{query}[{}s]", to_s - from_s + 1))
                .query("time", format!("{to_s}.999")),
        };
        if let Some(token) = &request.token {
            question = question.header("Authorization", format!("Bearer {token}"));
        }
        match question.call() {
            Ok(mut response) => {
                let status = response.status().as_u16();
                let body = response.body_mut().with_config().limit(1 << 31).read_to_vec();
                match (status, body) {
                    (401 | 403, _) => {
                        return Err(Refusal::Other("not allowed: give a token with --token-file".into()));
                    }
                    (502..=504, _) => last = format!("answered {status}"),
                    (_, Ok(body)) => return understand(status, &body),
                    (_, Err(error)) => last = error.to_string(),
                }
            }
            Err(error) => last = error.to_string(),
        }
        std::thread::sleep(Duration::from_millis(200 << attempt));
    }
    Err(Refusal::Other(last))
}

fn understand(status: u16, body: &[u8]) -> Result<Vec<Series>, Refusal> {
    let said = |message: String| {
        let lower = message.to_lowercase();
        let much = [
            "too many samples",
            "exceeded maximum",
            "too many points",
            "maxsamples",
            "cannot select more than",
        ];
        if much.iter().any(|part| lower.contains(part)) {
            Refusal::TooMuch(message)
        } else {
            Refusal::Other(message)
        }
    };
    match serde_json::from_slice::<Answer>(body) {
        Ok(Answer { error, .. }) if !error.is_empty() => Err(said(error)),
        Ok(Answer { data: Some(data), .. }) if status == 200 => Ok(data.result),
        _ => Err(Refusal::Other(format!(
            "answered {status}, and not as Prometheus does; is the address right?"
        ))),
    }
}

/// The activity file of one host, written chunk by chunk.
struct HostFile {
    path: PathBuf,
    host: String,
    sequence: u64,
    /// Samples of the fullest hour, and seconds between them.
    interval: (usize, u32),
}

impl HostFile {
    fn new(folder: &Path, host: &str) -> HostFile {
        // The real name follows when the first sample is known.
        HostFile { path: folder.join(name::safe(host)), host: host.into(), sequence: 0, interval: (0, 1) }
    }

    fn write(
        &mut self,
        request: &Request,
        moments: BTreeMap<i64, BTreeMap<(usize, String), Vec<i64>>>,
    ) -> Result<(), Damage> {
        let Some(first_ms) = moments.keys().next().copied() else { return Ok(()) };
        // The fullest hour knows best how often there was a sample.
        if moments.len() > self.interval.0 {
            self.interval = (moments.len(), usual_step_s(&moments));
        }
        let interval_s = request.step_s.unwrap_or(self.interval.1);
        let origin = Origin { host: self.host.clone(), interval_s, kinds: vec![&DISK, &NET, &TCP, &HOST] };
        if self.sequence == 0 {
            let stem = name::stem(&self.host, first_ms.div_euclid(1000));
            self.path = self.path.with_file_name(stem + ".parquet");
        }
        let tail = self.path.with_extension("fetching");
        let mut writer = TailWriter::create(&tail, origin, self.sequence)?;
        let snapshots: Vec<Snapshot> = moments.into_iter().map(snapshot).collect();
        snapshots.chunks(60).try_for_each(|some| writer.append(some))?;
        self.sequence = writer.sequence;
        seal::seal(&self.path, &TailReader::open(&tail)?)?;
        fs::remove_file(&tail)?;
        Ok(())
    }
}

fn usual_step_s<T>(moments: &BTreeMap<i64, T>) -> u32 {
    let times: Vec<i64> = moments.keys().copied().collect();
    let mut steps: Vec<i64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    if steps.is_empty() {
        return 1;
    }
    let half = steps.len() / 2;
    u32::try_from((*steps.select_nth_unstable(half).1 + 500) / 1000).unwrap_or(1).max(1)
}

fn snapshot((moment_ms, rows): (i64, BTreeMap<(usize, String), Vec<i64>>)) -> Snapshot {
    let mut tables: Vec<Table> = Vec::new();
    for ((order, thing), values) in rows {
        let kind = laggard_activity::kind::KINDS[order];
        if tables.last().is_none_or(|table| table.kind.id != kind.id) {
            tables.push(Table::new(kind));
        }
        if let Some(table) = tables.last_mut() {
            table.push(thing, &values);
        }
    }
    Snapshot { time_s: moment_ms.div_euclid(1000), late_ms: moment_ms.rem_euclid(1000) as u32, tables }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Problems;
    use crate::read;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    fn request(url: String) -> Request {
        Request {
            url,
            from_s: 1000,
            to_s: 1059,
            step_s: None,
            selector: "job=\"node\"".into(),
            token: Some("secret".into()),
            authority: None,
        }
    }

    /// A server that answers each request with what the function makes of it.
    fn serve(answer: impl Fn(&str) -> (u16, String) + Send + 'static) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let (mut head, mut part) = (Vec::new(), [0; 2048]);
                while !head.windows(4).any(|end| end == b"\r\n\r\n") {
                    match stream.read(&mut part) {
                        Ok(0) | Err(_) => break,
                        Ok(count) => head.extend_from_slice(&part[..count]),
                    }
                }
                let (status, body) = answer(&String::from_utf8_lossy(&head));
                let _ = write!(
                    stream,
                    "HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                    body.len()
                );
            }
        });
        url
    }

    fn success(result: &str) -> (u16, String) {
        (
            200,
            format!(
                "{{\"status\":\"success\",\"data\":{{\"resultType\":\"matrix\",\"result\":[{result}]}}}}"
            ),
        )
    }

    #[test]
    fn scraped_samples_become_an_activity_file() {
        let url = serve(|request| {
            assert!(
                request.contains("Authorization: Bearer secret")
                    || request.contains("authorization: Bearer secret"),
                "{request}"
            );
            assert!(request.contains("job"));
            let series = |value: fn(i64) -> f64| {
                let values: Vec<String> =
                    (0..4).map(|i| format!("[{}.25,\"{}\"]", 1000 + i * 15, value(i))).collect();
                success(&format!(
                    "{{\"metric\":{{\"instance\":\"oss1.site:9100\",\"device\":\"sda\"}},\"values\":[{}]}}",
                    values.join(",")
                ))
            };
            if request.contains("reads_completed") {
                series(|i| i as f64 * 30.0)
            } else if request.contains("read_time") {
                series(|i| i as f64 * 0.3)
            } else {
                success("")
            }
        });
        let folder = tempfile::tempdir().unwrap();
        let files = fetch(&request(url), folder.path(), &|_, _| {}).unwrap();
        assert_eq!(files, [folder.path().join("oss1-19700101T001640Z.parquet")]);
        let recording = read(&files, None, &mut Problems::default(), &|_, _| {}).unwrap();
        let roster = laggard_core::model::Roster::new(recording.observed(), None);
        let mut found = Vec::new();
        crate::align::Aligned::new(&recording, &roster, 15, |_| true).replay(|sample| {
            if sample.metric == laggard_core::model::Metric::Await {
                found.push((sample.time.0, sample.value));
            }
        });
        assert_eq!(found, [(1005, 10.0), (1020, 10.0), (1035, 10.0)]);
    }

    #[test]
    fn refusals_are_told_in_words() {
        let said = |status: u16, body: &'static str| {
            let folder = tempfile::tempdir().unwrap();
            let fetched = fetch(&request(serve(move |_| (status, body.into()))), folder.path(), &|_, _| {});
            fetched.unwrap_err().to_string()
        };
        assert!(said(401, "").contains("--token-file"));
        assert!(said(400, r#"{"status":"error","error":"parse error"}"#).ends_with("parse error"));
        assert!(said(200, "<html>").contains("is the address right?"));
        assert!(said(200, r#"{"status":"success","data":{"result":[]}}"#).contains("label selector"));
        assert!(
            said(422, r#"{"error":"query processing would load too many samples into memory"}"#)
                .contains("too many samples")
        );
        let nobody =
            fetch(&request("http://127.0.0.1:1".into()), tempfile::tempdir().unwrap().path(), &|_, _| {})
                .unwrap_err()
                .to_string();
        assert!(nobody.contains("refused"), "{nobody}");
    }

    #[test]
    fn hosts_have_short_names() {
        assert_eq!(
            ["oss1.site:9100", "10.0.0.1:9100", "[fd00::1]:9100", "oss2"].map(host_of),
            ["oss1", "10.0.0.1", "fd00::1", "oss2"]
        );
    }
}
