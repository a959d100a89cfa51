//! Current values for Prometheus: `GET /metrics`, one short answer a connection.
//!
//! On loopback unless configured otherwise, and then only with a token. It serves one reader at a time, reads at most a few KiB of
//! a request, and gives up on a slow one after a second: it cannot be made to cost more than the sampling.

use crate::config::Expose;
use laggard_activity::kind::Nature;
use laggard_activity::{ABSENT, Snapshot, Table};
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

const LONGEST_REQUEST: usize = 8192;
const PATIENCE: Duration = Duration::from_secs(1);

/// What the exposition shows.
#[derive(Debug, Default)]
pub struct Shown {
    /// The latest snapshot.
    pub latest: Option<Snapshot>,
    /// Snapshots taken, of these late, and of these lost.
    pub counts: [u64; 3],
}

/// Shared between the sampling and the exposition.
pub type Shared = Arc<Mutex<Shown>>;

/// Starts listening, if asked to.
pub fn start(config: &Expose, shared: &Shared) -> Result<(), String> {
    let Some(address) = config.listen else { return Ok(()) };
    let token = match &config.token_file {
        Some(path) => {
            let text =
                std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
            let token = text.trim().to_string();
            if token.is_empty() {
                return Err(format!("{}: the token is empty", path.display()));
            }
            Some(token)
        }
        None => None,
    };
    let listener = TcpListener::bind(address).map_err(|error| format!("expose.listen {address}: {error}"))?;
    let shared = shared.clone();
    let thread = thread::Builder::new().name("expose".into()).stack_size(256 << 10);
    let spawned = thread.spawn(move || {
        for stream in listener.incoming().flatten() {
            // Whoever hangs up early has only themselves to blame.
            let _ = answer(stream, token.as_deref(), &shared);
        }
    });
    spawned.map(drop).map_err(|error| error.to_string())
}

fn answer(mut stream: TcpStream, token: Option<&str>, shared: &Shared) -> std::io::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut request = Vec::new();
    let mut part = [0; 1024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < LONGEST_REQUEST {
        // For the request as a whole: whoever sends a byte now and then holds nobody up.
        let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        stream.set_read_timeout(Some(left))?;
        if Instant::now() >= deadline {
            return Ok(());
        }
        match stream.read(&mut part)? {
            0 => break,
            count => request.extend_from_slice(&part[..count]),
        }
    }
    let (status, body) = respond(&String::from_utf8_lossy(&request), token, shared);
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}

fn respond(request: &str, token: Option<&str>, shared: &Shared) -> (&'static str, String) {
    let mut lines = request.lines();
    let target: Vec<&str> = lines.next().unwrap_or("").split(' ').collect();
    let given = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("authorization").then(|| value.trim().strip_prefix("Bearer "))?
    });
    match target.as_slice() {
        _ if !token.is_none_or(|token| given.is_some_and(|given| is_same(given, token))) => {
            ("401 Unauthorized", "a token is needed: Authorization: Bearer TOKEN\n".into())
        }
        ["GET", "/metrics", _] => {
            ("200 OK", shared.lock().map_or_else(|_| String::new(), |shown| render(&shown)))
        }
        ["GET", "/", _] => ("200 OK", "laggard-agent: see /metrics\n".into()),
        ["GET", ..] => ("404 Not Found", "only /metrics is here\n".into()),
        _ => ("400 Bad Request", "GET /metrics is all that is understood\n".into()),
    }
}

/// Takes as long whatever differs.
fn is_same(given: &str, token: &str) -> bool {
    let differences = given.bytes().zip(token.bytes()).fold(0, |all, (a, b)| all | a ^ b);
    given.len() == token.len() && differences == 0
}

/// The text format of Prometheus.
fn render(shown: &Shown) -> String {
    let mut out = String::new();
    let counts = [
        ("samples", "Snapshots taken"),
        ("late_samples", "Of these, late"),
        ("lost_samples", "Of these, lost because the disk did not keep up"),
    ];
    for ((name, help), count) in counts.iter().zip(shown.counts) {
        let _ = writeln!(
            out,
            "# HELP laggard_agent_{name}_total {help}\n# TYPE laggard_agent_{name}_total counter"
        );
        let _ = writeln!(out, "laggard_agent_{name}_total {count}");
    }
    for table in shown.latest.iter().flat_map(|latest| &latest.tables) {
        render_table(&mut out, table);
    }
    out
}

fn render_table(out: &mut String, table: &Table) {
    let label = match table.kind.name {
        "disk" => Some("device"),
        "net" => Some("interface"),
        "lustre" => Some("statistic"),
        "gap" => Some("reason"),
        // There is only one of them.
        "tcp" | "host" => None,
        other => Some(other),
    };
    for (index, field) in table.kind.fields.iter().enumerate() {
        let (ending, kind) =
            if field.nature == Nature::Counter { ("_total", "counter") } else { ("", "gauge") };
        let name = format!("laggard_{}_{}{ending}", table.kind.name, field.name);
        let mut has_heading = false;
        for (row, thing) in table.names.iter().enumerate() {
            let value = table.row(row)[index];
            if value == ABSENT {
                continue;
            }
            if !has_heading {
                let _ =
                    writeln!(out, "# HELP {name} {}\n# TYPE {name} {kind}", field.help.replace('\n', " "));
                has_heading = true;
            }
            let thing = thing.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let labels = label.map_or_else(String::new, |label| format!("{{{label}=\"{thing}\"}}"));
            let _ = writeln!(out, "{name}{labels} {value}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_activity::kind::DISK;

    fn shared() -> Shared {
        let mut table = Table::new(&DISK);
        table.push("a\"b", &[7]);
        let latest = Some(Snapshot { time_s: 1, late_ms: 0, tables: vec![table] });
        Arc::new(Mutex::new(Shown { latest, counts: [3, 1, 0] }))
    }

    #[test]
    fn values_are_shown_and_absent_ones_are_not() {
        let (status, body) = respond("GET /metrics HTTP/1.1\r\n\r\n", None, &shared());
        assert_eq!(status, "200 OK");
        assert!(
            body.contains(
                "# TYPE laggard_disk_reads_total counter\nlaggard_disk_reads_total{device=\"a\\\"b\"} 7\n"
            ),
            "{body}"
        );
        assert!(body.contains("laggard_agent_late_samples_total 1\n") && !body.contains("flushes"), "{body}");
    }

    #[test]
    fn without_the_token_nothing_is_shown() {
        let ask = |header: &str| {
            respond(&format!("GET /metrics HTTP/1.1\r\n{header}\r\n\r\n"), Some("secret"), &shared()).0
        };
        assert_eq!(ask("authorization: Bearer secret"), "200 OK");
        assert_eq!(ask("Authorization: Bearer secreT"), "401 Unauthorized");
        assert_eq!(ask("Host: x"), "401 Unauthorized");
        assert_eq!(respond("POST / HTTP/1.1", None, &shared()).0, "400 Bad Request");
        assert_eq!(respond("", None, &shared()).0, "400 Bad Request");
    }
}
