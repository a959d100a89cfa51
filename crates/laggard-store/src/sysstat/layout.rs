//! How a sysstat file is laid out: byte order, width of `long`, header, activities, and where the fields of each item are.
//!
//! Formats 0x2170 to 0x2175 (sysstat 8.1.3 to 12.7). The last describes itself: a structure is so many 8-byte integers, so many
//! `long`s, so many 4-byte integers, then bytes; fields were only ever added at the end of a block. The older ones are fixed.

use crate::problem::FormatError;
use laggard_activity::kind::{DISK, HOST, Kind, NET, TCP};

/// Largest sizes that sysstat itself accepts.
const MOST_ACTIVITIES: u32 = 256;
const LARGEST_HEADER: usize = 8192;
const LARGEST_ITEM: usize = 1024;
const MOST_ITEMS: u64 = 65_536 * 4096;

/// Reads integers of a file's byte order.
#[derive(Debug, Clone, Copy)]
pub struct Order {
    is_big: bool,
    /// Bytes of a `long`: 4 or 8.
    long: usize,
}

impl Order {
    fn number(self, bytes: &[u8], at: usize, width: usize) -> Option<u64> {
        let field = bytes.get(at..at.checked_add(width)?)?;
        let step = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
        Some(if self.is_big { field.iter().fold(0, step) } else { field.iter().rev().fold(0, step) })
    }

    /// Four bytes.
    pub fn u32(self, bytes: &[u8], at: usize) -> Option<u32> {
        self.number(bytes, at, 4).map(|value| value as u32)
    }

    /// Any field.
    pub fn field(self, bytes: &[u8], (at, width): (usize, usize)) -> Option<i64> {
        self.number(bytes, at, width).map(|value| i64::try_from(value).unwrap_or(i64::MAX))
    }
}

/// Where a record's header has what.
#[derive(Debug, Clone, Copy)]
pub struct RecordLayout {
    /// Bytes of the header.
    pub size: usize,
    /// Hundredths of a second since boot.
    pub uptime: (usize, usize),
    /// Seconds since 1970.
    pub time: (usize, usize),
    /// Whether structures of unknown meaning follow.
    pub extra: Option<usize>,
    /// What kind of record it is.
    pub record_type: usize,
}

/// What an item is called.
#[derive(Debug, Clone, Copy)]
pub enum Naming {
    /// By device numbers, or by World Wide Name and partition where there is one.
    Disk {
        /// Where its major number is.
        major: usize,
        /// Where its minor number is.
        minor: usize,
        /// Where its World Wide Name and its partition number are.
        wwn: Option<(usize, usize)>,
    },
    /// By text of 16 bytes.
    Text(usize),
    /// There is only one.
    Only(&'static str),
}

/// An activity whose items are understood.
#[derive(Debug, Clone)]
pub struct Understood {
    /// What its items are.
    pub kind: &'static Kind,
    /// Their names.
    pub naming: Naming,
    /// Where each field of the kind is: offset and width.
    pub fields: Vec<Option<(usize, usize)>>,
    /// Where the weighted time is, which is told as a difference.
    pub queue: Option<(usize, usize)>,
}

/// One activity of a file.
#[derive(Debug, Clone)]
pub struct Listed {
    /// sysstat's number for it.
    pub id: u32,
    /// Items in each record, unless each record says so itself.
    pub count: u64,
    /// Whether each record says how many items it has.
    pub has_count: bool,
    /// Parts of an item.
    pub parts: u64,
    /// Bytes of a part.
    pub size: usize,
    /// What it means, if that is known.
    pub understood: Option<Understood>,
}

impl Listed {
    /// Bytes of so many items.
    pub fn bytes(&self, count: u64) -> Option<usize> {
        usize::try_from(count.checked_mul(self.parts)?.checked_mul(self.size as u64)?).ok()
    }
}

/// Everything in front of the records.
#[derive(Debug, Clone)]
pub struct Layout {
    /// Byte order and width of `long`.
    pub order: Order,
    /// The format, such as 0x2175.
    pub format: u16,
    /// The host.
    pub host: String,
    /// The activities, in the order of their items in a record.
    pub activities: Vec<Listed>,
    /// The records' headers.
    pub record: RecordLayout,
    /// Activities that follow a restart (format 0x2173).
    pub volatile: usize,
    /// First byte of the records.
    pub records_at: usize,
}

/// Whether a file begins like one of sysstat's.
pub fn is_sysstat(start: &[u8]) -> bool {
    start.starts_with(&[0x96, 0xd5]) || start.starts_with(&[0xd5, 0x96])
}

/// Reads the beginning of a file; says what is wrong with it.
pub fn parse(bytes: &[u8]) -> Result<Layout, FormatError> {
    let is_big = bytes.starts_with(&[0xd5, 0x96]);
    if !is_sysstat(bytes) {
        return Err("not an activity file of sysstat".into());
    }
    let order = Order { is_big, long: 8 };
    let cut = || "cut off in its header".to_string();
    let format = order.number(bytes, 2, 2).ok_or_else(cut)? as u16;
    let version = bytes.get(4..7).map_or(String::new(), |v| format!("{}.{}.{}", v[0], v[1], v[2]));
    match format {
        0x2175 => described(bytes, order),
        0x2170 | 0x2171 | 0x2173 => fixed(bytes, order, format),
        newer if newer > 0x2175 => Err(format!(
            "written by a newer sysstat ({version}, format {newer:#x}); export it there: sadf -j FILE -- -d -n DEV"
        ).into()),
        older => Err(format!(
            "written by an old sysstat ({version}, format {older:#x}); export it there: sadf -j FILE -- -d -n DEV, or bring it up to date: sadf -c FILE > NEW"
        ).into()),
    }
}

fn text(bytes: &[u8], at: usize, length: usize) -> String {
    let field = bytes.get(at..at + length).unwrap_or(&[]);
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    String::from_utf8_lossy(&field[..end]).into_owned()
}

/// Counts of a structure's 8-byte integers, `long`s and 4-byte integers.
#[derive(Debug, Clone, Copy)]
struct Types([usize; 3]);

impl Types {
    fn read(order: Order, bytes: &[u8], at: usize) -> Option<Types> {
        let count = |index: usize| order.u32(bytes, at + 4 * index).map(|count| count as usize);
        Some(Types([count(0)?, count(1)?, count(2)?]))
            .filter(|types| types.0.iter().all(|count| *count <= LARGEST_HEADER))
    }

    fn end(self) -> usize {
        8 * self.0[0] + 8 * self.0[1] + 4 * self.0[2]
    }

    /// The place of field `index` of block 0, 1 or 2; `None` if this version has it not.
    fn place(self, block: usize, index: usize, order: Order) -> Option<(usize, usize)> {
        let [wide, long, _] = self.0;
        (index < self.0[block]).then_some(match block {
            0 => (8 * index, 8),
            1 => (8 * wide + 8 * index, order.long),
            _ => (8 * wide + 8 * long + 4 * index, 4),
        })
    }
}

fn described(bytes: &[u8], mut order: Order) -> Result<Layout, FormatError> {
    let cut = || "cut off in its header".to_string();
    let wrong = |what: &str, value: usize| Err(format!("damaged header: {what} {value}").into());
    let header_size = order.u32(bytes, 8).ok_or_else(cut)? as usize;
    let types = Types::read(order, bytes, 16).ok_or("damaged header: counts of fields")?;
    let [wide, long, narrow] = types.0;
    if header_size > LARGEST_HEADER || header_size < types.end() + 263 || wide < 1 || long < 1 || narrow < 11
    {
        return wrong("size", header_size);
    }
    let header = bytes.get(76..76 + header_size).ok_or_else(cut)?;
    let tail = types.end();
    order.long = match header[tail + 2] {
        4 => 4,
        8 => 8,
        other => return wrong("bytes of a long", usize::from(other)),
    };
    let narrow =
        |index: usize| types.place(2, index, order).and_then(|(at, _)| order.u32(header, at)).unwrap_or(0);
    let (act_nr, act_size, rec_size) = (narrow(1), narrow(9) as usize, narrow(10) as usize);
    let narrow_at = 8 * wide + 8 * long;
    let act_types = Types::read(order, header, narrow_at + 12).ok_or("damaged header: counts of fields")?;
    let rec_types = Types::read(order, header, narrow_at + 24).ok_or("damaged header: counts of fields")?;
    let host = text(header, tail + 68, 65);
    if act_nr > MOST_ACTIVITIES {
        return wrong("number of activities", act_nr as usize);
    }
    if act_size > 1024 || act_types.end() > act_size || act_types.0[2] < 9 {
        return wrong("size of an activity", act_size);
    }
    if rec_size > 512 || rec_types.end() + 4 > rec_size || rec_types.0[0] < 2 {
        return wrong("size of a record's header", rec_size);
    }
    let mut activities = Vec::new();
    let mut at = 76 + header_size;
    for number in 0..act_nr {
        let entry = bytes.get(at..at + act_size).ok_or_else(cut)?;
        let field = |index: usize| {
            act_types.place(2, index, order).and_then(|(at, _)| order.u32(entry, at)).unwrap_or(0)
        };
        let (id, magic, size) = (field(0), field(1), field(5) as usize);
        let (count, parts) = (u64::from(field(2)), u64::from(field(3)));
        let types = Types::read(order, entry, act_types.place(2, 6, order).map_or(0, |(at, _)| at));
        let types = types.filter(|types| types.end() <= size);
        let sound = (1..=MOST_ITEMS).contains(&count)
            && (1..=4096).contains(&parts)
            && (1..=LARGEST_ITEM).contains(&size);
        let Some(types) = types.filter(|_| sound) else {
            return Err(format!("damaged list of activities: number {number} (activity {id})").into());
        };
        let understood = describe(id, magic, types, size, order);
        activities.push(Listed { id, count, has_count: field(4) != 0, parts, size, understood });
        at += act_size;
    }
    let mut layout = Layout {
        order,
        format: 0x2175,
        host,
        activities,
        record: RecordLayout {
            size: rec_size,
            uptime: (0, 8),
            time: (8, 8),
            extra: rec_types.place(2, 0, order).map(|(at, _)| at),
            record_type: rec_types.end(),
        },
        volatile: 0,
        records_at: at,
    };
    if narrow(11) != 0 {
        layout.records_at = skip_extra(order, bytes, at).ok_or_else(cut)?;
    }
    Ok(layout)
}

/// Passes over structures that no released sysstat writes, but that the format allows.
pub fn skip_extra(order: Order, bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        let (count, size, next) =
            (order.u32(bytes, at)?, order.u32(bytes, at + 4)?, order.u32(bytes, at + 8)?);
        if count > 8192 || size > 1024 {
            return None;
        }
        at += 24 + count as usize * size as usize;
        if next == 0 {
            return (at <= bytes.len()).then_some(at);
        }
    }
}

const A_CPU: u32 = 1;
const A_DISK: u32 = 11;
const A_NET_DEV: u32 = 12;
const A_NET_EDEV: u32 = 13;
const A_NET_TCP: u32 = 21;
const A_NET_ETCP: u32 = 22;

/// Fields of a kind by name, from places that may not be there.
fn fields(kind: &'static Kind, known: &[(&str, Option<(usize, usize)>)]) -> Vec<Option<(usize, usize)>> {
    let place = |name: &str| known.iter().find(|(known, _)| *known == name).and_then(|(_, place)| *place);
    kind.fields.iter().map(|field| place(field.name)).collect()
}

fn describe(id: u32, magic: u32, types: Types, size: usize, order: Order) -> Option<Understood> {
    let wide = |index| types.place(0, index, order);
    let long = |index| types.place(1, index, order);
    let narrow = |index| types.place(2, index, order);
    let bytes = types.end();
    Some(match (id, magic) {
        (A_DISK, 0x8c) => {
            let wwn = wide(1).zip(narrow(7)).map(|((wwn, _), (part, _))| (wwn, part));
            let (major, minor) = (narrow(4)?, narrow(5)?);
            disk(
                [wide(0), long(0), long(1), long(2), narrow(0), narrow(1), narrow(6), narrow(2), narrow(3)],
                major,
                minor,
                wwn,
            )
        }
        (A_NET_DEV, 0x8d) if bytes + 16 <= size => interface([wide(2), wide(0), wide(3), wide(1)], bytes),
        (A_NET_EDEV, 0x8c) if bytes + 16 <= size => errors([wide(1), wide(3), wide(2), wide(4)], bytes),
        (A_NET_TCP, 0x8a) => segments(long(2), long(3)),
        (A_NET_ETCP, 0x8a) => retransmissions(long(2), long(3)),
        (A_CPU, 0x8b) => cpu([wide(0), wide(1), wide(2), wide(3), wide(4), wide(6), wide(7), wide(5)]),
        _ => return None,
    })
}

fn disk(
    places: [Option<(usize, usize)>; 9],
    major: (usize, usize),
    minor: (usize, usize),
    wwn: Option<(usize, usize)>,
) -> Understood {
    let [requests, read, written, discarded, read_ms, write_ms, discard_ms, busy_ms, queue] = places;
    let known = [
        ("requests", requests),
        ("sectors_read", read),
        ("sectors_written", written),
        ("sectors_discarded", discarded),
        ("read_ms", read_ms),
        ("write_ms", write_ms),
        ("discard_ms", discard_ms),
        ("io_ms", busy_ms),
        ("major", Some(major)),
        ("minor", Some(minor)),
    ];
    let naming = Naming::Disk { major: major.0, minor: minor.0, wwn };
    Understood { kind: &DISK, naming, fields: fields(&DISK, &known), queue }
}

fn interface(
    [rx_bytes, rx_packets, tx_bytes, tx_packets]: [Option<(usize, usize)>; 4],
    name: usize,
) -> Understood {
    let known = [
        ("rx_bytes", rx_bytes),
        ("rx_packets", rx_packets),
        ("tx_bytes", tx_bytes),
        ("tx_packets", tx_packets),
    ];
    Understood { kind: &NET, naming: Naming::Text(name), fields: fields(&NET, &known), queue: None }
}

fn errors(
    [rx_errors, rx_dropped, tx_errors, tx_dropped]: [Option<(usize, usize)>; 4],
    name: usize,
) -> Understood {
    let known = [
        ("rx_errors", rx_errors),
        ("rx_dropped", rx_dropped),
        ("tx_errors", tx_errors),
        ("tx_dropped", tx_dropped),
    ];
    Understood { kind: &NET, naming: Naming::Text(name), fields: fields(&NET, &known), queue: None }
}

fn segments(received: Option<(usize, usize)>, sent: Option<(usize, usize)>) -> Understood {
    let known = [("in_segments", received), ("out_segments", sent)];
    Understood { kind: &TCP, naming: Naming::Only("tcp"), fields: fields(&TCP, &known), queue: None }
}

fn retransmissions(again: Option<(usize, usize)>, bad: Option<(usize, usize)>) -> Understood {
    let known = [("retransmitted", again), ("in_errors", bad)];
    Understood { kind: &TCP, naming: Naming::Only("tcp"), fields: fields(&TCP, &known), queue: None }
}

fn cpu(places: [Option<(usize, usize)>; 8]) -> Understood {
    let names = [
        "cpu_user",
        "cpu_nice",
        "cpu_system",
        "cpu_idle",
        "cpu_iowait",
        "cpu_irq",
        "cpu_softirq",
        "cpu_steal",
    ];
    let known: Vec<(&str, Option<(usize, usize)>)> = names.into_iter().zip(places).collect();
    Understood { kind: &HOST, naming: Naming::Only("host"), fields: fields(&HOST, &known), queue: None }
}

/// The formats before 11.7.1: everything at fixed places, integers of 8 bytes in slots of 16.
fn fixed(bytes: &[u8], mut order: Order, format: u16) -> Result<Layout, FormatError> {
    let cut = || "cut off in its header".to_string();
    let is_latest = format == 0x2173;
    let (header_at, header_size) = match is_latest {
        true => (76, order.u32(bytes, 8).ok_or_else(cut)? as usize),
        false => (8, 280),
    };
    if !(280..=LARGEST_HEADER).contains(&header_size) {
        return Err(format!("damaged header: size {header_size}").into());
    }
    let header = bytes.get(header_at..header_at + header_size).ok_or_else(cut)?;
    let (count_at, long_at, host_at) = if is_latest { (12, 23, 89) } else { (8, 15, 81) };
    order.long = match header[long_at] {
        4 => 4,
        8 => 8,
        other => return Err(format!("damaged header: bytes of a long {other}").into()),
    };
    let count = order.u32(header, count_at).unwrap_or(0);
    let volatile = if is_latest { order.u32(header, 16).unwrap_or(0) } else { 0 };
    if count > MOST_ACTIVITIES || volatile > MOST_ACTIVITIES {
        return Err(format!("damaged header: number of activities {count}").into());
    }
    let entry_size = if format == 0x2170 { 12 } else { 20 };
    let mut activities = Vec::new();
    let mut at = header_at + header_size;
    for number in 0..count {
        let entry = bytes.get(at..at + entry_size).ok_or_else(cut)?;
        let field = |index: usize| order.u32(entry, 4 * index).unwrap_or(0);
        let (id, magic, count, parts, size) = match format {
            0x2170 => (field(0), 0x8a, field(1), 1, field(2)),
            _ => (field(0), field(1), field(2), field(3), field(4)),
        };
        let (count, parts, size) = (u64::from(count), u64::from(parts), size as usize);
        if count > MOST_ITEMS || !(1..=4096).contains(&parts) || !(1..=4096).contains(&size) {
            return Err(format!("damaged list of activities: number {number} (activity {id})").into());
        }
        let understood = describe_fixed(id, magic, size, order.long);
        activities.push(Listed { id, count, has_count: false, parts, size, understood });
        at += entry_size;
    }
    let record =
        RecordLayout { size: 48, uptime: (16, 8), time: (32, order.long), extra: None, record_type: 40 };
    Ok(Layout {
        order,
        format,
        host: text(header, host_at, 65),
        activities,
        record,
        volatile: volatile as usize,
        records_at: at,
    })
}

fn describe_fixed(id: u32, magic: u32, size: usize, long: usize) -> Option<Understood> {
    let wide = |at: usize| Some((at, 8));
    let long = |at: usize| Some((at, long));
    let narrow = |at: usize| Some((at, 4));
    Some(match (id, magic) {
        (A_DISK, 0x8a) if size >= 80 => disk(
            [long(64), wide(0), wide(16), None, long(32), long(40), None, long(48), long(56)],
            (72, 4),
            (76, 4),
            None,
        ),
        (A_DISK, 0x8b) if size >= 56 => disk(
            [wide(0), long(16), long(24), None, narrow(32), narrow(36), None, narrow(40), narrow(44)],
            (48, 4),
            (52, 4),
            None,
        ),
        (A_NET_DEV, 0x8a) if size >= 72 => interface([long(16), long(0), long(24), long(8)], 56),
        (A_NET_DEV, 0x8b) if size >= 128 => interface([wide(32), wide(0), wide(48), wide(16)], 112),
        (A_NET_DEV, 0x8c) if size >= 132 => interface([wide(32), wide(0), wide(48), wide(16)], 116),
        (A_NET_EDEV, 0x8a) if size >= 88 => errors([long(8), long(24), long(16), long(32)], 72),
        (A_NET_EDEV, 0x8b) if size >= 160 => errors([wide(16), wide(48), wide(32), wide(64)], 144),
        (A_NET_TCP, 0x8a) if size >= 32 => segments(long(16), long(24)),
        (A_NET_ETCP, 0x8a) if size >= 40 => retransmissions(long(16), long(24)),
        (A_CPU, 0x8a) if size >= 128 => {
            cpu([wide(0), wide(16), wide(32), wide(48), wide(64), wide(96), wide(112), wide(80)])
        }
        _ => return None,
    })
}
