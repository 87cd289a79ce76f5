//! Several GPUs: copies between them, what they do at once, and whether they are alike.

use super::calls::call;
use super::chains::{chain, round_trip};
use super::context::{MeasurementContext, Timed, clocked};
use super::member::{Member, ONWARD};
use super::probe::{Counts, Probe};
use super::sizes::LARGEST;
use crate::gpu::{AnyBlocker, AnyDevice, AnyEvent, AnyStream, GpuResult};
use crate::machine::{DeviceId, Direction, OperationKind};
use crate::samples::{CalibrationExtent, LONG_KERNEL, Provenance, Quantity, TimedCall, is_of_rate};
use crate::units::{Bytes, Span};

/// The most GPUs that are calibrated together.
pub const MOST_DEVICES: usize = 8;

/// The size of the copies by which GPUs are compared.
const COMPARED: Bytes = Bytes::mib(64);

/// The probes of several GPUs; none where a single one is calibrated.
pub(super) fn probes(machine: &Provenance) -> Vec<Probe> {
    if machine.devices < 2 {
        return Vec::new();
    }
    let mut probes = order_probes(machine.peer_access);
    let quick = machine.extent == CalibrationExtent::Quick;
    for other in (1..machine.devices).map(DeviceId) {
        probes.extend(peer_probes([DeviceId::FIRST, other], machine.peer_access, quick));
    }
    let is_tried = |devices: &usize| *devices <= machine.devices && devices.is_power_of_two();
    let mut counts: Vec<usize> = (2..=MOST_DEVICES).filter(is_tried).collect();
    if !counts.contains(&machine.devices) {
        counts.push(machine.devices);
    }
    for devices in counts {
        for bytes in [Bytes::mib(1), Bytes::mib(16), COMPARED] {
            probes.extend(Direction::BOTH.map(|way| at_once(&[way], bytes, devices)));
            probes.push(at_once(&Direction::BOTH, bytes, devices));
        }
    }
    for device in (0..machine.devices).map(DeviceId) {
        probes.extend(compared().map(|of| on(device, of)));
    }
    probes
}

/// Copies of all GPUs in these directions.
fn at_once(ways: &[Direction], bytes: Bytes, devices: usize) -> Probe {
    let both = ways.len() > 1;
    let copy = |&direction: &Direction| Quantity::Concurrent { direction, bytes, devices, both };
    let what: Vec<_> = ways.iter().map(copy).collect();
    let count = Counts::Of((LARGEST.get() / bytes.get()).min(64));
    let probe = Probe::together(what, count).telling(bytes == Bytes::mib(16));
    // With 8 visits a pass, calibrations a few minutes apart differed by 3%.
    if is_of_rate(bytes) { probe.visits(16).fewest_of_all(5) } else { probe }
}

/// Something that is measured on one of the GPUs.
fn on(device: DeviceId, of: Quantity) -> Probe {
    let what = Quantity::On { device, of: Box::new(of) };
    Probe::new(what, Counts::ByDuration).telling(true)
}

/// What is measured on each GPU to compare it with the first.
fn compared() -> [Quantity; 3] {
    let copy = |direction| Quantity::Copy { direction, bytes: COMPARED };
    let (variant, elements) = LONG_KERNEL;
    let kernel = Quantity::Kernel { variant, elements };
    [copy(Direction::HostToDevice), copy(Direction::DeviceToHost), kernel]
}

/// The calls, and the order of copies between GPUs and their neighbours. Where such copies go
/// through the host (not `direct`), no plan with them is predicted, so little is measured.
fn order_probes(direct: bool) -> Vec<Probe> {
    use OperationKind::{CopyIn as I, CopyOut as O, Kernel as K, PeerCopy as P};
    let mut probes = vec![call(TimedCall::UseDevice)];
    let what = Quantity::Crossing { whole: true };
    probes.push(Probe::new(what, Counts::Once).telling(true));
    if !direct {
        return probes;
    }
    probes.push(call(TimedCall::PeerCopy));
    probes.push(chain(&[P], false));
    probes.extend([false, true].map(|long| round_trip(&[P], false, long)));
    probes.push(round_trip(&[P, P], true, true));
    for other in [I, O, K] {
        for across in [false, true] {
            let pairs = [[other, P], [P, other]];
            probes.extend(pairs.map(|pair| round_trip(&pair, across, true)));
        }
    }
    probes
}

/// Copies between two GPUs, each way alone and both ways at once.
fn peer_probes([one_end, other]: [DeviceId; 2], direct: bool, quick: bool) -> Vec<Probe> {
    let ways = [[one_end, other], [other, one_end]];
    let powers: &[u32] = match (direct, quick) {
        // No plan with such copies is predicted. These only show what they cost.
        (false, _) => &[12, 20, 28],
        (true, true) => &[12, 18, 24, 28],
        (true, false) => &[2, 12, 14, 16, 18, 20, 22, 24, 26, 28],
    };
    let mut probes = Vec::new();
    for bytes in powers.iter().map(|power| Bytes::new(1 << power)) {
        probes.extend(ways.map(|way| peer_copies(&[way], bytes, direct, Counts::ByDuration)));
    }
    for bytes in [Bytes::mib(1), Bytes::mib(16), LARGEST].into_iter().filter(|_| direct) {
        let count = (4 * LARGEST.get() / bytes.get()).min(64);
        probes.push(peer_copies(&ways, bytes, direct, Counts::Of(count)));
    }
    probes
}

fn peer_copies(ways: &[[DeviceId; 2]], bytes: Bytes, direct: bool, counts: Counts) -> Probe {
    let both = ways.len() > 1;
    let copy = |&[from, to]: &[DeviceId; 2]| Quantity::PeerCopy { from, to, bytes, direct, both };
    let what: Vec<_> = ways.iter().map(copy).collect();
    Probe::together(what, counts).telling(bytes == Bytes::mib(16))
}

/// A GPU's index among the members, and that of one of its streams.
type Lane = (usize, usize);

impl<D: AnyDevice> MeasurementContext<'_, D> {
    /// Device times of work that `issue` puts into streams of several GPUs. All streams
    /// start at once.
    fn work_at_once(
        &mut self,
        lanes: &[Lane],
        issue: impl Fn(&Self, Lane) -> GpuResult,
    ) -> Timed<Vec<Span>> {
        self.blocker.hold(&self.streams[0])?;
        let put = |context: &Self| {
            context.streams[0].record(&context.ordering[0])?;
            lanes.iter().try_for_each(|&(member, at)| {
                let Member { device, streams, marks, .. } = &context.members[member];
                device.make_current()?;
                streams[at].wait(&context.ordering[0])?;
                streams[at].record(&marks[at][0])?;
                issue(context, (member, at))?;
                streams[at].record(&marks[at][1])
            })
        };
        let issued = put(self);
        let is_back = self.device.make_current();
        let working = lanes.iter().map(|&(member, at)| &self.members[member].streams[at]);
        let streams: Vec<&D::Stream> = std::iter::once(&self.streams[0]).chain(working).collect();
        self.blocker.end(&streams)?;
        issued.and(is_back)?;
        let time = |&(member, at): &Lane| {
            let [before, after] = &self.members[member].marks[at];
            after.since(before)
        };
        lanes.iter().map(time).collect()
    }

    /// Device times of `count` copies on each of `devices` GPUs: for each direction, the
    /// time of the slowest GPU.
    pub fn concurrent(
        &mut self,
        directions: &[Direction],
        bytes: Bytes,
        devices: usize,
        count: u64,
    ) -> Timed<Vec<Span>> {
        let lanes = directions.iter().flat_map(|&way| (0..devices).map(move |m| (m, way as usize)));
        let lanes: Vec<Lane> = lanes.collect();
        let times = self.work_at_once(&lanes, |context, (member, at)| {
            let direction = Direction::BOTH[at];
            (0..count).try_for_each(|index| {
                let offset = context.window(LARGEST, bytes, index);
                context.members[member].copy(direction, bytes, offset)
            })
        })?;
        let slowest = |times: &[Span]| times.iter().copied().max().unwrap_or_default();
        Ok(times.chunks(devices).map(slowest).collect())
    }

    /// Device times of `count` copies in a row from one GPU to another, and of as many
    /// the other way at once if `ways` has two.
    pub fn peer_copies(
        &mut self,
        ways: &[[DeviceId; 2]],
        bytes: Bytes,
        count: u64,
    ) -> Timed<Vec<Span>> {
        let lanes: Vec<Lane> = ways.iter().map(|[from, _]| (from.0, ONWARD)).collect();
        self.work_at_once(&lanes, |context, (member, _)| {
            let to = ways.iter().find(|[from, _]| from.0 == member).map_or(0, |[_, to]| to.0);
            context.windows(LARGEST, bytes, count).into_iter().try_for_each(|offset| {
                context.members[member].copy_to(&context.members[to], bytes, offset)
            })
        })
    }

    /// Device time of `count` pinned copies, or runs of the compared kernel, in a row on one GPU.
    pub fn on(&mut self, device: DeviceId, of: &Quantity, count: u64) -> Timed<Vec<Span>> {
        let start = self.turn * count;
        let at = match of {
            Quantity::Copy { direction, .. } => *direction as usize,
            _ => ONWARD,
        };
        self.work_at_once(&[(device.0, at)], |context, (member, at)| {
            let member = &context.members[member];
            (start..start + count).try_for_each(|index| match *of {
                Quantity::Copy { direction, bytes, .. } => {
                    member.copy(direction, bytes, context.window(LARGEST, bytes, index))
                }
                // SAFETY: the arrays belong to the member and outlive the stream's work.
                _ => unsafe { member.streams[at].launch(&member.kernel) },
            })
        })
    }

    /// Host time from issuing a long kernel, and one on the second GPU that depends on
    /// it, to the return of a synchronisation.
    pub fn crossing(&self) -> Timed {
        let piece = self.piece(true)?;
        let (event, other) = (&self.ordering[0], &self.members[1]);
        let time = clocked::<D, _, _>(|| {
            self.issue(&self.streams[0], OperationKind::Kernel, &piece)?;
            self.streams[0].record(event)?;
            other.device.make_current()?;
            other.streams[0].wait(event)?;
            // SAFETY: the arrays belong to the member and outlive the launch, which is waited for.
            unsafe { other.streams[0].launch(&other.kernel)? };
            other.streams[0].synchronize()
        });
        self.device.make_current()?;
        time
    }
}
