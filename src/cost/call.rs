//! A call of a compiled program.

use super::work::WorkKind;

/// Index of a call in the order of issue.
pub(crate) type CallId = u32;

/// The index of no call, of no entry and of no recording.
pub(crate) const NONE: u32 = u32::MAX;

/// The index of no stream.
pub(crate) const NO_STREAM: u16 = u16::MAX;

/// A call of the body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CompiledCall {
    /// The place of the call's cost in the list of costs.
    pub cost: u32,
    /// The recording that the call makes or waits for. A wait for an event that was never recorded
    /// waits for nothing.
    pub recording: u32,
    /// The stream, for calls that have one. Branches of graphs count as streams.
    pub stream: u16,
    pub kind: WorkKind,
    /// Whether the call is part of another entry of its stream: see [`super::entries`].
    pub is_part: bool,
}

/// # Panics
/// If the number is 2^32 - 1 or more. [`super::shape`] refuses programs with so many calls.
pub(super) fn index(number: usize) -> u32 {
    u32::try_from(number).ok().filter(|&index| index != NONE).expect("fewer calls than 2^32")
}

/// # Panics
/// If a program has 65,535 streams or more, which [`super::shape`] refuses.
pub(super) fn stream_index(number: usize) -> u16 {
    let index = u16::try_from(number).ok().filter(|&index| index != NO_STREAM);
    index.expect("fewer streams than 2^16")
}
