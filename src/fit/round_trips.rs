//! What trips of one operation show: how small copies travel, and how long an operation takes to
//! start.

use super::chains::{round_trip, service};
use super::copies::{copy_time, curve_of};
use super::estimator::{Estimator, pick, sized};
use crate::kernels::{Kernel, Variant};
use crate::machine::{Direction, OperationKind};
use crate::profile::{
    CallCosts, CopyModel, Curve, Estimate, GraphCosts, InlineCopies, KernelModel, Latencies,
};
use crate::samples::{Quantity, SHORT_COPY, TRIP_ELEMENTS, TripPart};
use crate::stats::median;
use crate::units::Bytes;
use std::ops::RangeInclusive;

/// What the analysis of trips needs: the measurements and the models fitted so far.
pub(super) struct Trips<'a> {
    pub estimator: &'a Estimator<'a>,
    pub latency: &'a Latencies,
    pub copies: &'a [CopyModel],
    pub kernels: &'a [KernelModel],
    pub graph: &'a GraphCosts,
}

/// An operation that arrives this many nanoseconds too early certainly has to wait.
pub(super) const SURELY: f64 = 2_000.0;

/// Host time of one part of a trip.
pub(super) fn part(
    estimator: &Estimator<'_>,
    (first, size): (OperationKind, u64),
    next: Option<OperationKind>,
    (part, in_graph): (TripPart, bool),
) -> Option<Estimate> {
    estimator.estimate_of(&Quantity::Trip { first, size, next, part, in_graph })
}

/// The sizes of a first operation for which trips were measured.
pub(super) fn sizes(
    estimator: &Estimator<'_>,
    (wanted, inside): (OperationKind, bool),
) -> Vec<u64> {
    let rest = TripPart::Rest;
    let sizes = pick!(Quantity::Trip { first, size, next: None, part, in_graph }
        if (first, part, in_graph) == (wanted, rest, inside) => size);
    estimator.kinds(sizes).into_iter().collect()
}

/// Derives latencies from round trips. A round trip consists of the call, the way to the device,
/// the operation itself, and the way back. No clock separates the two ways. The way back is taken
/// to cost as much as a synchronisation that finds everything done, because both end with the host
/// reading a word that is there.
pub(super) fn latencies(
    estimator: &Estimator<'_>,
    calls: &CallCosts,
    (copies, kernels): (&[CopyModel], &[KernelModel]),
) -> Latencies {
    // A short copy in a chain is taken from the curve of copies if chains of it were not measured.
    let on_curve = |direction| {
        let ns = copy_time(copies, direction, SHORT_COPY)?;
        Some(Estimate::new(ns, curve_of(copies, direction)?.scatter))
    };
    let by_parts = |link: OperationKind| {
        let service = |size| first_of_trip((copies, kernels), (link, size));
        start(estimator, (link, false), service, calls.synchronize)
    };
    // This estimate is less exact than the one by parts, because it includes the variation of the
    // call.
    let by_trip = |link, call: Option<Estimate>| {
        let operation = service(estimator, link).or_else(|| match link {
            OperationKind::CopyIn => on_curve(Direction::HostToDevice),
            OperationKind::CopyOut => on_curve(Direction::DeviceToHost),
            OperationKind::Kernel | OperationKind::PeerCopy => None,
        });
        let trip = round_trip(estimator, &[link], false, false)?;
        Some(trip.without(call?.ns + operation?.ns + calls.synchronize?.ns))
    };
    let start = |link, call| by_parts(link).or_else(|| by_trip(link, call));
    Latencies {
        start_kernel: start(OperationKind::Kernel, calls.launch),
        start_copy_in: start(OperationKind::CopyIn, calls.copy_in),
        start_copy_out: start(OperationKind::CopyOut, calls.copy_out),
        wake_host: calls.synchronize,
        kernel_gap: service(estimator, OperationKind::Kernel),
        semaphore_polling: None,
    }
}

/// The sizes of copies from which starts are computed. A start matters most to copies that are not
/// much longer than itself; smaller copies may travel with their command.
const START_OF: RangeInclusive<Bytes> = Bytes::kib(32)..=Bytes::kib(256);

/// The way to the device: what is left of a trip of one operation after its call, without the
/// operation itself and the way back. This is the median over sizes. `service` gives the
/// nanoseconds of an operation of a size, if they are known.
pub(super) fn start(
    estimator: &Estimator<'_>,
    (link, in_graph): (OperationKind, bool),
    service: impl Fn(u64) -> Option<f64>,
    synchronize: Option<Estimate>,
) -> Option<Estimate> {
    let start = |&size: &u64| {
        let rest = part(estimator, (link, size), None, (TripPart::Rest, in_graph))?;
        Some(rest.without(service(size)? + synchronize?.ns))
    };
    let is_start =
        |size: &&u64| link == OperationKind::Kernel || START_OF.contains(&Bytes::new(**size));
    let starts: Vec<Estimate> =
        sizes(estimator, (link, in_graph)).iter().filter(is_start).filter_map(start).collect();
    let middle = |of: fn(&Estimate) -> f64| median(&starts.iter().map(of).collect::<Vec<_>>());
    Some(Estimate::new(middle(|start| start.ns)?, middle(|start| start.scatter)?))
}

/// Nanoseconds of the operation that a trip begins with; `size` is bytes of a copy or a kernel's
/// degree.
pub(super) fn first_of_trip(
    (copies, kernels): (&[CopyModel], &[KernelModel]),
    (link, size): (OperationKind, u64),
) -> Option<f64> {
    let bytes = Bytes::new(size);
    match link {
        OperationKind::CopyIn => copy_time(copies, Direction::HostToDevice, bytes),
        OperationKind::CopyOut => copy_time(copies, Direction::DeviceToHost, bytes),
        OperationKind::Kernel => polynomial(kernels, size),
        OperationKind::PeerCopy => None,
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

/// A call that takes this many times as long as usual is taken to send the data along.
const TAKES_DATA: f64 = 1.3;

/// Pinned H2D copies whose data the driver sends along with the commands. They reach up to the size
/// from which a call takes no longer than that of any other copy.
pub(super) fn inline_copies(estimator: &Estimator<'_>, calls: &CallCosts) -> Option<InlineCopies> {
    let synchronize = calls.synchronize?.ns;
    let sizes = sizes(estimator, (OperationKind::CopyIn, false));
    let time = |size, wanted| part(estimator, (OperationKind::CopyIn, size), None, (wanted, false));
    let call = |size| time(size, TripPart::FirstCall);
    let by_engine = calls.copy_in?.ns;
    let takes_data = |&size: &u64| call(size).is_some_and(|call| call.ns > TAKES_DATA * by_engine);
    // The smallest copies send data too, but take no noticeable time for it. Beyond the first size
    // that does not, a long call is one that was held up.
    let small = sizes.iter().copied().skip_while(|size| !takes_data(size));
    let most = small.take_while(takes_data).last()?;
    let curve = |time: &dyn Fn(u64) -> Option<Estimate>| {
        let small = sizes.iter().filter(|&&size| size <= most);
        let times: Option<Vec<(f64, Estimate)>> =
            small.map(|&size| Some((size as f64, time(size)?))).collect();
        let times = times?;
        let scatters: Vec<f64> = times.iter().map(|(_, time)| time.scatter).collect();
        let knots = times.iter().map(|&(size, time)| (size, time.ns)).collect();
        Some(Curve { knots, scatter: median(&scatters)? })
    };
    let complete = |size| {
        let (call, rest) = (call(size)?, time(size, TripPart::Rest)?);
        Some(Estimate::new((call.ns + rest.ns - synchronize).max(0.0), call.scatter))
    };
    Some(InlineCopies {
        most_bytes: Bytes::new(most),
        most_bytes_behind_nodes: most_behind_nodes(estimator),
        until_return: curve(&call)?,
        until_complete: curve(&complete)?,
    })
}

/// Nanoseconds that are far less than a poll takes, and more than what larger copies add.
const JUMP: f64 = 3_000.0;

/// The largest copy that a graph sends along behind other nodes. A copy engine makes larger ones,
/// and the kernel behind them has to wait until it is polled for. `None` if the smallest copy that
/// was measured takes as long as the largest, for which an engine is needed.
fn most_behind_nodes(estimator: &Estimator<'_>) -> Option<Bytes> {
    let quantity = |bytes| Quantity::CopyBehindNode { bytes: Bytes::new(bytes) };
    let (points, _) = estimator.points(sized(quantity))?;
    let jumps = |pair: &&[(f64, f64)]| pair[1].1 - pair[0].1 > JUMP;
    let jump = points.windows(2).find(jumps)?;
    Some(Bytes::new(jump[0].0 as u64))
}
