//! Memory that a kernel uses across the link.

use crate::machine::HostMemory;
use crate::program::{Place, Program, Slice, Step};
use crate::units::Bytes;

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
