//! The daily cycle in simulated time.

use super::*;
use laggard_activity::Activity;
use laggard_activity::Counters;
use laggard_activity::kind::DISK;

/// 2011-05-08T23:59:00Z.
const EVENING_S: i64 = 1_304_899_140;

fn config(directory: &Path, more: &str) -> Config {
    let text = format!("directory = {directory:?}\nname = \"fs1\"\n[retention]\nkeep_free_mib = 0\n{more}");
    Config::parse(&text).unwrap()
}

fn snapshot(time_s: i64) -> Snapshot {
    let mut table = Table::new(&DISK);
    table.push("sda", &[time_s % 100_000, 0, 8]);
    Snapshot { time_s, late_ms: 0, tables: vec![table] }
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// All seconds of a file, in the order they were recorded.
fn seconds(path: &Path) -> Vec<i64> {
    let activity = Activity::open(path).unwrap();
    assert!(activity.damaged.is_empty(), "{:?}", activity.damaged);
    let mut seconds = Vec::new();
    for segment in 0..activity.segments() {
        activity
            .scan(segment, &DISK, &[0], &mut |stretch| {
                assert!(
                    stretch
                        .times_s
                        .iter()
                        .zip(stretch.fields[0])
                        .all(|(time, value)| time % 100_000 == *value)
                );
                seconds.extend_from_slice(stretch.times_s);
            })
            .unwrap();
    }
    seconds
}

#[test]
fn a_new_file_begins_five_seconds_after_midnight() {
    let folder = tempfile::tempdir().unwrap();
    let mut journal = Journal::open(&config(folder.path(), "")).unwrap();
    (EVENING_S..EVENING_S + 120).for_each(|time_s| journal.take(snapshot(time_s)));
    journal.finish();
    assert_eq!(names(folder.path()), ["fs1-20110508T235900Z.parquet", "fs1-20110509T000005Z.parquet"]);
    let [first, second] = ["fs1-20110508T235900Z.parquet", "fs1-20110509T000005Z.parquet"]
        .map(|name| seconds(&folder.path().join(name)));
    assert_eq!((first.len(), second.len(), second[0]), (65, 55, EVENING_S + 65));
}

#[test]
fn a_clock_set_back_by_five_seconds_at_midnight_makes_no_second_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut journal = Journal::open(&config(folder.path(), "")).unwrap();
    let midnight = EVENING_S + 60;
    (midnight + 5..midnight + 10)
        .chain(midnight + 3..midnight + 30)
        .for_each(|time_s| journal.take(snapshot(time_s)));
    journal.finish();
    assert_eq!(names(folder.path()), ["fs1-20110509T000005Z.parquet"]);
    let found = seconds(&folder.path().join("fs1-20110509T000005Z.parquet"));
    assert_eq!(found.len(), 5 + 27, "repeated seconds are kept; the last counts");
}

#[test]
fn clock_steps_lose_and_repeat_seconds_but_never_files() {
    let folder = tempfile::tempdir().unwrap();
    let mut journal = Journal::open(&config(folder.path(), "")).unwrap();
    let noon = EVENING_S + 43_200;
    let forward = (noon..noon + 20).chain(noon + 3000..noon + 3020);
    let back_before_the_start = noon - 7200..noon - 7180;
    forward.chain(back_before_the_start).for_each(|time_s| journal.take(snapshot(time_s)));
    journal.finish();
    assert_eq!(names(folder.path()), ["fs1-20110509T095900Z.parquet", "fs1-20110509T115900Z.parquet"]);
    assert_eq!(seconds(&folder.path().join("fs1-20110509T115900Z.parquet")).len(), 40);
    assert_eq!(seconds(&folder.path().join("fs1-20110509T095900Z.parquet")).len(), 20);
}

#[test]
fn a_week_goes_by_and_what_is_too_old_is_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let mut journal =
        Journal::open(&Config { interval_s: 20, ..config(folder.path(), "days = 3\n") }).unwrap();
    for time_s in (EVENING_S..EVENING_S + 7 * DAY_S).step_by(20) {
        // A minute missing here and there.
        if time_s / 60 % 700 != 3 {
            journal.take(snapshot(time_s));
        }
    }
    journal.finish();
    let found = names(folder.path());
    assert_eq!(found.len(), 3, "{found:?}");
    assert_eq!(found[2], "fs1-20110515T000020Z.parquet");
    let day = seconds(&folder.path().join(&found[1]));
    let expected: Vec<i64> =
        (day[0]..day[0] + DAY_S).step_by(20).filter(|time_s| time_s / 60 % 700 != 3).collect();
    assert_eq!(day, expected);
}

#[test]
fn what_is_too_much_is_deleted_oldest_first() {
    let folder = tempfile::tempdir().unwrap();
    let foreign = folder.path().join("precious.parquet");
    fs::write(&foreign, vec![0; 5 << 20]).unwrap();
    for day in 0..6 {
        let stem = name::stem("fs1", EVENING_S + day * DAY_S);
        fs::write(folder.path().join(stem + ".parquet"), vec![0; 400 << 10]).unwrap();
    }
    drop(Journal::open(&config(folder.path(), "size_mib = 1\ndays = 100000\n")).unwrap());
    assert_eq!(
        names(folder.path()),
        ["fs1-20110512T235900Z.parquet", "fs1-20110513T235900Z.parquet", "precious.parquet"]
    );
}

#[test]
fn without_room_the_oldest_go_then_samples_with_a_count() {
    let folder = tempfile::tempdir().unwrap();
    let old = folder.path().join("fs1-20100101T000005Z.parquet");
    fs::write(&old, "x").unwrap();
    let mut journal = Journal::open(&config(folder.path(), "days = 10000\n")).unwrap();
    (0..10).for_each(|second| journal.take(snapshot(EVENING_S + second)));
    journal.retention.keep_free_mib = 1 << 40;
    (10..30).for_each(|second| journal.take(snapshot(EVENING_S + second)));
    assert!(!old.exists());
    assert_eq!(journal.lost, 20);
    journal.retention.keep_free_mib = 0;
    (30..40).for_each(|second| journal.take(snapshot(EVENING_S + second)));
    journal.finish();
    let path = folder.path().join(&names(folder.path())[0]);
    assert_eq!(seconds(&path), (0..10).chain(30..40).map(|second| EVENING_S + second).collect::<Vec<_>>());
    let activity = Activity::open(&path).unwrap();
    let mut gaps = Vec::new();
    activity.scan(0, &GAP, &[0], &mut |stretch| gaps.push(stretch.name.to_string())).unwrap();
    assert_eq!(gaps, ["journal: 20 samples lost, they could not be written"]);
}

#[test]
fn what_an_earlier_run_left_is_sealed_and_what_is_damaged_is_put_aside() {
    let folder = tempfile::tempdir().unwrap();
    let mut journal = Journal::open(&config(folder.path(), "")).unwrap();
    (0..50).for_each(|second| journal.take(snapshot(EVENING_S + second)));
    drop(journal);
    fs::write(folder.path().join("fs1-20110501T000005Z.tail"), "LGB1 and then nonsense").unwrap();
    fs::write(folder.path().join("fs1-20110508T235900Z.partial"), "half").unwrap();
    drop(Journal::open(&config(folder.path(), "days = 100000")).unwrap());
    assert_eq!(names(folder.path()), ["fs1-20110501T000005Z.damaged-1", "fs1-20110508T235900Z.parquet"]);
    assert_eq!(seconds(&folder.path().join("fs1-20110508T235900Z.parquet")).len(), 50);
}
