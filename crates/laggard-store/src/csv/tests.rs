use super::*;
use proptest::prelude::*;

fn load(text: &str, mapping: Option<&str>) -> Result<(Recording, Vec<String>), String> {
    let mapping = mapping.map(|text| Mapping::parse(text).unwrap());
    let (mut recording, mut problems) = (Recording::default(), Problems::default());
    read(text.as_bytes(), Path::new("x.csv"), mapping.as_ref(), &mut recording, &mut problems, &|_| {})
        .map_err(|error| error.to_string())?;
    recording.settle();
    Ok((recording, problems.list().iter().map(ToString::to_string).collect()))
}

fn awaits(recording: &Recording, name: &str) -> Vec<(i64, f64)> {
    recording.series(recording.find(name).unwrap(), Metric::Await).cloned().unwrap_or_default()
}

#[test]
fn the_long_form_with_missing_values() {
    let text = "timestamp,component,metric,value\n15,oss1,await,2.5\n30,oss1,await,NA\n45,oss1,await,\n\
                1970-01-01T00:01:00Z,oss1,await,4\n60,oss1,%util,80\n";
    let (recording, problems) = load(text, None).unwrap();
    assert_eq!(awaits(&recording, "oss1"), [(15, 2.5), (60, 4.0)]);
    assert_eq!(recording.metrics(), [Metric::Await, Metric::Util]);
    assert!(problems.is_empty(), "{problems:?}");
}

#[test]
fn a_column_per_metric_by_header_or_mapping() {
    let text = "ts,disk_id,throughput,latency\n0,d1,100,5\n15,d1,110,6\n";
    let (recording, _) = load(text, None).unwrap();
    assert_eq!(awaits(&recording, "d1"), [(0, 5.0), (15, 6.0)]);
    let (recording, _) = load(text, Some("time=ts,component=disk_id,await=latency:us")).unwrap();
    assert_eq!(awaits(&recording, "d1"), [(0, 0.005), (15, 0.006)]);
    assert_eq!(recording.metrics(), [Metric::Await, Metric::Throughput], "known names need no mapping");
}

#[test]
fn extra_server_and_group_columns() {
    let text = "time;lun;server;group;await\n0;a;fs1;new;1\n";
    let (recording, _) = load(text, None).unwrap();
    assert_eq!(recording.observed()[0].server.as_deref(), Some("fs1"));
    assert_eq!(recording.observed()[0].group.as_deref(), Some("new"));
}

#[test]
fn bad_rows_are_named_by_line_and_the_rest_is_used() {
    let text = "timestamp,component,metric,value\n0,a,await,1\nnoon,a,await,1\n15,a,await,fast\n30,a,awiat,1\n\
                45,,await,1\n60,a,await,inf\n60,a,await,3\n60,a,await,4\n50,a,await,2\n75,a\n";
    let (recording, problems) = load(text, None).unwrap();
    assert_eq!(awaits(&recording, "a"), [(0, 1.0), (50, 2.0), (60, 4.0)]);
    let expected = [
        (3, "`noon` is not a time"),
        (4, "`fast` is not a number"),
        (5, "unknown metric `awiat` (nearest: `await`)"),
        (6, "no component name"),
        (7, "`inf` is impossible for await"),
        (9, "has this time already"),
        (10, "goes back in time"),
        (11, "2 of 4 columns"),
    ];
    assert_eq!(problems.len(), expected.len(), "{problems:#?}");
    for (line, part) in expected {
        assert!(
            problems
                .iter()
                .any(|problem| problem.starts_with(&format!("x.csv:{line}: ")) && problem.contains(part)),
            "{line} {part}: {problems:#?}"
        );
    }
}

#[test]
fn a_header_in_the_middle_is_no_component_and_negative_values_are_missing() {
    let text = "ts,disk_id,latency\n0,a,1\nts,disk_id,latency\n15,a,-1\n30,a,18446744073709551615\n45,a,2\n";
    let (recording, problems) = load(text, None).unwrap();
    assert_eq!(recording.observed().len(), 1);
    assert_eq!(awaits(&recording, "a"), [(0, 1.0), (45, 2.0)]);
    assert_eq!(problems.len(), 2, "a time and a value, and -1 is missing: {problems:?}");
}

#[test]
fn a_device_has_the_name_of_its_host_before_its_own() {
    let text = "ts,host,device,await\n0,oss1,sda,1\n0,oss2,sda,2\n";
    let (recording, problems) = load(text, None).unwrap();
    assert_eq!(
        (awaits(&recording, "oss1:sda"), awaits(&recording, "oss2:sda")),
        (vec![(0, 1.0)], vec![(0, 2.0)])
    );
    assert_eq!(recording.observed()[1].server.as_deref(), Some("oss2"));
    assert!(problems.is_empty(), "{problems:?}");
    let named = text.replacen("host,device", "place,thing", 1);
    let (recording, _) = load(&named, Some("time=ts,component=thing,host=place")).unwrap();
    assert_eq!(awaits(&recording, "oss2:sda"), [(0, 2.0)]);
}

#[test]
fn a_hundredth_of_bad_values_is_noise_and_more_is_a_loss() {
    let lost = |bad: usize| {
        let row = |row: usize| format!("{row},a,await,{}\n", if row < bad { "x" } else { "1" });
        let text: String = (0..1010).map(row).collect();
        let (mut recording, mut problems) = (Recording::default(), Problems::default());
        let text = format!("timestamp,component,metric,value\n{text}");
        read(text.as_bytes(), Path::new("x.csv"), None, &mut recording, &mut problems, &|_| {}).unwrap();
        problems.list().iter().any(|problem| problem.lost == Lost::Of(["a".to_string()].into()))
    };
    assert_eq!([lost(10), lost(11)], [false, true]);
}

#[test]
fn fractions_of_a_second_are_no_repetition() {
    let merged = |fraction: &str| {
        let row = |row: usize| format!("{}{fraction},a,await,{row}\n", row / 2);
        let text: String = (0..100).map(row).collect();
        let (mut recording, mut problems) = (Recording::default(), Problems::default());
        let text = format!("timestamp,component,metric,value\n{text}");
        read(text.as_bytes(), Path::new("x.csv"), None, &mut recording, &mut problems, &|_| {}).unwrap();
        !recording.settle().is_empty()
    };
    assert!(merged("") && !merged(".5"));
}

#[test]
fn headers_that_cannot_be_read_say_what_to_do() {
    for (text, part) in [
        ("a,b,c\n1,2,3\n", "--csv time=COLUMN"),
        ("ts,x,await\n", "--csv component=COLUMN"),
        ("ts,disk,colour\n", "await=latency"),
        ("ts,disk,metric\n", "both"),
        ("", "no column for the time"),
    ] {
        assert!(load(text, None).unwrap_err().contains(part), "{text}");
    }
    let wrong = load("ts,disk,await\n", Some("time=when,component=disk,await=await")).unwrap_err();
    assert!(wrong.contains("`when`") && wrong.contains("ts, disk, await"), "{wrong}");
}

#[test]
fn bad_mappings_are_explained() {
    for (text, part) in [
        ("time=ts", "component=COLUMN is missing"),
        ("time=ts,component=d,speed=x", "`speed` is neither"),
        ("time=ts,component=d,await=x:min", "unit `min`"),
        ("time=ts,component", "not what=column"),
        ("time=a,time=b,component=c", "given twice"),
    ] {
        assert!(Mapping::parse(text).unwrap_err().message.contains(part), "{text}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let (mut recording, mut problems) = (Recording::default(), Problems::default());
        let _ = read(&bytes[..], Path::new("x"), None, &mut recording, &mut problems, &|_| {});
    }

    #[test]
    fn any_mapping_is_read_or_refused_without_panic(text in "[a-z=:,_ ]{0,40}") {
        let _ = Mapping::parse(&text);
    }

    #[test]
    fn a_file_cut_anywhere_loses_at_most_its_last_row(rows in 1..40i64, cut in 33usize..600) {
        let mut text = String::from("timestamp,component,metric,value\n");
        (0..rows).for_each(|row| text.push_str(&format!("{row},oss{},await,{row}.5\n", row % 3)));
        let cut = cut.min(text.len());
        let (recording, _) = load(&text[..cut], None).unwrap();
        let whole = text[..cut].matches('\n').count() as u64 - 1;
        prop_assert!(recording.samples == whole || recording.samples == whole + 1);
    }

    #[test]
    fn what_is_written_reads_back(values in proptest::collection::vec((0..10_000i64, "[a-z]{1,5}", 0.0..1e9f64), 1..50)) {
        let mut text = String::from("timestamp,component,metric,value\n");
        values.iter().for_each(|(time, name, value)| text.push_str(&format!("{time},{name},rd_sec,{value}\n")));
        let (recording, _) = load(&text, None).unwrap();
        for (time, name, _) in &values {
            let last = values.iter().rev().find(|(t, n, _)| t == time && n == name).unwrap().2;
            let series = recording.series(recording.find(name).unwrap(), Metric::RdSec).unwrap();
            prop_assert!(series.contains(&(*time, last)));
        }
    }
}
