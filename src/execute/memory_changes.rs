//! Calls that take memory, give it back, or pin it.

use super::error::ExecuteError;
use super::handles::Handles;
use super::memory::Memories;
use crate::gpu::AnyDevice;
use crate::program::{Allocation, Call, Program};

/// A call that takes memory, gives it back, or pins it.
pub(super) struct MemoryChange<'d, D> {
    index: usize,
    allocation: &'d Allocation,
    device: Option<&'d D>,
    change: Change,
}

enum Change {
    Take,
    Free,
    Pin,
    Unpin,
    TakeInStream(usize),
    FreeInStream(usize),
}

impl<'d, D: AnyDevice> MemoryChange<'d, D> {
    /// # Panics
    /// If the call is no such call.
    pub fn new(program: &'d Program, call: &Call, device: Option<&'d D>) -> Self {
        let (id, change) = match call {
            Call::Allocate(id) => (*id, Change::Take),
            Call::Free(id) => (*id, Change::Free),
            Call::Pin(id) => (*id, Change::Pin),
            Call::Unpin(id) => (*id, Change::Unpin),
            Call::AllocateInStream { stream, allocation } => {
                (*allocation, Change::TakeInStream(stream.0))
            }
            Call::FreeInStream { stream, allocation } => {
                (*allocation, Change::FreeInStream(stream.0))
            }
            other => unreachable!("{other:?} takes no memory and gives none back"),
        };
        Self { index: id.0, allocation: program.allocation(id), device, change }
    }

    pub fn make(
        &self,
        handles: &Handles<D>,
        memories: &mut Memories<D>,
    ) -> Result<(), ExecuteError> {
        let Self { index, allocation, device, ref change } = *self;
        match change {
            Change::Take => memories.take(device, index, allocation),
            Change::Free => {
                memories.free(index);
                Ok(())
            }
            Change::Pin => memories.pin(device, index),
            Change::Unpin => {
                memories.unpin(index);
                Ok(())
            }
            Change::TakeInStream(stream) => {
                memories.take_in_stream(&handles.streams[*stream], index, allocation)
            }
            Change::FreeInStream(stream) => {
                memories.free_in_stream(&handles.streams[*stream], index)
            }
        }
    }
}
