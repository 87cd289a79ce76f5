//! Calls that take memory, give it back, or pin it.

use super::error::ExecuteError;
use super::handles::Handles;
use super::memory::Memories;
use crate::gpu::AnyDevice;
use crate::machine::StreamId;
use crate::program::{Allocation, Call, Program};

/// A call that takes memory, gives it back, or pins it.
pub(super) struct MemoryChange<'d, D> {
    index: usize,
    allocation: &'d Allocation,
    device: Option<&'d D>,
    stream: Option<StreamId>,
    change: Change,
}

#[derive(Clone, Copy)]
enum Change {
    Take,
    Free,
    Pin,
    Unpin,
}

impl<'d, D: AnyDevice> MemoryChange<'d, D> {
    /// # Panics
    /// If the call is no such call.
    pub fn new(program: &'d Program, call: &Call, device: Option<&'d D>) -> Self {
        let (id, change) = match call {
            Call::Allocate { allocation, .. } => (*allocation, Change::Take),
            Call::Free { allocation, .. } => (*allocation, Change::Free),
            Call::Pin(id) => (*id, Change::Pin),
            Call::Unpin(id) => (*id, Change::Unpin),
            other => unreachable!("{other:?} takes no memory and gives none back"),
        };
        let allocation = program.allocation(id);
        Self { index: id.0, allocation, device, stream: call.stream(), change }
    }

    pub fn make(
        &self,
        handles: &Handles<D>,
        memories: &mut Memories<D>,
    ) -> Result<(), ExecuteError> {
        let Self { index, allocation, device, stream, change } = *self;
        let stream = stream.map(|stream| &handles.streams[stream.0]);
        match (change, stream) {
            (Change::Take, None) => memories.take(device, index, allocation)?,
            (Change::Take, Some(stream)) => memories.take_in_stream(stream, index, allocation)?,
            (Change::Free, None) => memories.free(index),
            (Change::Free, Some(stream)) => memories.free_in_stream(stream, index)?,
            (Change::Pin, _) => memories.pin(device, index)?,
            (Change::Unpin, _) => memories.unpin(index),
        }
        Ok(())
    }
}
