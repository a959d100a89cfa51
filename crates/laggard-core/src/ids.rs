//! Index spaces and times, each a type of its own: a position in a group cannot index the roster, a slot is no second.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// A number that counts the rows of a [`Table`].
pub trait Id: Copy {
    /// The id of a row.
    fn new(index: usize) -> Self;
    /// The row.
    fn index(self) -> usize;
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u32);

        impl $name {
            /// The id of a row.
            pub fn new(index: usize) -> $name {
                $name(index as u32)
            }

            /// The row.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl Id for $name {
            fn new(index: usize) -> $name {
                $name::new(index)
            }

            fn index(self) -> usize {
                self.index()
            }
        }
    )*};
}

ids! {
    /// A component of the [roster](crate::model::Roster).
    ComponentId
    /// A peer group of the roster.
    GroupId
    /// A member of one peer group, in the order of the group.
    MemberIndex
}

/// A window of one method on one grid, counted from the origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WindowIndex(pub u64);

/// A slot of the grid, counted from the origin: the first slot with data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub u64);

/// Seconds since 1970, UTC.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnixSeconds(pub i64);

impl From<i64> for UnixSeconds {
    fn from(seconds: i64) -> UnixSeconds {
        UnixSeconds(seconds)
    }
}

impl UnixSeconds {
    /// This moment and so many seconds.
    pub fn plus(self, seconds: i64) -> UnixSeconds {
        UnixSeconds(self.0.saturating_add(seconds))
    }

    /// Seconds from another moment until this one.
    pub fn since(self, earlier: UnixSeconds) -> i64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl fmt::Display for UnixSeconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A list that only ids of one kind index.
#[derive(Debug, Clone, PartialEq)]
pub struct Table<I, T> {
    rows: Vec<T>,
    index: PhantomData<I>,
}

impl<I: Id, T> Table<I, T> {
    /// How many rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Adds a row.
    pub fn push(&mut self, row: T) -> I {
        self.rows.push(row);
        I::new(self.rows.len() - 1)
    }

    /// All ids.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = I> + Clone + use<I, T> {
        (0..self.rows.len()).map(I::new)
    }

    /// The rows.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.rows.iter()
    }

    /// The rows, to change them.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.rows.iter_mut()
    }

    /// Ids and rows.
    pub fn enumerate(&self) -> impl ExactSizeIterator<Item = (I, &T)> {
        self.rows.iter().enumerate().map(|(index, row)| (I::new(index), row))
    }

    /// The rows as a slice.
    pub fn as_slice(&self) -> &[T] {
        &self.rows
    }
}

impl<I: Id, T: Clone> Table<I, T> {
    /// The same value in every row.
    pub fn filled(value: T, rows: usize) -> Table<I, T> {
        vec![value; rows].into()
    }
}

impl<I, T> Default for Table<I, T> {
    fn default() -> Table<I, T> {
        Table { rows: Vec::new(), index: PhantomData }
    }
}

impl<I, T> From<Vec<T>> for Table<I, T> {
    fn from(rows: Vec<T>) -> Table<I, T> {
        Table { rows, index: PhantomData }
    }
}

impl<I, T> FromIterator<T> for Table<I, T> {
    fn from_iter<R: IntoIterator<Item = T>>(rows: R) -> Table<I, T> {
        rows.into_iter().collect::<Vec<T>>().into()
    }
}

impl<'a, I, T> IntoIterator for &'a Table<I, T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.rows.iter()
    }
}

impl<I: Id, T> Index<I> for Table<I, T> {
    type Output = T;

    fn index(&self, id: I) -> &T {
        &self.rows[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for Table<I, T> {
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.rows[id.index()]
    }
}
