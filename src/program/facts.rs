//! What the kind of a call says of it: the function that makes it, why a graph cannot contain it,
//! and the memory that it goes from and to.

use super::call::Call;
use super::operands::{CopyBy, Route, Rows, Slice};

/// The memory that a copy goes from and to, that a memset goes to, or that a prefetch moves: what
/// it moves stays as it is.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sides<'c> {
    /// Who makes a copy.
    pub by: Option<CopyBy>,
    pub from: Option<&'c Slice>,
    pub to: Option<&'c Slice>,
    /// Which bytes of both sides it uses, if not all.
    pub rows: Option<Rows>,
}

impl Call {
    /// The function of the CUDA runtime that makes the call, or what the host does by itself.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Allocate { stream: None, .. } => "cudaMalloc",
            Self::Allocate { .. } => "cudaMallocAsync",
            Self::Pin(_) => "cudaHostRegister",
            Self::Renew(_) => "new host memory",
            Self::Free { stream: None, .. } => "cudaFree",
            Self::Free { .. } => "cudaFreeAsync",
            Self::Unpin(_) => "cudaHostUnregister",
            Self::Clear { .. } => "cudaMemsetAsync",
            Self::Copy { by: CopyBy::Host(_), .. } => "memcpy",
            Self::Copy { by: CopyBy::Stream(_, Route::ToPeer), .. } => "cudaMemcpyPeerAsync",
            Self::Copy { rows: Some(_), .. } => "cudaMemcpy2DAsync",
            Self::Copy { .. } => "cudaMemcpyAsync",
            Self::Prefetch { .. } => "cudaMemPrefetchAsync",
            Self::Launch { .. } => "cudaLaunchKernel",
            Self::Record { .. } => "cudaEventRecord",
            Self::Wait { .. } => "cudaStreamWaitEvent",
            Self::Synchronize { .. } => "cudaStreamSynchronize",
            Self::SynchronizeEvent { .. } => "cudaEventSynchronize",
            Self::SynchronizeDevice(_) => "cudaDeviceSynchronize",
            Self::SynchronizeThread(_) => "wait for a thread",
            Self::Use(_) => "cudaSetDevice",
            Self::Replay { .. } => "cudaGraphLaunch",
            Self::Work { .. } => "work",
            Self::Compute { .. } => "compute",
        }
    }

    /// What it is that keeps the call out of a graph. (A copy of pageable memory cannot be captured
    /// either, which depends on the program.)
    pub const fn bars(&self) -> Option<&'static str> {
        Some(match self {
            Self::Allocate { .. } | Self::Pin(_) | Self::Renew(_) => "taking memory",
            Self::Free { .. } => "freeing memory",
            Self::Unpin(_) => "unpinning memory",
            Self::Copy { by: CopyBy::Host(_), .. } => "a copy within host memory",
            Self::Copy { by: CopyBy::Stream(_, Route::ToPeer), .. } => "a copy between GPUs",
            Self::Prefetch { .. } => "a prefetch of managed memory",
            Self::Use(_) => "switching to another GPU's context",
            Self::Replay { .. } => "the launch of another graph",
            Self::Work { .. } => "work on the host",
            Self::Compute { .. } => "a computation on the host",
            _ if self.only_waits() => "a synchronisation",
            _ => return None,
        })
    }

    /// The memory that it goes from and to.
    pub fn sides(&self) -> Sides<'_> {
        match self {
            Self::Copy { by, from, to, rows } => {
                Sides { by: Some(*by), from: Some(from), to: Some(to), rows: *rows }
            }
            Self::Clear { target, .. } => Sides { to: Some(target), ..Sides::default() },
            Self::Prefetch { target, .. } => Sides { from: Some(target), ..Sides::default() },
            _ => Sides::default(),
        }
    }
}
