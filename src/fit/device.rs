//! Calls, latencies, copies, the link and kernels.

use super::FitError;
use super::chains::{round_trip, service};
use super::lookup::{Lookup, nanos};
use crate::kernels::Variant;
use crate::plan::Direction;
use crate::profile::{
    CallCosts, Contention, CopyModel, Curve, Estimate, KernelModel, Latencies, LinkModel, Polling,
};
use crate::samples::{Link, MEANWHILE, Quantity, ROTATED, TimedCall};
use crate::stats::{Line, median, relative_spread, theil_sen};
use crate::units::Bandwidth;

pub(super) fn calls(lookup: &Lookup<'_>) -> Result<CallCosts, FitError> {
    let cost = |wanted| {
        lookup.needed("the host cost of API calls", |quantity| {
            *quantity == Quantity::Call { call: wanted }
        })
    };
    let launch = cost(TimedCall::Launch)?;
    // Measured along with a launch, as they are used: alone they are no work.
    let besides = |wanted| {
        let both = cost(wanted)?;
        Ok::<_, FitError>(Estimate { ns: (both.ns - launch.ns).max(0.0), scatter: both.scatter })
    };
    Ok(CallCosts {
        launch,
        copy_in: cost(TimedCall::CopyIn)?,
        copy_out: cost(TimedCall::CopyOut)?,
        clear: cost(TimedCall::Clear)?,
        record: besides(TimedCall::LaunchAndRecord)?,
        wait: besides(TimedCall::WaitAndLaunch)?,
        synchronize: cost(TimedCall::Synchronize)?,
    })
}

/// A round trip is the call, the way to the device, the operation itself, and
/// the way back. No clock sees the two ways apart; the way back is taken to be
/// what a synchronisation costs that finds everything done, because both end
/// with the host reading a word that is there.
pub(super) fn latencies(lookup: &Lookup<'_>, calls: &CallCosts) -> Result<Latencies, FitError> {
    let start = |link, call: &Estimate| {
        let trip = round_trip(lookup, &[link], false, false)?;
        let rest = trip.ns - call.ns - service(lookup, link)?.ns - calls.synchronize.ns;
        Ok(Estimate { ns: rest.max(0.0), scatter: trip.scatter })
    };
    Ok(Latencies {
        start_kernel: start(Link::Kernel, &calls.launch)?,
        start_copy_in: start(Link::CopyIn, &calls.copy_in)?,
        start_copy_out: start(Link::CopyOut, &calls.copy_out)?,
        wake_host: calls.synchronize,
        kernel_gap: service(lookup, Link::Kernel)?,
    })
}

pub(super) fn copies(lookup: &Lookup<'_>) -> Vec<CopyModel> {
    let curve = |wanted| {
        lookup.curve(|quantity| match quantity {
            Quantity::Copy { direction, bytes, registered: false } if *direction == wanted => {
                Some(bytes.get())
            }
            _ => None,
        })
    };
    let model = |direction| curve(direction).map(|time| CopyModel { direction, time });
    Direction::BOTH.into_iter().filter_map(model).collect()
}

pub(super) fn link(lookup: &Lookup<'_>, copies: &[CopyModel]) -> Result<LinkModel, FitError> {
    let [down, up] = Direction::BOTH.map(|wanted| {
        let model = copies.iter().find(|model| model.direction == wanted);
        model.filter(|model| model.time.slope() > 0.0).map(|model| Alone::new(&model.time))
    });
    let missing = || FitError { what: "large copies of pinned memory in both directions".into() };
    let alone = [down.ok_or_else(missing)?, up.ok_or_else(missing)?];
    let (shared, scatter) = contention(lookup, &alone);
    let [down_shared, up_shared] = shared;
    Ok(LinkModel {
        down_bytes_per_second: Bandwidth::from_bytes_per_second(alone[0].rate),
        up_bytes_per_second: Bandwidth::from_bytes_per_second(alone[1].rate),
        down_shared,
        up_shared,
        scatter,
        down_switch: switch(lookup, Direction::HostToDevice, &alone[0]),
        up_switch: switch(lookup, Direction::DeviceToHost, &alone[1]),
    })
}

/// What a copy takes longer when the engine comes from another stream.
fn switch(lookup: &Lookup<'_>, wanted: Direction, alone: &Alone<'_>) -> Curve {
    let turns = lookup.points(|quantity| match *quantity {
        Quantity::Rotation { direction, bytes: ROTATED, streams } if direction == wanted => {
            Some(streams as u64)
        }
        _ => None,
    });
    let copy = alone.time.at(ROTATED.as_f64());
    let (turns, _) = turns.unwrap_or_default();
    let knots = turns.into_iter().map(|(streams, ns)| (streams, (ns / streams - copy).max(0.0)));
    Curve { knots: std::iter::once((1.0, 0.0)).chain(knots).collect(), scatter: 0.0 }
}

/// Copies of one direction when the other is quiet.
struct Alone<'c> {
    time: &'c Curve,
    /// Bytes per second.
    rate: f64,
}

impl<'c> Alone<'c> {
    fn new(time: &'c Curve) -> Self {
        Self { time, rate: 1e9 / time.slope() }
    }
}

/// For each direction, what a copy takes longer while the other direction is
/// busy; and the relative scatter.
///
/// A line through copies of all sizes rather than a curve: engines that run
/// freely fall in step at some sizes, and then hide their starts behind each
/// other as plans that tie them together do not.
fn contention(lookup: &Lookup<'_>, alone: &[Alone<'_>; 2]) -> ([Contention; 2], f64) {
    let (mut all, mut scatters) = ([Vec::new(), Vec::new()], Vec::new());
    for inward in lookup.measurements() {
        let Quantity::Shared { direction: Direction::HostToDevice, bytes } = inward.quantity else {
            continue;
        };
        let other = Quantity::Shared { direction: Direction::DeviceToHost, bytes };
        let Some(outward) = lookup.measurements().find(|m| m.quantity == other) else { continue };
        let one = [0, 1].map(|side| alone[side].time.at(bytes.as_f64()));
        let work = one.map(|one| one * inward.count as f64);
        let mut slow = [Vec::new(), Vec::new()];
        for (inward, outward) in nanos(&inward.times).into_iter().zip(nanos(&outward.times)) {
            let both = inward.min(outward);
            for (side, time) in [inward, outward].into_iter().enumerate() {
                // Whichever is busy longer has the link to itself at the end.
                let meanwhile = work[side] - (time - both);
                if meanwhile > 0.0 {
                    slow[side].push((both / meanwhile).max(1.0));
                }
            }
        }
        for side in [0, 1] {
            if let Some(slowdown) = median(&slow[side]) {
                all[side].push((bytes.as_f64(), (slowdown - 1.0) * one[side]));
                scatters.push(relative_spread(&slow[side]).unwrap_or(0.0));
            }
        }
    }
    let through = |points: &Vec<(f64, f64)>| {
        let line = theil_sen(points).unwrap_or(Line { intercept: 0.0, slope: 0.0 });
        Contention { per_copy_ns: line.intercept.max(0.0), per_byte_ns: line.slope.max(0.0) }
    };
    ([through(&all[0]), through(&all[1])], median(&scatters).unwrap_or(0.0))
}

/// What a kernel pays for the streams that wait, above what follows a kernel anyway.
pub(super) fn polling(lookup: &Lookup<'_>, gap: Estimate) -> Vec<Polling> {
    let model = |copies| {
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
