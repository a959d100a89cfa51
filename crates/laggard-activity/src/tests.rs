//! The file as a whole: what goes in comes out, whatever happens to the bytes.

use super::*;
use crate::kind::{DISK, HOST, NET};
use crate::parquet::decode::{self, Scratch};
use crate::parquet::{Chunk, Footer, Reader};
use ::parquet::basic::Compression;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::record::RowAccessor;
use proptest::prelude::*;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

const START_S: i64 = 1_304_899_205;

fn origin() -> Origin {
    Origin { host: "fs1".into(), interval_s: 1, kinds: vec![&DISK, &NET, &HOST] }
}

/// A counter that hardly ever grows twice by the same: no dictionary is good for it.
fn written(disk: i64, second: i64) -> i64 {
    (1 << 40) + second * 100_000 + ((second * second * (7919 + 2 * disk)) & 0xffff)
}

/// A snapshot of a host with some disks; counters grow, one wraps at 32 bits, one disk lacks what old kernels lack.
fn snapshot(second: i64, disks: usize) -> Snapshot {
    let mut table = Table::new(&DISK);
    for disk in 0..disks as i64 {
        let mut values: Vec<i64> =
            (0..DISK.fields.len() as i64).map(|field| second * (disk + field) % 7000).collect();
        values[2] = 1_000_000 + second * 8 * (disk + 1);
        values[3] = (u32::MAX as i64 - 10 + second) % (1 << 32);
        values[6] = written(disk, second);
        if disk == 1 {
            values.truncate(10);
        }
        table.push(format!("sd{disk}"), &values);
    }
    let mut host = Table::new(&HOST);
    host.push("host", &[second, 2, 3]);
    Snapshot {
        time_s: START_S + second,
        late_ms: if second % 50 == 9 { 120 } else { 0 },
        tables: vec![table, host],
    }
}

struct Place {
    _folder: tempfile::TempDir,
    stem: PathBuf,
}

impl Place {
    fn new() -> Place {
        let folder = tempfile::tempdir().unwrap();
        let stem = folder.path().join("fs1-20110509T000005Z.tail");
        Place { _folder: folder, stem }
    }

    fn tail(&self) -> PathBuf {
        name::beside(&self.stem, name::TAIL)
    }

    fn sealed(&self) -> PathBuf {
        name::beside(&self.stem, name::SEALED)
    }
}

/// All samples of one field, by thing.
fn field(path: &Path, name: &str) -> Vec<(String, Vec<(i64, i64)>)> {
    let activity = Activity::open(path).unwrap();
    let mut all: Vec<(String, Vec<(i64, i64)>)> = Vec::new();
    for segment in 0..activity.segments() {
        let wanted = [DISK.field(name).unwrap()];
        activity
            .scan(segment, &DISK, &wanted, &mut |stretch| {
                let samples = stretch.times_s.iter().copied().zip(stretch.fields[0].iter().copied());
                match all.iter_mut().find(|(known, _)| known == stretch.name) {
                    Some((_, known)) => known.extend(samples),
                    None => all.push((stretch.name.into(), samples.collect())),
                }
            })
            .unwrap();
    }
    all
}

fn expected(snapshots: &[Snapshot], name: &str) -> Vec<(String, Vec<(i64, i64)>)> {
    let column = DISK.field(name).unwrap();
    let mut all: std::collections::BTreeMap<String, Vec<(i64, i64)>> = Default::default();
    for snapshot in snapshots {
        let table = &snapshot.tables[0];
        for (index, thing) in table.names.iter().enumerate() {
            all.entry(thing.to_string()).or_default().push((snapshot.time_s, table.row(index)[column]));
        }
    }
    all.into_iter().collect()
}

#[test]
fn what_is_recorded_reads_back_from_tail_and_parquet_and_both() {
    let place = Place::new();
    // A disk comes, and goes again.
    let snapshots: Vec<Snapshot> =
        (0..200).map(|second| snapshot(second, if (60..130).contains(&second) { 4 } else { 3 })).collect();
    let mut tail = TailWriter::create(&place.tail(), origin(), 0).unwrap();
    snapshots[..150].chunks(5).for_each(|chunk| tail.append(chunk).unwrap());
    for name in ["sectors_read", "read_ms", "flushes", "in_flight"] {
        assert_eq!(field(&place.stem, name), expected(&snapshots[..150], name), "{name} from the tail");
    }
    assert!(seal::seal(&place.sealed(), &TailReader::open(&place.tail()).unwrap()).unwrap());
    assert!(
        !seal::seal(&place.sealed(), &TailReader::open(&place.tail()).unwrap()).unwrap(),
        "nothing twice"
    );
    for name in ["sectors_read", "read_ms", "flushes", "in_flight"] {
        assert_eq!(
            field(&place.stem, name),
            expected(&snapshots[..150], name),
            "{name} sealed, and still in the tail"
        );
    }
    let mut tail = TailWriter::create(&place.tail(), origin(), tail.sequence).unwrap();
    snapshots[150..].chunks(7).for_each(|chunk| tail.append(chunk).unwrap());
    for name in ["sectors_read", "read_ms", "flushes", "in_flight"] {
        assert_eq!(field(&place.stem, name), expected(&snapshots, name), "{name} from both");
    }
    seal::seal(&place.sealed(), &TailReader::open(&place.tail()).unwrap()).unwrap();
    fs::remove_file(place.tail()).unwrap();
    assert_eq!(field(&place.stem, "read_ms"), expected(&snapshots, "read_ms"), "two row groups");
    assert_eq!(Activity::open(&place.stem).unwrap().segments(), 2);
    assert_eq!(Activity::open(&place.stem).unwrap().origin(), &origin());
}

/// An independent reader, which checks the pages' own checksums too, sees the same rows.
#[test]
fn the_parquet_crate_reads_what_we_write() {
    let place = Place::new();
    let snapshots: Vec<Snapshot> = (0..300).map(|second| snapshot(second, 3)).collect();
    let mut tail = TailWriter::create(&place.tail(), origin(), 0).unwrap();
    snapshots.chunks(5).for_each(|chunk| tail.append(chunk).unwrap());
    seal::seal(&place.sealed(), &TailReader::open(&place.tail()).unwrap()).unwrap();
    let reader = SerializedFileReader::new(File::open(place.sealed()).unwrap()).unwrap();
    let zstd = Compression::ZSTD(Default::default());
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    let column = |name: &str| schema.columns().iter().position(|column| column.name() == name).unwrap();
    let (kind, name, base, reads) = (column("kind"), column("name"), column("base"), column("sectors_read"));
    let (mut running, mut rows, mut sectors) = (0, 0, 0);
    for row in reader.get_row_iter(None).unwrap() {
        let row = row.unwrap();
        rows += 1;
        if row.get_string(kind).unwrap() != "disk" || row.get_string(name).unwrap() != "sd2" {
            continue;
        }
        running = if row.get_bool(base).unwrap() { 0 } else { running } + row.get_long(reads).unwrap();
        let second = row.get_timestamp_millis(column("time")).unwrap() / 1000 - START_S;
        assert_eq!(running, 1_000_000 + second * 24);
        sectors = if row.get_bool(base).unwrap() { 0 } else { sectors }
            + row.get_long(column("sectors_written")).unwrap();
        assert_eq!(sectors, written(2, second));
    }
    let how = |name: &str| reader.metadata().row_group(0).column(column(name)).compression();
    assert_eq!((how("sectors_read"), how("sectors_written")), (zstd, Compression::UNCOMPRESSED), "both ways");
    assert_eq!((running, rows), (1_000_000 + 299 * 24, 300 * 4));
    let absent = reader
        .get_row_iter(None)
        .unwrap()
        .map(Result::unwrap)
        .filter(|row| row.is_null(column("flushes")).unwrap());
    assert_eq!(absent.count(), 600, "one disk without flushes, and the host");
}

#[test]
fn other_values_at_the_same_times_are_another_state() {
    let states: Vec<String> = [2, 3, 2]
        .map(|factor| {
            let place = Place::new();
            let mut table = Table::new(&DISK);
            table.push("sda", &[factor]);
            let snapshot = Snapshot { time_s: START_S, late_ms: 0, tables: vec![table] };
            TailWriter::create(&place.tail(), origin(), 0).unwrap().append(&[snapshot]).unwrap();
            seal::seal(&place.sealed(), &TailReader::open(&place.tail()).unwrap()).unwrap();
            Activity::open(&place.stem).unwrap().fingerprint()
        })
        .to_vec();
    assert!(states[0] == states[2] && states[0] != states[1], "{states:?}");
}

#[test]
fn a_tail_is_not_sealed_into_a_file_with_other_columns() {
    let place = Place::new();
    let write = |kinds: Vec<&'static kind::Kind>| {
        let mut tail = TailWriter::create(&place.tail(), Origin { kinds, ..origin() }, 0).unwrap();
        tail.append(&[snapshot(1, 2)]).unwrap();
        TailReader::open(&place.tail()).unwrap()
    };
    seal::seal(&place.sealed(), &write(vec![&DISK, &HOST])).unwrap();
    let before = fs::read(place.sealed()).unwrap();
    let other = write(vec![&DISK, &NET, &HOST]);
    assert_eq!(seal::state(&place.sealed(), &other), seal::State::OtherColumns);
    assert!(seal::seal(&place.sealed(), &other).is_err());
    assert_eq!(fs::read(place.sealed()).unwrap(), before);
}

#[test]
fn a_follower_sees_every_frame_once_also_across_sealing() {
    let place = Place::new();
    let snapshots: Vec<Snapshot> = (0..60).map(|second| snapshot(second, 1)).collect();
    let mut follower = Follower::new(&place.stem);
    let mut seen = Vec::new();
    let mut look = |seen: &mut Vec<i64>| {
        follower.advance().unwrap();
        follower.scan(&DISK, &[0], &mut |stretch| seen.extend_from_slice(stretch.times_s)).unwrap();
    };
    look(&mut seen);
    let mut tail = TailWriter::create(&place.tail(), origin(), 0).unwrap();
    snapshots[..20].chunks(5).for_each(|chunk| tail.append(chunk).unwrap());
    look(&mut seen);
    snapshots[20..40].chunks(5).for_each(|chunk| tail.append(chunk).unwrap());
    let reader = TailReader::open(&place.tail()).unwrap();
    seal::seal(&place.sealed(), &reader).unwrap();
    let mut tail = seal::renew(&place.tail(), &reader, tail.sequence, 15).unwrap();
    tail.append(&snapshots[40..]).unwrap();
    look(&mut seen);
    look(&mut seen);
    // The day is over: the last seconds are written, and the tail is gone.
    tail.append(&[snapshot(60, 1)]).unwrap();
    fs::rename(place.tail(), place.tail().with_extension("gone")).unwrap();
    look(&mut seen);
    look(&mut seen);
    assert_eq!(seen.pop(), Some(START_S + 60));
    fs::rename(place.tail().with_extension("gone"), place.tail()).unwrap();
    assert_eq!(seen, (0..60).map(|second| START_S + second).collect::<Vec<_>>());
    assert_eq!(
        field(&place.stem, "read_ms"),
        expected(&[&snapshots[..], &[snapshot(60, 1)]].concat(), "read_ms"),
        "nothing counts twice"
    );
}

#[test]
fn a_torn_or_damaged_frame_costs_only_its_own_seconds() {
    let place = Place::new();
    let snapshots: Vec<Snapshot> = (0..50).map(|second| snapshot(second, 2)).collect();
    let mut tail = TailWriter::create(&place.tail(), origin(), 0).unwrap();
    snapshots.chunks(5).for_each(|chunk| tail.append(chunk).unwrap());
    let bytes = fs::read(place.tail()).unwrap();
    fs::write(place.tail(), &bytes[..bytes.len() - 3]).unwrap();
    assert_eq!(field(&place.stem, "reads"), expected(&snapshots[..45], "reads"), "torn at the end");
    let mut flipped = bytes.clone();
    flipped[bytes.len() / 2] ^= 4;
    fs::write(place.tail(), &flipped).unwrap();
    let found = field(&place.stem, "reads");
    assert_eq!(found[0].1.len(), 45, "damaged in the middle");
    let said = &Activity::open(&place.stem).unwrap().damaged;
    assert!(said.len() == 1 && said[0].message.contains("checksum"), "{said:?}");
}

/// What the two files below hold when they are whole.
fn small_files(place: &Place) -> (Vec<u8>, Vec<u8>) {
    let snapshots: Vec<Snapshot> = (0..20).map(|second| snapshot(second, 2)).collect();
    let mut tail = TailWriter::create(&place.tail(), origin(), 0).unwrap();
    snapshots.chunks(5).for_each(|chunk| tail.append(chunk).unwrap());
    seal::seal(&place.sealed(), &TailReader::open(&place.tail()).unwrap()).unwrap();
    (fs::read(place.tail()).unwrap(), fs::read(place.sealed()).unwrap())
}

/// Every sample that can be read is right: `None` where a part says that it cannot be.
fn is_right_or_refused(path: &Path) {
    let Ok(activity) = Activity::open(path) else { return };
    for segment in 0..activity.segments() {
        for (index, wanted) in DISK.fields.iter().enumerate() {
            let _ = activity.scan(segment, &DISK, &[index], &mut |stretch| {
                for (time, value) in stretch.times_s.iter().zip(stretch.fields[0]) {
                    let truth = snapshot(time - START_S, 2);
                    let thing =
                        truth.tables[0].names.iter().position(|name| name.as_ref() == stretch.name).unwrap();
                    assert_eq!(
                        truth.tables[0].row(thing)[index],
                        *value,
                        "{} of {}",
                        wanted.name,
                        stretch.name
                    );
                }
            });
        }
    }
}

#[test]
fn a_flip_of_any_bit_and_a_cut_anywhere_are_noticed() {
    let place = Place::new();
    let (tail, sealed) = small_files(&place);
    for (bytes, path, other) in
        [(&tail, place.tail(), place.sealed()), (&sealed, place.sealed(), place.tail())]
    {
        let _ = fs::remove_file(other);
        for at in (0..bytes.len()).step_by(3) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << (at % 8);
            fs::write(&path, &damaged).unwrap();
            is_right_or_refused(&path);
            if at % 7 == 0 {
                fs::write(&path, &bytes[..at]).unwrap();
                is_right_or_refused(&path);
            }
        }
        fs::write(&path, bytes).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn any_bytes_are_no_activity_file_and_no_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let place = Place::new();
        let mut tail = b"LGB1".to_vec();
        tail.extend_from_slice(&bytes);
        fs::write(place.tail(), &tail).unwrap();
        let mut sealed = bytes.clone();
        sealed.extend_from_slice(b"PAR1");
        fs::write(place.sealed(), &sealed).unwrap();
        prop_assert!(Activity::open(&place.stem).is_err());
    }

    #[test]
    fn any_values_survive_sealing(values in proptest::collection::vec(proptest::collection::vec(-5i64..i64::MAX / 2, 20), 1..40)) {
        let place = Place::new();
        let snapshots: Vec<Snapshot> = values.iter().enumerate().map(|(second, values)| {
            let mut table = Table::new(&DISK);
            table.push("sda", values);
            Snapshot { time_s: START_S + second as i64, late_ms: 0, tables: vec![table] }
        }).collect();
        let mut tail = TailWriter::create(&place.tail(), origin(), 0).unwrap();
        tail.append(&snapshots).unwrap();
        seal::seal(&place.sealed(), &TailReader::open(&place.tail()).unwrap()).unwrap();
        fs::remove_file(place.tail()).unwrap();
        for name in ["reads", "in_flight", "minor"] {
            prop_assert_eq!(field(&place.stem, name), expected(&snapshots, name));
        }
    }

    /// Behind the checksums too, nothing may panic, run for ever or ask for all memory.
    #[test]
    fn wrong_bytes_behind_the_checksum_are_no_panic(
        flips in proptest::collection::vec((any::<u16>(), any::<u8>()), 1..5), more_rows in -2i64..3,
    ) {
        let place = Place::new();
        let (_, sealed) = small_files(&place);
        let flip = |bytes: &mut [u8]| {
            for (at, to) in &flips {
                let length = bytes.len();
                bytes[*at as usize % length] = *to;
            }
        };
        let footer = Reader::open(File::open(place.sealed()).unwrap()).unwrap().footer().clone();
        for (chunk, (_, kind)) in footer.groups[0].chunks.iter().zip(&footer.columns) {
            let mut own = sealed[chunk.offset as usize..][..chunk.length as usize].to_vec();
            flip(&mut own);
            let chunk = Chunk { rows: (chunk.rows as i64 + more_rows) as u64, ..*chunk };
            Scratch::with(|_, scratch| {
                let _ = decode::runs(&own, &chunk, scratch);
                let mut rows = 0;
                let read = decode::pieces(&own, &chunk, *kind, scratch, &mut |piece| rows += piece.rows());
                prop_assert!(read.is_none() || rows as u64 == chunk.rows);
                Ok(())
            })?;
        }
        let length = Footer::length(sealed[sealed.len() - 8..].try_into().unwrap()).unwrap() as usize;
        let mut end = sealed[sealed.len() - length..].to_vec();
        let inner = 8..end.len() - 8;
        flip(&mut end[inner.clone()]);
        let crc = crc32fast::hash(&end[inner]).to_le_bytes();
        end[4..8].copy_from_slice(&crc);
        let whole = [&sealed[..sealed.len() - length], &end].concat();
        fs::remove_file(place.tail()).unwrap();
        fs::write(place.sealed(), whole).unwrap();
        if let Ok(activity) = Activity::open(&place.stem) {
            for segment in 0..activity.segments() {
                let _ = activity.inventory(segment);
                let _ = activity.scan(segment, &DISK, &[0, 6], &mut |_| {});
            }
        }
    }
}
