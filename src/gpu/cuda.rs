//! A CUDA device behind the traits of every vendor: what it makes, and what it does as a whole.

use super::blocker::Blocker;
use super::device::Device;
use super::error::{GpuError, GpuResult, check};
use super::graph::{ExecutableGraph, Graph};
use super::launch::{Code, Launch, Work, supports};
use super::libraries::BlasApi;
use super::memory::{DeviceMemory, ManagedMemory, PinnedMemory, PooledMemory, Registration};
use super::module::Module;
use super::monitor::Monitor;
use super::own::OwnCode;
use super::records::Recorder;
use super::setup::ExtraContext;
use super::stream::{Event, LEGACY_DEFAULT, Stream};
use super::vendor::AnyDevice;
use crate::kernels::{
    Arguments, Geometry, GpuSide, Grid, Kernel, OwnKernel, Parameter, ReadAndWritten,
};
use crate::units::{Bytes, Span};
use cudarc::driver::sys::{self, CUdevice_attribute as Attribute};
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

    fn nth(&self, index: usize) -> GpuResult<&Self> {
        index.checked_sub(1).map_or(Ok(self), |place| self.other(place))
    }

    fn make_current(&self) -> GpuResult {
        self.context.make_current()
    }

    fn synchronize(&self) -> GpuResult {
        // SAFETY: the context is alive, and current while the call is made.
        let wait = || check("cuCtxSynchronize", unsafe { sys::cuCtxSynchronize() });
        self.context.within(wait)
    }

    fn enable_access(&self, other: &Self) -> GpuResult {
        if !self.reaches(other)? {
            return Ok(());
        }
        let there = other.context.0;
        // SAFETY: the other's context is retained as long as the other device lives.
        self.context.within(|| match unsafe { sys::cuCtxEnablePeerAccess(there, 0) } {
            sys::CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED => Ok(()),
            result => check("cuCtxEnablePeerAccess", result),
        })
    }

    fn free_memory(&self) -> GpuResult<Bytes> {
        let (mut free, mut total) = (0, 0);
        self.context.within(|| {
            // SAFETY: a context is current, and both words are written on success.
            let result = unsafe { sys::cuMemGetInfo_v2(&raw mut free, &raw mut total) };
            check("cuMemGetInfo", result)
        })?;
        Ok(Bytes::new(free as u64))
    }

    fn keep_pool(&self) -> GpuResult {
        let mut pool = std::ptr::null_mut();
        let mut all = u64::MAX;
        let threshold = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
        // SAFETY: the handle is valid, `pool` is written on success, and the attribute is a 64-bit
        // number that the driver reads during the call.
        unsafe {
            let found = sys::cuDeviceGetDefaultMemPool(&raw mut pool, self.handle);
            check("cuDeviceGetDefaultMemPool", found)?;
            let set = sys::cuMemPoolSetAttribute(pool, threshold, (&raw mut all).cast());
            check("cuMemPoolSetAttribute", set)
        }
    }

    fn has_pools(&self) -> GpuResult<bool> {
        Ok(self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED)? != 0)
    }

    fn may_have_more_contexts(&self) -> GpuResult<bool> {
        let mode = self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_MODE)?;
        Ok(mode == sys::CUcomputemode::CU_COMPUTEMODE_DEFAULT as u32)
    }

    fn another_context(&self) -> GpuResult<impl Sized> {
        let mut context = std::ptr::null_mut();
        // SAFETY: the device handle is valid, and `context` is written on success.
        let result = unsafe { sys::cuCtxCreate_v2(&raw mut context, 0, self.handle) };
        check("cuCtxCreate", result)?;
        Ok(ExtraContext(context))
    }

    fn load_again(&self) -> GpuResult<impl Sized> {
        Module::load(self.module()?.image.clone())
    }

    fn blocker(&self) -> GpuResult<Blocker> {
        Blocker::new(self)
    }

    fn legacy_default_stream(&self) -> Stream {
        Stream::of(self, LEGACY_DEFAULT)
    }

    fn blocking_stream(&self, priority: i32) -> GpuResult<Stream> {
        Stream::new(self, sys::CUstream_flags::CU_STREAM_DEFAULT, priority)
    }

    fn stream(&self, priority: i32) -> GpuResult<Stream> {
        Stream::new(self, sys::CUstream_flags::CU_STREAM_NON_BLOCKING, priority)
    }

    fn ordering_event(&self) -> GpuResult<Event> {
        Event::new(self, sys::CUevent_flags::CU_EVENT_DISABLE_TIMING)
    }

    fn timing_event(&self) -> GpuResult<Event> {
        Event::new(self, sys::CUevent_flags::CU_EVENT_DEFAULT)
    }

    fn allocate(&self, bytes: Bytes) -> GpuResult<DeviceMemory> {
        let (context, mut address) = (self.context, 0);
        context.within(|| {
            // SAFETY: a context is current, and `address` is written on success.
            let result = unsafe { sys::cuMemAlloc_v2(&raw mut address, bytes.as_usize().max(4)) };
            check("cuMemAlloc", result)
        })?;
        Ok(DeviceMemory { context, address, bytes })
    }

    fn allocate_pinned(&self, bytes: Bytes) -> GpuResult<PinnedMemory> {
        PinnedMemory::new(bytes, 0)
    }

    fn allocate_write_combined(&self, bytes: Bytes) -> GpuResult<PinnedMemory> {
        PinnedMemory::new(bytes, sys::CU_MEMHOSTALLOC_WRITECOMBINED)
    }

    fn allocate_managed(&self, bytes: Bytes) -> GpuResult<ManagedMemory> {
        ManagedMemory::check(self)?;
        let mut address = 0;
        // Both sides can use it at once.
        let flags = sys::CUmemAttach_flags::CU_MEM_ATTACH_GLOBAL as u32;
        // SAFETY: a context is current, and `address` is written on success.
        let result =
            unsafe { sys::cuMemAllocManaged(&raw mut address, bytes.as_usize().max(4), flags) };
        check("cuMemAllocManaged", result)?;
        Ok(ManagedMemory { address, bytes, device: self.handle })
    }

    unsafe fn register(&self, address: *mut f32, bytes: Bytes) -> GpuResult<Registration> {
        const FLAGS: u32 = sys::CU_MEMHOSTREGISTER_PORTABLE | sys::CU_MEMHOSTREGISTER_DEVICEMAP;
        let address = address.cast();
        // SAFETY: a context is current, and the caller promises that the range is mapped.
        let result = unsafe { sys::cuMemHostRegister_v2(address, bytes.as_usize(), FLAGS) };
        check("cuMemHostRegister", result)?;
        Ok(Registration { address })
    }

    fn kernel(
        &self,
        (kernel, arguments): (Kernel, Arguments),
        inputs: &[u64],
        output_and_workspace: (u64, u64),
        counts: (u64, u64, u64),
    ) -> GpuResult<Launch> {
        supports(kernel)?;
        let work = Work::new(inputs, output_and_workspace, counts, &arguments);
        let code = match kernel.library() {
            Some(call) => Code::Library(call, work),
            None => {
                let module = self.module()?;
                let function = match module.known(kernel) {
                    Some(known) => known,
                    None => self.context.within(|| module.known_or_found(kernel))?,
                };
                Code::Ours { function, grid: Grid::of(kernel, &arguments, counts.0), work }
            }
        };
        Ok(Launch(code))
    }

    fn stand_in(
        &self,
        time: Span,
        geometry: Option<Geometry>,
        memory: &[ReadAndWritten],
    ) -> GpuResult<Launch> {
        Ok(Launch(Code::Own(self.standing_in(time, geometry, memory)?)))
    }

    fn own_kernel(
        &self,
        kernel: &OwnKernel,
        (geometry, parameters): (Option<Geometry>, &[Parameter]),
        [reads, writes]: [&[u64]; 2],
        shape: Option<[u64; 3]>,
    ) -> GpuResult<Launch> {
        let code = match (&kernel.gpu, geometry, shape) {
            (GpuSide::Code(code), Some(geometry), _) => {
                let function = self.own(kernel, code)?;
                let memory = [reads, writes];
                let code = || OwnCode::new(function, geometry, parameters, memory);
                Code::Own(self.context.within(code)?)
            }
            (GpuSide::Product(of), _, Some(shape)) => {
                BlasApi::get()?;
                Code::Product(*of, shape, [reads[0], reads[1], writes[0]])
            }
            _ => {
                let problem = "only its cost is known".to_owned();
                return Err(GpuError::OwnLaunch { kernel: kernel.name.clone(), problem });
            }
        };
        Ok(Launch(code))
    }
}
