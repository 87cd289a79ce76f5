//! What is under way on the engines of all devices.

use super::copies::Copies;
use super::multiprocessors::Multiprocessors;
use crate::cost::PEER_ENGINE;
use crate::profile::OperationKind;
use crate::units::Instant;

/// A view of all engines. Commands share the link with copies; and where hand-overs have costs, a
/// busy engine takes over for nothing.
#[derive(Clone, Copy)]
pub(super) struct EngineView<'e> {
    pub now: Instant,
    pub copies: &'e Copies,
    pub multiprocessors: &'e Multiprocessors,
}

impl EngineView<'_> {
    /// Whether an engine is busy. This is asked only where a hand-over has a cost.
    #[cold]
    #[inline]
    pub fn are_busy(&self, device: usize, kind: OperationKind) -> bool {
        if kind == OperationKind::Kernel {
            return self.multiprocessors.is_busy(device);
        }
        // Kinds of copies are in the order of their engines.
        self.copies.is_busy(device, (kind as usize).min(PEER_ENGINE))
    }
}
