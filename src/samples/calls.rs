//! Host calls that are timed.

use super::named::named;
use crate::kernels::{Kernel, Variant};
use crate::units::Bytes;

named! {
    /// A host API call whose duration is measured.
    pub enum TimedCall {
        Launch = "launch", "a launch";
        /// A launch that cuBLAS makes. `Transform` is one that cuFFT makes.
        Multiply = "multiply", "a launch by cuBLAS";
        Transform = "transform", "a launch by cuFFT";
        CopyIn = "copy-in", "an H2D copy call";
        CopyOut = "copy-out", "a D2H copy call";
        Clear = "clear", "clearing device memory";
        /// A launch, and recording an event behind it.
        LaunchAndRecord = "launch-and-record", "a launch and a record";
        /// Making a stream wait for an event that has not happened, and a launch behind it.
        WaitAndLaunch = "wait-and-launch", "a wait and a launch";
        Record = "record", "recording an event";
        Wait = "wait", "making a stream wait for an event";
        Synchronize = "synchronize", "a synchronisation";
        PeerCopy = "peer-copy", "a call to copy between GPUs";
        /// Making another GPU's context the current one.
        UseDevice = "use-device", "switching to another GPU's context";
        CopyOnDevice = "copy-on-device", "a D2D copy call";
        /// A copy of pinned memory to rows on the device.
        CopyRows = "copy-rows", "a call to copy rows";
        AllocateInStream = "allocate-in-stream", "allocating memory in a stream";
        FreeInStream = "free-in-stream", "freeing memory in a stream";
    }
}

impl TimedCall {
    /// The kernel and the number of elements for which a library is called to time the call: not
    /// the smallest, for which a library has nothing to split, and not so large that the device is
    /// busy for long. `None` for calls to the driver.
    pub const fn of_library(self) -> Option<(Variant, u64)> {
        let kernel = match self {
            Self::Multiply => Kernel::Matmul,
            Self::Transform => Kernel::Fft,
            _ => return None,
        };
        Some((Variant { kernel, extent: 1024 }, 1 << 16))
    }
}

/// Calls that are timed among each other, and how often each occurs in a turn, in a pipeline with
/// one stream for each engine.
pub const IN_TURN: [(TimedCall, usize); 5] = [
    (TimedCall::CopyIn, 1),
    (TimedCall::Launch, 1),
    (TimedCall::CopyOut, 1),
    (TimedCall::Record, 2),
    (TimedCall::Wait, 2),
];

/// Calls that are timed among each other in a pipeline whose pieces have a stream each, so that
/// nothing waits for an event.
pub const IN_ONE_STREAM: [(TimedCall, usize); 3] =
    [(TimedCall::CopyIn, 1), (TimedCall::Launch, 1), (TimedCall::CopyOut, 1)];

/// Bytes of the copies among timed calls: too large to be sent along with the commands.
pub const IN_TURN_COPY: Bytes = Bytes::kib(64);

/// Number of turns that are timed together.
pub const TURNS: u64 = 16;
