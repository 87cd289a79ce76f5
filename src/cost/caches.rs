//! Where work finds its data.
//!
//! For a kernel on the CPU, or a copy by it, it matters how much memory the CPU used since it last
//! used the data, and which threads did.
//!
//! The first kernel that reads what a copy has brought finds it farther away than a kernel that
//! runs repeatedly on the same data. On an H200, by a clock in the kernels before and behind, loads
//! take some 90 ns longer. So kernels of up to 2^17 elements take 0.35 us longer if their loads
//! wait for the stores before them (four in a thread: scale, saxpy, stencil), and 0.1 us longer if
//! all loads go at once (sum, polynomials). From 2^19 elements on, it is 0.5 to 2 us. Copies that
//! take the output away make no difference.
//!
//! A kernel on one piece of what a program uses finds its data farther away, too, unless the
//! device's caches can hold everything that the program uses between two uses of the piece.

use super::uses::Uses;
use crate::profile::{DeviceLocality, HostLocality, MOST_OPERANDS, MemoryWork, Reuse};
use crate::program::{AllocationId, Call, LibraryStep, Slice, Step, Threads};
use crate::units::Bytes;
use std::ops::Deref;

/// What the CPU's caches know of memory. What engines use on the host is left out, and so is what
/// copies under way take from a kernel.
pub(super) struct CpuCaches {
    uses: Uses<Cores>,
    /// Bytes of host memory that a pass uses.
    footprint: Bytes,
    threads: usize,
}

/// Which threads run a kernel, and how they share it.
#[derive(Clone, Copy, PartialEq)]
enum Cores {
    One,
    /// All threads, each on its own share.
    Team,
    /// All threads; those that finish early help others.
    Helpers,
}

impl CpuCaches {
    pub fn new(footprint: Bytes, threads: usize) -> Self {
        Self { uses: Uses::default(), footprint, threads }
    }

    /// Where a kernel of the library or a copy finds its data.
    pub fn find(&self, call: &Call) -> Option<HostLocality> {
        let (footprint, uses) = (self.footprint, &self.uses);
        let Some(step) = call.computed() else {
            let operands = call.host_copy()?;
            let reuse = uses.reuse(&operands, &operands, footprint);
            return Some(HostLocality { reuse, footprint, ..HostLocality::default() });
        };
        let (step, cores) = (step.library()?, self.cores(call));
        let used = |slice: &Slice, by: fn(Cores, Cores) -> bool| {
            let before = uses.last_by(slice);
            before.filter(|&before| by(before, cores)).map_or(Bytes::ZERO, |_| slice.length)
        };
        let operands = Operands::new(step.operands().copied());
        let reuse = uses.reuse(&operands, &operands, footprint);
        let only_read = &operands[..operands.len() - 1];
        let bytes =
            |by| [only_read.iter().map(|slice| used(slice, by)).sum(), used(&step.output, by)];
        let handed = bytes(|before, now| (before == Cores::One) != (now == Cores::One));
        let helped = bytes(|before, now| (before, now) == (Cores::Helpers, Cores::Team));
        Some(HostLocality { reuse, handed, helped, footprint })
    }

    /// Notes a slice that a call of the CPU uses.
    pub fn note(&mut self, call: &Call, slice: &Slice) {
        self.uses.note(slice, self.cores(call));
    }

    pub fn forget(&mut self, slice: &Slice) {
        self.uses.forget(slice);
    }

    fn cores(&self, call: &Call) -> Cores {
        let step = call.computed().and_then(Step::library);
        match call.cpu_threads(self.footprint) {
            Some(Threads::All) if step.is_some_and(|step| step.keeps_shares(self.threads)) => {
                Cores::Team
            }
            Some(Threads::All) => Cores::Helpers,
            _ => Cores::One,
        }
    }
}

/// What the caches of a device know of memory. Each device has caches of its own.
pub(super) struct DeviceCaches {
    uses: Uses<Bringer>,
    /// All memory that the program has on the device.
    whole: Bytes,
}

/// What last used a piece of the device's memory.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Bringer {
    /// A copy from the host.
    Copy,
    Device,
}

impl DeviceCaches {
    pub fn new(whole: Bytes) -> Self {
        Self { uses: Uses::default(), whole }
    }

    pub fn note(&mut self, slice: &Slice, by: Bringer) {
        self.uses.note(&in_lines(slice), by);
    }

    /// How much was used since what is read was last used. `operands`: all that the reader uses.
    pub fn reuse(&self, reads: &[Slice], operands: &[Slice]) -> Reuse {
        let in_lines = |slices: &[Slice]| Operands::new(slices.iter().map(in_lines));
        self.uses.reuse(&in_lines(reads), &in_lines(operands), self.whole)
    }

    /// Where a kernel finds its data.
    pub fn find(&mut self, step: &LibraryStep) -> DeviceLocality {
        let operands = Operands::new(step.operands().copied());
        // The output is left out, because no load waits for memory that is only written.
        let mut reuse = self.reuse(&step.inputs, &operands);
        let own: Bytes = operands.iter().map(|slice| in_lines(slice).length).sum();
        let mut is_just_copied = false;
        for (slice, (_, since)) in step.inputs.iter().map(in_lines).zip(&mut reuse.0) {
            // A copied slice is far away only for the first kernel that reads it.
            if self.uses.is_by(&slice, |by| by == Bringer::Copy) {
                self.uses.forget(&slice);
                is_just_copied = true;
                // Other copies may be issued in between, but they run after this one.
                *since = own.min(*since);
            }
        }
        DeviceLocality { reuse, is_just_copied }
    }
}

/// What the caches hold of a slice. They hold lines, and a line belongs to whoever has more than
/// half of it. So halos that shrink by an element at a time do not fall into as many pieces. A
/// slice of few lines stays as it is.
fn in_lines(slice: &Slice) -> Slice {
    const LINE: u64 = 128;
    const FEW: u64 = 32;
    if slice.length.get() < FEW * LINE {
        return *slice;
    }
    let nearest = |at: Bytes| Bytes::new((at.get() + LINE / 2) / LINE * LINE);
    let (start, end) = (nearest(slice.offset), nearest(slice.end()));
    Slice { offset: start, length: end - start, ..*slice }
}

/// The arrays that a kernel works on. They are asked for at each launch of a program, so they take
/// no memory from the heap.
struct Operands {
    slices: [Slice; MOST_OPERANDS],
    count: usize,
}

impl Operands {
    fn new(slices: impl Iterator<Item = Slice>) -> Self {
        let nothing =
            Slice { allocation: AllocationId(0), offset: Bytes::ZERO, length: Bytes::ZERO };
        let mut operands = Self { slices: [nothing; MOST_OPERANDS], count: 0 };
        for slice in slices {
            operands.slices[operands.count] = slice;
            operands.count += 1;
        }
        operands
    }
}

impl Deref for Operands {
    type Target = [Slice];

    fn deref(&self) -> &[Slice] {
        &self.slices[..self.count]
    }
}

/// Where a call finds its data.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Locality {
    /// Set for a kernel on the CPU, and for a copy by the CPU.
    pub around: Option<HostLocality>,
    pub on_device: Option<DeviceLocality>,
    /// Set for a call that uses pages of host memory first.
    pub new_pages: Option<NewPages>,
    /// Bytes of managed memory that move because of the call.
    pub moves: Bytes,
}

/// New pages that a call uses first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NewPages {
    pub allocation: AllocationId,
    /// What the price depends on: who uses them.
    pub cost: MemoryWork,
    pub bytes: Bytes,
}
