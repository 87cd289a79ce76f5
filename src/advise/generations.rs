//! Buffers that are used in turn: while one is computed with, the next is filled.
//!
//! What memory contains from being filled until it is filled again is a generation. If a generation
//! reads nothing that it has not written itself, its memory may be another one each time.

use super::subject::Subject;
use crate::machine::Direction;
use crate::program::{AccessKind, Allocation, AllocationId, Call, Place, Program, Slice};
use crate::units::Bytes;

/// The generations of some memory in a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Generations {
    pub memory: AllocationId,
    /// The generation of each call of the body that uses it.
    pub of_calls: Vec<(usize, usize)>,
    pub count: usize,
}

impl Generations {
    /// The generations of device memory of the program's own. `None` if what one of them reads was
    /// there before, or if the memory comes and goes in the body.
    pub fn of(subject: &Subject, memory: AllocationId) -> Option<Self> {
        let program = &subject.program;
        let Allocation { holds, place, .. } = program.allocation(memory);
        if holds.is_some() || !matches!(place, Place::Device(_)) {
            return None;
        }
        let mut found = Self { memory, of_calls: Vec::new(), count: 0 };
        let mut written: Vec<[u64; 2]> = Vec::new();
        let mut is_read = true;
        for (at, call) in program.body.iter().enumerate() {
            let uses: Vec<_> =
                program.accesses(call).filter(|one| one.allocation() == memory).collect();
            if uses.is_empty() {
                continue;
            }
            let reads = uses.iter().any(|one| one.kind == AccessKind::Reads);
            let writes = uses.iter().any(|one| one.kind == AccessKind::Writes);
            if uses.iter().any(|one| matches!(one.kind, AccessKind::Changes(_))) {
                return None;
            }
            if writes && !reads && is_read {
                found.count += 1;
                written.clear();
                is_read = false;
            }
            for one in &uses {
                let slice = one.touched.slice;
                if one.kind == AccessKind::Writes && one.touched.is_whole() {
                    written.push([slice.offset.get(), slice.end().get()]);
                }
                // What a recorded kernel reads is not known: it may read what came last.
                let is_known = !subject.is_recorded || call.crossing().is_some();
                let reads = one.kind == AccessKind::Reads;
                if reads && (found.count == 0 || (is_known && !covers(&mut written, &slice))) {
                    return None;
                }
            }
            is_read |= reads;
            found.of_calls.push((at, found.count - 1));
        }
        (found.count > 1).then_some(found)
    }

    /// The uploads that fill each generation, and the first call that uses it otherwise.
    pub fn filled(&self, program: &Program) -> Vec<Filled> {
        let mut filled = vec![Filled::default(); self.count];
        for &(at, generation) in &self.of_calls {
            let one = &mut filled[generation];
            let is_upload =
                program.body[at].crossing().is_some_and(|one| one.1 == Direction::HostToDevice);
            match one.used_at {
                None if is_upload => one.uploads.push(at),
                None => one.used_at = Some(at),
                Some(_) => {}
            }
        }
        filled
    }

    /// Gives every second generation another memory, which the set-up takes.
    pub fn take_turns(&self, program: &mut Program) {
        let first = program.allocation(self.memory).clone();
        let second = AllocationId(program.allocations.len());
        let name = format!("{}-second", first.name);
        program.allocations.push(Allocation { name, ..first });
        let taken = program.setup.iter().position(|call| call.allocation() == Some(self.memory));
        let at = taken.map_or(0, |at| at + 1);
        program.setup.insert(at, Call::allocate(second));
        for &(at, generation) in &self.of_calls {
            if generation % 2 == 1 {
                program.body[at].redirect(&|slice| {
                    if slice.allocation == self.memory {
                        slice.allocation = second;
                    }
                });
            }
        }
    }
}

/// How a generation is filled.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Filled {
    pub uploads: Vec<usize>,
    pub used_at: Option<usize>,
}

/// Whether written ranges contain a slice.
fn covers(written: &mut Vec<[u64; 2]>, slice: &Slice) -> bool {
    written.sort_unstable();
    let mut merged: Vec<[u64; 2]> = Vec::new();
    for &[from, to] in written.iter() {
        match merged.last_mut() {
            Some(last) if from <= last[1] => last[1] = last[1].max(to),
            _ => merged.push([from, to]),
        }
    }
    *written = merged;
    let [from, to] = [slice.offset, slice.end()].map(Bytes::get);
    written.iter().any(|&[low, high]| low <= from && to <= high)
}
