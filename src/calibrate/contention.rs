//! Copies beside copies the other way, beside kernels, and beside other work that uses memory.

use super::context::{MeasurementContext, Piece, Timed, clocked};
use super::probe::{Counts, Probe};
use super::sizes::{LEAST_KEPT, POOL, PROBING, Sizes};
use crate::gpu::{AnyBlocker, AnyDevice, AnyEvent, AnyMemory, AnyStream, GpuError, GpuResult};
use crate::host::Operand;
use crate::machine::{Direction, OperationKind};
use crate::samples::{
    Load, Quantity, REFETCHED, STREAMING_KERNEL, STREAMING_TWIN, Side, WRITTEN_THROUGH, is_of_rate,
    waiting_kernels,
};
use crate::units::{Bytes, Span};

pub(super) fn probes(sizes: &Sizes) -> Vec<Probe> {
    let refetched = |(streams, kernels)| {
        let what = Quantity::Refetched { bytes: REFETCHED, streams, kernels };
        Probe::new(what, Counts::Both(2, 18))
    };
    let mut probes: Vec<Probe> = waiting_kernels().map(refetched).collect();
    probes.extend(sizes.both_ways().map(|(bytes, footprint)| both_ways(bytes, footprint)));
    for direction in Direction::BOTH {
        let powers: &[u32] = sizes.either(&[12, 15, 17, 18, 19, 20], &[15, 18, 20]);
        let sizes = powers.iter().map(|power| Bytes::new(1 << power));
        probes.extend(sizes.map(|bytes| beside_small_kernels(direction, bytes)));
    }
    let loads: &[Load] = sizes.either(&Load::ALL, &[Load::Kernel]);
    probes.extend(loads.iter().flat_map(|&load| Direction::BOTH.map(|way| beside_load(way, load))));
    probes
}

fn both_ways(bytes: Bytes, footprint: Bytes) -> Probe {
    let what = Direction::BOTH.map(|direction| Quantity::Shared { direction, bytes, footprint });
    let count = (AT_ONCE.get() / bytes.get()).clamp(1, IN_A_ROW);
    let probe = Probe::together(what, Counts::Of(count)).quickly_twice();
    let probe = probe.telling((bytes, footprint) == (PROBING, WRITTEN_THROUGH));
    if is_of_rate(bytes) {
        // Others on the link take what they need, which changes, and all moments count: copies went
        // at 32 to 43 GB/s within a minute, and with half as many visits the median was known to a
        // hundredth at best. The fit also uses the best moments, so each visit takes more time.
        probe.visits(48).limit(2.0, 3)
    } else {
        // How the engines affect each other differs by a twentieth from visit to visit. For large
        // copies, the footprints differ by as little.
        probe.visits(if bytes >= LEAST_KEPT { 4 } else { 2 })
    }
}

fn beside_small_kernels(direction: Direction, bytes: Bytes) -> Probe {
    let what =
        [true, false].map(|kernels| Quantity::CopyBesideKernels { direction, bytes, kernels });
    // The difference is a tenth of a copy, or more.
    Probe::together(what, Counts::Of(BESIDE_KERNELS)).visits(3).limit(0.125, 5)
}

fn beside_load(direction: Direction, load: Load) -> Probe {
    let bytes = load.copy();
    let what = [Side::Copy, Side::Load].map(|of| Quantity::Beside { direction, bytes, load, of });
    let count = match load {
        Load::Kernel => 16,
        Load::Cpu => 4,
    };
    // No family of plans uses these yet.
    Probe::together(what, Counts::Of(count)).limit(0.5, 5)
}

/// Copies both ways at once move this much: a millisecond of large ones, because others on the host
/// use the link more and less.
const AT_ONCE: Bytes = Bytes::mib(64);

/// The most copies in a row, both ways at once. The first twenty or so may run in step and hide
/// their starts behind each other; later ones do not, nor do those of plans.
const IN_A_ROW: u64 = 96;

/// Copies in a row beside kernels.
const BESIDE_KERNELS: u64 = 24;

impl<D: AnyDevice> MeasurementContext<'_, D> {
    /// Device times of `count` copies in a row: first with a small kernel for each in
    /// another stream that waits for it, as in a pipeline, and then without. (Waits alone
    /// cost copies nothing.)
    pub fn copies_beside_kernels(
        &mut self,
        (direction, bytes): (Direction, Bytes),
        count: u64,
    ) -> Timed<[Span; 2]> {
        let start = self.turn * count;
        let piece = self.piece(false)?;
        let beside = self.held(|context| {
            // Not the memory that is copied without kernels.
            let ashore = context.pinned[1].as_mut_ptr();
            context.row_beside(1, &piece, (direction, bytes), ashore, start..start + count)
        })?;
        self.streams[1].synchronize()?;
        Ok([beside, self.copies(direction, bytes, count)?])
    }

    /// Issues copies in a row to the first stream, and for each of them a kernel to the
    /// stream `running` that waits for it.
    fn row_beside(
        &self,
        running: usize,
        piece: &Piece<D>,
        (direction, bytes): (Direction, Bytes),
        ashore: *mut f32,
        mut places: impl Iterator<Item = u64>,
    ) -> GpuResult {
        let (copying, running) = (&self.streams[0], &self.streams[running]);
        self.row(0, (direction, bytes), ashore, std::iter::empty())?;
        places.try_for_each(|place| {
            let copied = &self.ordering[place as usize % self.ordering.len()];
            self.copy_at(copying, direction, ashore, bytes, place)?;
            copying.record(copied)?;
            running.wait(copied)?;
            self.issue(running, OperationKind::Kernel, piece)
        })
    }

    /// Device times of `count` copies each way, both ways at once. Each way cycles through
    /// `footprint`. A small kernel in a third stream waits for each copy to the device,
    /// because plans that copy both ways have kernels running.
    pub fn shared_copies(
        &mut self,
        (bytes, footprint): (Bytes, Bytes),
        count: u64,
    ) -> Timed<[Span; 2]> {
        let (start, around) = (self.turn * count, footprint.get() / bytes.get());
        let places = (start..start + count).map(|index| index % around.max(1));
        let piece = self.piece(false)?;
        self.both_held(|context| {
            let [to_device, to_host] = context.pinned.each_ref().map(AnyMemory::as_mut_ptr);
            let [ins, outs] = Direction::BOTH.map(|direction| (direction, bytes));
            context.row_beside(2, &piece, ins, to_device, places.clone())?;
            context.row(1, outs, to_host, places)
        })
    }

    /// Times, on the device, what `issue` puts into the first two streams, which start at once.
    /// `issue` marks from when on.
    fn both_held(&mut self, issue: impl FnOnce(&Self) -> GpuResult) -> Timed<[Span; 2]> {
        let [one, other, third] = [0, 1, 2].map(|at| &self.streams[at]);
        self.blocker.hold(one)?;
        one.record(&self.ordering[0])?;
        other.wait(&self.ordering[0])?;
        let issued = issue(self);
        let marked = one.record(&self.marks[1]).and(other.record(&self.marks[3]));
        self.blocker.end(&[one, other, third])?;
        issued.and(marked)?;
        Ok([self.marks[1].since(&self.marks[0])?, self.marks[3].since(&self.marks[2])?])
    }

    /// Device time of `count` copies to the device in the first stream. Meanwhile other streams
    /// hold kernels that wait for the last copy, each with a copy from the device behind it.
    pub fn refetched(
        &mut self,
        bytes: Bytes,
        (streams, kernels): (usize, u64),
        count: u64,
    ) -> Timed {
        let piece = self.piece(false)?;
        let ashore = self.pinned[0].as_mut_ptr();
        let time = self.held(|context| {
            context.row(0, (Direction::HostToDevice, bytes), ashore, 0..count)?;
            let end = &context.ordering[0];
            context.streams[0].record(end)?;
            context.streams[1..=streams].iter().try_for_each(|stream| {
                stream.wait(end)?;
                let mut pairs =
                    (0..kernels).flat_map(|_| [OperationKind::Kernel, OperationKind::CopyOut]);
                pairs.try_for_each(|link| context.issue(stream, link, &piece))
            })
        })?;
        self.streams.iter().try_for_each(|stream| stream.synchronize())?;
        Ok(time)
    }

    /// Times of `count` copies and of as many kernels that stream, started at once.
    pub fn beside_kernels(&mut self, way: Direction, bytes: Bytes, count: u64) -> Timed<[Span; 2]> {
        // Not the arrays that copies use.
        let [from, to] = [2, 3].map(|at| self.arrays[at].address());
        let kernel = self.streaming(from, to, Bytes::of_f32(STREAMING_KERNEL.1))?;
        self.both_held(|context| {
            let (copying, running) = (&context.streams[0], &context.streams[1]);
            copying.record(&context.marks[0])?;
            running.record(&context.marks[2])?;
            (0..count).try_for_each(|index| {
                context.copy_turn(copying, way, bytes, index)?;
                // SAFETY: all memory belongs to the context and outlives the stream's work.
                unsafe { running.launch(&kernel) }
            })
        })
    }

    /// Times of copies and of CPU twins. The copies are issued first, which takes next to
    /// none of their time.
    pub fn beside_twins(&mut self, way: Direction, bytes: Bytes, count: u64) -> Timed<[Span; 2]> {
        let (variant, elements) = STREAMING_TWIN;
        let arguments = variant.arguments();
        let starts = self.windows(POOL, Bytes::of_f32(elements), count);
        let stream = &self.streams[0];
        stream.synchronize()?;
        stream.record(&self.marks[0])?;
        (0..count).try_for_each(|index| self.copy_turn(stream, way, bytes, index))?;
        stream.record(&self.marks[1])?;
        let [input, .., out] = &mut self.pools;
        let time = clocked::<D, _, _>(|| {
            for start in starts {
                let range = start..start + elements as usize;
                let operand = Operand::Array(&input.as_slice()[range.clone()]);
                let output = &mut out.as_mut_slice()[range];
                self.team.run(variant.kernel, &arguments, &[operand], output, 0);
            }
            Ok::<_, GpuError>(())
        })?;
        self.streams[0].synchronize()?;
        Ok([self.marks[1].since(&self.marks[0])?, time])
    }
}
