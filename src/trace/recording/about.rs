//! What a recording says about itself, and why one cannot be read.

use crate::record::format::Note;
use std::sync::Arc;

/// Why a file is no recording that can be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordingError {
    #[error("this is not a recording: it does not begin with `hallway recording`")]
    NotARecording,
    #[error("the recording has version {0}, but this version of hallway reads version 2")]
    Version(String),
    #[error("the recording is damaged at byte {0}")]
    Damaged(usize),
    #[error("the recording has an invalid block at byte {0}")]
    Malformed(usize),
}

/// A process that was recorded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordedProcess {
    pub id: u64,
    /// The program with its arguments.
    pub program: Vec<String>,
    /// The library that the records come from, and its version.
    pub cupti: Option<(String, u64)>,
    /// What the recorder could not do, and why.
    pub notes: Vec<(Note, String)>,
    pub totals: Totals,
    /// The names of its ranges, also of those outside of the chosen one.
    pub ranges: Vec<Arc<str>>,
    /// Whether the recording came to its end: the process was not killed.
    pub has_ended: bool,
}

/// What a process has done so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    pub calls: u64,
    pub copies: u64,
    pub copied: u64,
    pub kernels: u64,
}
