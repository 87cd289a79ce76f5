//! What was measured, in a few words.

use super::{
    GraphCall, Handing, Link, Load, MemoryWork, Quantity, Side, Taker, TimedCall, TripPart,
};
use crate::kernels::Variant;
use crate::machine::Direction;
use crate::units::Bytes;
use std::fmt;

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call { call } => write!(f, "host cost of {}", call.name()),
            Self::RoundTrip { links, across: a, long: l } => {
                write!(f, "round trip of {}{}{}", long(*l), named(links), across(*a))
            }
            Self::Chain { links, across: a } => {
                write!(f, "chain of {}{}", named(links), across(*a))
            }
            Self::GraphCall { call, nodes } => {
                write!(f, "host cost of {} a graph of {nodes} nodes", call.name())
            }
            Self::GraphChain { links } => write!(f, "chain of {} in a graph", named(links)),
            &Self::GraphRows { kernels, waits, awaited } => graph_rows(f, kernels, waits, awaited),
            Self::HandOver { from, to, across: a } => {
                write!(f, "hand-over of {}{}", named(&[*from, *to]), across(*a))
            }
            &Self::Rotation { direction, bytes, streams, in_graph } => {
                write!(f, "{direction} copies of {bytes} in {streams} {}", branches(in_graph))
            }
            Self::Polled { others, copies } => {
                write!(f, "kernels with {others} others waiting{}", meanwhile(*copies))
            }
            Self::Refetched { bytes, streams, kernels } => {
                refetched(f, *bytes, (*streams, *kernels))
            }
            Self::Copy { direction: d, bytes, registered: true } => {
                copy(f, *d, *bytes, ", registered")
            }
            Self::Copy { direction: d, bytes, .. } => copy(f, *d, *bytes, ", pinned"),
            Self::CopyBesideKernels { direction: d, bytes, kernels: k } => {
                copy(f, *d, *bytes, beside_kernel(*k))
            }
            &Self::Shared { direction: d, bytes, footprint } => both_ways(f, d, bytes, footprint),
            Self::Staged { direction, bytes, footprint, complete } => {
                staged(f, (*direction, *bytes), *footprint, *complete)
            }
            Self::Kernel { variant, elements } => on_gpu(f, *variant, *elements, ""),
            Self::JustCopied { variant, elements } => {
                on_gpu(f, *variant, *elements, ", just copied")
            }
            Self::KernelAround { variant, elements, footprint } => {
                on_gpu(f, *variant, *elements, &format!(", round {footprint}"))
            }
            Self::Twin { variant, elements, footprint } => {
                let name = named_variant(*variant);
                write!(f, "{name} on the CPU, {elements} elements, round {footprint}")
            }
            &Self::Handed { taker, part, elements } => handed(f, taker, part, elements),
            Self::Memory { work, bytes } => write!(f, "{} of {bytes}", work.name()),
            &Self::CallInTurn { call, one_stream } => in_turn(f, call, one_stream),
            &Self::LaunchBeside { copy } => launch_beside(f, copy),
            Self::Trip { first, size, next, part, in_graph } => {
                trip(f, (*first, *size), *next, (*part, *in_graph))
            }
            &Self::LateTrip { first, size, next, part } => late_trip(f, (first, size), next, part),
            Self::IdleCall { call } => {
                write!(f, "host cost of {} on an idle device", call.name())
            }
            Self::Transfer { path, bytes } => write!(f, "{} of {bytes}", path.name()),
            Self::Beside { direction, bytes, load, of } => {
                beside_load(f, (*direction, *bytes), *load, *of)
            }
            Self::Setup { step } => f.write_str(step.name()),
            Self::PeerCopy { from, to, bytes, both, .. } => {
                let (from, to) = (from.0, to.0);
                write!(f, "copy of {bytes} from GPU {from} to GPU {to}{}", beside(*both))
            }
            Self::Concurrent { direction, bytes, devices, both } => {
                write!(f, "{direction} copy of {bytes}{}, {devices} GPUs at once", beside(*both))
            }
            Self::Crossing { whole } => f.write_str(crossing(*whole)),
            Self::On { device, of } => write!(f, "{of}, GPU {}", device.0),
        }
    }
}

fn copy(f: &mut fmt::Formatter<'_>, way: Direction, bytes: Bytes, how: &str) -> fmt::Result {
    write!(f, "{way} copy of {bytes}{how}")
}

fn both_ways(
    f: &mut fmt::Formatter<'_>,
    way: Direction,
    bytes: Bytes,
    footprint: Bytes,
) -> fmt::Result {
    copy(f, way, bytes, &format!("{}, round {footprint}", beside(true)))
}

fn beside_load(
    f: &mut fmt::Formatter<'_>,
    (direction, bytes): (Direction, Bytes),
    load: Load,
    of: Side,
) -> fmt::Result {
    let load = load.name();
    match of {
        Side::Copy => write!(f, "{direction} copy of {bytes} beside {load}"),
        Side::Load => write!(f, "{load} beside {direction} copies of {bytes}"),
    }
}

const fn crossing(whole: bool) -> &'static str {
    if whole {
        "kernels of two GPUs, one after the other"
    } else {
        "waiting for another GPU's event"
    }
}

const fn branches(in_graph: bool) -> &'static str {
    if in_graph { "branches of a graph" } else { "streams" }
}

const fn long(long: bool) -> &'static str {
    if long { "long " } else { "" }
}

const fn across(across: bool) -> &'static str {
    if across { " across streams" } else { "" }
}

const fn beside(both: bool) -> &'static str {
    if both { " beside the other way" } else { "" }
}

const fn beside_kernel(kernel: bool) -> &'static str {
    if kernel { " beside a kernel" } else { " beside no kernel" }
}

const fn meanwhile(copies: [bool; 2]) -> &'static str {
    match copies {
        [false, false] => "",
        [true, false] => ", H2D copies meanwhile",
        [false, true] => ", D2H copies meanwhile",
        [true, true] => ", copies both ways meanwhile",
    }
}

fn trip(
    f: &mut fmt::Formatter<'_>,
    (first, size): (Link, u64),
    next: Option<Link>,
    (part, in_graph): (TripPart, bool),
) -> fmt::Result {
    let size = match first {
        Link::Kernel => format!("degree {size}"),
        _ => Bytes::new(size).to_string(),
    };
    let links: Vec<Link> = std::iter::once(first).chain(next).collect();
    let place = if in_graph { " in a graph" } else { "" };
    write!(f, "{} of a trip of {}, the first of {size}{place}", part.name(), named(&links))
}

fn late_trip(
    f: &mut fmt::Formatter<'_>,
    first: (Link, u64),
    next: Link,
    part: TripPart,
) -> fmt::Result {
    trip(f, first, Some(next), (part, false))?;
    f.write_str(", well under way")
}

fn named(links: &[Link]) -> String {
    links.iter().map(|link| link.name()).collect::<Vec<_>>().join(", ")
}

fn named_variant(Variant { kernel, extent }: Variant) -> String {
    if extent > 0 { format!("{kernel} {extent}") } else { kernel.to_string() }
}

impl TripPart {
    const fn name(self) -> &'static str {
        match self {
            Self::FirstCall => "the first call",
            Self::NextCall => "the next call",
            Self::Rest => "the rest",
        }
    }
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
            Self::Multiply => "a launch by cuBLAS",
            Self::Transform => "a launch by cuFFT",
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

impl GraphCall {
    const fn name(self) -> &'static str {
        match self {
            Self::Capture => "capturing",
            Self::Instantiate => "instantiating",
            Self::Launch => "launching",
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
            Self::DeviceFree => "freeing device memory",
            Self::PinnedFree => "freeing pinned memory",
            Self::Unregister => "unpinning",
            Self::CombinedRead => "reading write-combined memory",
            Self::CombinedWrite => "writing write-combined memory",
            Self::CombinedReadTeam => "reading write-combined memory by all threads",
            Self::CombinedWriteTeam => "writing write-combined memory by all threads",
        }
    }
}

fn in_turn(f: &mut fmt::Formatter<'_>, call: Option<TimedCall>, one_stream: bool) -> fmt::Result {
    let calls = call.map_or("a turn of calls", TimedCall::name);
    write!(f, "host cost of {calls} among others{}", across(!one_stream))
}

fn launch_beside(f: &mut fmt::Formatter<'_>, copy: Option<Direction>) -> fmt::Result {
    match copy {
        Some(direction) => write!(f, "host cost of a launch beside {direction} copies"),
        None => f.write_str("host cost of a launch beside no copies"),
    }
}

fn on_gpu(f: &mut fmt::Formatter<'_>, variant: Variant, elements: u64, how: &str) -> fmt::Result {
    write!(f, "{} on the GPU, {elements} elements{how}", named_variant(variant))
}

fn staged(
    f: &mut fmt::Formatter<'_>,
    (direction, bytes): (Direction, Bytes),
    footprint: Bytes,
    complete: bool,
) -> fmt::Result {
    let end = if complete { "" } else { ", until it returns" };
    let around = if footprint > bytes { format!(" of {footprint}") } else { String::new() };
    write!(f, "{direction} copy of {bytes}{around}, pageable{end}")
}

fn graph_rows(f: &mut fmt::Formatter<'_>, kernels: u64, waits: bool, awaited: bool) -> fmt::Result {
    let waits = if waits { ", waiting for H2D copies" } else { "" };
    let awaited = if awaited { ", awaited by D2H copies" } else { "" };
    write!(f, "rows of {kernels} kernels in a graph{waits}{awaited}")
}

fn handed(f: &mut fmt::Formatter<'_>, taker: Taker, part: Handing, elements: u64) -> fmt::Result {
    let who = match taker {
        Taker::One => "one thread",
        Taker::Team => "all threads",
        Taker::TeamBehindHelpers => "all threads behind helpers",
    };
    let what = match part {
        Handing::Nothing => "their own data",
        Handing::Read => "reading what others wrote",
        Handing::Written => "writing what others read",
    };
    write!(f, "a kernel of {elements} elements by {who}, {what}")
}

fn refetched(f: &mut fmt::Formatter<'_>, bytes: Bytes, waiting: (usize, u64)) -> fmt::Result {
    match waiting {
        (0, _) => write!(f, "H2D copy of {bytes} with no kernel waiting"),
        (streams, kernels) => {
            write!(
                f,
                "H2D copy of {bytes} with {kernels} kernels waiting in each of {streams} streams"
            )
        }
    }
}
