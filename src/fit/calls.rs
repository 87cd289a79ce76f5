//! Host costs of calls: among others as plans make them, and alone.

use super::copies::curve_of;
use super::estimator::Estimator;
use crate::machine::{Direction, OperationKind};
use crate::profile::{CallCosts, CopyModel, Estimate};
use crate::samples::{IN_ONE_STREAM, IN_TURN, IN_TURN_COPY, Quantity, TURNS, TimedCall, TripPart};
use crate::stats::{biweight_mean, median, quantile};

pub(super) fn calls(estimator: &Estimator<'_>, copies: &[CopyModel]) -> CallCosts {
    let cost = |call| estimator.estimate_of(&Quantity::Call { call });
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
    let clock = clock(estimator).unwrap_or_default();
    let in_turn = |call, one_stream| {
        let timed = Quantity::CallInTurn { call: Some(call), one_stream };
        Some(estimator.estimate_of(&timed)?.without(clock))
    };
    let among = |call| in_turn(call, true).or_else(|| in_turn(call, false));
    let copy = |call| among(call).or_else(|| cost(call));
    let event = |call, with_launch| in_turn(call, false).or_else(|| besides(with_launch, call));
    // Both variants of a call were measured one right after the other, so their samples pair up.
    let longer = |with: &Quantity, without: &Quantity| {
        let [times, usual] = [with, without].map(|quantity| estimator.times_of(quantity));
        if times.len() != usual.len() {
            return None;
        }
        let longer: Vec<f64> = times.iter().zip(&usual).map(|(one, other)| one - other).collect();
        let ns = median(&longer).filter(|&ns| ns > 0.0)?;
        Some(Estimate::new(ns, estimator.estimate_of(with)?.scatter))
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
        launch_spread: launch_spread(estimator),
        launch_beside_copy_in,
        launch_beside_copy_out: longer_beside(Direction::DeviceToHost),
        launch_by_cublas: by_library(TimedCall::Multiply),
        launch_by_cufft: by_library(TimedCall::Transform),
        copy_in: copy(TimedCall::CopyIn),
        copy_out: copy(TimedCall::CopyOut),
        clear: cost(TimedCall::Clear),
        record: event(TimedCall::Record, TimedCall::LaunchAndRecord),
        wait: event(TimedCall::Wait, TimedCall::WaitAndLaunch),
        synchronize: cost(TimedCall::Synchronize),
        copy_on_device: cost(TimedCall::CopyOnDevice),
        copy_rows: cost(TimedCall::CopyRows),
        allocate_in_stream: cost(TimedCall::AllocateInStream),
        free_in_stream: cost(TimedCall::FreeInStream),
    }
}

/// By how many nanoseconds reading a clock between two calls makes each call appear longer. Reading
/// it takes time of its own, and keeps the second call from overlapping the end of the first. Turns
/// with and without clocks were measured one right after the other; this is their difference per
/// call, noise included.
fn clock(estimator: &Estimator<'_>) -> Option<f64> {
    let mut clocks = Vec::new();
    for (one_stream, turn) in [(false, &IN_TURN[..]), (true, &IN_ONE_STREAM[..])] {
        let times = |call| estimator.times_of(&Quantity::CallInTurn { call, one_stream });
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

/// The shares of launches for which the spread has a point.
const SHARES: [f64; 13] = [0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99];

/// The fewest means that show what is usual.
const FEWEST: usize = 16;

/// How far single launches lie from what launches cost together, as factors over the share of
/// launches below them. Trips time launches one by one. `None` if there are too few.
///
/// The cost together is computed like the estimate of a launch: as a mean of groups, without
/// outliers.
pub(super) fn launch_spread(estimator: &Estimator<'_>) -> Option<Vec<(f64, f64)>> {
    let is_launch = |quantity: &Quantity| match *quantity {
        Quantity::Trip { in_graph: false, first, next, part, .. } => match part {
            TripPart::FirstCall => first == OperationKind::Kernel,
            TripPart::NextCall => next == Some(OperationKind::Kernel),
            TripPart::Rest => false,
        },
        _ => false,
    };
    let trips = estimator.measurements().filter(|one| is_launch(&one.quantity));
    let times: Vec<f64> = trips.flat_map(|one| &one.times).map(|time| time.nanos_f64()).collect();
    let together = times.chunks_exact(TURNS as usize);
    let means: Vec<f64> =
        together.map(|some| some.iter().sum::<f64>() / some.len() as f64).collect();
    let usual = biweight_mean(&means, 0.0).filter(|&usual| means.len() >= FEWEST && usual > 0.0)?;
    let factor = |share| Some((share, quantile(&times, share)? / usual));
    SHARES.map(factor).into_iter().collect()
}
