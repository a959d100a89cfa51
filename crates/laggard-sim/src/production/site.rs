//! The wiring of LISA'13, section 3.3. LUN `l` of an array has its primary on the array's server `l mod 8`, its secondary on
//! the next, and so on: the paper's own examples (12.48.49, 19.50.107, 15.37.78; fs24 fails over to fs17) say so.

use super::load::Level;
use std::fmt::Write;

/// Arrays, numbered from 6 as in the paper.
pub const ARRAYS: usize = 16;
const FIRST_ARRAY: usize = 6;
/// LUNs of one array.
pub const LUNS_PER_ARRAY: usize = 72;
/// Of them, these were there first.
const OLD: usize = 48;
/// Servers of one array.
pub const SERVERS_PER_ARRAY: usize = 8;
/// All servers.
pub const SERVERS: usize = ARRAYS * SERVERS_PER_ARRAY;
/// All LUNs.
pub const LUNS: usize = ARRAYS * LUNS_PER_ARRAY;
/// Attachments of a LUN.
pub const PRIORITIES: usize = SERVERS_PER_ARRAY;

/// One path from a server to a LUN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Attachment {
    /// `0..LUNS`.
    pub lun: usize,
    /// 0 is the primary.
    pub priority: usize,
}

impl Attachment {
    /// The array of the LUN, `0..ARRAYS`.
    pub fn array(self) -> usize {
        self.lun / LUNS_PER_ARRAY
    }

    /// The server, `0..SERVERS`.
    pub fn server(self) -> usize {
        let lun = self.lun % LUNS_PER_ARRAY;
        self.array() * SERVERS_PER_ARRAY + (lun + self.priority) % SERVERS_PER_ARRAY
    }

    /// As the paper writes it: `12.48.49`.
    pub fn name(self) -> String {
        let (array, lun) = (self.array() + FIRST_ARRAY, self.lun % LUNS_PER_ARRAY);
        format!("{array}.{lun:02}.{}", self.server() + 1)
    }

    /// Finds an attachment by the paper's name.
    pub fn parse(name: &str) -> Option<Attachment> {
        let mut parts = name.split('.').map(|part| part.parse::<usize>().ok());
        let (array, lun, server) = (parts.next()??, parts.next()??, parts.next()??);
        let array = array.checked_sub(FIRST_ARRAY).filter(|array| *array < ARRAYS)?;
        let offset = server.checked_sub(array * SERVERS_PER_ARRAY + 1).filter(|s| *s < SERVERS_PER_ARRAY)?;
        let priority = (offset + SERVERS_PER_ARRAY - lun % SERVERS_PER_ARRAY) % SERVERS_PER_ARRAY;
        (lun < LUNS_PER_ARRAY).then_some(Attachment { lun: array * LUNS_PER_ARRAY + lun, priority })
    }
}

/// Which machines, and which of their attachments are recorded: those of the first priorities, LUN by LUN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Site {
    /// Seed of what makes one LUN differ from another.
    pub hardware: u64,
    /// Priorities that are recorded; the paper analyses the first two.
    pub priorities: usize,
    /// How unevenly it is used.
    pub level: Level,
}

impl Site {
    /// Recorded attachments.
    pub fn len(&self) -> usize {
        LUNS * self.priorities
    }

    /// Never.
    pub fn is_empty(&self) -> bool {
        self.priorities == 0
    }

    /// Position of an attachment in a slot.
    pub fn index(&self, attachment: Attachment) -> usize {
        attachment.lun * self.priorities + attachment.priority
    }

    /// All recorded attachments, in order.
    pub fn attachments(&self) -> impl Iterator<Item = Attachment> {
        let priorities = self.priorities;
        (0..LUNS).flat_map(move |lun| (0..priorities).map(move |priority| Attachment { lun, priority }))
    }

    /// Whether a LUN was there first.
    pub fn is_old(lun: usize) -> bool {
        lun % LUNS_PER_ARRAY < OLD
    }

    /// The topology file of the site.
    pub fn topology(&self) -> String {
        let mut text = String::from("[[servers]]\nnames = \"fs[1-128]\"\nrole = \"nsd\"\n");
        for array in 0..ARRAYS {
            let (name, first) = (array + FIRST_ARRAY, array * SERVERS_PER_ARRAY + 1);
            let _ = write!(text, "\n[[controllers]]\nnames = \"ddn{name}\"\n");
            for (luns, generation) in [("[00-47]", "old"), ("[48-71]", "new")] {
                let _ = write!(
                    text,
                    "\n[[luns]]\nnames = \"{luns}\"\ncontroller = \"ddn{name}\"\ngeneration = \"{generation}\"\n\
                     servers = \"fs[{first}-{}]\"\nrotate = true\n",
                    first + SERVERS_PER_ARRAY - 1
                );
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_names_are_where_the_paper_has_them() {
        for (name, priority) in [
            ("6.00.1", 0),
            ("21.71.128", 0),
            ("12.48.49", 0),
            ("19.50.107", 0),
            ("15.37.78", 0),
            ("21.34.124", 1),
        ] {
            let attachment = Attachment::parse(name).unwrap();
            assert_eq!((attachment.name().as_str(), attachment.priority), (name, priority));
        }
        assert!(Attachment::parse("5.00.1").is_none());
        assert!(Attachment::parse("6.72.1").is_none());
        assert!(Attachment::parse("6.00.9").is_none());
    }
}
