//! Contexts and modules that exist only to time their creation, destruction or first use.

use super::device::Device;
use super::error::GpuResult;
use super::launch::{Code, Launch, Work};
use super::module::Module;
use crate::kernels::{Arguments, Grid, Kernel};
use cudarc::driver::sys;

/// A second context on a device, besides its primary one. It is current on the calling
/// thread from its creation until it is dropped.
pub(super) struct ExtraContext(pub(super) sys::CUcontext);

impl Drop for ExtraContext {
    fn drop(&mut self) {
        // SAFETY: the context was created for this value and is destroyed only here. "If
        // hContext is current to the calling thread then hContext will also be popped
        // from the current thread's context stack" (CUDA Driver API, "Context
        // Management"), so the previous context becomes current again.
        unsafe { sys::cuCtxDestroy_v2(self.0) };
    }
}

/// The kernel library as a process meets it for the first time: no kernel of it is looked up
/// before it is launched.
pub struct NewModule<'d> {
    device: &'d Device,
    module: Module,
}

impl<'d> NewModule<'d> {
    /// Loads what [`Device::module_image`] gave for such a device.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn load(device: &'d Device, image: &str) -> GpuResult<Self> {
        let image = image.bytes().chain([0]).collect();
        let module = device.context.within(|| Module::bare(image))?;
        Ok(Self { device, module })
    }

    /// A launch of a kernel that has one input and no workspace, on device addresses.
    ///
    /// # Errors
    /// If the driver does not find the kernel.
    pub fn launch(
        &self,
        (kernel, arguments): (Kernel, Arguments),
        (input, output): (u64, u64),
        count: u64,
    ) -> GpuResult<Launch> {
        let function = self.device.context.within(|| self.module.of(kernel))?;
        let work = Work::new(&[input], (output, 0), (count, count, 0), &arguments);
        Ok(Launch(Code::Ours { function, grid: Grid::of(kernel, &arguments, count), work }))
    }
}
