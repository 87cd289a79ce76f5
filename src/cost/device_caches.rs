//! Where a kernel on the device finds its data.
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
use crate::profile::DeviceLocality;
use crate::program::{LibraryStep, Slice};
use crate::units::Bytes;

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

    /// Where a kernel finds its data.
    pub fn find(&mut self, step: &LibraryStep) -> DeviceLocality {
        let operands: Vec<Slice> = step.operands().iter().map(in_lines).collect();
        let inputs: Vec<Slice> = step.inputs.iter().map(in_lines).collect();
        // The output is left out, because no load waits for memory that is only written.
        let mut reuse = self.uses.reuse(&inputs, &operands, self.whole);
        let own: Bytes = operands.iter().map(|slice| slice.length).sum();
        let mut is_just_copied = false;
        for (slice, (_, since)) in inputs.iter().zip(&mut reuse.0) {
            // A copied slice is far away only for the first kernel that reads it.
            if self.uses.is_by(slice, |by| by == Bringer::Copy) {
                self.uses.forget(slice);
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
    let [start, end] =
        [slice.offset, slice.end()].map(|at| Bytes::new((at.get() + LINE / 2) / LINE * LINE));
    Slice { offset: start, length: end - start, ..*slice }
}
