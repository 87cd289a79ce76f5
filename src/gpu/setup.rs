//! Contexts and modules that are made only to see how long that takes.

use super::device::Device;
use super::error::{GpuError, check};
use super::kernels::Module;
use cudarc::driver::sys::{self, CUdevice_attribute};

/// A context beside the primary one. While it lives, it is current.
pub struct ExtraContext(sys::CUcontext);

impl ExtraContext {
    /// Whether the device has room for more than one: in exclusive mode it has not.
    ///
    /// # Errors
    /// If the driver does not answer.
    pub fn is_allowed(device: &Device) -> Result<bool, GpuError> {
        let mode = device.attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_MODE)?;
        Ok(mode == sys::CUcomputemode::CU_COMPUTEMODE_DEFAULT as u32)
    }

    /// # Errors
    /// If the device has no room for it; see [`ExtraContext::is_allowed`].
    pub fn new(device: &Device) -> Result<Self, GpuError> {
        let mut context = std::ptr::null_mut();
        // SAFETY: the device is open; the handle is written on success.
        let result = unsafe { sys::cuCtxCreate_v2(&raw mut context, 0, device.handle()) };
        check("cuCtxCreate", result)?;
        Ok(Self(context))
    }
}

impl Drop for ExtraContext {
    fn drop(&mut self) {
        // SAFETY: created in `new` and destroyed once. "If hContext is current to the
        // calling thread then hContext will also be popped from the current thread's
        // context stack" (CUDA Driver API, "Context Management"): the one before is
        // current again.
        unsafe { sys::cuCtxDestroy_v2(self.0) };
    }
}

/// The kernel library, loaded once more.
pub struct ExtraModule {
    _module: Module,
}

impl ExtraModule {
    /// Loads what NVRTC compiled for the device, and looks every kernel up.
    ///
    /// # Errors
    /// If the kernel library cannot be compiled or the driver refuses.
    pub fn new(device: &Device) -> Result<Self, GpuError> {
        Ok(Self { _module: device.module()?.load_again()? })
    }
}
