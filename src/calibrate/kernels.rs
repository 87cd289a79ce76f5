//! Kernels on the device.

use super::context::{MeasurementContext, Timed};
use super::probe::{Counts, Probe, Streams};
use super::sizes::{LARGEST, Points, Sizes, is_measured_closely};
use crate::gpu::{AnyDevice, AnyMemory, AnyStream, GpuResult};
use crate::kernels::{Kernel, Variant};
use crate::machine::OperationKind;
use crate::samples::{DEVICE_FOOTPRINT, Quantity};
use crate::units::Bytes;

pub(super) fn probes(sizes: &Sizes) -> Vec<Probe> {
    let mut probes = Vec::new();
    for Points { variant, elements, on_device, just_copied, in_memory, .. } in sizes.points() {
        let on_device = on_device.into_iter().filter(|besides| !elements.contains(besides));
        let all = on_device.chain(elements.iter().copied());
        probes.extend(all.map(|elements| repeated(sizes, variant, elements)));
        probes.extend(just_copied.into_iter().map(|elements| behind_copies(variant, elements)));
        let around = |elements| around(variant, elements, DEVICE_FOOTPRINT);
        probes.extend(in_memory.into_iter().map(around));
    }
    // How much of what was used before is still in the device's caches.
    let scale = Variant { kernel: Kernel::Scale, extent: 0 };
    let footprints: &[u64] =
        sizes.either(&[8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 128, 256], &[8, 32, 48, 64, 96, 256]);
    probes.extend(footprints.iter().map(|&mib| around(scale, 1 << 16, Bytes::mib(mib))));
    probes
}

fn repeated(sizes: &Sizes, variant: Variant, elements: u64) -> Probe {
    let telling = match variant.kernel {
        Kernel::Polynomial => 1 << 20,
        kernel if is_measured_closely(kernel) => 1 << 24,
        _ => 1 << 22,
    };
    // Where arithmetic counts most.
    let most = sizes.extents(variant.kernel).last();
    let is_telling = elements == telling && most.is_none_or(|&most| variant.extent == most);
    let what = Quantity::Kernel { variant, elements };
    // These repeat within a thousandth.
    let probe = Probe::new(what, Counts::ByDuration).limit(1.0 / 12.0, 5);
    let is_of_library = variant.kernel.library().is_some();
    probe.streams(if is_of_library { Streams::First } else { Streams::Any }).telling(is_telling)
}

fn behind_copies(variant: Variant, elements: u64) -> Probe {
    Probe::new(Quantity::JustCopied { variant, elements }, parts(elements)).limit(A_TENTH, 5)
}

fn around(variant: Variant, elements: u64, footprint: Bytes) -> Probe {
    let what = Quantity::KernelAround { variant, elements, footprint };
    Probe::new(what, parts(elements)).limit(A_TENTH, 5)
}

/// Share of the usual time for differences of a tenth of a kernel, or more.
const A_TENTH: f64 = 0.125;

/// How many kernels run in a row, each on a part of its own. There are as many as find their input
/// in the device's cache, where copies left it, with room for their output.
fn parts(elements: u64) -> Counts {
    if elements <= 1 << 18 { Counts::Both(2, 10) } else { Counts::Both(1, 3) }
}

impl<D: AnyDevice> MeasurementContext<'_, D> {
    /// Device time of `count` launches in a row.
    pub fn kernels(&mut self, variant: Variant, elements: u64, count: u64) -> Timed {
        let launch = self.ready_launch(variant, elements)?;
        self.launched(&launch, count)
    }

    /// Device time of `count` launches in a row, on memory of the context.
    pub fn launched(&mut self, launch: &D::Launch, count: u64) -> Timed {
        self.held(|context| {
            // SAFETY: all memory belongs to the context and outlives the stream's work.
            (0..count).try_for_each(|_| unsafe { context.streams[0].launch(launch) })
        })
    }

    /// Device time of `count` launches in a row. Each is the first to read its part of what copies
    /// have brought. How soon the first kernel follows the copies is not included.
    pub fn kernels_behind_copies(&mut self, variant: Variant, elements: u64, count: u64) -> Timed {
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
                context.issue(stream, OperationKind::Kernel, &first)?;
                stream.record(&context.marks[0])?;
                launches.iter().try_for_each(|launch| stream.launch(launch))
            }
        })
    }

    /// Device time of `count` launches in a row, each on its part of the arrays. All parts were
    /// used once before, and then another kernel went through the rest of `footprint`.
    pub fn kernels_around(
        &mut self,
        (variant, elements): (Variant, u64),
        footprint: Bytes,
        count: u64,
    ) -> Timed {
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
    fn launches(&self, variant: Variant, elements: u64, count: u64) -> GpuResult<Vec<D::Launch>> {
        let part = Bytes::of_f32(elements);
        (0..count).map(|at| self.launch_at(variant, elements, part * at)).collect()
    }
}
