//! What a vendor's device must do, so that plans run on it: one family of traits. The other files
//! of this room implement it for CUDA, and the tests implement it for a pretend device with a
//! virtual clock.
//!
//! Everything is generic over these traits and nothing is dispatched at run time: a call in a
//! timed loop compiles to what a call of the vendor's own type compiles to.
//!
//! An error is what the driver says: it refuses the call, has too little memory left, or reports
//! that work before the call failed. Where a call fails for another reason, its description says
//! so.

use super::error::{GpuError, GpuResult};
use super::monitor::Monitor;
use super::rows::{RowShape, RowSide};
use crate::kernels::{Arguments, Geometry, Kernel, OwnKernel, Parameter, ReadAndWritten};
use crate::machine::{Direction, Residence};
use crate::units::{Bytes, Span};
use std::time::{Duration, Instant};

/// One GPU of any vendor. It makes everything else that belongs to it.
pub trait AnyDevice: Sized + 'static {
    type Stream: AnyStream<Self>;
    type Event: AnyEvent;
    type DeviceMemory: AnyMemory;
    /// Page-locked memory, which has one address on both sides.
    type PinnedMemory: AnyMemory;
    /// Memory whose pages move to the side that uses them. It has one address on both sides.
    type ManagedMemory: AnyMemory;
    /// Device memory that is allocated in the order of a stream.
    type PooledMemory: AnyMemory;
    type Registration: AnyRegistration;
    type Launch;
    type Graph: AnyGraph<Self>;
    type ExecutableGraph;
    type Recorder: AnyRecorder;
    type Blocker: AnyBlocker<Self>;

    /// The clock by which the host times what it does with such a device.
    fn now() -> Instant;
    /// The time since `start` by that clock.
    #[inline]
    fn elapsed(start: Instant) -> Duration {
        Self::now() - start
    }
    /// Whether the library's kernel can run, for which another library may be needed.
    fn supports(kernel: Kernel) -> bool;
    /// Whether copies and kernels use the data that they are given. If so, memory is filled with
    /// random data before anything is timed.
    fn uses_data(&self) -> bool {
        true
    }
    /// What says in which state the device is, if there is such a thing.
    fn monitor(&self) -> Option<Monitor>;
    /// What says when devices did what, if there is such a thing.
    fn recorder() -> Option<&'static Self::Recorder>;

    /// GPU `index`, where 0 is this one.
    ///
    /// # Errors
    /// If there are not that many GPUs, or one cannot be opened.
    fn nth(&self, index: usize) -> GpuResult<&Self>;
    /// Makes the calling thread's next calls go to this device.
    fn make_current(&self) -> GpuResult;
    /// Blocks the host thread until the device has nothing left to do.
    fn synchronize(&self) -> GpuResult;
    /// Lets copies to and from another device bypass host memory, if they can.
    fn enable_access(&self, other: &Self) -> GpuResult;
    fn free_memory(&self) -> GpuResult<Bytes>;
    /// Makes the default pool keep what is freed for later allocations, as frameworks do. Otherwise
    /// it goes back to the system at the next synchronisation.
    ///
    /// # Errors
    /// If the device has no pools.
    fn keep_pool(&self) -> GpuResult;

    /// Whether the device allocates in the order of streams.
    fn has_pools(&self) -> GpuResult<bool>;
    /// Whether a process may have a second context of its own on the device. In exclusive compute
    /// mode it may not.
    fn may_have_more_contexts(&self) -> GpuResult<bool>;
    /// Makes another context, which lives as long as the value and is current until then.
    fn another_context(&self) -> GpuResult<impl Sized>;
    /// Loads the library's kernels once more.
    fn load_again(&self) -> GpuResult<impl Sized>;
    /// What holds streams back.
    fn blocker(&self) -> GpuResult<Self::Blocker>;

    /// Each context has one; which one a call means depends on the context that is current then.
    fn legacy_default_stream(&self) -> Self::Stream;
    /// A stream that waits for the legacy default stream, and the other way round.
    fn blocking_stream(&self, priority: i32) -> GpuResult<Self::Stream>;
    /// A stream that the legacy default stream does not concern. Where two kernels wait, blocks
    /// of the one whose stream has the lower `priority` are dispatched first. The driver clamps
    /// numbers outside the device's range.
    fn stream(&self, priority: i32) -> GpuResult<Self::Stream>;
    /// An event without a time stamp.
    fn ordering_event(&self) -> GpuResult<Self::Event>;
    fn timing_event(&self) -> GpuResult<Self::Event>;

    fn allocate(&self, bytes: Bytes) -> GpuResult<Self::DeviceMemory>;
    fn allocate_pinned(&self, bytes: Bytes) -> GpuResult<Self::PinnedMemory>;
    /// Pinned memory that bypasses the CPU's caches. The CPU writes it quickly, a whole cache line
    /// at a time, but reads it so slowly that it should not.
    fn allocate_write_combined(&self, bytes: Bytes) -> GpuResult<Self::PinnedMemory>;
    /// # Errors
    /// [`GpuError::NoManagedMemory`] if the device does not migrate pages on demand.
    fn allocate_managed(&self, bytes: Bytes) -> GpuResult<Self::ManagedMemory>;
    /// Pins memory where it is.
    ///
    /// # Safety
    /// The `bytes` from `address` on must stay mapped as long as the value lives.
    unsafe fn register(&self, address: *mut f32, bytes: Bytes) -> GpuResult<Self::Registration>;

    /// A launch of a kernel of the library. `inputs` and the output are device addresses, and the
    /// workspace is a reduction's. The counts are those of the elements worked on, of each input's
    /// elements, and the `lead` that is defined at [`crate::host::Team::run`].
    ///
    /// # Errors
    /// If the kernel library cannot be compiled; [`GpuError::NoLibrary`] if the kernel's library is
    /// missing.
    fn kernel(
        &self,
        kernel: (Kernel, Arguments),
        inputs: &[u64],
        output_and_workspace: (u64, u64),
        counts: (u64, u64, u64),
    ) -> GpuResult<Self::Launch>;
    /// A launch of a kernel that is not of the library, on device addresses. `shape` is that of a
    /// product: rows, inner elements and columns.
    ///
    /// # Errors
    /// If the kernel cannot be compiled, loaded or launched so, or the vendor's library is missing.
    fn own_kernel(
        &self,
        kernel: &OwnKernel,
        how: (Option<Geometry>, &[Parameter]),
        reads_and_writes: [&[u64]; 2],
        shape: Option<[u64; 3]>,
    ) -> GpuResult<Self::Launch>;
    /// A launch in the place of a kernel of which only the time is known. It takes that time,
    /// occupies what a launch of this geometry does (the whole device without one), and goes
    /// through memory without changing it, as far as there is time.
    ///
    /// # Errors
    /// If it cannot be compiled or loaded.
    fn stand_in(
        &self,
        time: Span,
        geometry: Option<Geometry>,
        memory: &[ReadAndWritten],
    ) -> GpuResult<Self::Launch>;
}

/// Work in order. Copies and launches return at once, unless the memory is pageable.
pub trait AnyStream<D: AnyDevice> {
    /// # Safety
    /// Both ranges must be valid until the stream has executed the copy.
    unsafe fn copy_in(&self, from: *const f32, to: u64, bytes: Bytes) -> GpuResult;
    /// # Safety
    /// Both ranges must be valid until the stream has executed the copy.
    unsafe fn copy_out(&self, from: u64, to: *mut f32, bytes: Bytes) -> GpuResult;
    /// A copy between host memory at `ashore` and device memory at `there`, in either direction.
    ///
    /// # Safety
    /// Both ranges must be valid until the stream has executed the copy.
    unsafe fn copy_across(
        &self,
        direction: Direction,
        (ashore, there): (*mut f32, u64),
        bytes: Bytes,
    ) -> GpuResult {
        match direction {
            // SAFETY: the caller promises that the ranges are valid.
            Direction::HostToDevice => unsafe { self.copy_in(ashore, there, bytes) },
            // SAFETY: as above.
            Direction::DeviceToHost => unsafe { self.copy_out(there, ashore, bytes) },
        }
    }
    /// # Safety
    /// Both ranges must be valid until the stream has executed the copy, and must not overlap.
    unsafe fn copy_on_device(&self, from: u64, to: u64, bytes: Bytes) -> GpuResult;
    /// # Safety
    /// Both ranges must be valid until the stream has executed the copy.
    unsafe fn copy_to_peer(&self, from: u64, to: (&D, u64), bytes: Bytes) -> GpuResult;
    /// # Safety
    /// All rows must be valid until the stream has executed the copy, and those that are read must
    /// not overlap those that are written.
    unsafe fn copy_rows(&self, from: RowSide, to: RowSide, shape: RowShape) -> GpuResult;
    /// Sets bytes to zero.
    ///
    /// # Safety
    /// The range must be valid until the stream has executed the call.
    unsafe fn clear(&self, target: u64, bytes: Bytes) -> GpuResult;
    /// Moves pages of managed memory to one side: `range` is the offset and the length.
    fn prefetch(
        &self,
        memory: &D::ManagedMemory,
        range: (Bytes, Bytes),
        to: Residence,
    ) -> GpuResult;
    /// Makes what a library needs for such a launch in this stream, so that it counts as set-up.
    /// Otherwise the first launch would make it.
    fn prepare(&self, launch: &D::Launch) -> GpuResult;
    /// # Safety
    /// The memory that the launch names must be valid until the stream has executed it.
    unsafe fn launch(&self, launch: &D::Launch) -> GpuResult;
    /// Takes memory that work behind the call in the stream may use.
    fn allocate(&self, bytes: Bytes) -> GpuResult<D::PooledMemory>;
    /// Gives memory back when the stream has done all work before the call.
    fn free(&self, memory: D::PooledMemory) -> GpuResult;
    fn record(&self, event: &D::Event) -> GpuResult;
    /// Makes later work of this stream wait for the event's latest record.
    fn wait(&self, event: &D::Event) -> GpuResult;
    /// Blocks the host thread until the stream has done everything.
    fn synchronize(&self) -> GpuResult;
    /// Captures what `issue` puts into this stream, and into those that it makes wait for it. The
    /// work is recorded and not executed.
    ///
    /// # Errors
    /// What `issue` returns; or if some call cannot be captured, or this stream was not made to
    /// wait for all the others again.
    fn capture<E: From<GpuError>>(
        &self,
        issue: impl FnOnce() -> Result<(), E>,
    ) -> Result<D::Graph, E>;
    /// Launches a graph. It starts after everything issued to the stream before, and what is issued
    /// to the stream later starts after the whole graph.
    ///
    /// # Safety
    /// The memory that the graph's nodes access must stay valid until the stream has executed it.
    unsafe fn replay(&self, graph: &D::ExecutableGraph) -> GpuResult;
    /// During capture, adds a node that records `event` at every launch: [`AnyStream::record`] adds
    /// no node then, and only orders others.
    ///
    /// # Errors
    /// If the stream is not being captured.
    fn mark(&self, event: &D::Event) -> GpuResult;
}

/// A point in a stream.
pub trait AnyEvent: Sized {
    /// Blocks the host thread until the latest record of the event has happened.
    fn synchronize(&self) -> GpuResult;
    /// The time from `earlier` to this event; zero if this one came first.
    ///
    /// # Errors
    /// If either event has no time stamp or has not happened yet.
    fn since(&self, earlier: &Self) -> GpuResult<Span>;
}

/// Holds a stream until it is released; see [`super::Blocker`].
pub trait AnyBlocker<D: AnyDevice> {
    /// Makes everything issued to the stream from now on wait for the release.
    fn hold(&mut self, stream: &D::Stream) -> GpuResult;
    /// Releases the stream and waits until all of `streams` are done.
    ///
    /// # Errors
    /// [`GpuError::HeldTooLong`] if the hold may have ended before the release, or
    /// [`GpuError::Timeout`] if a stream does not finish.
    fn end(&self, streams: &[&D::Stream]) -> GpuResult;
    /// Waits for a stream, but not for ever. For use where the device might hang.
    ///
    /// # Errors
    /// [`GpuError::Timeout`] if the stream does not finish.
    fn finish(stream: &D::Stream) -> GpuResult;
}

/// Memory that is freed when dropped.
pub trait AnyMemory {
    fn address(&self) -> u64;
    /// The address for the host, of memory that it can use.
    #[inline]
    fn as_mut_ptr(&self) -> *mut f32 {
        self.address() as *mut f32
    }
}

/// Memory of others that is pinned until this is dropped.
pub trait AnyRegistration {
    /// The address for kernels.
    ///
    /// # Errors
    /// If the device cannot use memory that others have allocated.
    fn device_address(&self) -> GpuResult<u64>;
}

/// Work that was captured from streams.
pub trait AnyGraph<D: AnyDevice> {
    fn instantiate(&self) -> GpuResult<D::ExecutableGraph>;
}

/// What says when devices did what.
pub trait AnyRecorder {
    /// The time on the clock of the records, in nanoseconds.
    ///
    /// # Errors
    /// If there is no answer.
    fn now(&self) -> GpuResult<u64>;
    /// Records what all devices do while `work` runs, which must wait for what it issues.
    ///
    /// # Errors
    /// If nothing can be recorded now.
    fn record<T>(&self, work: impl FnOnce() -> T) -> GpuResult<(T, Vec<Record>)>;
}

/// Something that a device did, on the clock of [`AnyRecorder::now`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// When the host made the call for it.
    pub called: u64,
    pub work: Work,
    /// The number of its node, if the call launched a graph, and 0 if not. Nodes are numbered in
    /// the order in which they were captured.
    pub node: u64,
    pub start: u64,
    pub end: u64,
}

/// What a device did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    Copy(Direction),
    CopyWithin,
    CopyToPeer,
    Clear,
    Kernel,
}
