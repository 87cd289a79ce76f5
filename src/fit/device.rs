//! Calls, latencies, copies, the link and kernels.

use super::FitError;
use super::chains::Services;
use super::lookup::{Lookup, nanos};
use crate::kernels::Variant;
use crate::plan::Direction;
use crate::profile::{CallCosts, CopyModel, Curve, Estimate, KernelModel, Latencies, LinkModel};
use crate::samples::{Link, Quantity, TimedCall};
use crate::stats::{median, relative_spread};
use crate::units::{Bandwidth, Bytes};

pub(super) fn calls(lookup: &Lookup<'_>) -> Result<CallCosts, FitError> {
    let cost = |wanted| {
        lookup.needed("the host cost of API calls", |quantity| {
            *quantity == Quantity::Call { call: wanted }
        })
    };
    Ok(CallCosts {
        launch: cost(TimedCall::Launch)?,
        copy_in: cost(TimedCall::CopyIn)?,
        copy_out: cost(TimedCall::CopyOut)?,
        clear: cost(TimedCall::Clear)?,
        record: cost(TimedCall::Record)?,
        wait: cost(TimedCall::Wait)?,
        synchronize: cost(TimedCall::Synchronize)?,
    })
}

/// A round trip is the call, the way to the device, the operation itself, and
/// the way back. No clock sees the two ways apart; the way back is taken to be
/// what a synchronisation costs that finds everything done, because both end
/// with the host reading a word that is there.
pub(super) fn latencies(
    lookup: &Lookup<'_>,
    calls: &CallCosts,
    services: &Services,
) -> Result<Latencies, FitError> {
    let start = |link, call: &Estimate| {
        let wanted = Quantity::RoundTrip { link };
        let trip = lookup.needed("round trips", |quantity| *quantity == wanted)?;
        let rest = trip.ns - call.ns - services.of(link).ns - calls.synchronize.ns;
        Ok(Estimate { ns: rest.max(0.0), scatter: trip.scatter })
    };
    Ok(Latencies {
        start_kernel: start(Link::Kernel, &calls.launch)?,
        start_copy_in: start(Link::CopyIn, &calls.copy_in)?,
        start_copy_out: start(Link::CopyOut, &calls.copy_out)?,
        wake_host: calls.synchronize,
        kernel_gap: services.of(Link::Kernel),
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
        model.filter(|model| model.time.slope() > 0.0)
    });
    let missing = || FitError { what: "large copies of pinned memory in both directions".into() };
    let (down, up) = (down.ok_or_else(missing)?, up.ok_or_else(missing)?);
    let rate = |model: &CopyModel| 1e9 / model.time.slope();
    let mut speeds = [Vec::new(), Vec::new()];
    for [inward, outward] in shared_speeds(lookup, [&down.time, &up.time]) {
        speeds[0].push(inward);
        speeds[1].push(outward);
    }
    let scatter = relative_spread(&speeds[0]).unwrap_or(0.0);
    let share = |speeds: &[f64]| median(speeds).unwrap_or(1.0).clamp(0.05, 1.0);
    let bandwidth = Bandwidth::from_bytes_per_second;
    Ok(LinkModel {
        down: bandwidth(rate(down)),
        up: bandwidth(rate(up)),
        down_shared: bandwidth(rate(down) * share(&speeds[0])),
        up_shared: bandwidth(rate(up) * share(&speeds[1])),
        scatter,
    })
}

/// Copies long enough for bandwidth to be all that matters.
const LONG: Bytes = Bytes::mib(4);

/// Speeds of both directions while both are busy, relative to alone; one pair
/// for each sample.
fn shared_speeds(lookup: &Lookup<'_>, alone: [&Curve; 2]) -> Vec<[f64; 2]> {
    let mut speeds = Vec::new();
    for inward in lookup.measurements() {
        let Quantity::Shared { direction: Direction::HostToDevice, bytes } = inward.quantity else {
            continue;
        };
        let other = Quantity::Shared { direction: Direction::DeviceToHost, bytes };
        let outward = lookup.measurements().find(|m| m.quantity == other);
        let Some(outward) = outward.filter(|_| bytes >= LONG) else { continue };
        let work = alone.map(|curve| curve.at(bytes.as_f64()) * inward.count as f64);
        for (inward, outward) in nanos(&inward.times).into_iter().zip(nanos(&outward.times)) {
            let times = [inward, outward];
            let both = inward.min(outward);
            // Whichever is busy longer has the link to itself at the end.
            speeds.push([0, 1].map(|side| (work[side] - (times[side] - both)) / both));
        }
    }
    speeds
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
