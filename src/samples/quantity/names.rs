//! Every quantity in a few words.

use super::Quantity;
use crate::samples::calls::{in_turn, launch_beside};
use crate::samples::chains::{across, long, named};
use crate::samples::contention::{beside, beside_kernel, beside_load, both_ways, copy, refetched};
use crate::samples::graphs::{branches, graph_rows};
use crate::samples::kernels::{named_variant, on_gpu};
use crate::samples::polling::meanwhile;
use crate::samples::round_trips::{late_trip, trip};
use crate::samples::staging::staged;
use crate::samples::twins::handed;
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
            &Self::Refetched { bytes, streams: s, kernels: k } => refetched(f, bytes, (s, k)),
            Self::Copy { direction: d, bytes } => copy(f, *d, *bytes, ", pinned"),
            Self::CopyBesideKernels { direction: d, bytes, kernels: k } => {
                copy(f, *d, *bytes, beside_kernel(*k))
            }
            &Self::Shared { direction: d, bytes, footprint } => both_ways(f, d, bytes, footprint),
            Self::Staged { direction, bytes, footprint, complete } => {
                staged(f, (*direction, *bytes), *footprint, *complete)
            }
            Self::Kernel { variant, elements } => on_gpu(f, *variant, *elements, ""),
            &Self::JustCopied { variant, elements: n } => on_gpu(f, variant, n, ", just copied"),
            Self::KernelAround { variant, elements, footprint } => {
                on_gpu(f, *variant, *elements, &format!(", cycling through {footprint}"))
            }
            Self::Twin { variant, elements, footprint } => {
                let name = named_variant(*variant);
                write!(f, "{name} on the CPU, {elements} elements, cycling through {footprint}")
            }
            &Self::Handed { taker, part, elements } => handed(f, taker, part, elements),
            Self::Memory { work, bytes } => write!(f, "{} of {bytes}", work.name()),
            &Self::CallInTurn { call, one_stream } => in_turn(f, call, one_stream),
            &Self::LaunchBeside { copy } => launch_beside(f, copy),
            Self::Trip { first, size, next, part, in_graph } => {
                trip(f, (*first, *size), *next, (*part, *in_graph))
            }
            &Self::LateTrip { first, size, next, part } => late_trip(f, (first, size), next, part),
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
            Self::Crossing { whole: true } => {
                f.write_str("kernels of two GPUs, one after the other")
            }
            Self::Crossing { whole: false } => f.write_str("waiting for another GPU's event"),
            Self::Own(run) => run.fmt(f),
            Self::On { device, of } => write!(f, "{of}, GPU {}", device.0),
            _ => self.spelled_out(f),
        }
    }
}

impl Quantity {
    /// What only spelled-out programs need.
    fn spelled_out(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rows { path, row, rows } => {
                write!(f, "{} of {rows} rows of {row}", path.name())
            }
            Self::HostCopy { by_all, bytes, footprint, into_cache } => {
                let who = if *by_all { "all threads" } else { "one thread" };
                let there = if *into_cache { ", into the same memory" } else { "" };
                write!(f, "copy of {bytes} by {who}, cycling through {footprint}{there}")
            }
            Self::MemoryBeside { work, part } => write!(f, "{} {}", work.name(), part.name()),
            &Self::KernelBeside { direction, variant, elements } => {
                on_gpu(f, variant, elements, &format!(", during {direction} copies"))
            }
            Self::Node { after: Some(after), of } => {
                write!(f, "hand-over of {} in a graph", named(&[*after, *of]))
            }
            Self::Node { after: None, of } => {
                write!(f, "round trip of {} in a graph", named(&[*of]))
            }
            _ => Ok(()),
        }
    }
}
