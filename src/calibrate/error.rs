//! Why a calibration ends early.

use crate::gpu::GpuError;
use crate::host::HostError;
use crate::units::Bytes;

/// What a step of a calibration returns.
pub(super) type Calibrated<T = ()> = Result<T, CalibrateError>;

/// Why a calibration ended early. Samples taken until then are kept.
#[derive(Debug, thiserror::Error)]
pub enum CalibrateError {
    #[error(transparent)]
    Gpu(#[from] GpuError),
    #[error(transparent)]
    Host(#[from] HostError),
    #[error("cannot write the samples: {0}")]
    Write(#[from] std::io::Error),
    #[error(transparent)]
    OtherSchedule(#[from] OtherSchedule),
    #[error(
        "a calibration needs {needs} of host memory, but only {has} is available: free memory, \
         or raise the limit of the container or batch system"
    )]
    LittleMemory { needs: Bytes, has: Bytes },
    #[error("while preparing several GPUs: {0}; to calibrate only one, use `--gpus 1`")]
    Several(GpuError),
    #[error("interrupted after {done} of {total} probes")]
    Interrupted { done: usize, total: usize },
}

/// The measurements do not follow this schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("measurement {number} is not the next one in this calibration")]
pub struct OtherSchedule {
    /// The first measurement that differs, counted from 1.
    pub number: usize,
}
