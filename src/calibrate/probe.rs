//! A probe: everything about how something is measured, as one value.

use super::stopping::FEWEST;
use crate::samples::{CalibrationExtent, Quantity};
use crate::units::Bytes;
use std::time::Duration;

/// What is measured in one go, and how. It may give several quantities.
#[derive(Clone)]
pub(super) struct Probe {
    pub quantities: Vec<Quantity>,
    pub counts: Counts,
    pub warm_up: WarmUp,
    pub streams: Streams,
    pub limit: Limit,
    /// Whether a short check of a profile measures it: one of each kind that predictions lean on,
    /// at sizes that take milliseconds, where a fixed cost counts and where a rate does.
    pub is_telling: bool,
    /// How often a pass measures it.
    visits: usize,
    is_quickly_twice: bool,
}

/// How many repetitions make a sample. With two counts both are measured, and their difference is
/// free of the cost of starting and ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counts {
    Once,
    Of(u64),
    Both(u64, u64),
    /// Few and many, where many are chosen so that they take a few milliseconds.
    ByDuration,
}

/// What is run, untimed, before the first sample that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WarmUp {
    None,
    /// One sample, for what is set up at a first use.
    Once,
    /// Until calls take as long as usual, on the CPU to which their thread has just moved.
    Calls,
    /// Until the CPU's threads have woken up.
    Host,
    /// A number of rounds of one thread, until the caches hold what they will hold.
    OneThread(u64),
    /// A number of rounds of a team, which may have to wake up first.
    Team(u64),
}

/// Rounds through a footprint after which the caches hold what they will hold.
const ROUNDS_TO_LEARN: u64 = 20;

impl WarmUp {
    /// How many samples that each use so many bytes are enough rounds through a footprint.
    pub const fn rounds(footprint: Bytes, bytes: Bytes) -> u64 {
        let bytes = if bytes.get() == 0 { 1 } else { bytes.get() };
        (ROUNDS_TO_LEARN * footprint.get()).div_ceil(bytes)
    }
}

/// Which streams a sample uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Streams {
    /// Others than the sample before. A plan uses new streams, and cannot choose which channels and
    /// which device memory they get, so measurements have to sample these.
    Any,
    /// Others than the sample before, among the first few. A library keeps something for each
    /// stream that it has seen.
    First,
    /// The streams of the sample before. On an H200, an engine that switches to another channel
    /// takes half a microsecond longer, and the driver's calls a twentieth; a plan stays in the
    /// streams that it has. (What copies pay for several streams used in turn is measured
    /// separately: [`Quantity::Rotation`].)
    Same,
}

/// When a measurement stops at the latest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Limit {
    /// Host work varies more and in longer waves than device work.
    pub is_of_host: bool,
    /// The time limit, as a share of the usual one.
    pub share: f64,
    pub fewest: Fewest,
}

/// The samples that a measurement has in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fewest {
    EachVisit(usize),
    AllVisits(usize),
    /// As many, over all visits, as host work has.
    Host,
}

impl Probe {
    /// A probe of one quantity.
    pub fn new(quantity: Quantity, counts: Counts) -> Self {
        Self::together([quantity], counts)
    }

    /// A probe whose samples each give a time for several quantities, in this order.
    pub fn together(quantities: impl Into<Vec<Quantity>>, counts: Counts) -> Self {
        let fewest = Fewest::EachVisit(5);
        Self {
            quantities: quantities.into(),
            counts,
            warm_up: WarmUp::Once,
            streams: Streams::Any,
            limit: Limit { is_of_host: false, share: 1.0, fewest },
            is_telling: false,
            visits: 1,
            is_quickly_twice: false,
        }
    }

    /// Measured so often in each pass of a full calibration. An SMT sibling may slow a core by a
    /// third for seconds, and others may use the link. Every plan is made of these quantities, so
    /// it is better to measure them at many moments than for long at one.
    pub fn visits(self, visits: usize) -> Self {
        Self { visits, ..self }
    }

    /// Measured twice in a quick calibration, where others are measured once.
    pub fn quickly_twice(self) -> Self {
        Self { is_quickly_twice: true, ..self }
    }

    pub fn warm_up(self, warm_up: WarmUp) -> Self {
        Self { warm_up, ..self }
    }

    pub fn streams(self, streams: Streams) -> Self {
        Self { streams, ..self }
    }

    pub fn telling(self, is_telling: bool) -> Self {
        Self { is_telling, ..self }
    }

    /// Stops after this share of the usual time, with so many samples at each visit.
    pub fn limit(self, share: f64, fewest: usize) -> Self {
        let fewest = Fewest::EachVisit(fewest);
        Self { limit: Limit { share, fewest, ..self.limit }, ..self }
    }

    /// Has at least so many samples in all visits of a pass.
    pub fn fewest_of_all(self, fewest: usize) -> Self {
        Self { limit: Limit { fewest: Fewest::AllVisits(fewest), ..self.limit }, ..self }
    }

    /// Stops when work of the host stops.
    pub fn of_host(self) -> Self {
        let limit = Limit { is_of_host: true, fewest: Fewest::Host, ..self.limit };
        Self { limit, ..self }
    }

    /// How often a pass measures it.
    pub fn visits_of(&self, extent: CalibrationExtent) -> usize {
        match extent {
            CalibrationExtent::Quick => 1 + usize::from(self.is_quickly_twice),
            CalibrationExtent::Full | CalibrationExtent::Elsewhere => self.visits,
        }
    }
}

/// The time limits of a calibration.
pub(super) struct Patience {
    pub extent: CalibrationExtent,
    /// The time limit of one measurement: of device work, and of host work. Host work varies more
    /// and in longer waves, so it is better measured several times than for long.
    device: Duration,
    host: Duration,
    /// Samples that host work gets at least, even beyond its time limit.
    fewest: usize,
    /// The least warm-up before the first sample that counts, for the CPU's threads to wake up.
    least_warm_up: Duration,
    /// The most warm-up, in which a team or one thread cycles through a footprint until the caches
    /// hold what they will hold.
    team_warm_up: Duration,
    thread_warm_up: Duration,
}

/// After the thread moves to another CPU, calls take 3% longer for about a millisecond.
const CALLS_WARM_UP: Duration = Duration::from_millis(2);

/// Threads that have slept share cores for a while. CPU plans of 7 to 15 us took an eighth longer
/// after one millisecond of warm-up than after three.
const TEAM_WAKES: Duration = Duration::from_millis(3);

impl Patience {
    pub const fn of(extent: CalibrationExtent) -> Self {
        let ([device, host, least, team, thread], fewest) = match extent {
            CalibrationExtent::Full | CalibrationExtent::Elsewhere => ([8, 4, 6, 20, 60], FEWEST),
            CalibrationExtent::Quick => ([18, 6, 5, 15, 40], 5),
        };
        Self {
            extent,
            device: Duration::from_millis(device),
            host: Duration::from_millis(host),
            fewest,
            least_warm_up: Duration::from_millis(least),
            team_warm_up: Duration::from_millis(team),
            thread_warm_up: Duration::from_millis(thread),
        }
    }

    /// The warm-up before the first sample that counts: the least time, the most time, and the
    /// number of samples to take within these.
    pub fn warm_up_of(&self, probe: &Probe) -> (Duration, Duration, u64) {
        let least = self.least_warm_up / probe.visits_of(self.extent) as u32;
        match probe.warm_up {
            WarmUp::None => (Duration::ZERO, Duration::ZERO, 0),
            WarmUp::Once => (Duration::ZERO, Duration::MAX, 1),
            WarmUp::Calls => (CALLS_WARM_UP, Duration::MAX, 1),
            WarmUp::Host => (least, Duration::MAX, 1),
            WarmUp::OneThread(rounds) => (least, self.thread_warm_up, rounds),
            WarmUp::Team(rounds) => (least.max(TEAM_WAKES), self.team_warm_up, rounds),
        }
    }

    /// The time after which a measurement stops, and the samples that it takes in any case.
    pub fn limits(&self, probe: &Probe) -> (Duration, usize) {
        let visits = probe.visits_of(self.extent);
        let Limit { is_of_host, share, fewest } = probe.limit;
        let usual = if is_of_host { self.host } else { self.device };
        let fewest = match fewest {
            Fewest::EachVisit(fewest) => fewest,
            Fewest::AllVisits(fewest) => fewest.div_ceil(visits),
            Fewest::Host => self.fewest.div_ceil(visits),
        };
        (usual.mul_f64(share) / visits as u32, fewest)
    }
}
