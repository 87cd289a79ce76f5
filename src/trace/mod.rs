//! What a program did, as somebody recorded it: hallway's own recording, the JSON of the PyTorch
//! profiler, or an export of Nsight Systems.
//!
//! Invariant: every importer makes the same value, a [`Trace`]. What reads one does not know where
//! it came from. What an importer could not use is counted in it, and never guessed.

mod calls;
mod draft;
mod error;
mod functions;
mod join;
mod kernel_use;
mod kineto;
mod limited;
mod names;
#[cfg(feature = "nsight")]
mod nsight;
mod overlap;
mod pass;
mod prices;
mod races;
mod read;
mod recording;
mod requests;
mod scatter;
mod spell;
mod stated;
mod unchanged;
mod value;

pub use error::TraceError;
pub use kernel_use::KernelUseError;
pub use overlap::{Account, CopySite, Gap, Gaps, Reason};
pub use pass::Pass;
pub use races::{EarlyChange, Race};
pub use read::{is_trace, read};
pub use recording::{Part, RecordedProcess, Recording, RecordingError, Totals, read_recording};
pub use spell::{HostTime, Spelled, SpelledMemory, SpelledPart, Spelling};
pub use stated::{KernelUse, PointerAccess};
pub use unchanged::Sent;
pub use value::{
    CallKind, CopyPlaces, Defect, DeviceWork, Gpu, HostCall, HostThread, MemoryKind, Origin, Range,
    StreamKey, Trace, WorkKind,
};
