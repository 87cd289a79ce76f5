//! Every quantity in a few words.

use super::Quantity;
use crate::machine::OperationKind;
use crate::samples::{Handing, Side, Taker};
use crate::units::Bytes;
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
            Self::GraphCall { call, nodes } => {
                write!(f, "host cost of {} a graph of {nodes} nodes", call.name())
            }
            Self::GraphChain { links } => write!(f, "chain of {} in a graph", joined(links)),
            Self::GraphRows { kernels, waits, awaited } => {
                let waits = when(*waits, ", waiting for H2D copies");
                let awaited = when(*awaited, ", with D2H copies waiting for them");
                write!(f, "rows of {kernels} kernels in a graph{waits}{awaited}")
            }
            Self::HandOver { from, to, across } => {
                write!(f, "hand-over of {}{}", joined(&[*from, *to]), when(*across, ACROSS))
            }
            Self::Rotation { direction, bytes, streams, in_graph } => {
                let lanes = if *in_graph { "branches of a graph" } else { "streams" };
                write!(f, "{direction} copies of {bytes} in {streams} {lanes}")
            }
            Self::Polled { others, copies } => {
                let meanwhile = match copies {
                    [false, false] => "",
                    [true, false] => ", during H2D copies",
                    [false, true] => ", during D2H copies",
                    [true, true] => ", during copies in both directions",
                };
                write!(f, "kernels with {others} others waiting{meanwhile}")
            }
            Self::Refetched { bytes, streams: 0, .. } => {
                write!(f, "H2D copy of {bytes} with no kernels waiting")
            }
            Self::Refetched { bytes, streams, kernels } => write!(
                f,
                "H2D copy of {bytes} with {kernels} kernels waiting in each of {streams} streams"
            ),
            Self::CallInTurn { call, one_stream } => {
                let calls = call.map_or("a sequence of calls", |call| call.name());
                write!(f, "host cost of {calls} among others{}", when(!one_stream, ACROSS))
            }
            Self::LaunchBeside { copy: Some(direction) } => {
                write!(f, "host cost of a launch during {direction} copies")
            }
            Self::LaunchBeside { copy: None } => {
                f.write_str("host cost of a launch without copies")
            }
            Self::LateTrip { first, size, next, part } => {
                let (first, size, next, part) = (*first, *size, Some(*next), *part);
                Self::Trip { first, size, next, part, in_graph: false }.fmt(f)?;
                f.write_str(", in steady state")
            }
            Self::Trip { first, size, next, part, in_graph } => {
                let size = match first {
                    OperationKind::Kernel => format!("degree {size}"),
                    _ => Bytes::new(*size).to_string(),
                };
                let links = joined(&std::iter::once(*first).chain(*next).collect::<Vec<_>>());
                let (part, place) = (part.name(), when(*in_graph, " in a graph"));
                write!(f, "{part} in a round trip of {links}, the first of {size}{place}")
            }
            _ => self.of_a_part(f),
        }
    }
}

impl Quantity {
    /// What one of several devices, steps or nodes takes.
    fn of_a_part(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setup { step } => f.write_str(step.name()),
            Self::Crossing { whole: true } => {
                f.write_str("kernels of two GPUs, one after the other")
            }
            Self::Crossing { whole: false } => f.write_str("waiting for another GPU's event"),
            Self::Own(run) => write!(f, "{run}"),
            Self::On { device, of } => write!(f, "{of}, GPU {}", device.0),
            Self::Node { after: Some(after), of } => {
                write!(f, "hand-over of {} in a graph", joined(&[*after, *of]))
            }
            Self::Node { after: None, of } => {
                write!(f, "round trip of {} in a graph", joined(&[*of]))
            }
            _ => self.of_a_size(f),
        }
    }

    /// What moves or computes so many bytes or elements.
    fn of_a_size(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Copy { direction, bytes } => write!(f, "{direction} copy of {bytes}, pinned"),
            Self::CopyBesideKernels { direction, bytes, kernels } => {
                let beside = if *kernels { "during" } else { "without" };
                write!(f, "{direction} copy of {bytes} {beside} a kernel")
            }
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
            Self::JustCopied { variant, elements } => {
                write!(f, "{variant} on the GPU, {elements} elements, just copied")
            }
            Self::KernelAround { variant, elements, footprint } => {
                write!(f, "{variant} on the GPU, {elements} elements, cycling through {footprint}")
            }
            Self::KernelBeside { direction, variant, elements } => {
                write!(f, "{variant} on the GPU, {elements} elements, during {direction} copies")
            }
            Self::Twin { variant, elements, footprint } => {
                write!(f, "{variant} on the CPU, {elements} elements, cycling through {footprint}")
            }
            Self::Handed { taker, part, elements } => {
                let who = match taker {
                    Taker::One => "one thread",
                    Taker::Team => "all threads",
                    Taker::TeamBehindHelpers => "all threads, started by helpers",
                };
                let what = match part {
                    Handing::Nothing => "on their own data",
                    Handing::Read => "reading data written by others",
                    Handing::Written => "writing data read by others",
                };
                write!(f, "a kernel of {elements} elements by {who}, {what}")
            }
            Self::Memory { work, bytes } => write!(f, "{} of {bytes}", work.name()),
            Self::MemoryBeside { work, part } => write!(f, "{} {}", work.name(), part.name()),
            Self::Transfer { path, bytes } => write!(f, "{} of {bytes}", path.name()),
            Self::Beside { direction, bytes, load, of: Side::Copy } => {
                write!(f, "{direction} copy of {bytes} during {}", load.name())
            }
            Self::Beside { direction, bytes, load, of: Side::Load } => {
                write!(f, "{} during {direction} copies of {bytes}", load.name())
            }
            Self::PeerCopy { from, to, bytes, both, .. } => {
                let (from, to, beside) = (from.0, to.0, when(*both, THE_OTHER_WAY));
                write!(f, "copy of {bytes} from GPU {from} to GPU {to}{beside}")
            }
            Self::Concurrent { direction, bytes, devices, both } => {
                let beside = when(*both, THE_OTHER_WAY);
                write!(f, "{direction} copy of {bytes}{beside}, {devices} GPUs at once")
            }
            Self::Rows { path, row, rows } => write!(f, "{} of {rows} rows of {row}", path.name()),
            Self::HostCopy { by_all, bytes, footprint, into_cache } => {
                let who = if *by_all { "all threads" } else { "one thread" };
                let there = when(*into_cache, ", into the same memory");
                write!(f, "copy of {bytes} by {who}, cycling through {footprint}{there}")
            }
            _ => unreachable!("it has no size"),
        }
    }
}
