//! What stands in a row of a table, column by column.

use crate::units::Bytes;

/// Bytes or elements: more than any memory holds.
pub(super) const LARGEST: u64 = 1 << 50;

/// The kind of host memory of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Memory {
    Pinned,
    Pageable,
    WriteCombined,
    /// Not copied: a kernel uses it across the link.
    Mapped,
}

pub(super) const MEMORIES: [(&str, Memory); 4] = [
    ("pinned", Memory::Pinned),
    ("pageable", Memory::Pageable),
    ("write-combined", Memory::WriteCombined),
    ("mapped", Memory::Mapped),
];

/// A line below the names of the columns.
pub(super) struct Row<'r> {
    pub columns: &'r csv::StringRecord,
    pub record: &'r csv::StringRecord,
}

impl<'r> Row<'r> {
    /// What the row has in a column; `None` if that is empty or not there.
    pub fn get(&self, column: &str) -> Option<&'r str> {
        let at = self.columns.iter().position(|name| name == column)?;
        self.record.get(at).filter(|text| !text.is_empty())
    }

    pub fn needs(&self, column: &str, fix: &str) -> Result<&'r str, String> {
        self.get(column).ok_or_else(|| format!("column `{column}`: empty; {fix}"))
    }

    pub fn leave_empty(&self, columns: &[&str], why: &str) -> Result<(), String> {
        let filled = columns.iter().find(|column| self.get(column).is_some());
        filled.map_or(Ok(()), |column| Err(format!("column `{column}`: {why}; leave it empty")))
    }

    pub fn one_of<T: Copy>(&self, column: &str, choices: &[(&str, T)]) -> Result<T, String> {
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        let text = self.needs(column, &format!("write one of {}", listed(&names)))?;
        let found = choices.iter().find(|(name, _)| *name == text);
        let unknown = || format!("column `{column}`: `{text}` is not one of {}", listed(&names));
        found.map(|(_, value)| *value).ok_or_else(unknown)
    }

    pub fn bytes(&self, column: &str) -> Result<Option<Bytes>, String> {
        let Some(text) = self.get(column) else { return Ok(None) };
        match text.parse() {
            Ok(bytes) if (Bytes::new(1)..=Bytes::new(LARGEST)).contains(&bytes) => Ok(Some(bytes)),
            _ => Err(format!(
                "column `{column}`: `{text}` is not a number of bytes from 1 to {}, such as \
                 65536 or 64 KiB",
                Bytes::new(LARGEST)
            )),
        }
    }

    pub fn whole(&self, column: &str) -> Result<Option<u64>, String> {
        let Some(text) = self.get(column) else { return Ok(None) };
        match text.parse() {
            Ok(number) if (1..=LARGEST).contains(&number) => Ok(Some(number)),
            _ => Err(format!(
                "column `{column}`: `{text}` is not a whole number from 1 to {LARGEST}, such as \
                 1048576"
            )),
        }
    }
}

pub(super) fn listed(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}
