//! Which calls use pages of host memory that nobody has used since the memory was taken.
//!
//! The system gives a process a page when something uses it for the first time, and that waits for
//! it. How long depends on who it is: threads of the CPU, or the driver, which stages a copy.

use super::uses::Uses;
use crate::machine::{Direction, HostMemory};
use crate::profile::{MOST_OPERANDS, MemoryCost};
use crate::program::{AllocationId, Call, CopyBy, Place, Program, Route, Rows, Slice, Threads};
use crate::units::Bytes;
use std::collections::BTreeMap;

/// New pages that a call uses first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NewPages {
    pub allocation: AllocationId,
    /// What the price depends on: who uses them.
    pub cost: MemoryCost,
    pub bytes: Bytes,
}

/// The new pages that each call of a pass uses, by the call's place in the body. The body repeats,
/// so memory that it renews has been used since by the calls before the renewal, too.
pub(super) fn new_pages(program: &Program, page: Bytes) -> BTreeMap<usize, NewPages> {
    let mut found = BTreeMap::new();
    if !program.body.iter().any(|call| matches!(call, Call::Renew(_) | Call::Allocate { .. })) {
        return found;
    }
    let mut pages = Pages::new(program, page);
    for (at, call) in program.body.iter().enumerate().chain(program.body.iter().enumerate()) {
        match pages.pass(call) {
            Some(new) => found.insert(at, new),
            None => found.remove(&at),
        };
    }
    found
}

/// Walks through calls and knows which pages have been used.
pub(super) struct Pages<'p> {
    program: &'p Program,
    page: Bytes,
    footprint: Bytes,
    /// For each allocation, whether it has pages that count as new until they are used.
    has_new: Vec<bool>,
    read: Uses<()>,
    /// A page that was only read is a page of zeros that others read, too: whoever writes to it
    /// first gets another one.
    written: Uses<()>,
}

impl<'p> Pages<'p> {
    /// All pages of all allocations have been used.
    pub fn new(program: &'p Program, page: Bytes) -> Self {
        let operands_of = |call| program.accesses(call).len().max(MOST_OPERANDS) + 1;
        let most = 2 * program.body.iter().map(operands_of).sum::<usize>();
        Self {
            program,
            page,
            footprint: program.host_footprint(),
            has_new: vec![false; program.allocations.len()],
            read: Uses::new(most),
            written: Uses::new(most),
        }
    }

    /// An allocation gets new pages.
    pub fn renew(&mut self, allocation: AllocationId) {
        let length = self.program.allocation(allocation).bytes;
        let whole = Slice { allocation, offset: Bytes::ZERO, length };
        self.has_new[allocation.0] = true;
        self.read.forget(&whole);
        self.written.forget(&whole);
    }

    /// Walks past a call, and says which new pages it waits for.
    pub fn pass(&mut self, call: &Call) -> Option<NewPages> {
        let (slice, cost, bytes) = match call {
            Call::Renew(id) | Call::Allocate { allocation: id, .. } => {
                let is_pageable =
                    self.program.allocation(*id).place == Place::Host(HostMemory::Pageable);
                if is_pageable {
                    self.renew(*id);
                }
                return None;
            }
            Call::Copy { by: CopyBy::Host(threads), from, to, .. } => {
                self.read(from);
                let cost = match threads {
                    Threads::One => MemoryCost::FirstTouch,
                    Threads::All => MemoryCost::FirstTouchTeam,
                };
                (to, cost, self.write(to))
            }
            Call::Copy { by: CopyBy::Stream(_, Route::Crossing(way)), from, to, rows } => {
                let (slice, cost, new) = match way {
                    Direction::DeviceToHost => (to, MemoryCost::FirstCopy, self.write(to)),
                    Direction::HostToDevice => (from, MemoryCost::FirstRead, self.read(from)),
                };
                // Rows far apart leave pages between them alone.
                let page = self.page.get();
                let of_row = |rows: &Rows| Bytes::new(rows.row.get().div_ceil(page) * page);
                let most = rows.as_ref().map(|rows| of_row(rows) * rows.count(from));
                (slice, cost, most.map_or(new, |most| new.min(most)))
            }
            Call::Compute { step } => {
                for slice in step.reads() {
                    self.read(slice);
                }
                let cost = match step.is_shared(self.footprint) {
                    true => MemoryCost::FirstTouchTeam,
                    false => MemoryCost::FirstTouch,
                };
                let bytes = step.writes().iter().map(|slice| self.write(slice)).sum();
                (step.writes().first()?, cost, bytes)
            }
            _ => return None,
        };
        let new = NewPages { allocation: slice.allocation, cost, bytes };
        (bytes > Bytes::ZERO).then_some(new)
    }

    fn read(&mut self, slice: &Slice) -> Bytes {
        let new = self.unused(slice, &self.read);
        self.note(slice, false);
        new
    }

    fn write(&mut self, slice: &Slice) -> Bytes {
        let new = self.unused(slice, &self.written);
        self.note(slice, true);
        new
    }

    /// Bytes of the pages of a slice that were not used like that.
    fn unused(&self, slice: &Slice, uses: &Uses<()>) -> Bytes {
        if !self.has_new[slice.allocation.0] {
            return Bytes::ZERO;
        }
        let pages = self.pages_of(slice);
        pages.length - uses.covered(&pages)
    }

    fn note(&mut self, slice: &Slice, writes: bool) {
        if self.has_new[slice.allocation.0] {
            let pages = self.pages_of(slice);
            self.read.note(&pages, ());
            if writes {
                self.written.note(&pages, ());
            }
        }
    }

    /// A slice with the rest of its first and its last page. Memory begins with a page; of its last
    /// one, only what belongs to it counts.
    fn pages_of(&self, slice: &Slice) -> Slice {
        let (page, whole) = (self.page.get(), self.program.allocation(slice.allocation).bytes);
        let offset = Bytes::new(slice.offset.get() / page * page);
        let end = Bytes::new(slice.end().get().next_multiple_of(page)).min(whole);
        Slice { offset, length: end - offset, ..*slice }
    }
}
