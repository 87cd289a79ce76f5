//! Whether memory management waits for the device without saying so.

use super::context::{MeasurementContext, clocked};
use super::error::{CalibrateError, Calibrated};
use super::probe::{Counts, Probe, Streams};
use super::sizes::LARGEST;
use crate::gpu::{AnyDevice, AnyMemory, AnyStream, GpuResult};
use crate::samples::{MemoryWork, Quantity, WaitPart};
use crate::units::{Bytes, Span};

pub(super) fn probes() -> Vec<Probe> {
    use MemoryWork::{
        DeviceAllocate, DeviceFree, PinnedAllocate, PinnedFree, Register, Unregister,
    };
    let works = [DeviceAllocate, DeviceFree, PinnedAllocate, PinnedFree, Register, Unregister];
    works.map(probe).to_vec()
}

fn probe(work: MemoryWork) -> Probe {
    let what = WaitPart::ALL.map(|part| Quantity::MemoryBeside { work, part });
    // Waiting takes as long as the load, or no time: a few samples tell which.
    Probe::together(what, Counts::Once).streams(Streams::Same).limit(0.1, 3)
}

/// What is managed: little beside the load.
const MANAGED: Bytes = Bytes::kib(256);

/// Copies on the device that keep it busy for about a millisecond.
const LOAD: usize = 8;

impl<D: AnyDevice> MeasurementContext<'_, D> {
    /// Times of one piece of memory management on an idle device and on a busy one, and the time
    /// of what keeps the device busy.
    pub fn memory_beside(&mut self, work: MemoryWork) -> Calibrated<[Span; 3]> {
        let mut beside = |is_busy| {
            let [taken, given_back] = self.taken_and_given_back(work, MANAGED, is_busy)?;
            let gives_back =
                [MemoryWork::DeviceFree, MemoryWork::PinnedFree, MemoryWork::Unregister];
            self.streams[0].synchronize()?;
            Ok::<_, CalibrateError>(if gives_back.contains(&work) { given_back } else { taken })
        };
        let [idle, busy] = [beside(false)?, beside(true)?];
        let load = clocked::<D, _, _>(|| {
            self.keep_busy()?;
            self.streams[0].synchronize()
        })?;
        Ok([idle, busy, load])
    }

    /// Gives the device work, for longer than memory management takes that waits for nothing.
    pub fn keep_busy(&self) -> GpuResult {
        let [from, to] = [2, 3].map(|at| self.arrays[at].address());
        (0..LOAD).try_for_each(|_| {
            // SAFETY: both arrays are of this size, and outlive the copies.
            unsafe { self.streams[0].copy_on_device(from, to, LARGEST) }
        })
    }
}
