//! Short ways to write calls.

use super::call::Call;
use super::operands::{AllocationId, CopyBy, EventId, Slice};
use super::step::Step;
use crate::machine::StreamId;

impl Call {
    /// Allocates memory outside of any stream.
    pub const fn allocate(allocation: AllocationId) -> Self {
        Self::Allocate { allocation, stream: None }
    }

    /// Page-locks host memory that exists already.
    pub const fn pin(allocation: AllocationId) -> Self {
        Self::Pin(allocation)
    }

    /// Launches the calls that follow as a graph.
    pub const fn replay(stream: StreamId, calls: usize) -> Self {
        Self::Replay { stream, calls }
    }

    /// Waits on the host for everything in a stream.
    pub const fn synchronize(stream: StreamId) -> Self {
        Self::Synchronize { stream }
    }

    /// Records an event in a stream.
    pub const fn record(stream: StreamId, event: EventId) -> Self {
        Self::Record { stream, event }
    }

    /// Has a stream wait for an event.
    pub const fn wait(stream: StreamId, event: EventId) -> Self {
        Self::Wait { stream, event }
    }

    /// Copies a whole slice.
    pub const fn copy(by: CopyBy, from: Slice, to: Slice) -> Self {
        Self::Copy { by, from, to, rows: None }
    }

    /// Launches a kernel in a stream, or computes its twin on the CPU.
    pub fn of_step(stream: Option<StreamId>, step: Step) -> Self {
        match stream {
            Some(stream) => Self::Launch { stream, step },
            None => Self::Compute { step },
        }
    }
}
