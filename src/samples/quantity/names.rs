//! Quantities in a few words: those that a check of a profile repeats, and those that are measured
//! for a scenario.

use super::Quantity;
use crate::machine::OperationKind;
use std::fmt;

/// A part of a name that is there in some cases only.
const fn when(is_so: bool, words: &str) -> &str {
    if is_so { words } else { "" }
}

fn joined(links: &[OperationKind]) -> String {
    links.iter().map(|link| link.short_name()).collect::<Vec<_>>().join(", ")
}

const THE_OTHER_WAY: &str = " with copies in the other direction";
const ACROSS: &str = " across streams";

impl fmt::Display for Quantity {
    /// Nobody reads of any other quantity: it is shown as files have it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call { call } => write!(f, "host cost of {}", call.name()),
            Self::RoundTrip { links, across, long } => {
                let (long, across) = (when(*long, "long "), when(*across, ACROSS));
                write!(f, "round trip of {long}{}{across}", joined(links))
            }
            Self::Chain { links, across } => {
                write!(f, "chain of {}{}", joined(links), when(*across, ACROSS))
            }
            Self::Crossing { .. } => f.write_str("kernels on two GPUs, one after the other"),
            Self::Setup { step } => f.write_str(step.name()),
            Self::Own(run) => write!(f, "{run}"),
            Self::On { device, of } => write!(f, "{of}, GPU {}", device.0),
            Self::Copy { direction, bytes } => write!(f, "{direction} copy of {bytes}, pinned"),
            Self::Shared { direction, bytes, footprint } => {
                let beside = THE_OTHER_WAY;
                write!(f, "{direction} copy of {bytes}{beside}, cycling through {footprint}")
            }
            Self::Staged { direction, bytes, footprint, complete } => {
                let around = format!(" of {footprint}");
                let around = when(footprint > bytes, &around);
                let end = when(!complete, ", until it returns");
                write!(f, "{direction} copy of {bytes}{around}, pageable{end}")
            }
            Self::Kernel { variant, elements } => {
                write!(f, "{variant} on the GPU, {elements} elements")
            }
            Self::Twin { variant, elements, footprint } => {
                write!(f, "{variant} on the CPU, {elements} elements, cycling through {footprint}")
            }
            Self::PeerCopy { from, to, bytes, both, .. } => {
                let (from, to, beside) = (from.0, to.0, when(*both, THE_OTHER_WAY));
                write!(f, "copy of {bytes} from GPU {from} to GPU {to}{beside}")
            }
            Self::Concurrent { direction, bytes, devices, both } => {
                let beside = when(*both, THE_OTHER_WAY);
                write!(f, "{direction} copy of {bytes}{beside}, {devices} GPUs at once")
            }
            other => f.write_str(&serde_json::to_string(other).map_err(|_| fmt::Error)?),
        }
    }
}
