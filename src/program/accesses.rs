//! What a call touches: which bytes of which memory, how, and who does it.
//!
//! Whatever asks what a call does to memory asks [`Program::accesses`]: hazards, data flow,
//! lifetimes, the history of memory behind the prices.

use super::call::Call;
use super::operands::{AllocationId, CopyBy, MemoryChange, Place, Route, Sides, Slice, Touched};
use super::value::Program;
use crate::machine::{Direction, HostMemory, Residence, StreamId};
use crate::units::Bytes;
use std::slice::Iter;

/// A use of some bytes by a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    pub touched: Touched,
    pub kind: AccessKind,
    pub by: User,
}

/// How a call uses bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessKind {
    Reads,
    /// It leaves results there.
    Writes,
    /// It writes what is of no use afterwards: a reduction's workspace.
    Scratch,
    /// It moves pages to a side, if they are not there. What they contain stays as it is.
    Moves(Residence),
    /// It takes, gives back or pins the memory as a whole.
    Changes(MemoryChange),
}

/// Who uses memory in a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum User {
    /// Threads of the CPU.
    Cpu,
    /// The copy engine of a stream's device between it and the host, or the driver that stages for
    /// it.
    Engine(StreamId, Direction),
    /// A kernel of the program on a stream's device.
    Kernel(StreamId),
    /// The stream's device in another way: it copies within itself or to a peer, or clears memory.
    Device(StreamId),
    /// The system, which gives out and takes back pages.
    System,
}

impl Access {
    pub const fn allocation(&self) -> AllocationId {
        self.touched.slice.allocation
    }

    /// Whether the bytes differ afterwards, or are not to be relied on.
    pub const fn writes(&self) -> bool {
        !matches!(self.kind, AccessKind::Reads | AccessKind::Moves(_))
    }
}

impl Call {
    /// Who uses the memory that the call names.
    const fn user(&self) -> User {
        match self {
            Self::Copy { by: CopyBy::Stream(stream, Route::Crossing(way)), .. } => {
                User::Engine(*stream, *way)
            }
            Self::Prefetch { stream, to, .. } => User::Engine(*stream, to.way()),
            Self::Launch { stream, .. } => User::Kernel(*stream),
            Self::Copy { by: CopyBy::Stream(stream, _), .. } | Self::Clear { stream, .. } => {
                User::Device(*stream)
            }
            _ if self.works_on_cpu() => User::Cpu,
            _ => User::System,
        }
    }
}

/// The uses of bytes by a call: first what it reads, then what it writes.
///
/// Each walk through a program goes through all of them, so this is a plain list rather than a
/// chain of adapters, which the compiler does not inline.
pub struct Accesses<'c> {
    by: User,
    reads: Iter<'c, Slice>,
    writes: Iter<'c, Slice>,
    /// Calls without a kernel touch two ranges at most.
    others: [Option<(Touched, AccessKind)>; 2],
}

impl Iterator for Accesses<'_> {
    type Item = Access;

    #[inline]
    fn next(&mut self) -> Option<Access> {
        let by = self.by;
        if let Some(&slice) = self.reads.next() {
            return Some(Access { touched: slice.into(), kind: AccessKind::Reads, by });
        }
        if let Some(&slice) = self.writes.next() {
            return Some(Access { touched: slice.into(), kind: AccessKind::Writes, by });
        }
        let [first, second] = &mut self.others;
        let (touched, kind) = first.take().or_else(|| second.take())?;
        Some(Access { touched, kind, by })
    }
}

impl Program {
    /// What a call touches: first what it reads, then what it writes.
    pub fn accesses<'c>(&self, call: &'c Call) -> Accesses<'c> {
        let (mut reads, mut writes): (&[Slice], &[Slice]) = (&[], &[]);
        let others = if let Some(step) = call.step() {
            (reads, writes) = (step.reads(), step.writes());
            [step.workspace().map(|slice| (Touched::from(*slice), AccessKind::Scratch)), None]
        } else if let Some((allocation, change)) = call.memory_change() {
            let length = self.allocation(allocation).bytes;
            let whole = Slice { allocation, offset: Bytes::ZERO, length };
            [Some((Touched::from(whole), AccessKind::Changes(change))), None]
        } else {
            let Sides { from, to, rows, .. } = call.sides();
            let moves = call.prefetches_to().map(AccessKind::Moves);
            let reads = moves.unwrap_or(AccessKind::Reads);
            let from = from.map(|slice| (Touched::side(*slice, rows, 0), reads));
            [from, to.map(|slice| (Touched::side(*slice, rows, 1), AccessKind::Writes))]
        };
        Accesses { by: call.user(), reads: reads.iter(), writes: writes.iter(), others }
    }

    /// For each allocation, whether it is a buffer in host memory that the body writes before
    /// anything has read it. In a new process, nobody may have touched its pages before.
    pub fn written_first(&self) -> Vec<bool> {
        let mut found: Vec<Option<bool>> = vec![None; self.allocations.len()];
        for call in &self.body {
            for AllocationId(id) in self.accesses(call).map(|one| one.allocation()) {
                found[id].get_or_insert_with(|| {
                    let id = AllocationId(id);
                    self.may_be_new(id) && self.only_writes(call, id)
                });
            }
        }
        found.into_iter().map(|one| one.unwrap_or(false)).collect()
    }

    /// Whether a buffer's memory is as the process gets it, if nothing has used it yet.
    fn may_be_new(&self, id: AllocationId) -> bool {
        let allocation = self.allocation(id);
        let is_there = match allocation.place {
            Place::Host(HostMemory::Pageable) => true,
            // What the scenario has pinned was touched by whoever pinned it.
            Place::Host(HostMemory::Pinned) => {
                self.setup.iter().any(|call| call.pinned() == Some(id))
            }
            Place::Host(_) | Place::Device(_) => false,
        };
        is_there && allocation.holds.is_some()
    }

    /// Whether a call that uses memory does nothing but write to it.
    fn only_writes(&self, call: &Call, id: AllocationId) -> bool {
        let is_renewal = |one: &Access| one.kind == AccessKind::Changes(MemoryChange::Renew);
        let mut uses = self.accesses(call).filter(|one| one.allocation() == id);
        uses.all(|one| one.writes() && !is_renewal(&one))
    }
}
