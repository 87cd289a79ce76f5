//! A GPU: finding and opening it, and what it makes.

use super::blocker::Blocker;
use super::error::{GpuError, check};
use super::graph::{ExecutableGraph, Graph};
use super::launch::{Code, Launch, Work, supports};
use super::libraries::BlasApi;
use super::memory::{DeviceMemory, ManagedMemory, PinnedMemory, PooledMemory, Registration};
use super::module::Module;
use super::monitor::Monitor;
use super::own::{OwnCode, OwnFunction};
use super::records::Recorder;
use super::setup::{ExtraContext, ExtraModule};
use super::stream::{Event, Stream};
use super::vendor::AnyDevice;
use crate::kernels::{self, Arguments, Geometry, GpuSide, Grid, Kernel, OwnKernel, Parameter};
use crate::units::Bytes;
use cudarc::driver::sys::{self, CUdevice_attribute as Attribute};
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Instant;

/// One GPU with its primary context.
///
/// Not `Send`: a context is current per thread, and hallway issues from one thread.
pub struct Device {
    handle: sys::CUdevice,
    context: Context,
    /// The other visible GPUs in the driver's order; each is opened when first asked for.
    others: Vec<(usize, OnceCell<Device>)>,
    module: OnceCell<Module>,
    /// Users' kernels that were loaded, by digest.
    own: RefCell<BTreeMap<String, Rc<OwnFunction>>>,
    not_send: std::marker::PhantomData<*const ()>,
}

/// A context of the driver. Memory, streams and events each belong to one, and a call is
/// made in the one that is current.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Context(sys::CUcontext);

impl Context {
    /// Makes the context current while `work` runs, and then restores the previous one.
    pub fn within<T>(self, work: impl FnOnce() -> Result<T, GpuError>) -> Result<T, GpuError> {
        let mut popped = std::ptr::null_mut();
        // SAFETY: the context is alive: its user borrows the device or is dropped before
        // it.
        check("cuCtxPushCurrent", unsafe { sys::cuCtxPushCurrent_v2(self.0) })?;
        let result = work();
        // SAFETY: the context popped is the one pushed above.
        check("cuCtxPopCurrent", unsafe { sys::cuCtxPopCurrent_v2(&raw mut popped) })?;
        result
    }

    pub(super) fn raw(self) -> sys::CUcontext {
        self.0
    }
}

impl Device {
    /// Opens GPU `ordinal` and makes its primary context current on the calling thread.
    ///
    /// # Errors
    /// If there is no driver or no such device, or the driver refuses the context.
    pub fn open(ordinal: usize) -> Result<Self, GpuError> {
        let count = Self::count()?;
        if count == 0 {
            return Err(GpuError::NoDevice);
        }
        if ordinal >= count {
            return Err(GpuError::NoSuchDevice { wanted: ordinal, count });
        }
        let others = (0..count).filter(|&other| other != ordinal);
        let others = others.map(|other| (other, OnceCell::new())).collect();
        let device = Self::retain(ordinal, others)?;
        device.make_current()?;
        Ok(device)
    }

    fn retain(ordinal: usize, others: Vec<(usize, OnceCell<Self>)>) -> Result<Self, GpuError> {
        let mut handle = 0;
        let mut context = std::ptr::null_mut();
        // SAFETY: the driver is initialised and the ordinal is in range; `handle` and
        // `context` are written on success.
        unsafe {
            check("cuDeviceGet", sys::cuDeviceGet(&raw mut handle, ordinal as i32))?;
            let retained = sys::cuDevicePrimaryCtxRetain(&raw mut context, handle);
            check("cuDevicePrimaryCtxRetain", retained)?;
        }
        let (context, module, own) = (Context(context), OnceCell::new(), RefCell::default());
        Ok(Self { handle, context, others, module, own, not_send: std::marker::PhantomData })
    }

    /// How many GPUs are visible, this one included.
    pub fn visible(&self) -> usize {
        self.others.len() + 1
    }

    pub(super) fn context(&self) -> Context {
        self.context
    }

    /// Whether this GPU can access the other's memory directly (peer access).
    ///
    /// # Errors
    /// If the driver does not answer.
    pub fn reaches(&self, other: &Self) -> Result<bool, GpuError> {
        let mut can = 0;
        // SAFETY: both handles are valid, and `can` is written on success.
        let result = unsafe { sys::cuDeviceCanAccessPeer(&raw mut can, self.handle, other.handle) };
        check("cuDeviceCanAccessPeer", result)?;
        Ok(can != 0)
    }

    /// How many GPUs the driver shows.
    ///
    /// # Errors
    /// [`GpuError::NoDriver`] without a driver, [`GpuError::NoDevice`] if it says that
    /// there is no GPU; otherwise what the driver says.
    pub fn count() -> Result<usize, GpuError> {
        // SAFETY: the call only asks the dynamic loader. Without a driver library, any
        // other call would panic.
        if !unsafe { sys::is_culib_present() } {
            return Err(GpuError::NoDriver);
        }
        let mut count = 0;
        // SAFETY: the library is loaded, and `cuInit` may be called repeatedly.
        unsafe {
            if sys::cuInit(0) == sys::CUresult::CUDA_ERROR_NO_DEVICE {
                return Err(GpuError::NoDevice);
            }
            check("cuInit", sys::cuInit(0))?;
            check("cuDeviceGetCount", sys::cuDeviceGetCount(&raw mut count))?;
        }
        Ok(usize::try_from(count).unwrap_or(0))
    }

    pub(super) fn handle(&self) -> sys::CUdevice {
        self.handle
    }

    pub(super) fn attribute(&self, attribute: Attribute) -> Result<u32, GpuError> {
        let mut value = 0;
        // SAFETY: the handle is valid, and `value` is written on success.
        let result = unsafe { sys::cuDeviceGetAttribute(&raw mut value, attribute, self.handle) };
        check("cuDeviceGetAttribute", result)?;
        Ok(u32::try_from(value).unwrap_or(0))
    }

    /// The kernel library, compiled at its first use.
    pub(super) fn module(&self) -> Result<&Module, GpuError> {
        if let Some(module) = self.module.get() {
            return Ok(module);
        }
        let capability = self.compute_capability()?;
        let (major, minor) = (capability / 10, capability % 10);
        let module = self.context.within(|| Module::compile(major, minor))?;
        Ok(self.module.get_or_init(|| module))
    }

    /// The kernel library as NVRTC compiled it for this device.
    ///
    /// # Errors
    /// If it cannot be compiled or loaded.
    pub fn module_image(&self) -> Result<String, GpuError> {
        let image = self.module()?.image().iter().take_while(|&&byte| byte != 0);
        Ok(image.map(|&byte| char::from(byte as u8)).collect())
    }

    /// Its compute capability as NVRTC counts it: 90 for 9.0.
    pub(super) fn compute_capability(&self) -> Result<u32, GpuError> {
        let major = self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        Ok(10 * major + minor)
    }

    /// A user's kernel, loaded at its first use.
    pub(super) fn own(
        &self,
        kernel: &OwnKernel,
        code: &kernels::Code,
    ) -> Result<Rc<OwnFunction>, GpuError> {
        let digest = kernel.digest();
        if let Some(found) = self.own.borrow().get(&digest) {
            return Ok(Rc::clone(found));
        }
        let architecture = self.compute_capability()?;
        let load = || OwnFunction::load(architecture, &kernel.name, code);
        let loaded = Rc::new(self.context.within(load)?);
        self.own.borrow_mut().insert(digest, Rc::clone(&loaded));
        Ok(loaded)
    }
}

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

    /// The others follow in the driver's order. One is opened if need be; the current context stays
    /// current.
    fn nth(&self, index: usize) -> Result<&Self, GpuError> {
        let Some(place) = index.checked_sub(1) else { return Ok(self) };
        let count = self.visible();
        let Some((ordinal, other)) = self.others.get(place) else {
            return Err(GpuError::TooFewDevices { wanted: index + 1, count });
        };
        if let Some(other) = other.get() {
            return Ok(other);
        }
        let opened = Self::retain(*ordinal, Vec::new())?;
        Ok(other.get_or_init(|| opened))
    }

    fn make_current(&self) -> Result<(), GpuError> {
        // SAFETY: the context is retained as long as the device lives.
        check("cuCtxSetCurrent", unsafe { sys::cuCtxSetCurrent(self.context.0) })
    }

    fn synchronize(&self) -> Result<(), GpuError> {
        // SAFETY: the context is alive, and current while the call is made.
        let wait = || check("cuCtxSynchronize", unsafe { sys::cuCtxSynchronize() });
        self.context.within(wait)
    }

    fn enable_access(&self, other: &Self) -> Result<(), GpuError> {
        if !self.reaches(other)? {
            return Ok(());
        }
        // SAFETY: the other's context is retained as long as the other device lives.
        self.context.within(|| match unsafe { sys::cuCtxEnablePeerAccess(other.context.0, 0) } {
            sys::CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED => Ok(()),
            result => check("cuCtxEnablePeerAccess", result),
        })
    }

    fn free_memory(&self) -> Result<Bytes, GpuError> {
        let (mut free, mut total) = (0, 0);
        self.context.within(|| {
            // SAFETY: a context is current, and both words are written on success.
            let result = unsafe { sys::cuMemGetInfo_v2(&raw mut free, &raw mut total) };
            check("cuMemGetInfo", result)
        })?;
        Ok(Bytes::new(free as u64))
    }

    fn keep_pool(&self) -> Result<(), GpuError> {
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

    fn has_pools(&self) -> Result<bool, GpuError> {
        Ok(self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED)? != 0)
    }

    fn may_have_more_contexts(&self) -> Result<bool, GpuError> {
        let mode = self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_MODE)?;
        Ok(mode == sys::CUcomputemode::CU_COMPUTEMODE_DEFAULT as u32)
    }

    fn another_context(&self) -> Result<ExtraContext, GpuError> {
        ExtraContext::new(self)
    }

    fn load_again(&self) -> Result<ExtraModule, GpuError> {
        Ok(ExtraModule { _module: self.module()?.load_again()? })
    }

    fn blocker(&self) -> Result<Blocker, GpuError> {
        Blocker::new(self)
    }

    fn legacy_default_stream(&self) -> Stream {
        Stream::legacy_default(self)
    }

    fn blocking_stream(&self, priority: i32) -> Result<Stream, GpuError> {
        Stream::new(self, sys::CUstream_flags::CU_STREAM_DEFAULT, priority)
    }

    fn stream(&self, priority: i32) -> Result<Stream, GpuError> {
        Stream::new(self, sys::CUstream_flags::CU_STREAM_NON_BLOCKING, priority)
    }

    fn ordering_event(&self) -> Result<Event, GpuError> {
        Event::new(self, sys::CUevent_flags::CU_EVENT_DISABLE_TIMING)
    }

    fn timing_event(&self) -> Result<Event, GpuError> {
        Event::new(self, sys::CUevent_flags::CU_EVENT_DEFAULT)
    }

    fn allocate(&self, bytes: Bytes) -> Result<DeviceMemory, GpuError> {
        DeviceMemory::new(self, bytes)
    }

    fn allocate_pinned(&self, bytes: Bytes) -> Result<PinnedMemory, GpuError> {
        PinnedMemory::new(bytes, 0)
    }

    fn allocate_write_combined(&self, bytes: Bytes) -> Result<PinnedMemory, GpuError> {
        PinnedMemory::new(bytes, sys::CU_MEMHOSTALLOC_WRITECOMBINED)
    }

    fn allocate_managed(&self, bytes: Bytes) -> Result<ManagedMemory, GpuError> {
        ManagedMemory::new(self, bytes)
    }

    unsafe fn register(&self, address: *mut f32, bytes: Bytes) -> Result<Registration, GpuError> {
        // SAFETY: the caller promises what this call needs.
        unsafe { Registration::new(address, bytes) }
    }

    fn kernel(
        &self,
        (kernel, arguments): (Kernel, Arguments),
        inputs: &[u64],
        output_and_workspace: (u64, u64),
        counts: (u64, u64, u64),
    ) -> Result<Launch, GpuError> {
        supports(kernel)?;
        let work = Work::new(inputs, output_and_workspace, counts, &arguments);
        let code = match kernel.library() {
            Some(call) => Code::Library(call, work),
            None => {
                let mut functions = self.module()?.functions.iter();
                let found = functions.find(|&&(one, _)| one == kernel);
                let &(_, function) =
                    found.expect("every kernel that no library provides is in the source");
                Code::Ours { function, grid: Grid::of(kernel, &arguments, counts.0), work }
            }
        };
        Ok(Launch(code))
    }

    fn own_kernel(
        &self,
        kernel: &OwnKernel,
        (geometry, parameters): (Option<Geometry>, &[Parameter]),
        [reads, writes]: [&[u64]; 2],
        shape: Option<[u64; 3]>,
    ) -> Result<Launch, GpuError> {
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

impl Drop for Device {
    fn drop(&mut self) {
        self.others.clear();
        let (module, own) = (self.module.take(), self.own.take());
        let _ = self.context.within(|| {
            drop((module, own));
            Ok(())
        });
        // SAFETY: the context was retained once, in `retain`; nothing of this device uses
        // it any more.
        unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.handle) };
    }
}
