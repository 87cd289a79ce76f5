//! Where calls find their data.

use super::pages::NewPages;
use crate::profile::{DeviceLocality, HostLocality};
use crate::units::Bytes;

/// Where a call finds its data.
#[derive(Default, Clone, Copy)]
pub(super) struct Locality<'a> {
    /// Set for a kernel on the CPU, and for a copy by the CPU.
    pub around: Option<&'a HostLocality>,
    pub on_device: Option<&'a DeviceLocality>,
    /// Set for a call that uses pages of host memory first.
    pub new_pages: Option<&'a NewPages>,
    /// Bytes of managed memory that move because of the call.
    pub moves: Bytes,
}
