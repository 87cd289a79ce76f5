//! Calls of each kind in a row, with nothing between them: whatever lies between two of them in a
//! recording is the recorder's own.

use super::device::Device;
use super::error::{GpuResult, check};
use super::module::Module;
use super::vendor::{AnyDevice, AnyEvent, AnyMemory, AnyStream};
use crate::units::Bytes;
use cudarc::driver::sys;

/// A kernel that does nothing, for every GPU since Maxwell.
const EMPTY: &str = ".version 6.0\n.target sm_50\n.address_size 64\n\
    .visible .entry empty(.param .u64 place) { ret; }\n\0";

/// How many calls of a kind are made, in groups that fit into a stream's queue.
const GROUPS: usize = 8;
const OF_GROUP: usize = 32;

/// Makes the calls on the first GPU.
///
/// # Errors
/// If there is no GPU, or a call fails.
pub fn alike_calls() -> GpuResult {
    let device = Device::open(0)?;
    let module = Module::bare(EMPTY.as_bytes().to_vec())?;
    let empty = module.function("empty")?;
    let (stream, event) = (device.stream(0)?, device.ordering_event()?);
    let memory = device.allocate(Bytes::kib(4))?;
    let host = device.allocate_pinned(Bytes::kib(4))?;
    let (there, here, few) = (memory.address(), host.as_mut_ptr(), Bytes::new(64));
    let launch = || {
        let mut place = there;
        let mut parameters = [(&raw mut place).cast()];
        let values = parameters.as_mut_ptr();
        let nothing = std::ptr::null_mut();
        // SAFETY: the stream is alive, and the kernel takes one address, which it does not use.
        let result =
            unsafe { sys::cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, stream.raw, values, nothing) };
        check("cuLaunchKernel", result)
    };
    let each = |call: &dyn Fn() -> GpuResult| -> GpuResult {
        for _ in 0..GROUPS {
            (0..OF_GROUP).try_for_each(|_| call())?;
            stream.synchronize()?;
        }
        Ok(())
    };
    each(&launch)?;
    // SAFETY: both ranges are longer, and outlive the copies, which are waited for.
    each(&|| unsafe { stream.copy_in(here, there, few) })?;
    // SAFETY: as above.
    each(&|| unsafe { stream.copy_out(there, here, few) })?;
    // SAFETY: the range is longer.
    each(&|| unsafe { stream.clear(there, few) })?;
    each(&|| stream.record(&event))?;
    each(&|| stream.wait(&event))?;
    each(&|| stream.synchronize())?;
    each(&|| event.synchronize())?;
    each(&|| device.synchronize())
}
