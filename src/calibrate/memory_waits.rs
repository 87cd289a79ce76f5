//! Whether memory management waits for the device without saying so.

use super::context::{MeasurementContext, clocked};
use super::error::CalibrateError;
use super::probe::{Counts, Probe, Streams};
use super::sizes::LARGEST;
use crate::gpu::{AnyDevice, AnyMemory, AnyStream, GpuError};
use crate::samples::{MemoryWork, Quantity, WaitPart};
use crate::units::{Bytes, Span};

pub(super) fn probes<D: AnyDevice>() -> Vec<Probe<D>> {
    use MemoryWork::{
        DeviceAllocate, DeviceFree, PinnedAllocate, PinnedFree, Register, Unregister,
    };
    let works = [DeviceAllocate, DeviceFree, PinnedAllocate, PinnedFree, Register, Unregister];
    works.map(probe).to_vec()
}

fn probe<D: AnyDevice>(work: MemoryWork) -> Probe<D> {
    let what = WaitPart::ALL.map(|part| Quantity::MemoryBeside { work, part }).to_vec();
    let sample = move |context: &mut MeasurementContext<'_, D>, _| context.memory_beside(work);
    // Waiting takes as long as the load, or no time: a few samples tell which.
    Probe::together(what, Counts::Once, sample).streams(Streams::Same).limit(0.1, 3)
}

/// What is managed: little beside the load.
const MANAGED: Bytes = Bytes::kib(256);

/// Copies on the device that keep it busy for about a millisecond.
const LOAD: usize = 8;

impl<D: AnyDevice> MeasurementContext<'_, D> {
    /// Times of one piece of memory management on an idle device and on a busy one, and the time
    /// of what keeps the device busy.
    fn memory_beside(&mut self, work: MemoryWork) -> Result<[Span; 3], CalibrateError> {
        let idle = self.managed_beside(work, false)?;
        let busy = self.managed_beside(work, true)?;
        let load = clocked::<D, _, _>(|| {
            self.keep_busy()?;
            self.streams[0].synchronize()
        })?;
        Ok([idle, busy, load])
    }

    fn managed_beside(&mut self, work: MemoryWork, is_busy: bool) -> Result<Span, CalibrateError> {
        let device = self.device;
        let touched = self.touched(MANAGED).as_mut_ptr();
        let begin = || if is_busy { self.keep_busy() } else { Ok(()) };
        let device_memory = || device.allocate(MANAGED);
        let pinned = || device.allocate_pinned(MANAGED);
        // SAFETY: the registration is dropped before the pool.
        let register = || unsafe { device.register(touched, MANAGED) };
        let time = match work {
            MemoryWork::DeviceAllocate => taking::<D, _>(begin, device_memory),
            MemoryWork::DeviceFree => giving_back::<D, _>(begin, device_memory),
            MemoryWork::PinnedAllocate => taking::<D, _>(begin, pinned),
            MemoryWork::PinnedFree => giving_back::<D, _>(begin, pinned),
            MemoryWork::Register => taking::<D, _>(begin, register),
            MemoryWork::Unregister => giving_back::<D, _>(begin, register),
            _ => unreachable!("no probe times this beside a load"),
        }?;
        self.streams[0].synchronize()?;
        Ok(time)
    }

    /// Gives the device work.
    fn keep_busy(&self) -> Result<(), GpuError> {
        let [from, to] = [2, 3].map(|at| self.arrays[at].address());
        (0..LOAD).try_for_each(|_| {
            // SAFETY: both arrays are of this size, and outlive the copies.
            unsafe { self.streams[0].copy_on_device(from, to, LARGEST) }
        })
    }
}

fn taking<D: AnyDevice, T>(
    begin: impl FnOnce() -> Result<(), GpuError>,
    take: impl FnOnce() -> Result<T, GpuError>,
) -> Result<Span, GpuError> {
    begin()?;
    let mut kept = None;
    let time = clocked::<D, _, _>(|| {
        kept = Some(take()?);
        Ok::<_, GpuError>(())
    });
    drop(kept);
    time
}

fn giving_back<D: AnyDevice, T>(
    begin: impl FnOnce() -> Result<(), GpuError>,
    take: impl FnOnce() -> Result<T, GpuError>,
) -> Result<Span, GpuError> {
    let taken = take()?;
    begin()?;
    clocked::<D, _, _>(|| {
        drop(taken);
        Ok(())
    })
}
