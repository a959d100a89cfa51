//! Asks all sources at once and waits for them, but not for ever.
//!
//! A source has a thread of its own. One that does not answer in time is a gap with that reason, and is not asked again until it
//! has answered: a hanging /proc file costs its own samples and nobody else's.

use crate::source::Source;
use laggard_activity::kind::{GAP, Kind};
use laggard_activity::{Snapshot, Table};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

struct Answer {
    source: usize,
    round: u64,
    outcome: Result<Vec<Table>, String>,
}

struct Asked {
    name: &'static str,
    ask: SyncSender<u64>,
    is_busy: bool,
}

/// All sources, each in its thread.
pub struct Sampler {
    sources: Vec<Asked>,
    answers: Receiver<Answer>,
    round: u64,
}

impl Sampler {
    /// Starts the threads. They end when the sampler is dropped, or when their source lets go of them.
    pub fn start(sources: Vec<Box<dyn Source>>) -> std::io::Result<Sampler> {
        let (answer, answers) = channel();
        let mut asked = Vec::new();
        for (index, source) in sources.into_iter().enumerate() {
            let (ask, questions) = sync_channel(1);
            let (name, answer) = (source.name(), answer.clone());
            let thread = thread::Builder::new().name(name.into()).stack_size(256 << 10);
            thread.spawn(move || serve(index, source, &questions, &answer))?;
            asked.push(Asked { name, ask, is_busy: false });
        }
        Ok(Sampler { sources: asked, answers, round: 0 })
    }

    /// Takes a snapshot; waits for no source longer than the patience.
    pub fn sample(&mut self, time_s: i64, late_ms: u32, patience: Duration) -> Snapshot {
        self.round += 1;
        // Answers that came after their second was over.
        while let Ok(late) = self.answers.try_recv() {
            self.sources[late.source].is_busy = false;
        }
        let deadline = Instant::now() + patience;
        let mut tables: Vec<Option<Result<Vec<Table>, String>>> = self.sources.iter().map(|_| None).collect();
        let mut waiting = 0;
        for source in self.sources.iter_mut().filter(|source| !source.is_busy) {
            source.is_busy = source.ask.try_send(self.round).is_ok();
            waiting += usize::from(source.is_busy);
        }
        while waiting > 0 {
            match self.answers.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(answer) => {
                    self.sources[answer.source].is_busy = false;
                    // An answer to an earlier question comes too late for its second, and must not pass for this one.
                    if answer.round == self.round {
                        waiting -= 1;
                        tables[answer.source] = Some(answer.outcome);
                    }
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            }
        }
        let mut gaps = Table::new(&GAP);
        let mut found: Vec<Table> = Vec::new();
        for (source, outcome) in self.sources.iter().zip(tables) {
            match outcome {
                Some(Ok(tables)) => tables.into_iter().for_each(|table| join(&mut found, table)),
                Some(Err(reason)) => gaps.push(format!("{}: {reason}", source.name), &[1]),
                None => gaps.push(format!("{}: no answer in time", source.name), &[1]),
            }
        }
        if !gaps.names.is_empty() {
            found.push(gaps);
        }
        let order =
            |kind: &'static Kind| laggard_activity::kind::KINDS.iter().position(|known| known.id == kind.id);
        found.sort_by_key(|table| order(table.kind));
        Snapshot { time_s, late_ms, tables: found }
    }
}

/// Two sources may yield one kind.
fn join(found: &mut Vec<Table>, mut table: Table) {
    match found.iter_mut().find(|known| known.kind.id == table.kind.id) {
        Some(known) => {
            known.names.append(&mut table.names);
            known.values.append(&mut table.values);
        }
        None if table.names.is_empty() => {}
        None => found.push(table),
    }
}

fn serve(index: usize, mut source: Box<dyn Source>, questions: &Receiver<u64>, answers: &Sender<Answer>) {
    while let Ok(round) = questions.recv() {
        let outcome = source.read();
        if answers.send(Answer { source: index, round, outcome }).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_activity::kind::{DISK, NET};

    enum Told {
        Hang(Receiver<()>),
        Break,
    }

    /// Answers at once, unless it is told otherwise.
    struct Obedient(&'static str, &'static Kind, Receiver<Told>);

    impl Source for Obedient {
        fn name(&self) -> &'static str {
            self.0
        }

        fn kinds(&self) -> Vec<&'static Kind> {
            vec![self.1]
        }

        fn read(&mut self) -> Result<Vec<Table>, String> {
            match self.2.try_recv() {
                Ok(Told::Break) => return Err("broken".into()),
                Ok(Told::Hang(until)) => drop(until.recv()),
                Err(_) => {}
            }
            let mut table = Table::new(self.1);
            table.push("x", &[1]);
            Ok(vec![table])
        }
    }

    fn names(snapshot: &Snapshot) -> Vec<String> {
        snapshot
            .tables
            .iter()
            .flat_map(|table| table.names.iter().map(|name| format!("{} {name}", table.kind.name)))
            .collect()
    }

    #[test]
    fn a_hanging_source_is_a_gap_and_holds_up_nobody() {
        let (tell, told) = channel();
        let (_quiet, nothing) = channel();
        let sources: Vec<Box<dyn Source>> =
            vec![Box::new(Obedient("net", &NET, told)), Box::new(Obedient("disk", &DISK, nothing))];
        let mut sampler = Sampler::start(sources).unwrap();
        // Long enough for a busy machine to answer in.
        let patience = Duration::from_secs(1);
        let (both, gap) = (["disk x", "net x"], ["disk x", "gap net: no answer in time"]);
        assert_eq!(names(&sampler.sample(1, 0, patience)), both);
        let (release, until) = channel();
        tell.send(Told::Hang(until)).unwrap();
        assert_eq!(names(&sampler.sample(2, 0, patience)), gap);
        let started = Instant::now();
        assert_eq!(names(&sampler.sample(3, 0, Duration::from_secs(60))), gap, "still hanging");
        assert!(started.elapsed() < Duration::from_secs(30), "nobody waits for it twice");
        drop(release);
        let is_back = (4..100).any(|second| {
            thread::sleep(Duration::from_millis(20));
            names(&sampler.sample(second, 0, patience)) == both
        });
        assert!(is_back, "its old answer is thrown away, its next ones count");
        tell.send(Told::Break).unwrap();
        assert_eq!(names(&sampler.sample(100, 0, patience)), ["disk x", "gap net: broken"]);
    }
}
