//! The new process's side: it times what comes for the first time in it.

use super::context::{clocked, timed};
use super::new_process::FirstTimes;
use crate::gpu::{AnyDevice, AnyMemory, AnyStream, Device, GpuResult, NewModule};
use crate::kernels::{Arguments, Kernel};
use crate::units::{Bytes, Span};

/// Times what comes for the first time in this process, which must not have used the GPU. `image`
/// is the kernel library as another process compiled it. If it is empty, this process compiles it,
/// behind the context.
///
/// # Errors
/// If there is no such GPU, or the driver or the compiler refuses something.
pub fn first_times(gpu: usize, image: String) -> GpuResult<FirstTimes> {
    const ELEMENTS: u64 = 1024;
    let (device, context) = timed::<Device, _, _>(|| Device::open(gpu))?;
    let image = if image.is_empty() { device.module_image()? } else { image };
    let (module, load) = timed::<Device, _, _>(|| NewModule::load(&device, &image))?;
    let stream = device.stream(0)?;
    let memory = device.allocate(Bytes::mib(1))?;
    let [from, to] = [memory.address(), memory.address() + memory.bytes().get() / 2];
    let launch = |kernel: Kernel| {
        clocked::<Device, _, _>(|| {
            let of = (kernel, Arguments::default());
            let launch = module.launch(of, (from, to), ELEMENTS)?;
            // SAFETY: the arrays are larger, and outlive the launch, which is waited for.
            unsafe { stream.launch(&launch)? };
            stream.synchronize()
        })
    };
    let (first, next) = (launch(Kernel::Scale)?, launch(Kernel::Polynomial)?);
    // The host's caches learn for a while.
    (0..8).try_for_each(|_| launch(Kernel::Scale).map(|_| ()))?;
    let later = launch(Kernel::Scale)?;
    let nanos = [context, load, first, next, later].map(Span::nanos);
    Ok(FirstTimes { nanos, image })
}
