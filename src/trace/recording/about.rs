//! What a recording says about itself, and why one cannot be read.

use crate::record::format::{Form, Note};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Stands for the time that the recorder took for a digest.
pub const DIGEST_FUNCTION: &str = "hallway: digest";

/// Why a file is no recording that can be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordingError {
    #[error("this is no recording: it does not begin with `hallway recording`")]
    NotARecording,
    #[error("the recording has version {0}; this hallway reads version 1")]
    Version(String),
    #[error("the recording is damaged at byte {0}")]
    Damaged(usize),
    #[error("the recording has a block at byte {0} that makes no sense")]
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
    /// What the recorder's own callbacks took, as far as that was measured.
    pub costs: BTreeMap<&'static str, OwnCost>,
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

/// The time of some callbacks of the recorder, one for each measured call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OwnCost {
    pub measured: u64,
    pub nanos: u64,
}

/// The name of a form of call, for the recorder's own costs.
pub const fn name_of(form: Form) -> &'static str {
    match form {
        Form::Other => "other calls",
        Form::Copy => "copies",
        Form::BlockingCopy => "blocking copies",
        Form::Clear => "memory sets",
        Form::Launch => "launches",
        Form::LaunchGraph => "graph launches",
        Form::Record => "event records",
        Form::Wait => "waits of streams",
        Form::Synchronize => "waits for streams",
        Form::SynchronizeEvent => "waits for events",
        Form::SynchronizeDevice => "waits for devices",
        Form::AllocateDevice
        | Form::AllocatePinned
        | Form::AllocateManaged
        | Form::AllocateAsync => "allocations",
        Form::Free | Form::FreeAsync => "frees",
        Form::Register | Form::Unregister => "registrations",
        Form::Prefetch => "prefetches",
    }
}
