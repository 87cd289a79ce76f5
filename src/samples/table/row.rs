//! What stands in a row of a table, column by column.

use crate::files::in_backquotes;
use crate::machine::DeviceId;
use crate::samples::provenance::{MOST_BYTES, MOST_GPUS};
use crate::units::Bytes;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// Stands for a time that nobody knows: the line counts for nothing.
pub(super) const NOT_KNOWN: &str = "?";

/// A line below the names of the columns.
pub(super) struct Row<'r> {
    columns: &'r csv::StringRecord,
    record: &'r csv::StringRecord,
    /// The columns that somebody has asked for, by their places: what else is filled in goes with
    /// other rows.
    asked: RefCell<BTreeSet<usize>>,
}

impl<'r> Row<'r> {
    pub fn new(columns: &'r csv::StringRecord, record: &'r csv::StringRecord) -> Self {
        Self { columns, record, asked: RefCell::default() }
    }

    /// What the row has in a column; `None` if that is empty or not there.
    pub fn get(&self, column: &str) -> Option<&'r str> {
        let at = self.columns.iter().position(|name| name == column)?;
        self.asked.borrow_mut().insert(at);
        self.record.get(at).filter(|text| !text.is_empty())
    }

    /// The first column that is filled in and that nobody has asked for.
    pub fn unread(&self) -> Option<&'r str> {
        let asked = self.asked.borrow();
        let cells = self.columns.iter().zip(self.record).enumerate();
        let mut unread = cells.filter(|(at, (_, text))| !text.is_empty() && !asked.contains(at));
        unread.next().map(|(_, (column, _))| column)
    }

    pub fn needs(&self, column: &str, fix: &str) -> Result<&'r str, String> {
        self.get(column).ok_or_else(|| format!("column `{column}`: empty; {fix}"))
    }

    pub fn one_of<T: Copy>(&self, column: &str, choices: &[(&str, T)]) -> Result<T, String> {
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        let text = self.needs(column, &format!("write one of {}", in_backquotes(&names)))?;
        let found = choices.iter().find(|(name, _)| *name == text);
        let unknown = || {
            format!("column `{column}`: `{text}` is unknown; choices: {}", in_backquotes(&names))
        };
        found.map(|(_, value)| *value).ok_or_else(unknown)
    }

    /// Like [`Row::one_of`], for a column that may be empty.
    pub fn any_of<T: Copy>(
        &self,
        column: &str,
        choices: &[(&str, T)],
    ) -> Result<Option<T>, String> {
        self.get(column).map(|_| self.one_of(column, choices)).transpose()
    }

    pub fn bytes(&self, column: &str) -> Result<Bytes, String> {
        let text = self.needs(column, "write a number such as 1048576")?;
        let bytes =
            text.parse().ok().filter(|bytes: &Bytes| (1..=MOST_BYTES).contains(&bytes.get()));
        bytes.ok_or_else(|| {
            format!(
                "column `{column}`: `{text}` is not a number of bytes from 1 to {}, such as \
                 65536 or 64 KiB",
                Bytes::new(MOST_BYTES)
            )
        })
    }

    pub fn whole(&self, column: &str) -> Result<u64, String> {
        let text = self.needs(column, "write a number such as 1048576")?;
        let number = text.parse().ok().filter(|number: &u64| (1..=MOST_BYTES).contains(number));
        number.ok_or_else(|| {
            format!(
                "column `{column}`: `{text}` is not a whole number from 1 to {MOST_BYTES}, such as \
                 1048576"
            )
        })
    }

    /// A whole number within a range, for a column that may be empty.
    pub fn within(
        &self,
        column: &str,
        range: RangeInclusive<u64>,
        of_what: &str,
    ) -> Result<Option<usize>, String> {
        let number = self.get(column).map(|_| self.whole(column)).transpose()?;
        let (least, most) = (range.start(), range.end());
        let beyond = format!("column `{column}`: write {of_what}, from {least} to {most}");
        if number.is_some_and(|number| !range.contains(&number)) {
            return Err(beyond);
        }
        Ok(number.map(|number| number as usize))
    }

    pub fn gpu(&self, column: &str) -> Result<Option<DeviceId>, String> {
        let Some(text) = self.get(column) else { return Ok(None) };
        let number = text.parse::<usize>().ok().filter(|&number| number < MOST_GPUS as usize);
        let bad = || format!("column `{column}`: `{text}` is not a GPU number, such as 0 or 1");
        number.map(|number| Some(DeviceId(number))).ok_or_else(bad)
    }
}
