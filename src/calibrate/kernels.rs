//! Kernels on the device.

use super::rig::Rig;
use crate::gpu::{GpuError, calls_a_library};
use crate::kernels::Variant;
use crate::units::Span;

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
}
