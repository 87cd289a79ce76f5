//! The named ranges of a process, as its blocks have them.

use super::about::RecordingError;
use super::blocks::Numbers;
use crate::record::format::{RANGE_BEGIN, RANGE_CHOSEN, RANGE_END, RANGE_NAME};
use std::collections::HashMap;
use std::sync::Arc;

/// Ranges so far.
#[derive(Default)]
pub struct RawRanges {
    all: Vec<RawRange>,
    /// The positions of those that have not ended, by their numbers.
    open: HashMap<u64, usize>,
    /// The name of those outside of which nothing was recorded.
    pub chosen: Option<String>,
}

/// A range of a thread.
pub struct RawRange {
    pub thread: u64,
    pub name: Arc<str>,
    pub begin: u64,
    pub end: Option<u64>,
}

impl RawRanges {
    /// Reads a block. Names are counted over all blocks of a process.
    pub fn read(
        &mut self,
        mut from: Numbers,
        names: &mut Vec<Arc<str>>,
    ) -> Result<(), RecordingError> {
        let (mut number, mut time) = (0, 0);
        while !from.is_at_end() {
            let kind = from.byte()?;
            if kind == RANGE_NAME {
                names.push(from.text()?.into());
                continue;
            }
            if kind == RANGE_CHOSEN {
                self.chosen = Some(from.text()?);
                continue;
            }
            number = from.step(number)?;
            time = from.step(time)?;
            match kind {
                RANGE_BEGIN => {
                    let thread = from.number()?;
                    let name: usize = from.small()?;
                    let name = Arc::clone(names.get(name).ok_or(from.malformed())?);
                    self.open.insert(number, self.all.len());
                    self.all.push(RawRange { thread, name, begin: time, end: None });
                }
                RANGE_END => {
                    if let Some(at) = self.open.remove(&number) {
                        self.all[at].end = Some(time);
                    }
                }
                _ => return Err(from.malformed()),
            }
        }
        Ok(())
    }

    /// Forgets the ranges, for a reader that only wants their names.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    pub fn all(self) -> Vec<RawRange> {
        self.all
    }
}
