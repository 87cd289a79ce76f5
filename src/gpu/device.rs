//! Finding, opening and describing a GPU.

use super::error::{GpuError, check};
use super::module::Module;
use super::own::OwnFunction;
use crate::kernels::{Code, OwnKernel};
use crate::machine::MultiprocessorLimits;
use crate::units::Bytes;
use cudarc::driver::sys::{self, CUdevice_attribute as Attribute};
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::ffi::CStr;
use std::path::Path;
use std::rc::Rc;

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

/// What the driver and the operating system tell about a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    pub name: String,
    /// The newest CUDA version that the driver supports, such as `13.0`.
    pub cuda: String,
    /// The driver's version, such as `580.159.03`; `None` where the system does not tell.
    pub driver: Option<String>,
    pub compute_capability: String,
    pub multiprocessors: u32,
    pub multiprocessor: MultiprocessorLimits,
    pub memory: Bytes,
    pub copy_engines: u32,
    /// Speed and width of the PCIe link, such as `32.0 GT/s PCIe x16`; `None` where the
    /// system does not tell.
    pub link: Option<String>,
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

    /// GPU `index`, where 0 is this one and the others follow in the driver's order. It
    /// is opened if need be; the current context stays current.
    ///
    /// # Errors
    /// If there are not that many GPUs, or the driver refuses the context.
    pub fn nth(&self, index: usize) -> Result<&Self, GpuError> {
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

    /// How many GPUs are visible, this one included.
    pub fn visible(&self) -> usize {
        self.others.len() + 1
    }

    /// Makes this GPU's context current on the calling thread.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn make_current(&self) -> Result<(), GpuError> {
        // SAFETY: the context is retained as long as the device lives.
        check("cuCtxSetCurrent", unsafe { sys::cuCtxSetCurrent(self.context.0) })
    }

    pub(super) fn context(&self) -> Context {
        self.context
    }

    /// Blocks the host thread until everything issued to the device so far is done.
    ///
    /// # Errors
    /// If the driver reports that any of it failed.
    pub fn synchronize(&self) -> Result<(), GpuError> {
        // SAFETY: the context is alive, and current while the call is made.
        let wait = || check("cuCtxSynchronize", unsafe { sys::cuCtxSynchronize() });
        self.context.within(wait)
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

    /// Enables peer access to the other GPU's memory if the hardware can do it. Copies
    /// between the two then bypass host memory.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn enable_access(&self, other: &Self) -> Result<(), GpuError> {
        if !self.reaches(other)? {
            return Ok(());
        }
        // SAFETY: the other's context is retained as long as the other device lives.
        self.context.within(|| match unsafe { sys::cuCtxEnablePeerAccess(other.context.0, 0) } {
            sys::CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED => Ok(()),
            result => check("cuCtxEnablePeerAccess", result),
        })
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

    /// Asks the driver and the operating system about the device.
    ///
    /// # Errors
    /// If the driver does not answer.
    pub fn describe(&self) -> Result<Description, GpuError> {
        let mut name = [0; 256];
        let mut version = 0;
        let mut memory = 0;
        // SAFETY: the handle is valid, and the buffers are as long as stated.
        let name = unsafe {
            check("cuDeviceGetName", sys::cuDeviceGetName(name.as_mut_ptr(), 256, self.handle))?;
            check("cuDriverGetVersion", sys::cuDriverGetVersion(&raw mut version))?;
            check("cuDeviceTotalMem", sys::cuDeviceTotalMem_v2(&raw mut memory, self.handle))?;
            CStr::from_ptr(name.as_ptr()).to_string_lossy().into_owned()
        };
        let major = self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        Ok(Description {
            name,
            cuda: format!("{}.{}", version / 1000, version % 1000 / 10),
            driver: driver_version(),
            compute_capability: format!("{major}.{minor}"),
            multiprocessors: self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            multiprocessor: self.multiprocessor()?,
            memory: Bytes::new(memory as u64),
            copy_engines: self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT)?,
            link: self.link(),
        })
    }

    pub(super) fn handle(&self) -> sys::CUdevice {
        self.handle
    }

    fn multiprocessor(&self) -> Result<MultiprocessorLimits, GpuError> {
        use Attribute::{
            CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR as BLOCKS,
            CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR as REGISTERS,
            CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR as SHARED_BYTES,
            CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR as THREADS,
        };
        Ok(MultiprocessorLimits {
            threads: self.attribute(THREADS)?,
            blocks: self.attribute(BLOCKS)?,
            registers: self.attribute(REGISTERS)?,
            shared_bytes: self.attribute(SHARED_BYTES)?,
        })
    }

    pub(super) fn attribute(&self, attribute: Attribute) -> Result<u32, GpuError> {
        let mut value = 0;
        // SAFETY: the handle is valid, and `value` is written on success.
        let result = unsafe { sys::cuDeviceGetAttribute(&raw mut value, attribute, self.handle) };
        check("cuDeviceGetAttribute", result)?;
        Ok(u32::try_from(value).unwrap_or(0))
    }

    /// How much device memory is free now.
    ///
    /// # Errors
    /// If the driver does not answer.
    pub fn free_memory(&self) -> Result<Bytes, GpuError> {
        let (mut free, mut total) = (0, 0);
        self.context.within(|| {
            // SAFETY: a context is current, and both words are written on success.
            let result = unsafe { sys::cuMemGetInfo_v2(&raw mut free, &raw mut total) };
            check("cuMemGetInfo", result)
        })?;
        Ok(Bytes::new(free as u64))
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
    pub(super) fn own(&self, kernel: &OwnKernel, code: &Code) -> Result<Rc<OwnFunction>, GpuError> {
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

    /// PCI domain, bus, device and function, such as `0000:18:00.0`.
    pub(super) fn pci_bus_id(&self) -> Option<String> {
        let mut id = [0; 32];
        // SAFETY: the buffer is as long as stated.
        let result = unsafe { sys::cuDeviceGetPCIBusId(id.as_mut_ptr(), 32, self.handle) };
        check("cuDeviceGetPCIBusId", result).ok()?;
        // SAFETY: the driver wrote a zero-terminated string into the buffer.
        Some(unsafe { CStr::from_ptr(id.as_ptr()) }.to_string_lossy().to_lowercase())
    }

    /// The PCIe link as the operating system sees it. A virtual machine may hide it.
    fn link(&self) -> Option<String> {
        let folder = Path::new("/sys/bus/pci/devices").join(self.pci_bus_id()?);
        let read = |name| std::fs::read_to_string(folder.join(name)).ok();
        let (speed, width) = (read("current_link_speed")?, read("current_link_width")?);
        Some(format!("{} x{}", speed.trim(), width.trim()))
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

/// The version of the driver's kernel module. Only Linux tells it.
fn driver_version() -> Option<String> {
    let text = std::fs::read_to_string("/proc/driver/nvidia/version").ok()?;
    let words = text.lines().next()?.split_whitespace();
    let looks_like_version =
        |word: &&str| word.contains('.') && word.chars().all(|c| c.is_ascii_digit() || c == '.');
    words.into_iter().find(looks_like_version).map(str::to_owned)
}
