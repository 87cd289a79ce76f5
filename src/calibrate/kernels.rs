//! Kernels on the device.

use super::rig::Rig;
use crate::gpu::{GpuError, calls_a_library};
use crate::kernels::Variant;
use crate::samples::Link;
use crate::units::{Bytes, Span};

impl Rig<'_> {
    /// Device time of `count` launches, one after the other.
    pub fn kernels(
        &mut self,
        variant: Variant,
        elements: u64,
        count: u64,
    ) -> Result<Span, GpuError> {
        let launch = self.launch_of(variant, elements)?;
        // Never while the stream is held: it would wait for a release that is not
        // to come before it is through.
        if calls_a_library(variant.kernel) {
            // SAFETY: the arrays are of the largest size and outlive the wait.
            unsafe { self.streams[0].launch(&launch)? };
            self.streams[0].synchronize()?;
        }
        self.held(|rig| {
            // SAFETY: the arrays are of the largest size and outlive the stream's work.
            (0..count).try_for_each(|_| unsafe { rig.streams[0].launch(&launch) })
        })
    }

    /// Device time of `count` launches, one after the other, each the first to read its part
    /// of what copies have brought. How soon the first kernel follows the copies is not in it.
    pub fn kernels_behind_copies(
        &mut self,
        variant: Variant,
        elements: u64,
        count: u64,
    ) -> Result<Span, GpuError> {
        let part = Bytes::new(4 * elements);
        let launches = (0..count).map(|at| self.launch_at(variant, elements, part * at));
        let launches = launches.collect::<Result<Vec<_>, _>>()?;
        let first = self.piece(false)?;
        self.held(|rig| {
            let stream = &rig.streams[0];
            // SAFETY: parts of arrays that are larger and outlive the stream's work.
            unsafe {
                for array in &rig.arrays[..variant.kernel.inputs()] {
                    stream.copy_in(rig.pinned[0].as_mut_ptr(), array.address(), part * count)?;
                }
                rig.issue(stream, Link::Kernel, &first)?;
                stream.record(&rig.marks[0])?;
                launches.iter().try_for_each(|launch| stream.launch(launch))
            }
        })
    }
}
