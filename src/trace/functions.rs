//! What the functions of CUDA ask for, by their names. Both importers read this table.

use super::MemoryKind;
use super::MemoryKind::{Array, Device, Managed, Pinned};

/// What a function does, as far as its name says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// `blocking` if the host waits by definition.
    Copy {
        blocking: bool,
    },
    Clear,
    Launch,
    LaunchGraph,
    Record,
    Wait,
    Synchronize,
    SynchronizeEvent,
    SynchronizeDevice,
    Allocate(MemoryKind),
    Free,
    Register,
    Unregister,
    Prefetch,
    BeginCapture,
    EndCapture,
    Other,
}

/// A function as traces name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Function<'a> {
    /// Without marks of versions: `cudaMemcpyAsync` for `cudaMemcpyAsync_ptsz_v7000`.
    pub name: &'a str,
    pub action: Action,
    /// Whether it belongs to the driver, which the functions of the runtime call in turn.
    pub is_driver: bool,
}

impl<'a> Function<'a> {
    pub fn named(full: &'a str) -> Self {
        let name = plain(full);
        let rest = name.strip_prefix("cu").and_then(|rest| rest.chars().next());
        let is_driver = rest.is_some_and(|first| first.is_ascii_uppercase());
        Self { name, action: action(name), is_driver }
    }

    pub fn is_rocm(&self) -> bool {
        self.name.starts_with("hip") || self.name.starts_with("hsa_")
    }
}

/// The name without `_v3020`, `_v2`, `_ptsz` and `_ptds`: which version of the library a program
/// was built for does not change what a function does.
fn plain(full: &str) -> &str {
    let mut name = full.trim();
    while let Some((before, last)) = name.rsplit_once('_') {
        let digits = last.strip_prefix('v').unwrap_or_default();
        let is_version = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        if !(is_version || matches!(last, "ptsz" | "ptds")) || before.is_empty() {
            break;
        }
        name = before;
    }
    name
}

fn action(name: &str) -> Action {
    let found = |name: &str| FUNCTIONS.iter().find(|row| row.0.contains(&name)).map(|row| row.1);
    // ROCm's library has the names of CUDA's runtime under its own prefix.
    let as_cuda = name.strip_prefix("hip").map(|rest| format!("cuda{rest}"));
    let exact = found(name).or_else(|| found(as_cuda.as_deref()?));
    exact.or_else(|| copy(name, as_cuda.as_deref())).unwrap_or(Action::Other)
}

/// Copies come in dozens, each with a variant that only queues it.
fn copy(name: &str, as_cuda: Option<&str>) -> Option<Action> {
    let base = as_cuda.unwrap_or(name);
    let rest = base.strip_prefix("cudaMemcpy").or_else(|| base.strip_prefix("cuMemcpy"))?;
    let queued = rest.strip_suffix("Async");
    let what = queued.unwrap_or(rest);
    let blocking = queued.is_none();
    COPIES.contains(&what).then_some(Action::Copy { blocking })
}

/// What follows `cudaMemcpy` and `cuMemcpy`, without `Async`.
#[rustfmt::skip]
const COPIES: [&str; 29] = [
    "", "2D", "3D", "Peer", "3DPeer", "ToSymbol", "FromSymbol", "ToArray", "FromArray",
    "2DToArray", "2DFromArray", "ArrayToArray", "2DArrayToArray", "HtoD", "DtoH", "DtoD", "HtoA",
    "AtoH", "DtoA", "AtoD", "AtoA", "2DUnaligned", "Batch", "3DBatch", "WithStream", "HtoH",
    "2DPeer", "WithAttributes", "Param2D",
];

/// Functions by what they ask for.
#[rustfmt::skip]
const FUNCTIONS: [(&[&str], Action); 18] = [
    (&["cudaMemset", "cudaMemsetAsync", "cudaMemset2D", "cudaMemset2DAsync", "cudaMemset3D",
       "cudaMemset3DAsync", "cuMemsetD8", "cuMemsetD8Async", "cuMemsetD16", "cuMemsetD16Async",
       "cuMemsetD32", "cuMemsetD32Async", "cuMemsetD2D8", "cuMemsetD2D8Async", "cuMemsetD2D16",
       "cuMemsetD2D16Async", "cuMemsetD2D32", "cuMemsetD2D32Async", "hipMemsetD8",
       "hipMemsetD8Async", "hipMemsetD16Async", "hipMemsetD32", "hipMemsetD32Async"],
     Action::Clear),
    (&["cudaLaunch", "cudaLaunchKernel", "cudaLaunchKernelExC", "cudaLaunchCooperativeKernel",
       "cudaLaunchCooperativeKernelMultiDevice", "cuLaunch", "cuLaunchGrid", "cuLaunchGridAsync",
       "cuLaunchKernel", "cuLaunchKernelEx", "cuLaunchCooperativeKernel",
       "cuLaunchCooperativeKernelMultiDevice", "hipModuleLaunchKernel", "hipExtModuleLaunchKernel",
       "hipExtLaunchKernel", "hipHccModuleLaunchKernel", "hipLaunchByPtr",
       "hipModuleLaunchCooperativeKernel", "hipDrvLaunchKernelEx"],
     Action::Launch),
    (&["cudaGraphLaunch", "cuGraphLaunch"], Action::LaunchGraph),
    (&["cudaEventRecord", "cudaEventRecordWithFlags", "cuEventRecord", "cuEventRecordWithFlags"],
     Action::Record),
    (&["cudaStreamWaitEvent", "cuStreamWaitEvent"], Action::Wait),
    (&["cudaStreamSynchronize", "cuStreamSynchronize"], Action::Synchronize),
    (&["cudaEventSynchronize", "cuEventSynchronize"], Action::SynchronizeEvent),
    (&["cudaDeviceSynchronize", "cudaThreadSynchronize", "cuCtxSynchronize"],
     Action::SynchronizeDevice),
    (&["cudaMalloc", "cudaMallocPitch", "cudaMalloc3D", "cudaMallocAsync",
       "cudaMallocFromPoolAsync", "cuMemAlloc", "cuMemAllocPitch", "cuMemAllocAsync",
       "cuMemAllocFromPoolAsync", "hipExtMallocWithFlags"],
     Action::Allocate(Device)),
    (&["cudaHostAlloc", "cudaMallocHost", "cuMemHostAlloc", "cuMemAllocHost", "hipHostMalloc",
       "hipMemAllocHost"],
     Action::Allocate(Pinned)),
    (&["cudaMallocManaged", "cuMemAllocManaged"], Action::Allocate(Managed)),
    (&["cudaMallocArray", "cudaMalloc3DArray", "cudaMallocMipmappedArray", "cuArrayCreate",
       "cuArray3DCreate"],
     Action::Allocate(Array)),
    (&["cudaFree", "cudaFreeHost", "cudaFreeAsync", "cudaFreeArray", "cuMemFree", "cuMemFreeHost",
       "cuMemFreeAsync", "cuArrayDestroy", "hipHostFree"],
     Action::Free),
    (&["cudaHostRegister", "cuMemHostRegister"], Action::Register),
    (&["cudaHostUnregister", "cuMemHostUnregister"], Action::Unregister),
    (&["cudaMemPrefetchAsync", "cuMemPrefetchAsync"], Action::Prefetch),
    (&["cudaStreamBeginCapture", "cudaStreamBeginCaptureToGraph", "cuStreamBeginCapture",
       "cuStreamBeginCaptureToGraph"],
     Action::BeginCapture),
    (&["cudaStreamEndCapture", "cuStreamEndCapture"], Action::EndCapture),
];
