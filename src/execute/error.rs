//! Why a plan could not be run.

use super::data::Mismatch;
use crate::gpu::GpuError;
use crate::host::HostError;
use crate::program::DoesNotFit;

/// What a step of a run returns.
pub(super) type Executed<T = ()> = Result<T, ExecuteError>;

/// Why a plan could not be run, or was run and computed something wrong.
#[derive(Debug, thiserror::Error)]
pub enum ExecuteError {
    #[error(transparent)]
    Gpu(#[from] GpuError),
    #[error(transparent)]
    Host(#[from] HostError),
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    #[error("`{plan}` {source}")]
    DoesNotFit { plan: String, source: DoesNotFit },
    #[error("`{plan}` cannot be run: {problem}")]
    Unfit { plan: String, problem: String },
    /// It has a kernel of which nothing is known but what it costs.
    #[error("`{plan}` can be predicted, but not run: it {problem}")]
    OnlyPredicted { plan: String, problem: String },
    #[error("this plan needs a GPU")]
    NeedsDevice,
}
