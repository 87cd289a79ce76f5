//! The elements of a buffer that have to cross between host and device.

use super::raw::RawNeeded;
use crate::files::{Fault, Spanned};
use std::ops::Range;

/// Elements of a batch: rows of equal length, whose starts lie `pitch` apart. A range is one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needed {
    pub first: u64,
    /// Elements of each row.
    pub row: u64,
    pub rows: u64,
    pub pitch: u64,
}

impl Needed {
    /// How many elements there are.
    pub const fn elements(&self) -> u64 {
        self.row * self.rows
    }

    /// From its first element to its last.
    pub const fn span(&self) -> Range<u64> {
        self.first..self.first + (self.rows - 1) * self.pitch + self.row
    }

    pub fn contains(&self, element: u64) -> bool {
        let from = element.checked_sub(self.first);
        from.is_some_and(|from| from / self.pitch < self.rows && from % self.pitch < self.row)
    }

    /// The ranges that it is made of.
    pub fn ranges(&self) -> impl Iterator<Item = Range<u64>> + use<> {
        let Self { first, row, rows, pitch } = *self;
        (0..rows).map(move |at| first + at * pitch..first + at * pitch + row)
    }

    /// What of it lies in a range: cut rows at the ends, and whole ones between them.
    pub fn within(&self, range: &Range<u64>) -> Vec<Self> {
        let Self { first, row, rows, pitch } = *self;
        let start = |at: u64| first + at * pitch;
        // The rows that end behind the range's start and start before its end.
        let from = range.start.saturating_sub(first + row - 1).div_ceil(pitch).min(rows);
        let until = range.end.saturating_sub(first).div_ceil(pitch).min(rows);
        let cut = |at: u64| start(at) < range.start || start(at) + row > range.end;
        let mut found = Vec::new();
        let mut at = from;
        while at < until {
            // No row between the first and the last is cut.
            let behind = match cut(at) {
                true => at + 1,
                false if cut(until - 1) => until - 1,
                false => until,
            };
            found.push(match behind - at {
                1 => Self::from(start(at).max(range.start)..(start(at) + row).min(range.end)),
                rows => Self { first: start(at), rows, ..*self },
            });
            at = behind;
        }
        found
    }

    /// The like part of a buffer of another length.
    #[must_use]
    pub fn scaled(&self, from: u64, to: u64) -> Self {
        let share = |value: u64| (u128::from(value) * u128::from(to) / u128::from(from)) as u64;
        if self.rows == 1 {
            let first = share(self.first).min(to - 1);
            return Self::from(first..first + share(self.row).clamp(1, to - first));
        }
        let first = (share(self.first) / self.pitch * self.pitch + self.first % self.pitch)
            .min(to.saturating_sub(self.row));
        let row = self.row.min(to);
        let fit = (to - first - row) / self.pitch + 1;
        Self { first, row, rows: share(self.rows).clamp(1, fit), ..*self }
    }

    /// Checks what a scenario says of a buffer of so many elements.
    ///
    /// # Errors
    /// If that are none, or elements that the buffer does not have.
    pub(super) fn checked(
        raw: &Spanned<RawNeeded>,
        name: &Spanned<String>,
        elements: u64,
    ) -> Result<Self, Fault> {
        let RawNeeded { from, elements: row, share, pitch, rows } = raw.get_ref();
        let wrong = |span, label: &str, message: String, help: &str| {
            Err(Fault::new(format!("`needed` of buffer `{name}` {message}"), span, label, help))
        };
        let from = from.as_ref().map(|from| (from, u64::try_from(*from.get_ref())));
        let first = match from {
            Some((_, Ok(first))) if first < elements => first,
            Some((from, _)) => {
                let message = format!("begins at element {from}, but the buffer has {elements}");
                let help = "write the number of an element, from 0 to that of the last one";
                return wrong(from.span(), "outside", message, help);
            }
            None => 0,
        };
        let count = |what: &str, value: &Spanned<i64>| {
            value.within(&format!("`{what}` of `needed`"), 1..=i64::MAX)
        };
        let pitch = pitch.as_ref().map(|pitch| count("pitch", pitch)).transpose()?;
        let row = match (row, share) {
            (Some(row), None) => count("elements", row)?,
            (None, Some(share))
                if (0.0..=1.0).contains(share.get_ref()) && *share.get_ref() > 0.0 =>
            {
                let of = pitch.unwrap_or(elements);
                ((of as f64 * share.get_ref()).ceil() as u64).clamp(1, of)
            }
            (None, Some(share)) => {
                let message = format!("has a `share` of {share}");
                let help = "write a share above 0 and up to 1.0";
                return wrong(share.span(), "out of range", message, help);
            }
            _ => {
                let message = "needs either `elements` or `share`".to_owned();
                let help = "write `elements = 1000`, or `share = 0.1` for the first tenth";
                return wrong(raw.span(), "size missing", message, help);
            }
        };
        let Some(pitch) = pitch else {
            if let Some(rows) = rows {
                let message = "has `rows` but no `pitch`".to_owned();
                let help = "add `pitch`, the number of elements from the start of one row to \
                            the start of the next";
                return wrong(rows.span(), "pitch missing", message, help);
            }
            let end = first.saturating_add(row);
            if end > elements {
                let message = format!("ends at element {end}, but the buffer has {elements}");
                return wrong(raw.span(), "too many", message, "write fewer `elements`");
            }
            return Ok(Self::from(first..end));
        };
        let most = elements.checked_sub(first.saturating_add(row)).map(|rest| rest / pitch + 1);
        let rows = rows.as_ref().map(|rows| count("rows", rows)).transpose()?;
        let rows = rows.unwrap_or_else(|| most.unwrap_or(1));
        if row > pitch {
            let message = format!("has rows of {row} elements, wider than its pitch of {pitch}");
            let help = "make the `pitch` at least as large as a row";
            return wrong(raw.span(), "rows overlap", message, help);
        }
        if most.is_none_or(|most| rows > most) {
            let message =
                format!("with {rows} `rows`, it ends beyond the buffer's {elements} elements");
            return wrong(raw.span(), "too many", message, "write fewer `rows` or `elements`");
        }
        Ok(match row == pitch {
            true => Self::from(first..first + row * rows),
            false => Self { first, row, rows, pitch },
        })
    }
}

impl From<Range<u64>> for Needed {
    fn from(range: Range<u64>) -> Self {
        let row = range.end - range.start;
        Self { first: range.start, row, rows: 1, pitch: row.max(1) }
    }
}
