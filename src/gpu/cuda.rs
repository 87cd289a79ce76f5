//! CUDA behind the traits of every vendor: each method is the method of the CUDA type.

use super::blocker::Blocker;
use super::device::Device;
use super::error::GpuError;
use super::graph::{ExecutableGraph, Graph};
use super::launch::{Launch, supports};
use super::managed::ManagedMemory;
use super::memory::{DeviceMemory, PinnedMemory, Registration};
use super::monitor::Monitor;
use super::pool::PooledMemory;
use super::records::{Record, Recorder};
use super::rows::{RowShape, RowSide};
use super::setup::{ExtraContext, ExtraModule};
use super::stream::{Event, Stream};
use super::vendor::{
    AnyBlocker, AnyDevice, AnyEvent, AnyGraph, AnyMemory, AnyRecorder, AnyRegistration, AnyStream,
};
use crate::kernels::{Arguments, Geometry, Kernel, OwnKernel, Parameter};
use crate::machine::Residence;
use crate::units::{Bytes, Span};
use std::time::Instant;

impl AnyDevice for Device {
    type Stream = Stream;
    type Event = Event;
    type DeviceMemory = DeviceMemory;
    type PinnedMemory = PinnedMemory;
    type ManagedMemory = ManagedMemory;
    type PooledMemory = PooledMemory;
    type Registration = Registration;
    type Launch = Launch;
    type Graph = Graph;
    type ExecutableGraph = ExecutableGraph;
    type Recorder = Recorder;
    type Blocker = Blocker;
    type ExtraContext = ExtraContext;
    type ExtraModule = ExtraModule;

    #[inline]
    fn now() -> Instant {
        Instant::now()
    }

    fn supports(kernel: Kernel) -> bool {
        supports(kernel).is_ok()
    }

    fn monitor(&self) -> Option<Monitor> {
        Monitor::new(self)
    }

    fn recorder() -> Option<&'static Recorder> {
        Recorder::find()
    }

    fn nth(&self, index: usize) -> Result<&Self, GpuError> {
        self.nth(index)
    }

    #[inline]
    fn make_current(&self) -> Result<(), GpuError> {
        self.make_current()
    }

    #[inline]
    fn synchronize(&self) -> Result<(), GpuError> {
        self.synchronize()
    }

    fn enable_access(&self, other: &Self) -> Result<(), GpuError> {
        self.enable_access(other)
    }

    fn free_memory(&self) -> Result<Bytes, GpuError> {
        self.free_memory()
    }

    fn keep_pool(&self) -> Result<(), GpuError> {
        self.keep_pool()
    }

    fn has_pools(&self) -> Result<bool, GpuError> {
        self.has_pools()
    }

    fn may_have_more_contexts(&self) -> Result<bool, GpuError> {
        ExtraContext::is_allowed(self)
    }

    #[inline]
    fn another_context(&self) -> Result<ExtraContext, GpuError> {
        ExtraContext::new(self)
    }

    #[inline]
    fn load_again(&self) -> Result<ExtraModule, GpuError> {
        ExtraModule::new(self)
    }

    fn blocker(&self) -> Result<Blocker, GpuError> {
        Blocker::new(self)
    }

    fn legacy_default_stream(&self) -> Stream {
        Stream::legacy_default(self)
    }

    fn blocking_stream(&self, priority: i32) -> Result<Stream, GpuError> {
        Stream::blocking(self, priority)
    }

    fn stream(&self, priority: i32) -> Result<Stream, GpuError> {
        Stream::with_priority(self, priority)
    }

    fn ordering_event(&self) -> Result<Event, GpuError> {
        Event::ordering(self)
    }

    fn timing_event(&self) -> Result<Event, GpuError> {
        Event::timing(self)
    }

    #[inline]
    fn allocate(&self, bytes: Bytes) -> Result<DeviceMemory, GpuError> {
        DeviceMemory::new(self, bytes)
    }

    #[inline]
    fn allocate_pinned(&self, bytes: Bytes) -> Result<PinnedMemory, GpuError> {
        PinnedMemory::new(self, bytes)
    }

    #[inline]
    fn allocate_write_combined(&self, bytes: Bytes) -> Result<PinnedMemory, GpuError> {
        PinnedMemory::write_combined(self, bytes)
    }

    #[inline]
    fn allocate_managed(&self, bytes: Bytes) -> Result<ManagedMemory, GpuError> {
        ManagedMemory::new(self, bytes)
    }

    #[inline]
    unsafe fn register(&self, address: *mut f32, bytes: Bytes) -> Result<Registration, GpuError> {
        // SAFETY: the caller promises what this call needs.
        unsafe { Registration::new(self, address, bytes) }
    }

    fn kernel(
        &self,
        kernel: (Kernel, Arguments),
        inputs: &[u64],
        output_and_workspace: (u64, u64),
        counts: (u64, u64, u64),
    ) -> Result<Launch, GpuError> {
        Launch::new(self, kernel, inputs, output_and_workspace, counts)
    }

    fn own_kernel(
        &self,
        kernel: &OwnKernel,
        how: (Option<Geometry>, &[Parameter]),
        reads_and_writes: [&[u64]; 2],
        shape: Option<[u64; 3]>,
    ) -> Result<Launch, GpuError> {
        Launch::own(self, kernel, how, reads_and_writes, shape)
    }
}

impl AnyStream<Device> for Stream {
    #[inline]
    unsafe fn copy_in(&self, from: *const f32, to: u64, bytes: Bytes) -> Result<(), GpuError> {
        // SAFETY: the caller promises what this call needs.
        unsafe { self.copy_in(from, to, bytes) }
    }

    #[inline]
    unsafe fn copy_out(&self, from: u64, to: *mut f32, bytes: Bytes) -> Result<(), GpuError> {
        // SAFETY: the caller promises what this call needs.
        unsafe { self.copy_out(from, to, bytes) }
    }

    #[inline]
    unsafe fn copy_on_device(&self, from: u64, to: u64, bytes: Bytes) -> Result<(), GpuError> {
        // SAFETY: the caller promises what this call needs.
        unsafe { self.copy_on_device(from, to, bytes) }
    }

    #[inline]
    unsafe fn copy_to_peer(
        &self,
        from: u64,
        to: (&Device, u64),
        bytes: Bytes,
    ) -> Result<(), GpuError> {
        // SAFETY: the caller promises what this call needs.
        unsafe { self.copy_to_peer(from, to, bytes) }
    }

    #[inline]
    unsafe fn copy_rows(
        &self,
        from: RowSide,
        to: RowSide,
        shape: RowShape,
    ) -> Result<(), GpuError> {
        // SAFETY: the caller promises what this call needs.
        unsafe { self.copy_rows(from, to, shape) }
    }

    #[inline]
    unsafe fn clear(&self, target: u64, bytes: Bytes) -> Result<(), GpuError> {
        // SAFETY: the caller promises what this call needs.
        unsafe { self.clear(target, bytes) }
    }

    #[inline]
    fn prefetch(
        &self,
        memory: &ManagedMemory,
        range: (Bytes, Bytes),
        to: Residence,
    ) -> Result<(), GpuError> {
        memory.prefetch(self, range, to)
    }

    #[inline]
    fn prepare(&self, launch: &Launch) -> Result<(), GpuError> {
        self.prepare(launch)
    }

    #[inline]
    unsafe fn launch(&self, launch: &Launch) -> Result<(), GpuError> {
        // SAFETY: the caller promises what this call needs.
        unsafe { self.launch(launch) }
    }

    #[inline]
    fn allocate(&self, bytes: Bytes) -> Result<PooledMemory, GpuError> {
        self.allocate(bytes)
    }

    #[inline]
    fn free(&self, memory: PooledMemory) -> Result<(), GpuError> {
        self.free(memory)
    }

    #[inline]
    fn record(&self, event: &Event) -> Result<(), GpuError> {
        self.record(event)
    }

    #[inline]
    fn wait(&self, event: &Event) -> Result<(), GpuError> {
        self.wait(event)
    }

    #[inline]
    fn synchronize(&self) -> Result<(), GpuError> {
        self.synchronize()
    }

    #[inline]
    fn capture<E: From<GpuError>>(
        &self,
        issue: impl FnOnce() -> Result<(), E>,
    ) -> Result<Graph, E> {
        Graph::capture(self, issue)
    }

    #[inline]
    unsafe fn replay(&self, graph: &ExecutableGraph) -> Result<(), GpuError> {
        // SAFETY: the caller promises what this call needs.
        unsafe { self.replay(graph) }
    }

    #[inline]
    fn mark(&self, event: &Event) -> Result<(), GpuError> {
        self.mark(event)
    }
}

impl AnyEvent for Event {
    #[inline]
    fn synchronize(&self) -> Result<(), GpuError> {
        self.synchronize()
    }

    #[inline]
    fn since(&self, earlier: &Self) -> Result<Span, GpuError> {
        self.since(earlier)
    }
}

impl AnyBlocker<Device> for Blocker {
    #[inline]
    fn hold(&mut self, stream: &Stream) -> Result<(), GpuError> {
        self.hold(stream)
    }

    #[inline]
    fn end(&self, streams: &[&Stream]) -> Result<(), GpuError> {
        self.end(streams)
    }

    #[inline]
    fn finish(stream: &Stream) -> Result<(), GpuError> {
        Self::finish(stream)
    }
}

impl AnyMemory for DeviceMemory {
    #[inline]
    fn address(&self) -> u64 {
        self.address()
    }
}

impl AnyMemory for PinnedMemory {
    #[inline]
    fn address(&self) -> u64 {
        self.as_mut_ptr() as u64
    }
}

impl AnyMemory for ManagedMemory {
    #[inline]
    fn address(&self) -> u64 {
        self.address()
    }
}

impl AnyMemory for PooledMemory {
    #[inline]
    fn address(&self) -> u64 {
        self.address()
    }
}

impl AnyRegistration for Registration {
    #[inline]
    fn device_address(&self) -> Result<u64, GpuError> {
        self.device_address()
    }
}

impl AnyGraph<Device> for Graph {
    #[inline]
    fn instantiate(&self) -> Result<ExecutableGraph, GpuError> {
        self.instantiate()
    }
}

impl AnyRecorder for Recorder {
    #[inline]
    fn now(&self) -> Result<u64, GpuError> {
        self.now()
    }

    #[inline]
    fn record<T>(&self, work: impl FnOnce() -> T) -> Result<(T, Vec<Record>), GpuError> {
        self.record(work)
    }
}
