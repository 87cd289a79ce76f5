//! Host calls that are measured.

use serde::{Deserialize, Serialize};

/// A host API call whose duration is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimedCall {
    Launch,
    /// A launch that cuBLAS makes. `Transform` is one that cuFFT makes.
    Multiply,
    Transform,
    CopyIn,
    CopyOut,
    Clear,
    /// A launch, and recording an event behind it.
    LaunchAndRecord,
    /// Making a stream wait for an event that has not happened, and a launch behind it.
    WaitAndLaunch,
    Record,
    Wait,
    Synchronize,
    PeerCopy,
    /// Making another GPU's context the current one.
    UseDevice,
}

/// A host call on a CUDA graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GraphCall {
    /// A whole capture, including the captured calls.
    Capture,
    /// Making a captured graph ready to launch.
    Instantiate,
    Launch,
}

impl GraphCall {
    pub const ALL: [Self; 3] = [Self::Capture, Self::Instantiate, Self::Launch];
}

/// A kind of memory management.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemoryWork {
    DeviceAllocate,
    PinnedAllocate,
    /// Page-locking memory that was touched before.
    Register,
    /// One thread writing to pages that were never touched.
    FirstTouch,
    /// One thread writing to pages that were touched before.
    SecondTouch,
    FirstTouchTeam,
    SecondTouchTeam,
    Renew,
    DeviceFree,
    PinnedFree,
    /// Releasing the page-lock of registered memory.
    Unregister,
    /// One thread summing write-combined memory.
    CombinedRead,
    /// One thread filling write-combined memory.
    CombinedWrite,
    CombinedReadTeam,
    CombinedWriteTeam,
}
