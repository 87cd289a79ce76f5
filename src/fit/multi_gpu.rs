//! Models of several GPUs: copies between them, the links they share, and whether they are alike.

use super::chains::{round_trip, service};
use super::estimator::{Estimator, pick, sized};
use crate::machine::{DeviceId, Direction, OperationKind};
use crate::profile::{CallCosts, MultiGpu, OtherGpu, PeerModel, RootModel};
use crate::samples::{Quantity, TimedCall};
use crate::stats::{median, theil_sen};
use crate::units::Bandwidth;
use std::collections::BTreeSet;

pub(super) fn multi_gpu(estimator: &Estimator<'_>, calls: &CallCosts) -> MultiGpu {
    let cost = |call| estimator.estimate_of(&Quantity::Call { call });
    let peer_copy = cost(TimedCall::PeerCopy);
    let start = || {
        let trip = round_trip(estimator, &[OperationKind::PeerCopy], false, false)?;
        let operation = service(estimator, OperationKind::PeerCopy)?;
        Some(trip.without(peer_copy?.ns + operation.ns + calls.synchronize?.ns))
    };
    let crossing = || {
        let whole = estimator.estimate_of(&Quantity::Crossing { whole: true })?;
        let within =
            round_trip(estimator, &[OperationKind::Kernel, OperationKind::Kernel], true, true)?;
        Some(whole.without(within.ns))
    };
    let said = estimator.estimate_of(&Quantity::Crossing { whole: false });
    MultiGpu {
        use_device: cost(TimedCall::UseDevice),
        peer_copy,
        start_peer_copy: start(),
        crossing: said.or_else(crossing),
        peers: peers(estimator),
        roots: roots(estimator),
        others: others(estimator),
    }
}

fn peers(estimator: &Estimator<'_>) -> Vec<PeerModel> {
    let ways = estimator.kinds(pick!(Quantity::PeerCopy { from, to, direct, .. }
        => (from, to, direct)));
    let model = |(from, to, direct): (DeviceId, DeviceId, bool)| {
        let copies = |[from, to]: [DeviceId; 2], both| {
            sized(move |bytes| Quantity::PeerCopy { from, to, bytes, direct, both })
        };
        let rate = |way| rate(estimator, copies(way, true)).map(|(rate, _)| rate);
        let both = rate([from, to]).zip(rate([to, from])).map(|(there, back)| there + back);
        let time = estimator.curve(copies([from, to], false))?;
        let both_bytes_per_second = both.map(per_nanosecond);
        Some(PeerModel { from, to, direct, time, both_bytes_per_second })
    };
    ways.into_iter().filter_map(model).collect()
}

/// What several GPUs copying at once achieve together is taken as the rate of the root that they
/// share. If the root could carry more, it limits nobody, so the difference does not matter.
fn roots(estimator: &Estimator<'_>) -> Vec<RootModel> {
    let counts = estimator.kinds(pick!(Quantity::Concurrent { devices, .. } => devices));
    let model = |devices: usize| {
        let together = |direction, both| {
            let copies = sized(|bytes| Quantity::Concurrent { direction, bytes, devices, both });
            let found = rate(estimator, copies);
            found.map(|(rate, scatter)| (rate * devices as f64, scatter))
        };
        let [down, up] = Direction::BOTH.map(|way| together(way, false));
        let [down_beside, up_beside] = Direction::BOTH.map(|way| together(way, true));
        let scatters: Vec<f64> = [down, up, down_beside, up_beside]
            .into_iter()
            .flatten()
            .map(|(_, scatter)| scatter)
            .collect();
        let both = down
            .zip(up)
            .zip(down_beside.zip(up_beside))
            .map(|((down, up), beside)| while_both_go_on([down.0, up.0], [beside.0.0, beside.1.0]));
        let up_over_down =
            both.map_or(1.0, |[down, up]| (up / down).clamp(1.0 / MOST_UNEQUAL, MOST_UNEQUAL));
        let both = both.map(|[down, up]| down + up);
        RootModel {
            devices,
            down_bytes_per_second: down.map(|(rate, _)| per_nanosecond(rate)),
            up_bytes_per_second: up.map(|(rate, _)| per_nanosecond(rate)),
            both_bytes_per_second: both.map(per_nanosecond),
            up_over_down,
            scatter: median(&scatters).unwrap_or(0.0),
        }
    };
    counts.into_iter().map(model).collect()
}

/// Even where one direction is served first, the other one is not starved.
const MOST_UNEQUAL: f64 = 8.0;

/// The rate of each direction while both are busy. `alone` has the rate of each direction by
/// itself, and `until_done` the rate of each until its own bytes were done, which are equally many.
/// At its end the slower direction had the link to itself, which is taken out.
fn while_both_go_on(alone: [f64; 2], until_done: [f64; 2]) -> [f64; 2] {
    let slower = usize::from(until_done[1] < until_done[0]);
    let [fast, slow] = [until_done[1 - slower], until_done[slower]];
    let in_tail = (1.0 / slow - 1.0 / fast) * alone[slower];
    let mut rates = until_done;
    // If the tail would exceed all bytes, the directions did not begin together, or each kept
    // copying until both were done: their rates are those.
    if in_tail < 1.0 {
        rates[slower] = fast * (1.0 - in_tail);
    }
    rates
}

/// The rate in bytes per nanosecond of copies of growing size, without the fixed cost of each, and
/// the relative scatter. `None` with a single size, which cannot separate the two.
fn rate(estimator: &Estimator<'_>, size: impl Fn(&Quantity) -> Option<u64>) -> Option<(f64, f64)> {
    let (points, scatter) = estimator.points(size)?;
    let slope = theil_sen(&points)?.slope;
    (slope > 0.0).then(|| (1.0 / slope, scatter))
}

fn per_nanosecond(rate: f64) -> Bandwidth {
    Bandwidth::from_bytes_per_second(rate * 1e9)
}

/// The GPUs whose copies each way and kernels were compared with those of the first GPU.
fn others(estimator: &Estimator<'_>) -> Vec<OtherGpu> {
    let compared = estimator.kinds(pick!(Quantity::On { device, ref of } => (device, of.clone())));
    let time = |device, of: &Quantity| {
        estimator
            .estimate_of(&Quantity::On { device, of: Box::new(of.clone()) })
            .map(|time| time.ns)
    };
    // The size with the ratio farthest from 1 counts if there are several.
    let ratio = |wanted: DeviceId, is_meant: &dyn Fn(&Quantity) -> bool| {
        let of = compared.iter().filter(|(device, of)| *device == wanted && is_meant(of));
        let ratios = of.filter_map(|(_, of)| Some(time(wanted, of)? / time(DeviceId::FIRST, of)?));
        ratios.max_by(|a, b| a.ln().abs().total_cmp(&b.ln().abs()))
    };
    let copies = |way: Direction| {
        move |of: &Quantity| match of {
            Quantity::Copy { direction, .. } => *direction == way,
            _ => false,
        }
    };
    let model = |device: DeviceId| {
        Some(OtherGpu {
            device,
            copy_in: ratio(device, &copies(Direction::HostToDevice))?,
            copy_out: ratio(device, &copies(Direction::DeviceToHost))?,
            kernel: ratio(device, &|of| matches!(of, Quantity::Kernel { .. }))?,
        })
    };
    let devices: BTreeSet<DeviceId> = compared.iter().map(|(device, _)| *device).collect();
    devices.into_iter().filter(|&device| device != DeviceId::FIRST).filter_map(model).collect()
}
