//! What teaches the cost of work: pieces of a sample of the members, thinned as they grow old, and the fit over them.

use super::difference::MIN_SPREAD;
use super::piece::Piece;
use crate::cost::{Concurrency, Load, Model, Row, Sizes, fit};
use crate::diagnose::threshold;
use crate::stats::{median, thin_oldest};
use std::collections::VecDeque;

/// Pieces that are remembered for the fit; beyond, every second of the older half is dropped.
const MOST_PIECES: usize = 96;
/// Until so many pieces were taught the cost is fitted in every window; afterwards when an eighth more were.
const EARLY_PIECES: u64 = 64;
/// Concurrency is the most serial within this factor of the best.
const NEARLY_BEST: f64 = 1.15;
/// A member's scatter is known from so many pieces with work.
const MIN_SCATTER_PIECES: usize = 4;

/// What work costs, and when that was found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fitted {
    pub(super) model: Model,
    pub(super) concurrency: Concurrency,
    /// Sizes of the requests that taught it.
    pub(super) sizes: Sizes,
    /// Pieces taught by then.
    pub(super) pieces: u64,
    /// Pieces taught when concurrency was last looked for.
    pub(super) looked: u64,
}

/// The lessons.
#[derive(Debug)]
pub(super) struct Lessons {
    /// Time in service, as a share, that is not told from none.
    idle_share: f64,
    /// Members that teach the cost.
    pub(super) sample: Vec<usize>,
    /// What they did, oldest first.
    remembered: VecDeque<Vec<Piece>>,
    /// Pieces that were ever taught.
    pub(super) pieces: u64,
}

impl Lessons {
    /// Of a group of so many members.
    pub(super) fn new(members: usize, idle_share: f64) -> Lessons {
        Lessons { idle_share, sample: threshold::sample(members), remembered: VecDeque::new(), pieces: 0 }
    }

    /// Takes a piece that is complete, of all members.
    pub(super) fn teach(&mut self, of_all: &[Piece]) {
        let lesson = self.of_sample(of_all);
        if lesson.iter().all(|piece| piece.seconds == 0.0) {
            return;
        }
        self.remembered.push_back(lesson);
        self.pieces += 1;
        if self.remembered.len() > MOST_PIECES {
            thin_oldest(&mut self.remembered, MOST_PIECES / 2);
        }
    }

    fn of_sample(&self, of_all: &[Piece]) -> Vec<Piece> {
        self.sample.iter().map(|&member| of_all[member]).collect()
    }

    /// The work of all that is remembered.
    pub(super) fn work(&self) -> Load {
        let mut work = Load::default();
        self.remembered.iter().flatten().for_each(|piece| work.add(&piece.load));
        work
    }

    /// Whether so much was taught since a fit that another is worth its time.
    pub(super) fn is_fit_due(&self, known: Option<&Fitted>) -> bool {
        known
            .is_none_or(|known| self.pieces <= EARLY_PIECES || self.pieces >= known.pieces + known.pieces / 8)
    }

    /// Fits what work costs to all that is remembered and to the newest piece of all members. Concurrency is looked for again when
    /// twice as much was taught.
    pub(super) fn fit(&self, known: Option<&Fitted>, newest: Option<&[Piece]>) -> Option<Fitted> {
        let newest = newest.map(|of_all| self.of_sample(of_all));
        let lessons: Vec<&[Piece]> =
            self.remembered.iter().map(Vec::as_slice).chain(newest.as_deref()).collect();
        let (model, concurrency, looked) = match known.filter(|known| self.pieces < 2 * known.looked) {
            Some(known) => {
                (fit(&rows(&lessons, known.concurrency), self.idle_share)?, known.concurrency, known.looked)
            }
            None => {
                let (model, concurrency) = self.best(&lessons)?;
                (model, concurrency, self.pieces)
            }
        };
        let sizes = Sizes::of(&rows(&lessons, concurrency));
        Some(Fitted { model, concurrency, sizes, pieces: self.pieces, looked })
    }

    /// The concurrency with which the time in service follows best from the work, of the median member: a slow one has no vote.
    fn best(&self, lessons: &[&[Piece]]) -> Option<(Model, Concurrency)> {
        let mut tried = Vec::new();
        for concurrency in Concurrency::TRIED {
            let model = fit(&rows(lessons, concurrency), self.idle_share)?;
            tried.push((self.scatter(lessons, &model, concurrency), model, concurrency));
        }
        let least = tried.iter().map(|(scatter, ..)| *scatter).filter(|scatter| scatter.is_finite());
        let least = least.fold(f64::INFINITY, f64::min);
        let found = tried.iter().find(|(scatter, ..)| *scatter <= NEARLY_BEST * least).or(tried.first());
        found.map(|(_, model, concurrency)| (*model, *concurrency))
    }

    /// How much the time in service scatters around the cost of the work, relative to how much it varies at all: of the median member.
    fn scatter(&self, lessons: &[&[Piece]], model: &Model, concurrency: Concurrency) -> f64 {
        let mut by_member: Vec<Vec<(f64, f64)>> = vec![Vec::new(); self.sample.len()];
        for lesson in lessons {
            for (known, piece) in by_member.iter_mut().zip(*lesson) {
                if piece.has_work() {
                    let idle_s = self.idle_share * piece.seconds;
                    let service = (concurrency.in_service(piece.times) + idle_s).ln();
                    known.push((service, service - (model.seconds(&piece.load) + idle_s).ln()));
                }
            }
        }
        let deviation = |mut values: Vec<f64>| {
            let middle = median(&mut values);
            values.iter_mut().for_each(|value| *value = (*value - middle).abs());
            median(&mut values)
        };
        let relative = |known: &Vec<(f64, f64)>| {
            let all = deviation(known.iter().map(|(service, _)| *service).collect());
            let left = deviation(known.iter().map(|(_, off)| *off).collect());
            (left + MIN_SPREAD / 2.0) / (all + MIN_SPREAD / 2.0)
        };
        let known = by_member.iter().filter(|known| known.len() >= MIN_SCATTER_PIECES);
        let mut scatters: Vec<f64> = known.map(relative).collect();
        median(&mut scatters)
    }
}

fn rows(lessons: &[&[Piece]], concurrency: Concurrency) -> Vec<Row> {
    let row = |piece: &Piece| Row {
        load: piece.load,
        service_s: concurrency.in_service(piece.times),
        seconds: piece.seconds,
    };
    lessons.iter().copied().flatten().filter(|piece| piece.seconds > 0.0).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::Times;

    /// Five seconds of a healthy disk: 2 ms a request, 10 MB/s.
    fn piece(requests: f64) -> Piece {
        let bytes = requests * 1e5;
        let busy_s = requests * 0.002 + bytes / 1e7;
        Piece {
            load: Load { writes: requests, write_bytes: bytes, ..Load::default() },
            times: Times { busy_s, waited_s: busy_s },
            stalled_s: 0.0,
            seconds: 5.0,
        }
    }

    fn taught(lessons: usize) -> Lessons {
        let mut all = Lessons::new(3, 0.005);
        (0..lessons).for_each(|index| all.teach(&[piece(index as f64); 3]));
        all
    }

    #[test]
    fn of_more_than_96_pieces_the_older_half_is_thinned() {
        assert_eq!(taught(MOST_PIECES).remembered.len(), 96);
        let thinned = taught(MOST_PIECES + 1);
        let kept: Vec<usize> =
            thinned.remembered.iter().map(|lesson| lesson[0].load.writes as usize).collect();
        let expected: Vec<usize> = (0..48).filter(|index| index % 2 == 1).chain(48..97).collect();
        assert_eq!((kept, thinned.pieces), (expected, 97));
        let mut idle = taught(1);
        idle.teach(&[Piece::default(); 3]);
        assert_eq!(idle.pieces, 1, "time that is not booked teaches nothing");
    }

    #[test]
    fn a_fit_is_due_always_at_first_and_then_with_an_eighth_more() {
        let known = |pieces: u64| taught(8).fit(None, None).map(|fitted| Fitted { pieces, ..fitted });
        let is_due = |lessons: usize, pieces: u64| taught(lessons).is_fit_due(known(pieces).as_ref());
        assert!(taught(80).is_fit_due(None));
        assert_eq!(
            [is_due(64, 64), is_due(65, 64), is_due(71, 64), is_due(72, 64)],
            [true, false, false, true]
        );
    }

    #[test]
    fn concurrency_is_looked_for_again_when_twice_as_much_was_taught() {
        let first = taught(40).fit(None, None).unwrap();
        assert_eq!((first.pieces, first.looked), (40, 40));
        assert_eq!(taught(79).fit(Some(&first), None).unwrap().looked, 40);
        assert_eq!(taught(80).fit(Some(&first), None).unwrap().looked, 80);
    }

    #[test]
    fn the_newest_piece_is_fitted_too_and_unbooked_time_is_not() {
        let none = Lessons::new(3, 0.005);
        assert!(none.fit(None, None).is_none());
        assert!(none.fit(None, Some(&[piece(20.0), piece(30.0), piece(9.0)])).is_some());
        assert!(rows(&[&[Piece::default()]], Concurrency::TRIED[0]).is_empty());
    }
}
