//! What a program did, as somebody recorded it: hallway's own recording, the JSON of the PyTorch
//! profiler, or an export of Nsight Systems.
//!
//! Invariant: every importer makes the same value, a [`Trace`]. What reads one does not know where
//! it came from. What an importer could not use is counted in it, and never guessed.

mod recording;
mod value;

pub use recording::{
    DIGEST_FUNCTION, OwnCost, Part, RecordedProcess, Recording, RecordingError, Totals,
    read_recording,
};
pub use value::{
    CallKind, CopyPlaces, Defect, DeviceWork, Gpu, HostCall, HostThread, MemoryKind, Origin, Range,
    StreamKey, Trace, WorkKind,
};
