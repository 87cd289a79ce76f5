//! What can be wrong with a file of samples.

use crate::files::Place;
use miette::Diagnostic;
use std::fmt::Display;

/// Version of the file format.
pub const FORMAT: u32 = 7;
/// Format 3 adds visits that are [`Stop::Shared`](super::Stop::Shared). Format 4 says how much
/// memory copies both ways cycle through, and has kernels beside them. Formats 5 and 6 time faster
/// CPU twins: [`is_outdated`]. Format 7 adds the end mark; files of earlier formats were given one.
pub(super) const EARLIEST: u32 = 2;

/// What can be wrong with a file of samples.
#[derive(Debug, thiserror::Error)]
pub enum SamplesError {
    #[error("cannot read {path}: {source}")]
    File { path: String, source: std::io::Error },
    #[error("{path}:{place}: not a line of samples: {problem}")]
    Line { path: String, place: Place, problem: String },
    #[error("{path}: {problem}")]
    End { path: String, problem: String },
    #[error(
        "{path}: lines {first} and {again} are the same measurement, and so are {pairs} pairs of \
         lines: samples given twice seem twice as sure"
    )]
    Twice { path: String, first: usize, again: usize, pairs: usize },
    #[error(
        "{path} has samples of format {found}; this hallway reads formats {EARLIEST} to \
         {FORMAT}"
    )]
    Format { path: String, found: u32 },
    #[error("{path} is empty")]
    Empty { path: String },
    #[error("{path}:{line}: {problem}")]
    Table { path: String, line: usize, problem: String },
}

impl Diagnostic for SamplesError {
    fn help<'a>(&'a self) -> Option<Box<dyn Display + 'a>> {
        Some(Box::new(match self {
            Self::File { .. } => {
                "give the path of what `hallway calibrate` wrote, or of a table (.csv)"
            }
            Self::Line { .. } => {
                "put that line right, or calibrate again; a table's name ends in .csv"
            }
            Self::End { .. } => {
                "calibrate again. Of a calibration that was interrupted, hallway keeps a file that \
                 is called `samples.partial.jsonl`, which may end anywhere"
            }
            Self::Twice { .. } => {
                "leave one of each out, and let the last line count the lines before it"
            }
            Self::Format { .. } => "calibrate again, or fit them with the hallway that took them",
            Self::Empty { .. } => "calibrate again, or give the path of other samples",
            Self::Table { .. } => "`hallway fit --help` shows how a table looks",
        }))
    }
}
