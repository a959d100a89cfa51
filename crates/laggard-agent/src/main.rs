//! `laggard-agent`: samples a storage server once a second into daily activity files, and nothing else.
//!
//! collect ([`source`], one thread each, bounded by a timeout, asked by [`sampler`]) -> keep ([`journal`], a thread of its own,
//! so that a slow disk never delays a sample) -> beside it, current values for Prometheus ([`expose`]).

mod check;
mod clock;
mod config;
mod expose;
mod journal;
mod run;
mod sampler;
mod source;

use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "laggard-agent: samples a storage server into daily activity files

  laggard-agent run --config FILE     collect until told to stop; SIGHUP reads the configuration again
  laggard-agent check [--config FILE] what it can see here, and what that costs
  laggard-agent example               print a configuration with every key and its default
  laggard-agent --version | --help

Options of run:
  --verbose       say every second what was sampled, on stderr
  --seconds N     stop after N seconds
";

/// What the command line asks for.
#[derive(Debug, Default)]
struct Arguments {
    verb: String,
    config: Option<PathBuf>,
    options: run::Options,
}

fn main() -> ExitCode {
    match arguments().and_then(|arguments| execute(&arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("laggard-agent: {message}");
            ExitCode::from(2)
        }
    }
}

fn execute(arguments: &Arguments) -> Result<(), String> {
    let config = || match &arguments.config {
        Some(path) => config::Config::load(path),
        None => config::Config::parse(""),
    };
    match arguments.verb.as_str() {
        "run" => {
            let path = arguments
                .config
                .as_deref()
                .ok_or("run needs --config FILE; `laggard-agent example` prints one")?;
            run::run(path, &config()?, &arguments.options)
        }
        "check" => check::check(&config()?),
        "example" => say(config::EXAMPLE),
        "version" => say(concat!("laggard-agent ", env!("CARGO_PKG_VERSION"), "\n")),
        _ => say(USAGE),
    }
}

/// Prints; a reader that has seen enough is no error.
fn say(text: &str) -> Result<(), String> {
    use std::io::Write;
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.to_string()),
        _ => Ok(()),
    }
}

fn arguments() -> Result<Arguments, String> {
    use lexopt::prelude::{Long, Short, Value, ValueExt};
    let mut arguments = Arguments::default();
    let mut parser = lexopt::Parser::from_env();
    let said = |error: lexopt::Error| format!("{error}; try `laggard-agent --help`");
    while let Some(argument) = parser.next().map_err(said)? {
        match argument {
            Short('h') | Long("help") => arguments.verb = "help".into(),
            Short('V') | Long("version") => arguments.verb = "version".into(),
            Short('c') | Long("config") => arguments.config = Some(parser.value().map_err(said)?.into()),
            Short('v') | Long("verbose") => arguments.options.verbose = true,
            Long("seconds") => {
                arguments.options.seconds =
                    Some(parser.value().and_then(|value| value.parse()).map_err(said)?);
            }
            Long("seal-after") => {
                arguments.options.seal_after =
                    Some(parser.value().and_then(|value| value.parse()).map_err(said)?);
            }
            // For tests only: a clock that runs faster, and a tail that is sealed sooner.
            Long("speed") => {
                arguments.options.speed = parser.value().and_then(|value| value.parse()).map_err(said)?;
            }
            Value(verb) if arguments.verb.is_empty() => {
                arguments.verb = verb.string().map_err(said)?;
                if !["run", "check", "example", "help"].contains(&arguments.verb.as_str()) {
                    return Err(format!("no verb `{}`; there are run, check, example", arguments.verb));
                }
            }
            other => return Err(said(other.unexpected())),
        }
    }
    if arguments.verb.is_empty() {
        arguments.verb = "help".into();
    }
    Ok(arguments)
}
