//! What can be wrong with a file of samples.

use crate::files::Place;
use miette::Diagnostic;
use std::fmt::Display;

/// Version of the file format.
pub const FORMAT: u32 = 8;

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
        "{path}: lines {first} and {again} are the same measurement, one of {pairs} such pairs; \
         duplicates would make intervals too narrow"
    )]
    Twice { path: String, first: usize, again: usize, pairs: usize },
    #[error(
        "{path} has samples in format {found}, but this version of hallway reads format {FORMAT}"
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
                "pass the path of samples written by `hallway calibrate`, or of a table (.csv)"
            }
            Self::Line { .. } => {
                "correct this line, or calibrate again; the name of a table must end in .csv"
            }
            Self::End { .. } => {
                "calibrate again. Samples of an interrupted calibration are in \
                 `samples.partial.jsonl`, which may be incomplete"
            }
            Self::Twice { .. } => {
                "remove one of each pair, and correct the line count in the last line"
            }
            Self::Format { .. } => {
                "calibrate again, or fit them with the version of hallway that took them"
            }
            Self::Empty { .. } => "calibrate again, or pass the path of other samples",
            Self::Table { .. } => "`hallway fit --help` shows an example of a table",
        }))
    }
}
