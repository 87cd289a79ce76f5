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

use super::around::{operands, reuse};
use super::uses::Uses;
use crate::machine::{DeviceId, Direction};
use crate::profile::{DeviceLocality, MOST_OPERANDS};
use crate::program::{Call, CopyBy, LibraryStep, Place, Program, Route, Slice, Step};
use crate::units::Bytes;
use std::collections::BTreeMap;

/// Where each kernel on a device finds its data, by the kernel's place in the body. The body
/// repeats, so the first kernel follows the last.
pub(super) fn on_device(program: &Program) -> BTreeMap<usize, DeviceLocality> {
    // Each device has caches of its own.
    let device = |slice: &Slice| match program.allocation(slice.allocation).place {
        Place::Device(device) => device.0,
        Place::Host(_) => 0,
    };
    let operands_of = |call| program.accesses(call).len().max(MOST_OPERANDS);
    let most = 2 * program.body.iter().map(operands_of).sum::<usize>();
    let mut uses: Vec<Uses<By>> = (0..program.devices()).map(|_| Uses::new(most)).collect();
    let devices = (0..program.devices()).map(DeviceId);
    let wholes: Vec<Bytes> = devices.map(|id| program.bytes_in(Place::Device(id))).collect();
    let note = |uses: &mut [Uses<By>], call: &Call| match call {
        Call::Copy { by: CopyBy::Stream(_, route), to, .. } => {
            let by = match route {
                Route::Crossing(Direction::HostToDevice) => By::Copy,
                Route::Crossing(Direction::DeviceToHost) => return,
                Route::OnDevice | Route::ToPeer => By::Device,
            };
            uses[device(to)].note(&in_lines(to), by);
        }
        Call::Clear { target, .. } => {
            uses[device(target)].note(&in_lines(target), By::Device);
        }
        Call::Launch { stream, step } => {
            let uses = &mut uses[program.device_of(*stream).0];
            let note = |slice: &Slice| uses.note(&in_lines(slice), By::Device);
            match step {
                Step::Library(step) => operands(step).iter().for_each(note),
                Step::Own(step) => step.slices().for_each(note),
            }
        }
        _ => {}
    };
    program.body.iter().for_each(|call| note(&mut uses, call));
    let mut found = Vec::new();
    for (at, call) in program.body.iter().enumerate() {
        if let Call::Launch { stream, step: Step::Library(step) } = call {
            let id = program.device_of(*stream).0;
            found.push((at, find(&mut uses[id], step, wholes[id])));
        }
        note(&mut uses, call);
    }
    found.into_iter().collect()
}

/// Where a kernel finds its data.
fn find(uses: &mut Uses<By>, step: &LibraryStep, whole: Bytes) -> DeviceLocality {
    let operands: Vec<Slice> = operands(step).iter().map(in_lines).collect();
    let inputs: Vec<Slice> = step.inputs.iter().map(in_lines).collect();
    // The output is left out, because no load waits for memory that is only written.
    let mut reuse = reuse(uses, &inputs, &operands, whole);
    let own: Bytes = operands.iter().map(|slice| slice.length).sum();
    let mut is_just_copied = false;
    for (slice, (_, since)) in inputs.iter().zip(&mut reuse.0) {
        // A copied slice is far away only for the first kernel that reads it.
        if uses.is_by(slice, |by| by == By::Copy) {
            uses.forget(slice);
            is_just_copied = true;
            // Other copies may be issued in between, but they run after this one.
            *since = own.min(*since);
        }
    }
    DeviceLocality { reuse, is_just_copied }
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

/// What last used a piece of the device's memory.
#[derive(Clone, Copy, PartialEq)]
enum By {
    /// A copy from the host.
    Copy,
    Device,
}
