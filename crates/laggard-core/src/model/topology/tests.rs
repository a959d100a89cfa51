use super::*;
use crate::model::Attachment;
use proptest::prelude::*;

const INTREPID: &str = r#"
[[filesystems]]
name = "intrepid"
type = "gpfs"

[[servers]]
names = "fs[1-128]"
role = "nsd"
filesystem = "intrepid"

[[controllers]]
names = "ddn[6-21]"

[[luns]]
names = "lun[00-47]"
controller = "ddn12"
generation = "old"
servers = "fs[49-56]"
rotate = true

[[drawers]]
names = "G"
controller = "ddn12"
luns = "lun[00-03]"
"#;

#[test]
fn ranges_rotate_the_primary_server() {
    let topology = Topology::parse(INTREPID).unwrap();
    assert_eq!(topology.luns.len(), 48);
    assert_eq!(topology.attachments.len(), 48 * 8);
    assert_eq!(topology.attachments["ddn12.lun01.fs50"].priority, 1);
    assert_eq!(topology.attachments["ddn12.lun01.fs49"].priority, 8);
    assert_eq!(topology.luns["ddn12.lun03"].drawers.iter().next().unwrap(), "ddn12 drawer G");
    assert_eq!(short("ddn12.lun48.fs49"), "12.48.49");
}

#[test]
fn explicit_attachments_use_the_papers_short_form() {
    let text = format!("{INTREPID}\n[[attachments]]\nnames = \"12.00.1\"\npriority = 9\n");
    let topology = Topology::parse(&text).unwrap();
    assert_eq!(topology.attachments["ddn12.lun00.fs1"].priority, 9);
}

#[test]
fn errors_name_line_and_key() {
    let cases = [
        ("servers = \"fs[49-56]\"", "servers = \"fs[149-156]\"", 18, "servers", "unknown server `fs149`"),
        (
            "controller = \"ddn12\"\ngen",
            "controller = \"ddn99\"\ngen",
            16,
            "controller",
            "unknown controller `ddn99`",
        ),
        ("rotate", "rotated", 19, "rotated", "did you mean `rotate`"),
        ("rotate = true", "rotate = 3", 19, "rotate", "expected a boolean"),
        ("filesystem = \"intrepid\"", "filesystem = \"intrepit\"", 9, "filesystem", "nearest: `intrepid`"),
        ("fs[1-128]", "fs[1-", 7, "names", "bracket"),
        ("lun[00-03]", "lun[48-50]", 24, "luns", "no LUN `ddn12.lun48`"),
    ];
    for (from, to, line, key, part) in cases {
        let error = Topology::parse(&INTREPID.replacen(from, to, 1)).unwrap_err();
        assert_eq!((error.line, error.key.as_str()), (line, key), "{error}");
        assert!(error.message.contains(part), "{error}");
    }
}

proptest! {
    #[test]
    fn a_damaged_topology_is_refused_without_panic(cut in 0..INTREPID.len(), junk in "[\\[\\]\"=a-z0-9\n ]{0,6}") {
        let text = format!("{}{junk}{}", &INTREPID[..cut], &INTREPID[(cut + 3).min(INTREPID.len())..]);
        if let Err(error) = Topology::parse(&text) {
            prop_assert!(error.line >= 1);
        }
    }
}

#[test]
fn disks_of_hosts_are_attachments_by_their_device() {
    let text = |devices: &str| {
        format!(
            "[[servers]]\nnames = \"fs[1-2]\"\n[[controllers]]\nnames = \"ddn6\"\n[[luns]]\nnames = \"[00-01]\"\ncontroller = \"ddn6\"\nservers = \"fs[1-2]\"\ndevices = \"{devices}\"\n"
        )
    };
    let topology = Topology::parse(&text("wwn-0x[10-11]")).unwrap();
    let observed = ["fs1:wwn-0x11", "fs2:ddn6.00", "fs2:sda"]
        .map(|name| crate::model::groups::Observed { name: name.into(), ..Default::default() });
    let roster = crate::model::Roster::new(&observed, Some(&topology));
    let attached: Vec<_> = roster.components.iter().map(|component| component.attachment.clone()).collect();
    let lun = |name: &str, priority| Some(Attachment { lun: name.into(), priority });
    assert_eq!(attached, [lun("ddn6.01", 1), lun("ddn6.00", 2), None]);
    let wrong = Topology::parse(&text("wwn-0x[10-12]")).unwrap_err().to_string();
    assert!(wrong.contains("3 devices for 2 LUNs"), "{wrong}");
}
