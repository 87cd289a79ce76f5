//! Models of calls, latencies, copies, the link and kernels.

use super::chains::{round_trip, service};
use super::contention::{beside_kernels, contention};
use super::lookup::Lookup;
use super::trips;
use crate::kernels::{Kernel, Variant};
use crate::machine::Direction;
use crate::profile::{
    CallCosts, CopyModel, Curve, Estimate, KernelModel, Latencies, LinkModel, Polling, Refetch,
};
use crate::samples::{
    DEVICE_FOOTPRINT, IN_ONE_STREAM, IN_TURN, IN_TURN_COPY, Link, MEANWHILE, Quantity, REFETCHED,
    ROTATED, SHORT_COPY, TRIP_ELEMENTS, TimedCall, WRITTEN_KEPT, WRITTEN_THROUGH,
};
use crate::stats::median;
use crate::units::{Bandwidth, Bytes};
use std::ops::RangeInclusive;

pub(super) fn calls(lookup: &Lookup<'_>, copies: &[CopyModel]) -> CallCosts {
    let cost = |call| lookup.estimate_of(&Quantity::Call { call });
    let launch = cost(TimedCall::Launch);
    // An event's call is measured together with a launch, as programs use it: alone, other calls
    // have nearly nothing to do.
    let besides = |with_launch, alone| {
        let both = cost(with_launch).zip(launch).map(|(both, launch)| both.without(launch.ns));
        both.or_else(|| cost(alone))
    };
    // A library's launch costs what a plain launch costs, plus what the library does besides.
    let by_library = |call| Some(cost(call)?.without(launch?.ns));
    // The best measurement of a call is among other calls, as plans make it. Repeated by itself, it
    // finds everything in the caches.
    let clock = clock(lookup).unwrap_or_default();
    let in_turn = |call, one_stream| {
        let timed = Quantity::CallInTurn { call: Some(call), one_stream };
        Some(lookup.estimate_of(&timed)?.without(clock))
    };
    let among = |call| in_turn(call, true).or_else(|| in_turn(call, false));
    let copy = |call| among(call).or_else(|| cost(call));
    let event = |call, with_launch| in_turn(call, false).or_else(|| besides(with_launch, call));
    // Both variants of a call were measured one right after the other, so their samples pair up.
    let longer = |with: &Quantity, without: &Quantity| {
        let [times, usual] = [with, without].map(|quantity| lookup.times_of(quantity));
        if times.len() != usual.len() {
            return None;
        }
        let longer: Vec<f64> = times.iter().zip(&usual).map(|(one, other)| one - other).collect();
        let ns = median(&longer).filter(|&ns| ns > 0.0)?;
        Some(Estimate::new(ns, lookup.estimate_of(with)?.scatter))
    };
    // Of the turns with a stream for every engine, launches and copies to the host come right
    // behind a wait; of those in one stream, none do.
    let longer_behind = |call| {
        let in_turn = |one_stream| Quantity::CallInTurn { call: Some(call), one_stream };
        longer(&in_turn(false), &in_turn(true))
    };
    let beside = |copy| Quantity::LaunchBeside { copy };
    let longer_beside = |copy| longer(&beside(Some(copy)), &beside(None));
    let launch_beside_copy_in = longer_beside(Direction::HostToDevice);
    // In a turn, a launch runs beside a copy for as long as the copy's data is on the link.
    let among_copies = |launch: Estimate| {
        let calls = IN_ONE_STREAM.iter().filter_map(|&(call, _)| among(call));
        let turn: f64 = calls.map(|call| call.ns).sum();
        let down = curve_of(copies, Direction::HostToDevice)?;
        let data = IN_TURN_COPY.as_f64() * down.slope()?.max(0.0);
        Some(launch.without(launch_beside_copy_in?.ns * (data / turn).min(1.0)))
    };
    let by_itself = among(TimedCall::Launch).map(|one| among_copies(one).unwrap_or(one));
    CallCosts {
        launch: by_itself.or(launch),
        launch_spread: trips::launch_spread(lookup),
        launch_beside_copy_in,
        launch_beside_copy_out: longer_beside(Direction::DeviceToHost),
        launch_behind_wait: longer_behind(TimedCall::Launch),
        launch_by_cublas: by_library(TimedCall::Multiply),
        launch_by_cufft: by_library(TimedCall::Transform),
        copy_in: copy(TimedCall::CopyIn),
        copy_out: copy(TimedCall::CopyOut),
        copy_out_behind_wait: longer_behind(TimedCall::CopyOut),
        clear: cost(TimedCall::Clear),
        record: event(TimedCall::Record, TimedCall::LaunchAndRecord),
        wait: event(TimedCall::Wait, TimedCall::WaitAndLaunch),
        synchronize: cost(TimedCall::Synchronize),
    }
}

/// By how many nanoseconds reading a clock between two calls makes each call appear longer. Reading
/// it takes time of its own, and keeps the second call from overlapping the end of the first. Turns
/// with and without clocks were measured one right after the other; this is their difference per
/// call, noise included.
fn clock(lookup: &Lookup<'_>) -> Option<f64> {
    let mut clocks = Vec::new();
    for (one_stream, turn) in [(false, &IN_TURN[..]), (true, &IN_ONE_STREAM[..])] {
        let times = |call| lookup.times_of(&Quantity::CallInTurn { call, one_stream });
        let mut longer: Vec<f64> = times(None).into_iter().map(|whole| -whole).collect();
        for &(call, often) in turn {
            let times = times(Some(call));
            if times.len() != longer.len() {
                return None;
            }
            longer.iter_mut().zip(times).for_each(|(sum, time)| *sum += time * often as f64);
        }
        let calls: usize = turn.iter().map(|&(_, often)| often).sum();
        clocks.extend(longer.into_iter().map(|sum| sum / calls as f64));
    }
    Some(median(&clocks)?.max(0.0))
}

/// Derives latencies from round trips. A round trip consists of the call, the way to the device,
/// the operation itself, and the way back. No clock separates the two ways. The way back is taken
/// to cost as much as a synchronisation that finds everything done, because both end with the host
/// reading a word that is there.
pub(super) fn latencies(
    lookup: &Lookup<'_>,
    calls: &CallCosts,
    (copies, kernels): (&[CopyModel], &[KernelModel]),
) -> Latencies {
    // A short copy in a chain is taken from the curve of copies if chains of it were not measured.
    let on_curve = |direction| {
        let ns = copy_time(copies, direction, SHORT_COPY)?;
        Some(Estimate::new(ns, curve_of(copies, direction)?.scatter))
    };
    let by_parts = |link: Link| {
        let service = |size| first_of_trip((copies, kernels), (link, size));
        trips::start(lookup, (link, false), service, calls.synchronize)
    };
    // This estimate is less exact than the one by parts, because it includes the variation of the
    // call.
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
        semaphore_polling: None,
    }
}

/// Nanoseconds of a copy of pinned memory, if copies of that size were measured.
pub(super) fn copy_time(copies: &[CopyModel], direction: Direction, bytes: Bytes) -> Option<f64> {
    curve_of(copies, direction)?.known(bytes.as_f64()).ok()
}

/// Nanoseconds of a copy of pinned memory while kernels run. Where a copy engine serves several
/// streams or branches of a graph in turn, kernels of the others run beside each copy.
pub(super) fn time_beside_kernels(
    lookup: &Lookup<'_>,
    copies: &[CopyModel],
    (direction, bytes): (Direction, Bytes),
) -> Option<f64> {
    let longer = beside_kernels(lookup, direction);
    let longer = longer.map_or(0.0, |curve| curve.within(bytes.as_f64()));
    Some(copy_time(copies, direction, bytes)? + longer)
}

fn curve_of(copies: &[CopyModel], direction: Direction) -> Option<&Curve> {
    copies.iter().find(|model| model.direction == direction).map(|model| &model.time)
}

/// Nanoseconds of the operation that a trip begins with; `size` is bytes of a copy or a kernel's
/// degree.
pub(super) fn first_of_trip(
    (copies, kernels): (&[CopyModel], &[KernelModel]),
    (link, size): (Link, u64),
) -> Option<f64> {
    let bytes = Bytes::new(size);
    match link {
        Link::CopyIn => copy_time(copies, Direction::HostToDevice, bytes),
        Link::CopyOut => copy_time(copies, Direction::DeviceToHost, bytes),
        Link::Kernel => polynomial(kernels, size),
        Link::PeerCopy => None,
    }
}

/// Nanoseconds of the kernel that trips begin with: a polynomial of this degree over
/// [`TRIP_ELEMENTS`].
fn polynomial(kernels: &[KernelModel], degree: u64) -> Option<f64> {
    let is_wanted = |model: &&KernelModel| {
        let Variant { kernel, extent } = model.variant;
        kernel == Kernel::Polynomial && u64::from(extent) == degree
    };
    kernels.iter().find(is_wanted)?.time.known(TRIP_ELEMENTS as f64).ok()
}

/// Curves of copies of pinned memory, or, if `of_registered`, of memory that was registered later.
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
    let alone = Direction::BOTH.map(|direction| curve_of(copies, direction));
    let [down_rate, up_rate] = alone.map(|time| {
        let slope = time?.slope().filter(|&slope| slope > 0.0)?;
        Some(Bandwidth::from_bytes_per_second(1e9 / slope))
    });
    let ([down_shared, up_shared], scatter) = contention(lookup, alone, WRITTEN_THROUGH);
    let ([down_shared_kept, up_shared_kept], _) = contention(lookup, alone, WRITTEN_KEPT);
    let [down_beside_kernels, up_beside_kernels] =
        Direction::BOTH.map(|direction| beside_kernels(lookup, direction));
    let mut link = LinkModel {
        down_bytes_per_second: down_rate,
        up_bytes_per_second: up_rate,
        down_shared,
        up_shared,
        down_shared_kept,
        up_shared_kept,
        down_beside_kernels,
        up_beside_kernels,
        scatter,
        refetches: refetches(lookup),
        ..LinkModel::default()
    };
    let [down, up] =
        Direction::BOTH.map(|direction| time_beside_kernels(lookup, copies, (direction, ROTATED)));
    // While the engine rotates, kernels wait in every stream, including the one whose copy is under
    // way.
    let beside_waiting = |streams, held: RangeInclusive<u64>| {
        let times = held.map(|kernels| link.refetching(streams, kernels as f64));
        let times: Vec<f64> = times.collect();
        Some(down? * times.iter().sum::<f64>() / times.len() as f64)
    };
    let down_switch = switch(lookup, Direction::HostToDevice, (ROTATED, false), beside_waiting);
    link.down_switch = down_switch;
    link.up_switch = switch(lookup, Direction::DeviceToHost, (ROTATED, false), |_, _| up);
    link
}

/// The smallest difference that counts as clear, in units of the scatter. Smaller ones may come
/// from having been measured at another moment.
const CLEARLY: f64 = 2.0;

/// By how much an operation takes longer with something else than without it, if the difference is
/// clear.
pub(super) fn clearly_longer(with: Estimate, without: f64) -> Option<Estimate> {
    let longer = with.without(without);
    (longer.ns > CLEARLY * with.scatter * with.ns).then_some(longer)
}

/// How much longer copies take while kernels wait in several streams, if all cases were measured.
/// The curves carry no scatter: a range draws the time of each copy, which has this scatter in it
/// already.
fn refetches(lookup: &Lookup<'_>) -> Vec<Refetch> {
    let time = |streams, kernels| {
        let bytes = REFETCHED.bytes;
        lookup.estimate_of(&Quantity::Refetched { bytes, streams, kernels })
    };
    let refetch = |streams: usize| {
        let alone = time(0, 0)?;
        let knot = |kernels| {
            let slowdown = time(streams, kernels)?.ns / alone.ns;
            // Waiting kernels never make a copy quicker, so anything below 1 is noise. The half a
            // percent of noise in the other values is kept: leaving out all that is not clear would
            // lose effects of 1 to 2%.
            Some((kernels as f64, slowdown.max(1.0)))
        };
        let knots = REFETCHED.kernels.into_iter().map(knot).collect::<Option<Vec<_>>>()?;
        let knots = std::iter::once((0.0, 1.0)).chain(knots).collect();
        Some(Refetch { streams, slowdown: Curve { knots, scatter: 0.0 } })
    };
    REFETCHED.streams.into_iter().map(refetch).collect::<Option<Vec<_>>>().unwrap_or_default()
}

/// Nanoseconds that a copy takes longer when its engine comes from another stream, or another
/// branch of a graph, over the number of these. `copy` gives the nanoseconds of a copy before which
/// the engine stays with its stream, for a number of streams and the range of kernels that each of
/// them holds from the first to the last copy.
pub(super) fn switch(
    lookup: &Lookup<'_>,
    wanted: Direction,
    (size, inside): (Bytes, bool),
    copy: impl Fn(usize, RangeInclusive<u64>) -> Option<f64>,
) -> Option<Curve> {
    let number = |quantity: &Quantity| match *quantity {
        Quantity::Rotation { direction, bytes, streams, in_graph }
            if (direction, bytes, in_graph) == (wanted, size, inside) =>
        {
            Some(streams as u64)
        }
        _ => None,
    };
    let (turns, _) = lookup.points(number)?;
    // While the copies of one turn run, the kernels of all later turns wait. Times of many turns
    // have those of a few turns subtracted, so only the turns beyond these few count.
    let held = |streams: u64| {
        let same = lookup.measurements().filter(move |m| number(&m.quantity) == Some(streams));
        let (few, many) =
            same.fold((u64::MAX, 0), |(few, many), m| (few.min(m.count), many.max(m.count)));
        let first = if few < many { few + 1 } else { 1 };
        first..=many
    };
    let knot = |(streams, ns): (f64, f64)| {
        Some((streams, (ns / streams - copy(streams as usize, held(streams as u64))?).max(0.0)))
    };
    let knots: Option<Vec<(f64, f64)>> = turns.into_iter().map(knot).collect();
    Some(Curve { knots: std::iter::once((1.0, 0.0)).chain(knots?).collect(), scatter: 0.0 })
}

/// What a kernel pays when other streams wait, in addition to the usual gap behind a kernel.
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
    let model = |variant| {
        let time = curve(variant)?;
        // How much longer the kernel takes, over elements, than when repeated on the same data.
        let longer = |of: &dyn Fn(&Quantity) -> Option<(Variant, u64)>| {
            let of_this = |what: &Quantity| of(what).filter(|of| of.0 == variant).map(|of| of.1);
            let (knots, scatter) = lookup.points(of_this)?;
            Some(Curve { knots, scatter }.above(&time))
        };
        let just_copied = longer(&|quantity| match *quantity {
            Quantity::JustCopied { variant, elements } => Some((variant, elements)),
            _ => None,
        });
        let from_memory = longer(&|quantity| match *quantity {
            Quantity::KernelAround { variant, elements, footprint }
                if footprint >= DEVICE_FOOTPRINT =>
            {
                Some((variant, elements))
            }
            _ => None,
        });
        Some(KernelModel { variant, time, just_copied, from_memory })
    };
    variants.into_iter().filter_map(model).collect()
}
