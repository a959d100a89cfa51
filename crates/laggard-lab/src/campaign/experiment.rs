//! One run: collectors on, workload on, clean, fault, clean, everything off, and the truth written last.

use super::plan::{Experiment, Injection, Plan};
use super::site::{Client, Reached, Site};
use super::truth::{ELEVATOR, Injected, SCHEMA, Said, Truth};
use crate::fault::{Fault, Role};
use crate::host::command::{self, myself};
use crate::host::reach::Host;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A fault is undone by the machine itself if nobody comes back for it so long after its time.
const GRACE_S: f64 = 60.0;
/// Where machines keep the files of a run that do not see its folder.
const SCRATCH: &str = "/var/lib/laggard-lab";
/// The collector's configuration, beside its files.
const CONFIG: &str = "agent.toml";
/// A workload has so long to finish what it was at when its time was over, and to say whether it failed.
const LAST_WORDS: Duration = Duration::from_secs(20);
/// Before the workload: collectors have to find everything once.
const SETTLE: Duration = Duration::from_secs(3);

/// When the workload began, when the fault did, when that was gone, and the end; in seconds since 1970.
type Times = [f64; 4];
/// Something begun on a host, to be undone.
type Begun<'a> = (&'a Host, usize);

/// Hands on all machines of a site.
pub struct Stage {
    site: Site,
    servers: Vec<Host>,
    clients: Vec<Host>,
    third_party: Option<Host>,
}

/// A program that is installed beside this one, or found in the path.
fn sibling(name: &str) -> String {
    let beside = PathBuf::from(myself()).with_file_name(name);
    if beside.exists() { beside.display().to_string() } else { name.into() }
}

fn now_s() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

impl Stage {
    /// Reaches all machines.
    pub fn new(site: &Site) -> Result<Stage, String> {
        let hand = |client: &Reached<Client>| client.hand(&client.machine.name);
        Ok(Stage {
            servers: site
                .servers
                .iter()
                .map(|server| server.hand(&server.machine.name))
                .collect::<Result<_, _>>()?,
            clients: site.clients.iter().map(hand).collect::<Result<_, _>>()?,
            third_party: site.third_party.as_ref().map(hand).transpose()?,
            site: site.clone(),
        })
    }

    /// Makes the files that workloads read.
    pub fn prepare(&self, plan: &Plan) -> Result<(), String> {
        if !plan.reads() {
            return Ok(());
        }
        let log = Path::new("/dev/null");
        let mut begun = Vec::new();
        for (host, client) in self.clients.iter().zip(&self.site.clients) {
            let line = format!("--streams {} --file-mib {}", plan.load.streams, plan.load.read_mib);
            let home = client.machine.folder.display().to_string();
            let mut argv = vec![self.program("laggard-lab"), "work".into(), "prepare".into(), home];
            argv.extend(line.split(' ').map(String::from));
            begun.push((host, host.start(&argv, log)?));
        }
        for (host, id) in begun {
            let status = loop {
                match host.ended(id)? {
                    Some(status) => break status,
                    None => std::thread::sleep(Duration::from_millis(200)),
                }
            };
            host.undo(id)?;
            if status != 0 {
                return Err(format!("{}: the files to read could not be made: status {status}", host.name));
            }
        }
        Ok(())
    }

    /// Runs one experiment into a folder.
    pub fn run(&self, plan: &Plan, experiment: &Experiment, folder: &Path) -> Result<Truth, String> {
        let said = |error: std::io::Error| format!("{}: {error}", folder.display());
        // What an interrupted run has left is not a recording of this one.
        if folder.exists() {
            fs::remove_dir_all(folder).map_err(said)?;
        }
        fs::create_dir_all(folder).map_err(said)?;
        let folder = folder.canonicalize().map_err(said)?;
        let rooms = self.make_room(&folder)?;
        let collectors = self.collect(&folder)?;
        std::thread::sleep(SETTLE);
        let live = match self.site.shares_folder {
            true => Some(Live::start(&folder, &folder.join("activity"))?),
            false => None,
        };
        let (times, loads) = self.act(plan, experiment, &folder)?;
        let ended = last_words(&loads)?;
        for (host, id) in &collectors {
            if let Some(status) = host.ended(*id)? {
                return Err(format!("{}: the collector has ended, with status {status}", host.name));
            }
        }
        for (host, id) in loads.into_iter().chain(collectors) {
            host.undo(id)?;
        }
        for (host, id) in rooms {
            host.fetch(&self.there(&folder, host), &folder)?;
            host.undo(id)?;
        }
        let injected: Vec<Injected> =
            experiment.injections.iter().map(|injection| self.injected(injection)).collect();
        let first = injected.first();
        let truth = Truth {
            schema: SCHEMA.into(),
            fault: first.map(|known| known.fault.clone()),
            cause: first.and_then(|known| known.cause.clone()),
            server: first.map(|known| known.server.clone()),
            also: injected.get(1..).unwrap_or_default().to_vec(),
            elevator: ELEVATOR,
            workload: experiment.workload,
            from_s: times[0],
            fault_from_s: times[1],
            fault_to_s: times[2],
            to_s: times[3],
            work: self.work(plan, &folder),
            live: live.map_or_else(|| Ok(Vec::new()), |mut live| live.finish())?,
            failures: failures(&ended, &folder),
            bench: Some(plan.bench.clone()).filter(|_| self.site.is_bench),
        };
        // A fault that makes servers err or die may end the workload; no other does.
        if !truth.failures.is_empty() && experiment.is_survived() {
            return Err(format!("the workload failed: {}", truth.failures.join("; ")));
        }
        truth.save(&folder)?;
        Ok(truth)
    }

    /// The folder of the run, as a machine sees it.
    fn there(&self, folder: &Path, host: &Host) -> PathBuf {
        let run = folder.file_name().unwrap_or_default().to_string_lossy();
        match self.site.shares_folder {
            true => folder.into(),
            false => Path::new(SCRATCH).join(format!("{run}-{}", host.name)),
        }
    }

    /// A folder on every machine that does not see that of the campaign.
    fn make_room(&self, folder: &Path) -> Result<Vec<Begun<'_>>, String> {
        let machines = self.servers.iter().chain(&self.clients).filter(|_| !self.site.shares_folder);
        machines.map(|host| Ok((host, host.make_scratch(&self.there(folder, host))?))).collect()
    }

    /// A program of ours on the machines.
    fn program(&self, name: &str) -> String {
        if self.site.is_bench { sibling(name) } else { name.into() }
    }

    /// Starts a collector on every server and client.
    fn collect(&self, folder: &Path) -> Result<Vec<Begun<'_>>, String> {
        let mut begun = Vec::new();
        let ports: Vec<String> = self.site.ports.iter().map(|port| format!("\"{port}\"")).collect();
        let servers = self.servers.iter().zip(
            self.site
                .servers
                .iter()
                .map(|server| (server.machine.device.as_str(), server.machine.groups.as_slice())),
        );
        let clients = self.clients.iter().map(|client| (client, ("", &[][..])));
        for (host, (device, groups)) in servers.chain(clients) {
            let there = self.there(folder, host);
            let activity = there.join("activity").join(&host.name);
            let mut text = String::new();
            let _ =
                writeln!(text, "directory = {:?}\nname = {:?}", activity.display().to_string(), host.name);
            let _ = writeln!(text, "[peer]\nports = [{}]", ports.join(", "));
            // All hosts of a bench have one kernel: what it says of CPU and memory is of none of them.
            match groups {
                [] if self.site.is_bench => text.push_str("[host]\nenabled = false\n"),
                [] => {}
                groups => {
                    let _ = writeln!(text, "[host]\ncgroup = {groups:?}");
                }
            }
            let _ = writeln!(text, "[retention]\nkeep_free_mib = 64");
            match device.strip_prefix("/dev/") {
                Some(device) => {
                    let _ = writeln!(text, "[disk]\nnames = \"kernel\"\ninclude = [{device:?}]");
                }
                None => text.push_str("[disk]\nenabled = false\n"),
            }
            host.write(&activity, CONFIG, text)?;
            let config = activity.join(CONFIG).display().to_string();
            let argv = [self.program("laggard-agent"), "run".into(), "--config".into(), config];
            begun.push((host, host.start(&argv, &there.join(format!("agent-{}.log", host.name)))?));
        }
        Ok(begun)
    }

    /// The workload, and the fault in the middle of it.
    fn act(
        &self,
        plan: &Plan,
        experiment: &Experiment,
        folder: &Path,
    ) -> Result<(Times, Vec<Begun<'_>>), String> {
        let total_s = plan.clean_s + plan.fault_s + plan.after_s;
        let mut loads = Vec::new();
        for (host, client) in self.clients.iter().zip(&self.site.clients) {
            let load = &plan.load;
            let line = format!(
                "--streams {} --file-mib {} --record-kib {} --seconds {total_s}",
                load.streams, load.file_mib, load.record_kib
            );
            let home = client.machine.folder.display().to_string();
            let log = self.there(folder, host).join(format!("load-{}.log", host.name));
            let program = self.program("laggard-lab");
            let mut argv = vec![program, "work".into(), "load".into(), experiment.workload.name(), home];
            argv.extend(line.split(' ').map(String::from));
            loads.push((host, host.start(&argv, &log)?));
        }
        let (begun, from_s) = (Instant::now(), now_s());
        let wait_until = |seconds: f64| {
            std::thread::sleep(
                (begun + Duration::from_secs_f64(seconds)).saturating_duration_since(Instant::now()),
            );
        };
        wait_until(plan.clean_s);
        // Some faults take a while to inject, and are felt meanwhile.
        let fault_from_s = now_s();
        let mut injected = Vec::new();
        for injection in &experiment.injections {
            injected.extend(self.inject(injection.fault, injection.server, plan.fault_s + GRACE_S)?);
        }
        wait_until(plan.clean_s + plan.fault_s);
        for (host, id) in injected.into_iter().rev() {
            host.undo(id)?;
        }
        let fault_to_s = now_s();
        wait_until(total_s);
        Ok(([from_s, fault_from_s, fault_to_s, now_s()], loads))
    }

    /// Work per second before and with the fault.
    fn work(&self, plan: &Plan, folder: &Path) -> [f64; 2] {
        let log = |client: &Host| progress(&folder.join(format!("load-{}.log", client.name)));
        let progress: Vec<Vec<(f64, f64)>> = self.clients.iter().map(log).collect();
        let rate = |from: f64, to: f64| progress.iter().map(|done| rate(done, from, to)).sum::<f64>();
        // The first moments of either are of neither.
        let (begun, felt) = ((plan.clean_s / 2.0).min(5.0), (plan.fault_s / 4.0).min(2.0));
        [rate(begun, plan.clean_s), rate(plan.clean_s + felt, plan.clean_s + plan.fault_s)]
    }

    fn injected(&self, injection: &Injection) -> Injected {
        Injected {
            fault: injection.fault.name.into(),
            cause: injection.fault.cause.map(|cause| cause.name().into()),
            server: self.servers[injection.server].name.clone(),
        }
    }

    /// Injects a fault into a server, on all machines that have a part in it; yields what is to be undone, in this order.
    pub fn inject(&self, fault: &Fault, server: usize, limit_s: f64) -> Result<Vec<Begun<'_>>, String> {
        let faulty = &self.site.servers[server].machine;
        let mut injected = Vec::new();
        for role in fault.roles {
            let hosts: Vec<&Host> = match role {
                Role::Server => vec![&self.servers[server]],
                Role::Client => self.clients.iter().collect(),
                Role::ThirdParty => self.third_party.iter().collect(),
            };
            if hosts.is_empty() {
                return Err(format!("{}: needs a third party", fault.name));
            }
            for host in hosts {
                injected.push((host, host.inject(fault.name, *role, faulty, limit_s)?));
            }
        }
        Ok(injected)
    }
}

/// How workloads ended; those that do not end in time have not failed, they are slow.
fn last_words<'a>(loads: &[Begun<'a>]) -> Result<Vec<(&'a Host, Option<i32>)>, String> {
    let patience = Instant::now() + LAST_WORDS;
    loop {
        let ended: Vec<(&Host, Option<i32>)> =
            loads.iter().map(|(host, id)| Ok((*host, host.ended(*id)?))).collect::<Result<_, String>>()?;
        if ended.iter().all(|(_, status)| status.is_some()) || Instant::now() > patience {
            return Ok(ended);
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Workloads that failed, and what they said last.
fn failures(ended: &[(&Host, Option<i32>)], folder: &Path) -> Vec<String> {
    let failed = ended.iter().filter(|(_, status)| status.is_some_and(|status| status != 0));
    let say = |(host, _): &(&Host, Option<i32>)| {
        let log = fs::read_to_string(folder.join(format!("load-{}.log", host.name))).unwrap_or_default();
        format!("{}: {}", host.name, log.lines().last().unwrap_or_default())
    };
    failed.map(say).collect()
}

/// Seconds and work so far, as a workload has told it.
fn progress(log: &Path) -> Vec<(f64, f64)> {
    let text = fs::read_to_string(log).unwrap_or_default();
    let line = |line: &str| {
        let (second, done) = line.split_once(' ')?;
        Some((second.parse().ok()?, done.parse().ok()?))
    };
    text.lines().filter_map(line).collect()
}

/// Work per second between two moments.
fn rate(progress: &[(f64, f64)], from: f64, to: f64) -> f64 {
    let at = |moment: f64| {
        let index = progress.partition_point(|(second, _)| *second <= moment);
        index.checked_sub(1).map_or(0.0, |index| progress[index].1)
    };
    (at(to) - at(from)) / (to - from)
}

/// The diagnosis that follows the collectors' files while they are written.
struct Live {
    process: Child,
    log: PathBuf,
}

impl Live {
    fn start(folder: &Path, activity: &Path) -> Result<Live, String> {
        let log = folder.join("live.jsonl");
        let said = |error: std::io::Error| format!("{}: {error}", log.display());
        // It would go on for ever if this process were killed.
        let laggard = sibling("laggard");
        let argv = ["setpriv", "--pdeathsig", "KILL", &laggard, "diagnose", "--follow", "--format", "json"];
        let mut process = command::command(&argv)?;
        process.arg(activity).stdin(Stdio::null());
        process.stdout(fs::File::create(&log).map_err(said)?);
        process.stderr(fs::File::create(folder.join("live.log")).map_err(said)?);
        let process = process.spawn().map_err(|error| format!("{}: {error}", argv[0]))?;
        Ok(Live { process, log })
    }

    fn finish(&mut self) -> Result<Vec<Said>, String> {
        if let Ok(Some(status)) = self.process.try_wait() {
            let log = fs::read_to_string(self.log.with_extension("log")).unwrap_or_default();
            let last = log.lines().last().unwrap_or_default();
            return Err(format!("the diagnosis that was to follow has ended, {status}: {last}"));
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let mut said: Vec<Said> = Vec::new();
        said.extend(
            text.lines().filter_map(|line| serde_json::from_str(line).ok()).filter(Said::is_accusation),
        );
        Ok(said)
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_per_second_is_what_a_workload_has_told() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("load-client1.log");
        fs::write(&log, "1 100\n2 200\n3 300\n4 310\nan error\n5 320\n").unwrap();
        let told = progress(&log);
        assert_eq!(told.len(), 5);
        assert_eq!((rate(&told, 1.0, 3.0), rate(&told, 3.0, 5.0)), (100.0, 10.0));
        assert_eq!(rate(&told, 0.0, 2.0), 100.0, "nothing was done before it began");
        assert_eq!(rate(&progress(Path::new("/nowhere")), 0.0, 2.0), 0.0);
    }
}
