//! Which part of a trace is spelled out, and how.

use crate::trace::{Pass, Trace};
use std::ops::Range;

/// Calls of a trace, by their positions in [`Trace::calls`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpelledPart {
    /// What is made once, before the rest.
    pub before: Option<Range<usize>>,
    pub calls: Range<usize>,
    /// How often `calls` are made.
    pub times: u64,
}

impl SpelledPart {
    pub const fn calls(calls: Range<usize>) -> Self {
        Self { before: None, calls, times: 1 }
    }

    /// The loop's pass of median time, or all calls if there is no loop.
    pub fn usual(trace: &Trace, pass: Option<&Pass>) -> Self {
        Self::calls(match pass {
            Some(pass) => pass.turns[pass.steady][0]..pass.turns[pass.steady][1],
            None => 0..trace.calls.len(),
        })
    }

    /// All calls up to the end of the first pass, and then the pass of median time until there are
    /// so many.
    pub fn passes(pass: &Pass, count: u64) -> Self {
        let [from, to] = pass.turns[pass.steady];
        Self { before: Some(0..pass.turns[0][1]), calls: from..to, times: count.saturating_sub(1) }
    }
}

impl From<Range<usize>> for SpelledPart {
    fn from(calls: Range<usize>) -> Self {
        Self::calls(calls)
    }
}

/// How a part of a trace is spelled out.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spelling {
    /// Gives each launch of a kernel its own time instead of the middle one of its kind.
    pub each_kernel: bool,
    /// What the host pays for a call beyond the middle of its kind counts as the host's work. It
    /// belongs with a profile that has the trace's own prices.
    pub each_call: bool,
    pub memory: SpelledMemory,
    pub host: HostTime,
    /// By which share the host's work may be off.
    pub work_range: Option<f64>,
}

/// Which of the host's time between calls counts as its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HostTime {
    #[default]
    AsRecorded,
    /// Without what the recording tool itself took, as far as that is known.
    WithoutRecorder,
}

/// What memory a spelled program has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SpelledMemory {
    /// Each stream has its own of each kind.
    #[default]
    OfStreams,
    /// Like that, with pinned memory instead of pageable memory.
    Pinned,
    /// Told apart by addresses, where the trace has them: which calls use the same memory is then
    /// known.
    ByAddress,
}
