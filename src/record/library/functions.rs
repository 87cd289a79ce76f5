//! The functions of CUDA that are recorded, and where their arguments are.
//!
//! CUPTI hands over a structure with the arguments of a call. All but small ones take eight bytes,
//! so that a place is the number of a word.

use super::format::Form;

/// CUPTI's numbers of the two interfaces.
pub const DRIVER: u32 = 1;
pub const RUNTIME: u32 = 2;

/// CUPTI's number of events of its own, and those for a stream that is new and a module that is
/// about to go.
pub const RESOURCE: u32 = 3;
pub const STREAM_CREATED: u32 = 3;
pub const MODULE_UNLOADED: u32 = 7;

/// No such argument.
pub const NONE: u8 = 255;
/// No such argument, since the function is for the default stream.
pub const DEFAULT: u8 = 254;

/// What else there is to know about the arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    Plain,
    /// A copy whose direction is in this word.
    Kind(u8),
    /// A copy from the host to a device.
    In,
    /// A copy from a device to the host.
    Out,
    /// The number of bytes is to be multiplied by this word.
    Times(u8),
    /// The number of bytes is to be multiplied by this.
    Scaled(u64),
    /// The stream is in a structure to which word 0 points.
    Config,
    /// An address itself, not a place for it.
    Mapped,
    /// It only asks. If the answer is yes, it is as good as a wait; else it says nothing.
    Query,
    /// The program asks for profiling to begin, or to end.
    Starts,
    Stops,
}

/// A function, with the places of what its [`Form`] needs, in the same order.
///
/// Launches have those of the function, its parameters, the stream and its packed parameters.
pub struct Function {
    pub domain: u32,
    pub id: u16,
    /// Its number in the variant for the default stream of each thread, or 0.
    pub per_thread: u16,
    pub name: &'static str,
    pub form: Form,
    pub places: [u8; 4],
    pub how: How,
}

type Row = (u16, u16, &'static str, Form, [u8; 4], How);

use Form::{
    AllocateAsync, AllocateDevice, AllocateManaged, AllocatePinned, BlockingCopy, Clear, Copy,
    Free, FreeAsync, Launch, LaunchGraph, Other, Prefetch, Record, Register, Synchronize,
    SynchronizeDevice, SynchronizeEvent, Unregister, Wait,
};
use How::{Config, In, Kind, Mapped, Out, Plain, Query, Scaled, Starts, Stops, Times};

const D: u8 = DEFAULT;
const N: u8 = NONE;

/// Functions of the runtime, by CUPTI's numbers.
const OF_RUNTIME: [Row; 62] = [
    (31, 215, "cudaMemcpy", BlockingCopy, [0, 1, 2, D], Kind(3)),
    (41, 225, "cudaMemcpyAsync", Copy, [0, 1, 2, 4], Kind(3)),
    (32, 216, "cudaMemcpy2D", BlockingCopy, [0, 2, 4, D], Times(5)),
    (44, 228, "cudaMemcpy2DAsync", Copy, [0, 2, 4, 7], Times(5)),
    (144, 245, "cudaMemcpy3D", BlockingCopy, [N, N, N, D], Plain),
    (145, 246, "cudaMemcpy3DAsync", Copy, [N, N, N, 1], Plain),
    (160, 0, "cudaMemcpyPeer", BlockingCopy, [0, 2, 4, D], Plain),
    (161, 0, "cudaMemcpyPeerAsync", Copy, [0, 2, 4, 5], Plain),
    (39, 223, "cudaMemcpyToSymbol", BlockingCopy, [N, 1, 2, D], Plain),
    (47, 231, "cudaMemcpyToSymbolAsync", Copy, [N, 1, 2, 5], Plain),
    (40, 224, "cudaMemcpyFromSymbol", BlockingCopy, [0, N, 2, D], Plain),
    (48, 232, "cudaMemcpyFromSymbolAsync", Copy, [0, N, 2, 5], Plain),
    (482, 483, "cudaMemcpyBatchAsync", Copy, [N, N, N, 8], Plain),
    (509, 510, "cudaMemcpyBatchAsync", Copy, [N, N, N, 7], Plain),
    (49, 233, "cudaMemset", Clear, [0, 2, D, N], Plain),
    (51, 235, "cudaMemsetAsync", Clear, [0, 2, 3, N], Plain),
    (50, 234, "cudaMemset2D", Clear, [0, 3, D, N], Times(4)),
    (52, 236, "cudaMemset2DAsync", Clear, [0, 3, 5, N], Times(4)),
    (211, 214, "cudaLaunchKernel", Launch, [N, 4, 6, N], Plain),
    (430, 431, "cudaLaunchKernelExC", Launch, [N, 2, 4, N], Config),
    (269, 270, "cudaLaunchCooperativeKernel", Launch, [N, 4, 6, N], Plain),
    (311, 312, "cudaGraphLaunch", LaunchGraph, [1, N, N, N], Plain),
    (135, 242, "cudaEventRecord", Record, [0, 1, N, N], Plain),
    (370, 371, "cudaEventRecordWithFlags", Record, [0, 1, N, N], Plain),
    (147, 247, "cudaStreamWaitEvent", Wait, [1, 0, N, N], Plain),
    (131, 239, "cudaStreamSynchronize", Synchronize, [0, N, N, N], Plain),
    (137, 0, "cudaEventSynchronize", SynchronizeEvent, [0, N, N, N], Plain),
    (132, 240, "cudaStreamQuery", Synchronize, [0, N, N, N], Query),
    (138, 0, "cudaEventQuery", SynchronizeEvent, [0, N, N, N], Query),
    (165, 0, "cudaDeviceSynchronize", SynchronizeDevice, [N; 4], Plain),
    (126, 0, "cudaThreadSynchronize", SynchronizeDevice, [N; 4], Plain),
    (20, 0, "cudaMalloc", AllocateDevice, [0, 1, N, N], Plain),
    (21, 0, "cudaMallocPitch", AllocateDevice, [0, 2, N, N], Times(3)),
    (25, 0, "cudaMallocHost", AllocatePinned, [0, 1, N, N], Plain),
    (27, 0, "cudaHostAlloc", AllocatePinned, [0, 1, N, N], Plain),
    (206, 0, "cudaMallocManaged", AllocateManaged, [0, 1, N, N], Plain),
    (373, 374, "cudaMallocAsync", AllocateAsync, [0, 1, 2, N], Plain),
    (391, 392, "cudaMallocFromPoolAsync", AllocateAsync, [0, 1, 3, N], Plain),
    (22, 0, "cudaFree", Free, [0, N, N, N], Plain),
    (26, 0, "cudaFreeHost", Free, [0, N, N, N], Plain),
    (375, 376, "cudaFreeAsync", FreeAsync, [0, 1, N, N], Plain),
    (152, 0, "cudaHostRegister", Register, [0, 1, N, N], Plain),
    (153, 0, "cudaHostUnregister", Unregister, [0, N, N, N], Plain),
    (252, 253, "cudaMemPrefetchAsync", Prefetch, [0, 1, 3, N], Plain),
    (449, 450, "cudaMemPrefetchAsync", Prefetch, [0, 1, 4, N], Plain),
    (129, 0, "cudaStreamCreate", Other, [N; 4], Plain),
    (198, 0, "cudaStreamCreateWithFlags", Other, [N; 4], Plain),
    (202, 0, "cudaStreamCreateWithPriority", Other, [N; 4], Plain),
    (201, 0, "cudaStreamDestroy", Other, [N; 4], Plain),
    (197, 248, "cudaStreamAddCallback", Other, [N; 4], Plain),
    (284, 285, "cudaLaunchHostFunc", Other, [N; 4], Plain),
    (310, 0, "cudaGraphInstantiate", Other, [N; 4], Plain),
    (443, 0, "cudaGraphInstantiate", Other, [N; 4], Plain),
    (418, 0, "cudaGraphInstantiateWithFlags", Other, [N; 4], Plain),
    (436, 437, "cudaGraphInstantiateWithParams", Other, [N; 4], Plain),
    (164, 0, "cudaDeviceReset", Other, [N; 4], Plain),
    (23, 0, "cudaMallocArray", Other, [N; 4], Plain),
    (141, 0, "cudaMalloc3DArray", Other, [N; 4], Plain),
    (140, 0, "cudaMalloc3D", Other, [N; 4], Plain),
    (24, 0, "cudaFreeArray", Other, [N; 4], Plain),
    (171, 0, "cudaProfilerStart", Other, [N; 4], Starts),
    (172, 0, "cudaProfilerStop", Other, [N; 4], Stops),
];

/// Functions of the driver, by CUPTI's numbers.
const OF_DRIVER: [Row; 58] = [
    (276, 397, "cuMemcpyHtoD", BlockingCopy, [0, 1, 2, D], In),
    (277, 421, "cuMemcpyHtoDAsync", Copy, [0, 1, 2, 3], In),
    (278, 398, "cuMemcpyDtoH", BlockingCopy, [0, 1, 2, D], Out),
    (279, 422, "cuMemcpyDtoHAsync", Copy, [0, 1, 2, 3], Out),
    (280, 399, "cuMemcpyDtoD", BlockingCopy, [0, 1, 2, D], Plain),
    (281, 423, "cuMemcpyDtoDAsync", Copy, [0, 1, 2, 3], Plain),
    (305, 408, "cuMemcpy", BlockingCopy, [0, 1, 2, D], Plain),
    (306, 418, "cuMemcpyAsync", Copy, [0, 1, 2, 3], Plain),
    (318, 409, "cuMemcpyPeer", BlockingCopy, [0, 2, 4, D], Plain),
    (319, 426, "cuMemcpyPeerAsync", Copy, [0, 2, 4, 5], Plain),
    (287, 405, "cuMemcpy2D", BlockingCopy, [N, N, N, D], Plain),
    (288, 406, "cuMemcpy2DUnaligned", BlockingCopy, [N, N, N, D], Plain),
    (289, 424, "cuMemcpy2DAsync", Copy, [N, N, N, 1], Plain),
    (290, 407, "cuMemcpy3D", BlockingCopy, [N, N, N, D], Plain),
    (291, 425, "cuMemcpy3DAsync", Copy, [N, N, N, 1], Plain),
    (776, 777, "cuMemcpyBatchAsync", Copy, [N, N, N, 8], Plain),
    (796, 797, "cuMemcpyBatchAsync", Copy, [N, N, N, 7], Plain),
    (249, 411, "cuMemsetD8", Clear, [0, 2, D, N], Plain),
    (250, 412, "cuMemsetD16", Clear, [0, 2, D, N], Scaled(2)),
    (251, 413, "cuMemsetD32", Clear, [0, 2, D, N], Scaled(4)),
    (216, 428, "cuMemsetD8Async", Clear, [0, 2, 3, N], Plain),
    (218, 429, "cuMemsetD16Async", Clear, [0, 2, 3, N], Scaled(2)),
    (220, 430, "cuMemsetD32Async", Clear, [0, 2, 3, N], Scaled(4)),
    (307, 442, "cuLaunchKernel", Launch, [0, 6, 5, 7], Plain),
    (652, 653, "cuLaunchKernelEx", Launch, [1, 2, 4, 3], Config),
    (477, 478, "cuLaunchCooperativeKernel", Launch, [0, 6, 5, N], Plain),
    (514, 515, "cuGraphLaunch", LaunchGraph, [1, N, N, N], Plain),
    (119, 441, "cuEventRecord", Record, [0, 1, N, N], Plain),
    (587, 588, "cuEventRecordWithFlags", Record, [0, 1, N, N], Plain),
    (295, 436, "cuStreamWaitEvent", Wait, [1, 0, N, N], Plain),
    (126, 440, "cuStreamSynchronize", Synchronize, [0, N, N, N], Plain),
    (121, 0, "cuEventSynchronize", SynchronizeEvent, [0, N, N, N], Plain),
    (125, 439, "cuStreamQuery", Synchronize, [0, N, N, N], Query),
    (120, 0, "cuEventQuery", SynchronizeEvent, [0, N, N, N], Query),
    (17, 0, "cuCtxSynchronize", SynchronizeDevice, [N; 4], Plain),
    (800, 0, "cuCtxSynchronize", SynchronizeDevice, [N; 4], Plain),
    (243, 0, "cuMemAlloc", AllocateDevice, [0, 1, N, N], Plain),
    (244, 0, "cuMemAllocPitch", AllocateDevice, [0, 2, N, N], Times(3)),
    (551, 0, "cuMemMap", AllocateDevice, [0, 1, N, N], Mapped),
    (294, 0, "cuMemAllocHost", AllocatePinned, [0, 1, N, N], Plain),
    (39, 0, "cuMemHostAlloc", AllocatePinned, [0, 1, N, N], Plain),
    (271, 0, "cuMemHostAlloc", AllocatePinned, [0, 1, N, N], Plain),
    (371, 0, "cuMemAllocManaged", AllocateManaged, [0, 1, N, N], Plain),
    (598, 599, "cuMemAllocAsync", AllocateAsync, [0, 1, 2, N], Plain),
    (611, 612, "cuMemAllocFromPoolAsync", AllocateAsync, [0, 1, 3, N], Plain),
    (245, 0, "cuMemFree", Free, [0, N, N, N], Plain),
    (552, 0, "cuMemUnmap", Free, [0, N, N, N], Plain),
    (38, 0, "cuMemFreeHost", Free, [0, N, N, N], Plain),
    (600, 601, "cuMemFreeAsync", FreeAsync, [0, 1, N, N], Plain),
    (301, 0, "cuMemHostRegister", Register, [0, 1, N, N], Plain),
    (379, 0, "cuMemHostRegister", Register, [0, 1, N, N], Plain),
    (302, 0, "cuMemHostUnregister", Unregister, [0, N, N, N], Plain),
    (467, 468, "cuMemPrefetchAsync", Prefetch, [0, 1, 3, N], Plain),
    (716, 717, "cuMemPrefetchAsync", Prefetch, [0, 1, 4, N], Plain),
    (346, 437, "cuStreamAddCallback", Other, [N; 4], Plain),
    (527, 528, "cuLaunchHostFunc", Other, [N; 4], Plain),
    (308, 0, "cuProfilerStart", Other, [N; 4], Starts),
    (309, 0, "cuProfilerStop", Other, [N; 4], Stops),
];

const COUNT: usize = OF_RUNTIME.len() + OF_DRIVER.len();

/// All functions. A recording counts them in this order.
pub static FUNCTIONS: [Function; COUNT] = table();

const fn table() -> [Function; COUNT] {
    let mut at = 0;
    let mut all = [const { function(RUNTIME, &OF_RUNTIME[0]) }; COUNT];
    while at < COUNT {
        all[at] = if at < OF_RUNTIME.len() {
            function(RUNTIME, &OF_RUNTIME[at])
        } else {
            function(DRIVER, &OF_DRIVER[at - OF_RUNTIME.len()])
        };
        at += 1;
    }
    all
}

const fn function(domain: u32, row: &Row) -> Function {
    let &(id, per_thread, name, form, places, how) = row;
    Function { domain, id, per_thread, name, form, places, how }
}

/// CUPTI's numbers are lower.
const MOST: usize = 1024;
const UNKNOWN: u8 = u8::MAX;

/// The position of a function by its interface and number.
static POSITIONS: [[u8; MOST]; 2] = positions();

const fn positions() -> [[u8; MOST]; 2] {
    let mut all = [[UNKNOWN; MOST]; 2];
    let mut at = 0;
    while at < COUNT {
        let function = &FUNCTIONS_AT_COMPILE_TIME[at];
        let domain = function.domain as usize - 1;
        all[domain][function.id as usize] = at as u8;
        if function.per_thread != 0 {
            all[domain][function.per_thread as usize] = at as u8;
        }
        at += 1;
    }
    all
}

const FUNCTIONS_AT_COMPILE_TIME: [Function; COUNT] = table();

/// The position of a function in [`FUNCTIONS`], by its interface and number.
pub fn position(domain: u32, id: u32) -> Option<usize> {
    let numbers = POSITIONS.get(domain.checked_sub(1)? as usize)?;
    let position = *numbers.get(id as usize)?;
    (position != UNKNOWN).then_some(usize::from(position))
}
