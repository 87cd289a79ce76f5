//! Memory that a kernel uses across the link, and pages of managed memory that have to move before
//! a call can use them.

use super::uses::Uses;
use crate::machine::{HostMemory, Residence};
use crate::profile::MOST_OPERANDS;
use crate::program::{Call, CopyBy, Place, Program, Slice, Step};
use crate::units::Bytes;
use std::collections::BTreeMap;

/// Bytes of memory of one kind that a kernel reads and writes: of page-locked host memory on a
/// device, of write-combined memory on the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Mapped {
    pub read: Bytes,
    pub written: Bytes,
}

impl Mapped {
    /// What a kernel on a device uses of the host's memory.
    pub fn of(program: &Program, step: &Step) -> Self {
        Self::in_places(program, [step.reads(), step.writes()], Place::is_pinned)
    }

    /// What work of the CPU uses of write-combined memory.
    pub fn combined(program: &Program, reads: &[Slice], writes: &[Slice]) -> Self {
        let is_combined = |place| place == Place::Host(HostMemory::WriteCombined);
        Self::in_places(program, [reads, writes], is_combined)
    }

    fn in_places(program: &Program, used: [&[Slice]; 2], is_meant: fn(Place) -> bool) -> Self {
        let is_mapped = |slice: &&Slice| is_meant(program.allocation(slice.allocation).place);
        let [read, written] =
            used.map(|slices| slices.iter().filter(is_mapped).map(|one| one.length).sum());
        Self { read, written }
    }

    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// Bytes of managed memory that move because of each call, by the call's place in the body: pages
/// that are on the other side. The body repeats, so it begins with pages where it leaves them.
pub(super) fn moves(program: &Program) -> BTreeMap<usize, Bytes> {
    let mut found = BTreeMap::new();
    if !program.allocations.iter().any(|one| one.place.is_managed()) {
        return found;
    }
    // What is on a device.
    let mut there = Uses::new(2 * (MOST_OPERANDS + 1) * program.body.len());
    for (at, call) in program.body.iter().enumerate().chain(program.body.iter().enumerate()) {
        let (slices, to) = match call {
            Call::Launch { step, .. } => (step.slices().copied().collect(), Residence::Device),
            Call::Compute { step } => (step.slices().copied().collect(), Residence::Host),
            Call::Copy { by: CopyBy::Host(_), from, to, .. } => (vec![*from, *to], Residence::Host),
            Call::Prefetch { target, to, .. } => (vec![*target], *to),
            _ => continue,
        };
        let mut moved = Bytes::ZERO;
        for slice in slices.iter().filter(|slice| is_managed(program, slice)) {
            let on_device = there.covered(slice);
            match to {
                Residence::Device => {
                    moved += slice.length - on_device;
                    there.note(slice, ());
                }
                Residence::Host => {
                    moved += on_device;
                    there.forget(slice);
                }
            }
        }
        found.insert(at, moved);
    }
    found.retain(|_, moved| *moved > Bytes::ZERO);
    found
}

fn is_managed(program: &Program, slice: &Slice) -> bool {
    program.allocation(slice.allocation).place.is_managed()
}
