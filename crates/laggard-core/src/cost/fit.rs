//! The cost of work as healthy peers show it: non-negative least squares over all of them, robust against the slow ones.

use super::{Line, Load, Model};
use crate::stats::{median, quantile};

/// What a device did in a piece of time, and how long it was in service for it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// The work.
    pub load: Load,
    /// Seconds in service.
    pub service_s: f64,
    /// Seconds of the piece.
    pub seconds: f64,
}

/// Rounds of weighting.
const ROUNDS: usize = 15;
/// From this round on, rows that are slow count less than rows that are fast.
const ONE_SIDED_FROM: usize = 5;
/// A row's unit of error: what is not told from none, and this share of its prediction.
const ERROR_OF_PREDICTION: f64 = 0.1;
/// Huber's bound, in units of error.
const HUBER: f64 = 1.5;
/// The bound beyond which a slow row counts less, in units of error.
const SLOW: f64 = 3.0;
/// Requests count only where they explain so much more than bytes alone: a slow disk merges less, and more requests must not explain
/// its slowness.
const WORTH_REQUESTS: f64 = 0.85;
/// Where the mean sizes of requests span this factor, from the twentieth to the last but one twentieth of the rows, requests and bytes can be
/// told apart, and both count.
const WIDE_SIZES: f64 = 16.0;

/// A direction with less than this share of the bytes costs what the other does: journal writes that are the same everywhere would
/// stand for the time that saturated disks are busy, whatever they read.
const MIN_DIRECTION: f64 = 0.05;

// Places of the coefficients: bytes first.
const READ_BYTES: usize = 0;
const WRITE_BYTES: usize = 1;
const READS: usize = 2;
const WRITES: usize = 3;

type Vector = [f64; 4];

fn vector(load: &Load) -> Vector {
    [load.read_bytes, load.write_bytes, load.reads, load.writes]
}

fn model(cost: &Vector) -> Model {
    Model {
        read: Line { latency_s: cost[READS], per_byte_s: cost[READ_BYTES] },
        write: Line { latency_s: cost[WRITES], per_byte_s: cost[WRITE_BYTES] },
    }
}

/// What the work of peers usually costs; nothing where no row has any work. The idle share is the share of the time in service that is not
/// told from none.
pub fn fit(rows: &[Row], idle_share: f64) -> Option<Model> {
    let mut moved = Load::default();
    rows.iter().for_each(|row| moved.add(&row.load));
    let few = MIN_DIRECTION * moved.bytes();
    if moved.read_bytes >= few && moved.write_bytes >= few {
        return fit_directions(rows, idle_share);
    }
    // All of it in one direction, and the other costs the same.
    let one_way: Vec<Row> = rows
        .iter()
        .map(|row| {
            let (writes, write_bytes) = (row.load.transactions(), row.load.bytes());
            Row { load: Load { writes, write_bytes, ..Load::default() }, ..*row }
        })
        .collect();
    let Model { write, .. } = fit_directions(&one_way, idle_share)?;
    Some(Model { read: write, write })
}

/// The same, each direction with a cost of its own.
fn fit_directions(rows: &[Row], idle_share: f64) -> Option<Model> {
    let has_bytes = rows.iter().any(|row| row.load.bytes() > 0.0);
    let has_requests = rows.iter().any(|row| row.load.transactions() > 0.0);
    match (has_bytes, has_requests) {
        (false, false) => None,
        (false, true) => Some(model(&robust(rows, idle_share, &[READS, WRITES]))),
        (true, false) => Some(model(&robust(rows, idle_share, &[READ_BYTES, WRITE_BYTES]))),
        (true, true) => {
            let bytes = model(&robust(rows, idle_share, &[READ_BYTES, WRITE_BYTES]));
            let all = model(&robust(rows, idle_share, &[READ_BYTES, WRITE_BYTES, READS, WRITES]));
            let is_better =
                || error(rows, idle_share, &all) <= WORTH_REQUESTS * error(rows, idle_share, &bytes);
            let is_wide = Sizes::of(rows).ratio() >= WIDE_SIZES;
            Some(if is_wide || is_better() { all } else { bytes })
        }
    }
}

/// Mean sizes of the requests in most rows, in bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sizes {
    /// One row in twenty has smaller ones.
    small: f64,
    /// One row in twenty has larger ones.
    large: f64,
}

impl Sizes {
    /// Of these rows.
    pub fn of(rows: &[Row]) -> Sizes {
        let sizes = rows.iter().map(|row| row.load.bytes() / row.load.transactions());
        let mut sizes: Vec<f64> = sizes.filter(|size| size.is_finite() && *size > 0.0).collect();
        match sizes.is_empty() {
            true => Sizes { small: f64::NAN, large: f64::NAN },
            false => Sizes { small: quantile(&mut sizes, 0.05), large: quantile(&mut sizes, 0.95) },
        }
    }

    /// The largest over the smallest; NaN where none is known.
    fn ratio(self) -> f64 {
        self.large / self.small
    }

    /// Times by which the mean request of a load is beyond these; 1 within them, and where sizes are not known.
    pub fn outside(self, load: &Load) -> f64 {
        let size = load.bytes() / load.transactions();
        let outside = (size / self.large).max(self.small / size);
        if outside.is_finite() { outside.max(1.0) } else { 1.0 }
    }
}

/// The median error of a model, relative to the unit of error.
fn error(rows: &[Row], idle_share: f64, model: &Model) -> f64 {
    let off = |row: &Row| {
        let predicted = model.seconds(&row.load);
        // Relative to what was seen, so that no model gains by predicting more.
        (row.service_s - predicted).abs() / unit(idle_share * row.seconds, row.service_s)
    };
    let worked = rows.iter().filter(|row| row.load.transactions() > 0.0 || row.load.bytes() > 0.0);
    median(&mut worked.map(off).collect::<Vec<f64>>())
}

fn unit(idle_s: f64, predicted: f64) -> f64 {
    idle_s + ERROR_OF_PREDICTION * predicted
}

/// Iteratively reweighted least squares.
fn robust(rows: &[Row], idle_share: f64, columns: &[usize]) -> Vector {
    let scale = scales(rows);
    let mut cost = [0.0; 4];
    for round in 0..ROUNDS {
        let mut normal = [[0.0; 4]; 4];
        let mut right = [0.0; 4];
        for row in rows {
            let x = vector(&row.load);
            let predicted: f64 = columns.iter().map(|&column| cost[column] * x[column]).sum();
            // In the first round nothing is predicted yet: what was seen says how well it is known.
            let known = if round == 0 { row.service_s } else { predicted };
            let unit = unit(idle_share * row.seconds, known);
            let off = (row.service_s - predicted) / unit;
            let mut weight = 1.0 / (unit * unit);
            if round > 0 {
                weight *= (HUBER / off.abs()).min(1.0);
            }
            if round >= ONE_SIDED_FROM && off > SLOW {
                weight *= SLOW / off;
            }
            for &i in columns {
                let scaled = weight * x[i] / scale[i];
                right[i] += scaled * row.service_s;
                for &j in columns {
                    normal[i][j] += scaled * x[j] / scale[j];
                }
            }
        }
        let found = non_negative(&normal, &right, columns);
        for &column in columns {
            cost[column] = found[column] / scale[column];
        }
    }
    cost
}

/// Requests and bytes are six orders apart: scaled, the equations stay well behaved.
fn scales(rows: &[Row]) -> Vector {
    let mut largest = [0.0_f64; 4];
    for row in rows {
        largest.iter_mut().zip(vector(&row.load)).for_each(|(most, value)| *most = most.max(value));
    }
    largest.map(|most| if most > 0.0 { most } else { 1.0 })
}

/// Solves the normal equations for costs of at least zero, one coordinate after the other. Four unknowns: it converges in no time.
fn non_negative(normal: &[[f64; 4]; 4], right: &Vector, columns: &[usize]) -> Vector {
    const SWEEPS: usize = 200;
    let mut found = [0.0; 4];
    for _ in 0..SWEEPS {
        let mut moved = 0.0_f64;
        for &i in columns {
            if normal[i][i] <= 0.0 {
                continue;
            }
            let others: f64 = columns.iter().filter(|&&j| j != i).map(|&j| normal[i][j] * found[j]).sum();
            let next = ((right[i] - others) / normal[i][i]).max(0.0);
            moved = moved.max((next - found[i]).abs() / next.max(f64::MIN_POSITIVE));
            found[i] = next;
        }
        if moved < 1e-9 {
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRUE: Model = Model {
        read: Line { latency_s: 4e-3, per_byte_s: 1e-8 },
        write: Line { latency_s: 1e-3, per_byte_s: 2e-8 },
    };

    /// Peers with loads that differ from piece to piece; the first is slow by a factor.
    fn rows(peers: usize, pieces: usize, slow: f64) -> Vec<Row> {
        let mut state = 1u64;
        let mut chance = move || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as f64 / (1u64 << 31) as f64
        };
        let mut rows = Vec::new();
        for peer in 0..peers {
            for _ in 0..pieces {
                let load = Load {
                    reads: 200.0 * chance(),
                    read_bytes: 2e7 * chance(),
                    writes: 300.0 * chance(),
                    write_bytes: 5e7 * chance(),
                };
                let noise = 0.95 + 0.1 * chance();
                let factor = if peer == 0 { slow } else { 1.0 };
                rows.push(Row { load, service_s: factor * noise * TRUE.seconds(&load), seconds: 5.0 });
            }
        }
        rows
    }

    fn is_near(found: &Model, tolerance: f64) -> bool {
        let near = |found: f64, truth: f64| (found / truth - 1.0).abs() < tolerance;
        near(found.read.latency_s, TRUE.read.latency_s)
            && near(found.read.per_byte_s, TRUE.read.per_byte_s)
            && near(found.write.latency_s, TRUE.write.latency_s)
            && near(found.write.per_byte_s, TRUE.write.per_byte_s)
    }

    #[test]
    fn costs_are_found_and_a_slow_peer_does_not_teach_them() {
        assert!(is_near(&fit(&rows(5, 40, 1.0), 0.005).unwrap(), 0.05));
        for slow in [1.5, 3.0, 30.0] {
            let found = fit(&rows(5, 40, slow), 0.005).unwrap();
            assert!(is_near(&found, 0.12), "{slow} times: {found:?}");
        }
    }

    #[test]
    fn more_requests_do_not_explain_a_slow_disk() {
        // All write the same bytes in requests of one size; the slow one in twice as many, and needs three times as long.
        let row = |peer: usize| {
            let (requests, factor) = if peer == 0 { (20.0, 3.0) } else { (10.0, 1.0) };
            let load = Load { writes: requests, write_bytes: 1e7, ..Load::default() };
            Row { load, service_s: factor * 0.5, seconds: 5.0 }
        };
        let found = fit(&(0..200).map(|index| row(index % 5)).collect::<Vec<_>>(), 0.005).unwrap();
        assert_eq!(found.write.latency_s, 0.0);
        assert!((found.write.per_byte_s / 5e-8 - 1.0).abs() < 0.05, "{found:?}");
    }

    #[test]
    fn without_work_nothing_costs_and_without_bytes_requests_do() {
        assert_eq!(fit(&[Row { load: Load::default(), service_s: 1.0, seconds: 5.0 }], 0.005), None);
        let load = Load { reads: 100.0, ..Load::default() };
        let found = fit(&[Row { load, service_s: 0.5, seconds: 5.0 }; 10], 0.005).unwrap();
        assert!((found.read.latency_s - 0.005).abs() < 1e-9);
    }

    #[test]
    fn sizes_are_of_requests_with_bytes() {
        let row = |writes: f64, write_bytes: f64| Row {
            load: Load { writes, write_bytes, ..Load::default() },
            service_s: 0.1,
            seconds: 5.0,
        };
        let outside = |rows: &[Row], size: f64| Sizes::of(rows).outside(&row(1.0, size).load);
        assert_eq!(outside(&[row(4.0, 0.0)], 4096.0), 1.0, "no size is known");
        assert_eq!(outside(&[row(4.0, 0.0), row(2.0, 8192.0)], 1024.0), 4.0);
        assert_eq!([outside(&[row(2.0, 8192.0)], 4096.0), outside(&[row(2.0, 8192.0)], 8192.0)], [1.0, 2.0]);
    }

    #[test]
    fn the_error_of_a_model_is_that_of_the_rows_with_work() {
        let row = |load: Load, service_s: f64| Row { load, service_s, seconds: 5.0 };
        let write = |writes: f64, write_bytes: f64| Load { writes, write_bytes, ..Load::default() };
        let wrong = row(write(10.0, 1e6), 5.0);
        let only = error(&[wrong], 0.005, &TRUE);
        assert!(only > 5.0, "{only}");
        let idle = row(Load::default(), 0.0);
        assert_eq!(error(&[wrong, idle, idle], 0.005, &TRUE), only, "idle rows are no success");
        let flushes = row(write(10.0, 0.0), 5.0);
        let uncounted = row(write(0.0, 1e6), 5.0);
        assert!(error(&[flushes, idle, idle], 0.005, &TRUE) > 5.0);
        assert!(error(&[uncounted, idle, idle], 0.005, &TRUE) > 5.0);
    }

    #[test]
    fn columns_are_scaled_by_their_largest_and_an_empty_one_is_left() {
        let row = |reads: f64, read_bytes: f64| Row {
            load: Load { reads, read_bytes, ..Load::default() },
            service_s: 0.1,
            seconds: 5.0,
        };
        let scale = scales(&[row(3.0, 2e6), row(7.0, 1e6)]);
        let mut sorted = scale;
        sorted.sort_by(f64::total_cmp);
        assert_eq!(sorted, [1.0, 1.0, 7.0, 2e6]);
    }
}
