//! Calls on memory that a pass takes and gives back.

use super::error::Executed;
use super::handles::Handles;
use super::memory::Memories;
use super::prepared::{Prepared, prepared};
use crate::gpu::AnyDevice;
use crate::program::{AllocationId, Call, MemoryChange, Program};
use crate::units::Bytes;
use std::cell::RefCell;

/// A program, with what its calls ask of the whole of it.
pub(super) struct Whole<'d> {
    program: &'d Program,
    footprint: Bytes,
    /// The memory that each pass takes anew.
    taken: Vec<AllocationId>,
}

impl<'d> Whole<'d> {
    pub fn new(program: &'d Program) -> Self {
        let taken = program.body.iter().filter_map(changed).collect();
        Self { program, footprint: program.host_footprint().all, taken }
    }

    /// A call of the body, ready to be made in every pass. Memory that each pass takes anew is
    /// usually where it was in the pass before; if not, the addresses are looked up again.
    pub fn ready<D: AnyDevice>(
        &self,
        call: &'d Call,
        handles: &Handles<D>,
        memories: &mut Memories<'d, D>,
    ) -> Executed<Prepared<'d, D>> {
        let Self { program, footprint, ref taken } = *self;
        let accesses = program.accesses(call).map(|one| one.allocation());
        let moving: Vec<AllocationId> = accesses.filter(|id| taken.contains(id)).collect();
        if call.memory_change().is_some() || moving.is_empty() {
            return prepared((program, call), footprint, handles, memories);
        }
        let last: RefCell<Option<(Vec<u64>, Prepared<'d, D>)>> = RefCell::new(None);
        Ok(Box::new(move |handles, memories, team| {
            let mut last = last.borrow_mut();
            let is_there = last.as_ref().is_some_and(|(addresses, _)| {
                let mut places = moving.iter().zip(addresses);
                places.all(|(id, &address)| memories.address(*id) == address)
            });
            if !is_there {
                let prepared = prepared((program, call), footprint, handles, memories)?;
                let addresses = moving.iter().map(|&id| memories.address(id)).collect();
                *last = Some((addresses, prepared));
            }
            let (_, make) = last.as_ref().expect("just looked up");
            make(handles, memories, team)
        }))
    }
}

/// The memory that a call takes, gives back or pins.
fn changed(call: &Call) -> Option<AllocationId> {
    let (id, change) = call.memory_change()?;
    (change != MemoryChange::Renew).then_some(id)
}
