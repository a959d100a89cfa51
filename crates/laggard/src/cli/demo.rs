//! `laggard demo`: a synthetic cluster with limping parts, diagnosed, with a report.

use super::console::Console;
use super::{Failure, deliver, write_whole};
use crate::demo::{Injected, record};
use crate::report::diagnosis;
use clap::Args as ClapArgs;
use laggard_core::diagnose::{Cause, Conclusion, Config};
use laggard_core::model::{Metric, Roster};
use laggard_engine::plan::UNTRAINED;
use laggard_engine::{Loaded, Session};
use laggard_store::Recording;
use std::fmt::Write;
use std::path::PathBuf;

/// Simulate a cluster with limping parts, diagnose it, write an HTML report
#[derive(ClapArgs)]
pub struct Args {
    /// Where to write the report
    #[arg(short, long, value_name = "FILE", default_value = "laggard-report.html")]
    output: PathBuf,

    /// Also keep the recording, as CSV, to try the other commands on
    #[arg(long, value_name = "FILE")]
    recording: Option<PathBuf>,
}

pub fn run(args: &Args) -> Result<Conclusion, Failure> {
    let (recording, injected) = record();
    let minutes = recording.recorded_s() / 60;
    if let Some(path) = &args.recording {
        write_whole(path, &as_csv(&recording))?;
    }
    let roster = Roster::new(recording.observed(), None);
    let console = Console::default();
    let config = Config::untrained(UNTRAINED, 1);
    let session = Session::diagnose(Loaded { recording, roster }, config, true, &console);
    console.clear();
    write_whole(&args.output, &diagnosis::html::render(&session))?;
    let mut text = format!(
        "Twelve simulated servers, {minutes} minutes of a benchmark that writes and then rewrites, which is not a fault.\n\
         Injected: a limping disk in oss05, a lossy link at oss09; each slows all twelve.\n\n"
    );
    text.push_str(&diagnosis::text::render(&session, true, &[]));
    let _ = writeln!(text, "\nReport: {}", args.output.display());
    deliver(&text, None)?;
    check(&session, &injected)
}

/// The demo knows its truth; anything else found is a failure, and says so.
fn check(session: &Session, injected: &[Injected]) -> Result<Conclusion, Failure> {
    let name = |cause: Cause| match cause {
        // The simulated neighbour reads once between any two requests: that is also a disk that answers each late.
        Cause::FailSlow => Cause::DiskBusy.name(),
        cause => cause.name(),
    };
    let incidents = session.diagnosis.incidents.iter();
    let mut found: Vec<(&str, &str)> =
        incidents.map(|incident| (incident.component.as_str(), name(incident.cause))).collect();
    found.sort_unstable();
    let injected: Vec<(&str, &str)> =
        injected.iter().map(|fault| (fault.server.as_str(), name(fault.cause))).collect();
    if found == injected {
        Ok(Conclusion::Quiet)
    } else {
        Err(Failure::Usage(format!("found {found:?}, but injected {injected:?}")))
    }
}

fn as_csv(recording: &Recording) -> String {
    let mut text = String::from("timestamp,component,metric,value\n");
    for (component, known) in recording.observed().iter().enumerate() {
        for metric in Metric::all() {
            for (time_s, value) in recording.series(component, metric).into_iter().flatten() {
                let _ = writeln!(text, "{time_s},{},{metric},{value}", known.name);
            }
        }
    }
    text
}
