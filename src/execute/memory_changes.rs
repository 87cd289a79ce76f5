//! Calls that take memory, give it back, renew it or pin it.

use super::error::ExecuteError;
use super::handles::Handles;
use super::memory::Memories;
use crate::gpu::AnyDevice;
use crate::machine::StreamId;
use crate::program::{Allocation, Call, MemoryChange, Program};

/// A call that takes memory, gives it back, renews it or pins it.
pub(super) struct MemoryCall<'d, D> {
    index: usize,
    allocation: &'d Allocation,
    device: Option<&'d D>,
    stream: Option<StreamId>,
    change: MemoryChange,
}

impl<'d, D: AnyDevice> MemoryCall<'d, D> {
    /// `None` if the call does nothing like that.
    pub fn of(program: &'d Program, call: &Call, device: Option<&'d D>) -> Option<Self> {
        let (id, change) = call.memory_change()?;
        let allocation = program.allocation(id);
        Some(Self { index: id.0, allocation, device, stream: call.stream(), change })
    }

    pub fn make(
        &self,
        handles: &Handles<D>,
        memories: &mut Memories<D>,
    ) -> Result<(), ExecuteError> {
        let Self { index, allocation, device, stream, change } = *self;
        let stream = stream.map(|stream| &handles.streams[stream.0]);
        match (change, stream) {
            (MemoryChange::Allocate, None) => memories.take(device, index, allocation)?,
            (MemoryChange::Allocate, Some(stream)) => {
                memories.take_in_stream(stream, index, allocation)?;
            }
            (MemoryChange::Free, None) => memories.free(index),
            (MemoryChange::Free, Some(stream)) => memories.free_in_stream(stream, index)?,
            (MemoryChange::Pin, _) => memories.pin(device, index)?,
            (MemoryChange::Unpin, _) => memories.unpin(index),
            (MemoryChange::Renew, _) => memories.renew(index)?,
        }
        Ok(())
    }
}
