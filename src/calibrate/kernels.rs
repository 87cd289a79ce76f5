//! Kernels on the device.

use super::context::MeasurementContext;
use super::probes::LARGEST;
use crate::gpu::{GpuError, Launch};
use crate::kernels::{Kernel, Variant};
use crate::samples::Link;
use crate::units::{Bytes, Span};

impl MeasurementContext<'_> {
    /// Device time of `count` launches in a row.
    pub fn kernels(
        &mut self,
        variant: Variant,
        elements: u64,
        count: u64,
    ) -> Result<Span, GpuError> {
        let launch = self.launch_of(variant, elements)?;
        // A library's first launch may wait for the device, so it must not happen on a
        // held stream: that is released only after all launches have been issued.
        if variant.kernel.library().is_some() {
            // SAFETY: the arrays have the largest size, and they outlive the launch,
            // which is waited for.
            unsafe { self.streams[0].launch(&launch)? };
            self.streams[0].synchronize()?;
        }
        self.held(|context| {
            // SAFETY: the arrays have the largest size and outlive the stream's work.
            (0..count).try_for_each(|_| unsafe { context.streams[0].launch(&launch) })
        })
    }

    /// Device time of `count` launches in a row. Each is the first to read its part of
    /// what copies have brought. How soon the first kernel follows the copies is not
    /// included.
    pub fn kernels_behind_copies(
        &mut self,
        variant: Variant,
        elements: u64,
        count: u64,
    ) -> Result<Span, GpuError> {
        let part = Bytes::of_f32(elements);
        let launches = self.launches(variant, elements, count)?;
        let first = self.piece(false)?;
        self.held(|context| {
            let stream = &context.streams[0];
            // SAFETY: the launches use parts of arrays that are larger and outlive the
            // stream's work.
            unsafe {
                for array in &context.arrays[..variant.kernel.inputs()] {
                    stream.copy_in(
                        context.pinned[0].as_mut_ptr(),
                        array.address(),
                        part * count,
                    )?;
                }
                context.issue(stream, Link::Kernel, &first)?;
                stream.record(&context.marks[0])?;
                launches.iter().try_for_each(|launch| stream.launch(launch))
            }
        })
    }

    /// Device time of `count` launches in a row, each on its part of the arrays. All
    /// parts were used once before, and then another kernel went through the rest of
    /// `footprint`.
    pub fn kernels_around(
        &mut self,
        (variant, elements): (Variant, u64),
        footprint: Bytes,
        count: u64,
    ) -> Result<Span, GpuError> {
        let launches = self.launches(variant, elements, count)?;
        let others = footprint.get().saturating_sub(count * variant.bytes(elements));
        let other = Variant { kernel: Kernel::Scale, extent: 0 };
        let half = LARGEST.get() / 2;
        let elements = (others / other.kernel.bytes_per_element()).clamp(1, half / 4);
        let between = self.launch_at(other, elements, Bytes::new(half))?;
        self.held(|context| {
            let stream = &context.streams[0];
            // SAFETY: the launches use parts of arrays that are larger and outlive the
            // stream's work.
            unsafe {
                launches.iter().try_for_each(|launch| stream.launch(launch))?;
                stream.launch(&between)?;
                stream.record(&context.marks[0])?;
                launches.iter().try_for_each(|launch| stream.launch(launch))
            }
        })
    }

    /// Launches on consecutive parts of the arrays.
    fn launches(
        &self,
        variant: Variant,
        elements: u64,
        count: u64,
    ) -> Result<Vec<Launch>, GpuError> {
        let part = Bytes::of_f32(elements);
        (0..count).map(|at| self.launch_at(variant, elements, part * at)).collect()
    }
}
