//! What a schedule keeps busy.

/// What has a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource {
    Cpu,
    Gpus,
    /// The link to the device, and from it.
    CopyIn,
    CopyOut,
}
