//! Finding and opening a GPU.

use super::error::{GpuError, GpuResult, check};
use super::module::Module;
use super::own::OwnFunction;
use crate::kernels::{Code, OwnKernel};
use cudarc::driver::sys::{self, CUdevice_attribute as Attribute};
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

/// One GPU with its primary context.
///
/// Not `Send`: a context is current per thread, and hallway issues from one thread.
pub struct Device {
    pub(super) handle: sys::CUdevice,
    pub(super) context: Context,
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
pub(super) struct Context(pub(super) sys::CUcontext);

impl Context {
    /// Makes the context current while `work` runs, and then restores the previous one.
    pub fn within<T>(self, work: impl FnOnce() -> GpuResult<T>) -> GpuResult<T> {
        let mut popped = std::ptr::null_mut();
        // SAFETY: the context is alive: its user borrows the device or is dropped before it.
        check("cuCtxPushCurrent", unsafe { sys::cuCtxPushCurrent_v2(self.0) })?;
        let result = work();
        // SAFETY: the context popped is the one pushed above.
        check("cuCtxPopCurrent", unsafe { sys::cuCtxPopCurrent_v2(&raw mut popped) })?;
        result
    }

    /// Makes the context current on the calling thread.
    pub fn make_current(self) -> GpuResult {
        // SAFETY: the context is alive, as in `within`.
        check("cuCtxSetCurrent", unsafe { sys::cuCtxSetCurrent(self.0) })
    }
}

impl Device {
    /// Opens GPU `ordinal` and makes its primary context current on the calling thread.
    ///
    /// # Errors
    /// If there is no driver or no such device, or the driver refuses the context.
    pub fn open(ordinal: usize) -> GpuResult<Self> {
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
        device.context.make_current()?;
        Ok(device)
    }

    fn retain(ordinal: usize, others: Vec<(usize, OnceCell<Self>)>) -> GpuResult<Self> {
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

    /// The GPU at a place among the others, in the driver's order. It is opened if need be; the
    /// current context stays current.
    pub(super) fn other(&self, place: usize) -> GpuResult<&Self> {
        let Some((ordinal, other)) = self.others.get(place) else {
            return Err(GpuError::TooFewDevices { wanted: place + 2, count: self.visible() });
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

    /// Whether this GPU can access the other's memory directly (peer access).
    ///
    /// # Errors
    /// If the driver does not answer.
    pub fn reaches(&self, other: &Self) -> GpuResult<bool> {
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
    pub fn count() -> GpuResult<usize> {
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

    pub(super) fn attribute(&self, attribute: Attribute) -> GpuResult<u32> {
        let mut value = 0;
        // SAFETY: the handle is valid, and `value` is written on success.
        let result = unsafe { sys::cuDeviceGetAttribute(&raw mut value, attribute, self.handle) };
        check("cuDeviceGetAttribute", result)?;
        Ok(u32::try_from(value).unwrap_or(0))
    }

    /// The kernel library, compiled at its first use.
    pub(super) fn module(&self) -> GpuResult<&Module> {
        if let Some(module) = self.module.get() {
            return Ok(module);
        }
        let capability = self.compute_capability()?;
        let module = self.context.within(|| Module::compile(capability))?;
        Ok(self.module.get_or_init(|| module))
    }

    /// Loads the kernel library as [`module_image`](Self::module_image) gave it for such a device,
    /// unless it is loaded. Kernels are looked up when they are first used, as in any new process.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn load_module(&self, image: &str) -> GpuResult {
        if self.module.get().is_none() {
            let image = image.bytes().chain([0]).collect();
            let module = self.context.within(|| Module::bare(image))?;
            self.module.get_or_init(|| module);
        }
        Ok(())
    }

    /// The kernel library as NVRTC compiled it for this device.
    ///
    /// # Errors
    /// If it cannot be compiled or loaded.
    pub fn module_image(&self) -> GpuResult<String> {
        let image = self.module()?.image.iter().take_while(|&&byte| byte != 0);
        Ok(image.map(|&byte| char::from(byte)).collect())
    }

    /// Its compute capability as NVRTC counts it: 90 for 9.0.
    pub(super) fn compute_capability(&self) -> GpuResult<u32> {
        let major = self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        Ok(10 * major + minor)
    }

    /// A user's kernel, loaded at its first use.
    pub(super) fn own(&self, kernel: &OwnKernel, code: &Code) -> GpuResult<Rc<OwnFunction>> {
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
