//! What was measured, in a few words.

use super::{Link, MemoryWork, Quantity, TimedCall};
use crate::kernels::Variant;
use std::fmt;

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let across = |across: bool| if across { " across streams" } else { "" };
        match self {
            Self::Call { call } => write!(f, "host cost of {}", call.name()),
            Self::RoundTrip { links, across: a, long } => {
                let long = if *long { "long " } else { "" };
                write!(f, "round trip of {long}{}{}", named(links), across(*a))
            }
            Self::Chain { links, across: a } => {
                write!(f, "chain of {}{}", named(links), across(*a))
            }
            Self::HandOver { from, to, across: a } => {
                write!(f, "hand-over of {}{}", named(&[*from, *to]), across(*a))
            }
            Self::Rotation { direction, bytes, streams } => {
                write!(f, "{direction} copies of {bytes} in {streams} streams")
            }
            Self::Polled { others, copies } => {
                let meanwhile = match copies {
                    [false, false] => "",
                    [true, false] => ", H2D copies meanwhile",
                    [false, true] => ", D2H copies meanwhile",
                    [true, true] => ", copies both ways meanwhile",
                };
                write!(f, "kernels with {others} others waiting{meanwhile}")
            }
            Self::Copy { direction, bytes, registered } => {
                let kind = if *registered { "registered" } else { "pinned" };
                write!(f, "{direction} copy of {bytes}, {kind}")
            }
            Self::Shared { direction, bytes } => {
                write!(f, "{direction} copy of {bytes} beside the other way")
            }
            Self::Staged { direction, bytes, footprint, complete } => {
                let end = if *complete { "" } else { ", until it returns" };
                let around =
                    if footprint > bytes { format!(" of {footprint}") } else { String::new() };
                write!(f, "{direction} copy of {bytes}{around}, pageable{end}")
            }
            Self::Kernel { variant, elements } => {
                write!(f, "{} on the GPU, {elements} elements", named_variant(*variant))
            }
            Self::Twin { variant, elements, footprint } => {
                let name = named_variant(*variant);
                write!(f, "{name} on the CPU, {elements} elements, round {footprint}")
            }
            Self::Memory { work, bytes } => write!(f, "{} of {bytes}", work.name()),
            Self::PeerCopy { from, to, bytes, both, .. } => {
                let both = if *both { ", beside the other way" } else { "" };
                write!(f, "copy of {bytes} from GPU {} to GPU {}{both}", from.0, to.0)
            }
            Self::Concurrent { direction, bytes, devices, both } => {
                let both = if *both { " beside the other way" } else { "" };
                write!(f, "{direction} copy of {bytes}{both}, {devices} GPUs at once")
            }
            Self::Crossing { whole: true } => {
                f.write_str("kernels of two GPUs, one after the other")
            }
            Self::Crossing { whole: false } => f.write_str("waiting for another GPU's event"),
            Self::On { device, of } => write!(f, "{of}, GPU {}", device.0),
        }
    }
}

fn named(links: &[Link]) -> String {
    links.iter().map(|link| link.name()).collect::<Vec<_>>().join(", ")
}

fn named_variant(Variant { kernel, extent }: Variant) -> String {
    if extent > 0 { format!("{kernel} {extent}") } else { kernel.to_string() }
}

impl Link {
    const fn name(self) -> &'static str {
        match self {
            Self::CopyIn => "H2D",
            Self::CopyOut => "D2H",
            Self::Kernel => "kernel",
            Self::PeerCopy => "P2P",
        }
    }
}

impl TimedCall {
    const fn name(self) -> &'static str {
        match self {
            Self::Launch => "a launch",
            Self::CopyIn => "an H2D copy's call",
            Self::CopyOut => "a D2H copy's call",
            Self::Clear => "clearing",
            Self::LaunchAndRecord => "a launch and a record",
            Self::WaitAndLaunch => "a wait and a launch",
            Self::Record => "a record",
            Self::Wait => "a wait",
            Self::Synchronize => "a synchronisation",
            Self::PeerCopy => "a P2P copy's call",
            Self::UseDevice => "going to another GPU's context",
        }
    }
}

impl MemoryWork {
    const fn name(self) -> &'static str {
        match self {
            Self::DeviceAllocate => "device allocation",
            Self::PinnedAllocate => "pinned allocation",
            Self::Register => "pinning",
            Self::FirstTouch => "first touch",
            Self::SecondTouch => "second touch",
            Self::FirstTouchTeam => "first touch by all threads",
            Self::SecondTouchTeam => "second touch by all threads",
            Self::Renew => "renewal",
        }
    }
}
