//! The new process's side: it times what comes for the first time in it.

use super::context::clocked;
use super::new_process::FirstTimes;
use crate::gpu::{Device, DeviceMemory, GpuError, Launch, Stream};
use crate::kernels::{Arguments, Kernel};
use crate::units::{Bytes, Span};

/// Times the first call of the driver in this process, up to a context that can be used.
///
/// # Errors
/// If there is no such GPU, or the driver refuses something.
pub fn first_context(gpu: usize) -> Result<Span, GpuError> {
    clocked(|| Device::open(gpu).map(|_| ()))
}

/// Times what comes for the first time in this process, which must not have used the GPU. `image`
/// is the kernel library, compiled by another process.
///
/// # Errors
/// If there is no such GPU, or the driver refuses something.
pub fn first_times(gpu: usize, image: &[u8]) -> Result<FirstTimes, GpuError> {
    const ELEMENTS: u64 = 1024;
    let device = &Device::open(gpu)?;
    let module = clocked(|| device.load_module(image))?;
    let stream = Stream::new(device)?;
    let memory = DeviceMemory::new(device, Bytes::mib(1))?;
    let [from, to] = [memory.address(), memory.address() + memory.bytes().get() / 2];
    // SAFETY: the memory is that long, and the call is waited for.
    unsafe { stream.clear(from, memory.bytes())? };
    stream.synchronize()?;
    let launch = |kernel: Kernel| {
        let of = (kernel, Arguments::default());
        Launch::new(device, of, &[from], (to, 0), (ELEMENTS, ELEMENTS, 0))
    };
    let (one, other) = (launch(Kernel::Scale)?, launch(Kernel::Polynomial)?);
    let timed = |launch: &Launch| {
        clocked(|| {
            // SAFETY: the arrays are larger, and outlive the launch, which is waited for.
            unsafe { stream.launch(launch)? };
            stream.synchronize()
        })
    };
    let (first, next) = (timed(&one)?, timed(&other)?);
    // The host's caches learn for a while.
    (0..8).try_for_each(|_| timed(&one).map(|_| ()))?;
    let later = timed(&one)?;
    Ok(FirstTimes { nanos: [module, first, next, later].map(Span::nanos) })
}
