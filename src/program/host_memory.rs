//! Putting a program's host memory into memory of another kind.

use super::call::Call;
use super::operands::{AllocationId, Place};
use super::value::Program;
use crate::machine::HostMemory;
use std::collections::BTreeSet;

impl Program {
    /// Host memory of one kind that could be of another kind, and the program would do the same.
    /// Memory that a call pins, and memory that a kernel uses from the host, stays as it is.
    pub fn movable_host_memory(&self, kind: HostMemory) -> Vec<AllocationId> {
        let pins = self.calls().filter_map(Call::pinned);
        let used = self.calls().filter(|call| call.is_launch());
        let used = used.flat_map(|call| self.accesses(call)).map(|one| one.allocation());
        let stays: BTreeSet<AllocationId> = pins.chain(used).collect();
        let ids = (0..self.allocations.len()).map(AllocationId);
        let is_of_kind = |id: &AllocationId| self.allocation(*id).place == Place::Host(kind);
        ids.filter(is_of_kind).filter(|id| !stays.contains(id)).collect()
    }

    /// Puts some host memory into memory of a kind, from before the program's start.
    pub fn move_host_memory(&mut self, ids: &[AllocationId], kind: HostMemory) {
        for AllocationId(id) in ids {
            self.allocations[*id].place = Place::Host(kind);
        }
    }
}
