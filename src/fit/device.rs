//! Calls, latencies, copies, the link and kernels.

use super::chains::{round_trip, service};
use super::lookup::{Lookup, nanos};
use super::trips;
use crate::kernels::{Kernel, Variant};
use crate::plan::Direction;
use crate::profile::{
    CallCosts, Contention, CopyModel, Curve, Estimate, KernelModel, Latencies, LinkModel, Polling,
    Refetch,
};
use crate::samples::{
    Link, MEANWHILE, Measurement, Quantity, REFETCHED, ROTATED, SHORT_COPY, TRIP_ELEMENTS,
    TimedCall,
};
use crate::stats::{Line, median, relative_spread, theil_sen};
use crate::units::{Bandwidth, Bytes};

pub(super) fn calls(lookup: &Lookup<'_>) -> CallCosts {
    let cost = |call| lookup.estimate_of(&Quantity::Call { call });
    let launch = cost(TimedCall::Launch);
    // Measured along with a launch, as they are used: next to nothing of others
    // is to be had alone.
    let besides = |with_launch, alone| {
        let both = cost(with_launch).zip(launch).map(|(both, launch)| both.without(launch.ns));
        both.or_else(|| cost(alone))
    };
    // Best among others, as plans make them: the same call again and again finds
    // everything in the caches.
    let in_turn = |call| lookup.estimate_of(&Quantity::CallInTurn { call });
    let copy = |call| in_turn(call).or_else(|| cost(call));
    let event = |call, with_launch| in_turn(call).or_else(|| besides(with_launch, call));
    CallCosts {
        launch: in_turn(TimedCall::Launch).or(launch),
        copy_in: copy(TimedCall::CopyIn),
        copy_out: copy(TimedCall::CopyOut),
        clear: cost(TimedCall::Clear),
        record: event(TimedCall::Record, TimedCall::LaunchAndRecord),
        wait: event(TimedCall::Wait, TimedCall::WaitAndLaunch),
        synchronize: cost(TimedCall::Synchronize),
    }
}

/// A round trip is the call, the way to the device, the operation itself, and
/// the way back. No clock sees the two ways apart; the way back is taken to be
/// what a synchronisation costs that finds everything done, because both end
/// with the host reading a word that is there.
pub(super) fn latencies(
    lookup: &Lookup<'_>,
    calls: &CallCosts,
    (copies, kernels): (&[CopyModel], &[KernelModel]),
) -> Latencies {
    // A copy one after the other is the same copy on whichever curve it lies.
    let on_curve = |direction| {
        let model = copies.iter().find(|model| model.direction == direction)?;
        let ns = model.time.known(SHORT_COPY.as_f64()).ok()?;
        Some(Estimate::new(ns, model.time.scatter))
    };
    let by_parts = |link: Link| {
        let copy = |direction, size: u64| {
            let model = copies.iter().find(|model| model.direction == direction);
            model?.time.known(size as f64).ok()
        };
        let service = |size: u64| match link {
            Link::CopyIn => copy(Direction::HostToDevice, size),
            Link::CopyOut => copy(Direction::DeviceToHost, size),
            Link::Kernel => polynomial(kernels, size),
            Link::PeerCopy => None,
        };
        trips::start(lookup, link, service, calls.synchronize)
    };
    // Less well: what calls take varies, and is in this.
    let by_trip = |link, call: Option<Estimate>| {
        let operation = service(lookup, link).or_else(|| match link {
            Link::CopyIn => on_curve(Direction::HostToDevice),
            Link::CopyOut => on_curve(Direction::DeviceToHost),
            Link::Kernel | Link::PeerCopy => None,
        });
        let trip = round_trip(lookup, &[link], false, false)?;
        Some(trip.without(call?.ns + operation?.ns + calls.synchronize?.ns))
    };
    let start = |link, call| by_parts(link).or_else(|| by_trip(link, call));
    Latencies {
        start_kernel: start(Link::Kernel, calls.launch),
        start_copy_in: start(Link::CopyIn, calls.copy_in),
        start_copy_out: start(Link::CopyOut, calls.copy_out),
        wake_host: calls.synchronize,
        kernel_gap: service(lookup, Link::Kernel),
        looks: None,
    }
}

/// Nanoseconds of the kernel that trips begin with, of a degree.
fn polynomial(kernels: &[KernelModel], degree: u64) -> Option<f64> {
    let is_wanted = |model: &&KernelModel| {
        let Variant { kernel, extent } = model.variant;
        kernel == Kernel::Polynomial && u64::from(extent) == degree
    };
    kernels.iter().find(is_wanted)?.time.known(TRIP_ELEMENTS as f64).ok()
}

/// Copies of pinned memory, or of memory that was pinned later: registered.
pub(super) fn copies(lookup: &Lookup<'_>, of_registered: bool) -> Vec<CopyModel> {
    let curve = |wanted| {
        lookup.curve(|quantity| match *quantity {
            Quantity::Copy { direction, bytes, registered }
                if (direction, registered) == (wanted, of_registered) =>
            {
                Some(bytes.get())
            }
            _ => None,
        })
    };
    let model = |direction| curve(direction).map(|time| CopyModel { direction, time });
    Direction::BOTH.into_iter().filter_map(model).collect()
}

pub(super) fn link(lookup: &Lookup<'_>, copies: &[CopyModel]) -> LinkModel {
    let alone = Direction::BOTH.map(|wanted| {
        copies.iter().find(|model| model.direction == wanted).map(|model| &model.time)
    });
    let [down_rate, up_rate] = alone.map(|time| {
        let slope = time?.slope().filter(|&slope| slope > 0.0)?;
        Some(Bandwidth::from_bytes_per_second(1e9 / slope))
    });
    let ([down_shared, up_shared], scatter) = contention(lookup, alone);
    let mut link = LinkModel {
        down_bytes_per_second: down_rate,
        up_bytes_per_second: up_rate,
        down_shared,
        up_shared,
        scatter,
        refetches: refetches(lookup),
        ..LinkModel::default()
    };
    let [down, up] = alone.map(|time| time?.known(ROTATED.as_f64()).ok());
    let waiting = waiting_in_rotation(lookup);
    // All of them wait: the kernel behind the copy under way, too.
    let longer = |streams| down.map(|ns| ns * link.refetching(streams, waiting));
    let down_switch = switch(lookup, Direction::HostToDevice, (ROTATED, false), longer);
    link.down_switch = down_switch;
    link.up_switch = switch(lookup, Direction::DeviceToHost, (ROTATED, false), |_| up);
    link
}

/// How many kernels each stream holds on average behind those copies of a rotation that a
/// sample with many turns has and one with few has not.
fn waiting_in_rotation(lookup: &Lookup<'_>) -> f64 {
    let is_rotation =
        |m: &&Measurement| matches!(m.quantity, Quantity::Rotation { in_graph: false, .. });
    let turns = || lookup.measurements().filter(is_rotation).map(|m| m.count);
    let (few, many) = (turns().min().unwrap_or(0), turns().max().unwrap_or(0));
    f64::midpoint(few as f64 + 1.0, many as f64)
}

/// How much longer copies take while kernels wait in several streams.
fn refetches(lookup: &Lookup<'_>) -> Vec<Refetch> {
    let time = |streams, kernels| {
        let bytes = REFETCHED.0;
        lookup.estimate_of(&Quantity::Refetched { bytes, streams, kernels })
    };
    let Some(alone) = time(0, 0) else { return Vec::new() };
    let refetch = |streams: usize| {
        let slowdown =
            |kernels: u64| Some((kernels as f64, (time(streams, kernels)?.ns / alone.ns).max(1.0)));
        let measured = REFETCHED.2.into_iter().filter_map(slowdown);
        let knots: Vec<(f64, f64)> = std::iter::once((0.0, 1.0)).chain(measured).collect();
        let slowdown = Curve { knots, scatter: alone.scatter };
        (slowdown.knots.len() > 1).then_some(Refetch { streams, slowdown })
    };
    REFETCHED.1.into_iter().filter_map(refetch).collect()
}

/// What a copy takes longer when the engine comes from another stream, or branch of a graph,
/// over their number; `copy`: nanoseconds of one if it comes from the same one of so many.
pub(super) fn switch(
    lookup: &Lookup<'_>,
    wanted: Direction,
    (size, inside): (Bytes, bool),
    copy: impl Fn(usize) -> Option<f64>,
) -> Option<Curve> {
    let (turns, _) = lookup.points(|quantity| match *quantity {
        Quantity::Rotation { direction, bytes, streams, in_graph }
            if (direction, bytes, in_graph) == (wanted, size, inside) =>
        {
            Some(streams as u64)
        }
        _ => None,
    })?;
    let knot = |(streams, ns): (f64, f64)| {
        Some((streams, (ns / streams - copy(streams as usize)?).max(0.0)))
    };
    let knots: Option<Vec<(f64, f64)>> = turns.into_iter().map(knot).collect();
    Some(Curve { knots: std::iter::once((1.0, 0.0)).chain(knots?).collect(), scatter: 0.0 })
}

/// For each direction, what a copy takes longer while the other direction is
/// busy, if copies of two sizes say so; and the relative scatter. `alone`: the
/// copies of each direction while the other is quiet.
///
/// A line through copies of all sizes rather than a curve: engines that run
/// freely fall in step at some sizes, and then hide their starts behind each
/// other as plans that tie them together do not.
fn contention(lookup: &Lookup<'_>, alone: [Option<&Curve>; 2]) -> ([Option<Contention>; 2], f64) {
    let (mut all, mut scatters) = ([Vec::new(), Vec::new()], Vec::new());
    for (side, wanted) in Direction::BOTH.into_iter().enumerate() {
        for one in lookup.measurements() {
            let Quantity::Shared { direction, bytes } = one.quantity else { continue };
            let time = alone[side].and_then(|curve| curve.known(bytes.as_f64()).ok());
            let Some(time) = time.filter(|_| direction == wanted) else { continue };
            // Of the same visit: the two were measured at once.
            let visit = lookup.measurements().take_while(|m| !std::ptr::eq(*m, one));
            let visit = visit.filter(|m| m.quantity == one.quantity).count();
            let other = Quantity::Shared { direction: Direction::BOTH[1 - side], bytes };
            let other = lookup.measurements().filter(|m| m.quantity == other).nth(visit);
            let slow = slowdowns(one, time, other);
            if let Some(slowdown) = median(&slow) {
                all[side].push((bytes.as_f64(), (slowdown - 1.0) * time));
                scatters.push(relative_spread(&slow).unwrap_or(0.0));
            }
        }
    }
    let through = |points: Vec<(f64, f64)>| {
        let Line { intercept, slope } = theil_sen(&points)?;
        Some(Contention { per_copy_ns: intercept.max(0.0), per_byte_ns: slope.max(0.0) })
    };
    (all.map(through), median(&scatters).unwrap_or(0.0))
}

/// How many times longer what was measured took while something else, such as the
/// other direction, was busy too; `alone`: nanoseconds of one repetition otherwise.
pub(super) fn slowdowns(one: &Measurement, alone: f64, other: Option<&Measurement>) -> Vec<f64> {
    let work = alone * one.count as f64;
    let times = nanos(&one.times);
    // Both began at once, and whichever was busy longer had the link to itself
    // at the end. Without the other's time, it was busy throughout.
    let others = other.map_or_else(|| times.clone(), |other| nanos(&other.times));
    let slow = |(time, other): (f64, f64)| {
        let both = time.min(other);
        let meanwhile = work - (time - both);
        (meanwhile > 0.0).then(|| (both / meanwhile).max(1.0))
    };
    times.into_iter().zip(others).filter_map(slow).collect()
}

/// What a kernel pays for the streams that wait, above what follows a kernel anyway.
pub(super) fn polling(lookup: &Lookup<'_>, gap: Option<Estimate>) -> Vec<Polling> {
    let model = |copies| {
        let gap = gap?;
        let (points, scatter) = lookup.points(|quantity| match *quantity {
            Quantity::Polled { others, copies: meanwhile } if meanwhile == copies => {
                Some(others as u64)
            }
            _ => None,
        })?;
        let knots = points.into_iter().map(|(others, ns)| (others, (ns - gap.ns).max(0.0)));
        let knots = std::iter::once((0.0, 0.0)).chain(knots).collect();
        Some(Polling { copies, delay: Curve { knots, scatter } })
    };
    MEANWHILE.into_iter().filter_map(model).collect()
}

pub(super) fn kernels(lookup: &Lookup<'_>) -> Vec<KernelModel> {
    let mut variants: Vec<Variant> = lookup
        .measurements()
        .filter_map(|measurement| match measurement.quantity {
            Quantity::Kernel { variant, .. } => Some(variant),
            _ => None,
        })
        .collect();
    variants.sort_unstable();
    variants.dedup();
    let curve = |wanted| {
        lookup.curve(|quantity| match quantity {
            Quantity::Kernel { variant, elements } if *variant == wanted => Some(*elements),
            _ => None,
        })
    };
    let model = |variant| curve(variant).map(|time| KernelModel { variant, time });
    variants.into_iter().filter_map(model).collect()
}
