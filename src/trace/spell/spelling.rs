//! How a part of a trace is spelled out.

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
