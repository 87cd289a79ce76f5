//! The measurement context: the memory, streams, events and clock that measurements use.

use super::member::Member;
use super::sizes::{LARGEST, MOST_STREAMS, POOL};
use crate::gpu::{AnyBlocker, AnyDevice, AnyEvent, AnyMemory, AnyStream, GpuResult};
use crate::host::{OneCpu, PageMemory, Team, available_memory};
use crate::kernels::{Kernel, Variant};
use crate::samples::{LONG_COPY, LONG_KERNEL, SHORT_COPY, SHORT_KERNEL};
use crate::units::{Bytes, Span};

use super::error::{CalibrateError, Calibrated};

/// Ordering events, for chains across streams.
const ORDERING_EVENTS: usize = 128;
/// `PLACES` is the number of streams that measurements choose from. They are `SIDE_BY_SIDE` apart
/// in creation order. The driver allocates what it keeps for some twenty consecutive streams
/// together in device memory, near to where it is needed or far from it. On an H200, kernels in a
/// row take 1.42 to 1.49 us each in a near stream and 1.53 to 1.63 us in a far one, always the same
/// in one stream.
const PLACES: usize = 24;
const SIDE_BY_SIDE: usize = 23;
/// The driver deals streams out to eight channels in turn. The streams of one measurement are up to
/// eight in a row, and no two of them may share a channel.
const _: () = assert!(PLACES.is_multiple_of(MOST_STREAMS) && SIDE_BY_SIDE % 2 == 1);
/// Workspace of one reduction kernel. Each kernel has its own: a sum leaves partial results where a
/// histogram needs zeros.
const WORKSPACE: Bytes = Bytes::kib(32);
const WORKSPACES: Bytes = Bytes::new(WORKSPACE.get() * Kernel::ALL.len() as u64);

/// Host memory of a context: the pools, the registered and the write-combined memory, and pinned
/// memory for both directions.
pub const HOST_MEMORY: Bytes =
    Bytes::new(POOL.get() * (Kernel::MOST_INPUTS as u64 + 1) + 4 * LARGEST.get());

/// What measurements are made with: a measurement context. It holds all memory, streams and events,
/// which are created once and reused by every probe.
pub(super) struct MeasurementContext<'d, D: AnyDevice> {
    pub device: &'d D,
    pub team: &'d Team,
    /// A team of the calling thread alone.
    pub one_thread: Team,
    /// One stream in each of [`PLACES`]; the next sample uses them from the first one on.
    pub streams: Vec<D::Stream>,
    /// Which place comes first now, and how often that has changed.
    place: usize,
    changes: usize,
    pub marks: [D::Event; 4],
    pub ordering: Vec<D::Event>,
    pub blocker: D::Blocker,
    /// Pinned memory to copy from and to, one buffer for each direction.
    pub pinned: [D::PinnedMemory; 2],
    /// Keeps `registered` pinned. It was touched before it was registered.
    _registration: D::Registration,
    pub registered: PageMemory,
    /// Created when first needed.
    pub combined: Option<D::PinnedMemory>,
    /// With its size.
    pub managed: Option<(D::ManagedMemory, Bytes)>,
    /// Device arrays: a kernel's inputs and its output.
    pub arrays: [D::DeviceMemory; Kernel::MOST_INPUTS + 1],
    pub workspace: D::DeviceMemory,
    /// The GPUs that are calibrated together, this one first; empty if it is calibrated alone.
    pub members: Vec<Member<'d, D>>,
    /// A kernel's inputs and its output on the host: pageable memory that has been touched.
    pub pools: [PageMemory; Kernel::MOST_INPUTS + 1],
    /// Counts samples. Each sample uses the next windows of the memory.
    pub turn: u64,
    /// Pins the issuing thread to a CPU, as a run of a plan does.
    pub cpu: OneCpu,
}

impl<'d, D: AnyDevice> MeasurementContext<'d, D> {
    /// Creates everything, fills the memory with random data and runs every kernel once.
    ///
    /// # Errors
    /// If there is too little host memory, or a device or the system refuses something.
    pub fn new(device: &'d D, team: &'d Team, devices: usize) -> Calibrated<Self> {
        let uses_data = device.uses_data();
        // Check first: the system may kill, without a word, whoever takes the last page.
        let others = if devices > 1 { 2 * devices as u64 } else { 0 };
        let needs = HOST_MEMORY + LARGEST * others;
        if let Some(has) = available_memory().filter(|&has| uses_data && has < needs) {
            return Err(CalibrateError::LittleMemory { needs, has });
        }
        let streams: Result<Vec<_>, _> =
            (0..=(PLACES - 1) * SIDE_BY_SIDE).map(|_| device.stream(0)).collect();
        let mark = || device.timing_event();
        let pinned = || device.allocate_pinned(LARGEST);
        let array = || device.allocate(LARGEST);
        let mut registered = PageMemory::new(LARGEST)?;
        if uses_data {
            team.fill_random(registered.as_mut_slice(), 1);
        }
        // SAFETY: the registration is dropped before the memory, as fields drop in order.
        let registration = unsafe { device.register(registered.as_mut_ptr(), LARGEST)? };
        let pool = || PageMemory::new(POOL);
        let mut pools = [pool()?, pool()?, pool()?, pool()?];
        for (seed, pool) in pools.iter_mut().enumerate().filter(|_| uses_data) {
            team.fill_random(pool.as_mut_slice(), seed as u64);
        }
        let ordering = (0..ORDERING_EVENTS).map(|_| device.ordering_event());
        let context = Self {
            device,
            team,
            one_thread: Team::new(1)?,
            streams: streams?.into_iter().step_by(SIDE_BY_SIDE).collect(),
            place: 0,
            changes: 0,
            marks: [mark()?, mark()?, mark()?, mark()?],
            ordering: ordering.collect::<Result<_, _>>()?,
            blocker: device.blocker()?,
            pinned: [pinned()?, pinned()?],
            // In this order: if a step below fails, what was created later is dropped first.
            registered,
            _registration: registration,
            combined: None,
            managed: None,
            arrays: [array()?, array()?, array()?, array()?],
            workspace: device.allocate(WORKSPACES)?,
            members: Member::all(device, devices).map_err(CalibrateError::Several)?,
            pools,
            turn: 0,
            cpu: OneCpu::quietest(),
        };
        context.fill()?;
        context.load_kernels()?;
        Ok(context)
    }

    /// Fills the device arrays and the pinned memory with random data. Zeros can be faster than
    /// users' data, or slower: in a histogram they would all fall into one bin.
    fn fill(&self) -> GpuResult {
        let random = self.registered.as_ptr();
        let fill =
            |stream: &D::Stream, arrays: &[D::DeviceMemory], pinned: &[D::PinnedMemory; 2]| {
                // SAFETY: all memory has the largest size and outlives the copies, which are waited
                // for.
                unsafe {
                    for array in arrays {
                        stream.copy_in(random, array.address(), LARGEST)?;
                    }
                    for memory in pinned {
                        stream.copy_out(arrays[0].address(), memory.as_mut_ptr(), LARGEST)?;
                    }
                }
                stream.synchronize()
            };
        for Member { device, streams, arrays, pinned, .. } in &self.members {
            device.make_current()?;
            fill(&streams[0], arrays, pinned)?;
        }
        self.device.make_current()?;
        let stream = &self.streams[0];
        fill(stream, &self.arrays, &self.pinned)?;
        // SAFETY: the workspace is that long and outlives the call, which is waited for.
        unsafe { stream.clear(self.workspace.address(), WORKSPACES)? };
        stream.synchronize()
    }

    /// Runs every kernel once. A first launch may load code, which can wait for the device; on a
    /// held stream it would wait for ever.
    fn load_kernels(&self) -> GpuResult {
        for kernel in Kernel::ALL.into_iter().filter(|&kernel| D::supports(kernel)) {
            let extent = kernel.extent().map_or(0, |extent| extent.default);
            let variant = Variant { kernel, extent };
            let launch = self.launch_of(variant, kernel.grain(&variant.arguments()))?;
            // SAFETY: the arrays are larger, and they outlive the launch, which is waited for.
            unsafe { self.streams[0].launch(&launch)? };
        }
        self.streams[0].synchronize()
    }

    /// Rotates to other streams, maybe only among the first few.
    pub fn change_streams(&mut self, is_among_first: bool) {
        let among = if is_among_first { MOST_STREAMS } else { self.streams.len() };
        self.streams.rotate_right(self.place);
        self.changes += 1;
        self.place = place(self.changes, among);
        self.streams.rotate_left(self.place);
    }

    /// A launch of a kernel on the context's arrays.
    pub fn launch_of(&self, variant: Variant, elements: u64) -> GpuResult<D::Launch> {
        self.launch_at(variant, elements, Bytes::ZERO)
    }

    /// A launch of a kernel on the context's arrays. A library's first launch may wait for the
    /// device, so it must not happen on a held stream: that is released only after all launches
    /// have been issued. It happens now.
    pub fn ready_launch(&self, variant: Variant, elements: u64) -> GpuResult<D::Launch> {
        let launch = self.launch_of(variant, elements)?;
        if variant.kernel.library().is_some() {
            // SAFETY: the arrays have the largest size, and they outlive the launch, which is
            // waited for.
            unsafe { self.streams[0].launch(&launch)? };
            self.streams[0].synchronize()?;
        }
        Ok(launch)
    }

    /// A launch of a kernel on the part of each array that begins at `start`.
    pub fn launch_at(&self, variant: Variant, elements: u64, start: Bytes) -> GpuResult<D::Launch> {
        let [x, y, z, out] = self.arrays.each_ref().map(|array| array.address() + start.get());
        let kernel = (variant.kernel, variant.arguments());
        let workspace = self.workspace.address() + variant.kernel as u64 * WORKSPACE.get();
        self.device.kernel(kernel, &[x, y, z], (out, workspace), (elements, elements, 0))
    }

    /// The operations of a chain: short ones, or long ones.
    pub fn piece(&self, long: bool) -> GpuResult<Piece<D>> {
        let (variant, elements) = if long { LONG_KERNEL } else { SHORT_KERNEL };
        let bytes = if long { LONG_COPY } else { SHORT_COPY };
        Ok(Piece { kernel: self.launch_of(variant, elements)?, bytes })
    }

    /// Times, on the device, what `issue` puts into the first stream while that is held.
    pub fn held(&mut self, issue: impl FnOnce(&Self) -> GpuResult) -> Timed {
        self.blocker.hold(&self.streams[0])?;
        self.streams[0].record(&self.marks[0])?;
        let issued = issue(self);
        let marked = self.streams[0].record(&self.marks[1]);
        self.blocker.end(&[&self.streams[0]])?;
        issued.and(marked)?;
        self.marks[1].since(&self.marks[0])
    }

    /// Where window `index` of `bytes` starts in a pool of `pool` bytes, counted in elements.
    /// Consecutive indices cycle through the pool.
    pub fn window(&self, pool: Bytes, bytes: Bytes, index: u64) -> usize {
        let places = (pool.get() / bytes.get().max(64)).max(1);
        let start = (index % places) * bytes.get().max(64);
        Bytes::new(start).as_usize() / 4
    }

    /// Where the windows of this sample's `count` turns start.
    pub fn windows(&self, pool: Bytes, bytes: Bytes, count: u64) -> Vec<usize> {
        let first = self.turn * count;
        (first..first + count).map(|index| self.window(pool, bytes, index)).collect()
    }
}

/// The kernel and the copy size of a chain's operations.
pub(super) struct Piece<D: AnyDevice> {
    pub kernel: D::Launch,
    pub bytes: Bytes,
}

/// The time of something, or several times of it.
pub(super) type Timed<T = Span> = GpuResult<T>;

/// Times `work` by the host's clock.
pub(super) fn clocked<D: AnyDevice, T, E>(work: impl FnOnce() -> Result<T, E>) -> Result<Span, E> {
    timed::<D, T, E>(work).map(|(_, time)| time)
}

/// What `work` makes, and how long that takes.
pub(super) fn timed<D: AnyDevice, T, E>(
    work: impl FnOnce() -> Result<T, E>,
) -> Result<(T, Span), E> {
    let start = D::now();
    let made = work()?;
    Ok((made, D::elapsed(start).into()))
}

/// The place that comes first after `changes` changes. It advances by one each time, and by one
/// more after each round, so that a quantity with every second change also gets to all places.
const fn place(changes: usize, among: usize) -> usize {
    (changes + changes / among) % among
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Quantities with few and with many samples between changes must all get to every place.
    #[test]
    fn every_nth_change_comes_to_all_places() {
        for among in [MOST_STREAMS, PLACES] {
            for every in 1..=4 {
                for first in 0..every {
                    let changes = (first..).step_by(every).take(2 * among);
                    let places = changes.map(|changes| place(changes, among));
                    let places: BTreeSet<usize> = places.collect();
                    assert_eq!(places.len(), among, "every {every} of {among}");
                }
            }
        }
    }
}
