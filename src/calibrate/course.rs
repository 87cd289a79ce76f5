//! The order in which everything is measured, and how far along it one has come.

use super::probes::{Counts, Probe, device_probes, host_probes, managed_probes};
use super::several;
use super::sizes::{LEAST_KEPT, PROBING, Sizes, is_measured_closely};
use crate::kernels::Kernel;
use crate::samples::{
    Extent, Measurement, ONE_TEAM, Provenance, Quantity, SHARED_FOOTPRINT, WRITTEN_THROUGH,
};
use crate::units::Bytes;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// Every probe of a calibration in its order, pass by pass: the same for the same
/// seed, extent, version and libraries that kernels need.
pub struct Course {
    pub(super) passes: Vec<Vec<Probe>>,
}

/// Measurements that do not come from this course.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("measurement {number} is not what this calibration measures there")]
pub struct OtherCourse {
    /// Counted from 1.
    pub number: usize,
}

impl Course {
    /// What is measured on such a machine.
    pub fn new(machine: &Provenance) -> Self {
        let sizes = Sizes::new(machine.extent);
        let mut random = ChaCha8Rng::seed_from_u64(machine.seed);
        let mut pass = |_| {
            // The device's among the host's: a CPU whose threads all work for a minute
            // on end is slower than the same CPU in a plan that now and then needs it.
            let host = host_probes(&sizes, machine.cpu_threads);
            let mut probes = [device_probes(&sizes), host].concat();
            probes.extend(managed_probes(&sizes, machine.managed_bytes));
            probes.extend(several::probes(machine));
            let often =
                |probe: &Probe| vec![probe.clone(); visits(&probe.quantities[0], machine.extent)];
            let mut probes: Vec<Probe> = probes.iter().flat_map(often).collect();
            probes.shuffle(&mut random);
            probes
        };
        Self { passes: (0..sizes.passes).map(&mut pass).collect() }
    }

    /// How often everything is measured.
    pub fn passes(&self) -> usize {
        self.passes.len()
    }

    /// How many probes there are in so many passes from the first on.
    pub fn probes_until(&self, passes: usize) -> usize {
        self.passes[..passes].iter().map(Vec::len).sum()
    }

    /// The quickest and most telling probes: whether the machine is what it was.
    pub fn telling(machine: &Provenance) -> Self {
        let sizes = Sizes::new(machine.extent);
        // What the host does varies more.
        let host = host_probes(&sizes, machine.cpu_threads);
        let mut probes = [device_probes(&sizes), host.clone(), host].concat();
        probes.extend(several::probes(machine));
        probes.retain(|probe| is_telling(&probe.quantities[0], &sizes));
        probes.shuffle(&mut ChaCha8Rng::seed_from_u64(machine.seed));
        Self { passes: vec![probes] }
    }

    /// What each measurement is of, probe by probe.
    pub fn quantities(&self) -> impl Iterator<Item = Vec<&Quantity>> {
        let of = |probe: &'_ Probe| match probe.counts {
            Counts::Once | Counts::Of(_) => 1,
            Counts::Both(..) | Counts::ByDuration => 2,
        };
        let probes = self.passes.iter().flatten();
        probes.map(move |probe| (0..of(probe)).flat_map(|_| &probe.quantities).collect())
    }

    /// How many probes the measurements are whole of, and how many measurements
    /// those are: of the last probe there may be only some.
    ///
    /// # Errors
    /// If they are measurements of something else, or in another order.
    pub fn done(&self, measurements: &[Measurement]) -> Result<(usize, usize), OtherCourse> {
        let (mut probes, mut taken) = (0, 0);
        for expected in self.quantities() {
            let mut rest = measurements[taken..].iter().zip(&expected);
            if let Some(at) = rest.position(|(found, expected)| found.quantity != **expected) {
                return Err(OtherCourse { number: taken + at + 1 });
            }
            if measurements.len() < taken + expected.len() {
                return Ok((probes, taken));
            }
            (probes, taken) = (probes + 1, taken + expected.len());
        }
        if taken < measurements.len() {
            return Err(OtherCourse { number: taken + 1 });
        }
        Ok((probes, taken))
    }
}

/// How often in a pass a quantity is measured. A core may be a third slower for seconds,
/// for what its neighbour does, and others may use the link; every plan is made of these:
/// they are better met at many moments than for long at one.
pub(super) fn visits(quantity: &Quantity, extent: Extent) -> usize {
    match (quantity, extent) {
        (
            Quantity::Call { .. }
            | Quantity::CallInTurn { .. }
            | Quantity::LaunchBeside { .. }
            | Quantity::Copy { .. }
            | Quantity::Shared { .. },
            Extent::Quick,
        ) => 2,
        (_, Extent::Quick) => 1,
        (Quantity::Call { .. }, _) => 5,
        // A difference of a tenth of what is measured: with five in a pass, launches took 0.26 and
        // 0.72 us longer beside copies within minutes.
        (Quantity::LaunchBeside { .. }, _) => 16,
        // They take a tenth more or less from visit to visit, and all of a plan comes from
        // them: with five in a pass, a launch was found at 3.48 and 3.94 us within minutes.
        (Quantity::CallInTurn { .. }, _) => 48,
        (
            Quantity::CopyBesideKernels { .. }
            | Quantity::Trip { .. }
            | Quantity::LateTrip { .. }
            | Quantity::GraphCall { .. }
            | Quantity::Handed { .. },
            _,
        ) => 3,
        // Others on the link take from these what they use, now more and now less. Of copies both
        // ways, all of them count: within a minute they went at 32 to 43 GB/s, and with half as
        // many visits, the middle was known to a hundredth at best.
        (Quantity::Shared { .. }, _) if quantity.is_of_rate() => 64,
        // What engines make of each other differs from visit to visit by a twentieth, and of large
        // ones, what footprints differ by is as little.
        (Quantity::Shared { bytes, .. }, _) if *bytes >= LEAST_KEPT => 4,
        (Quantity::Shared { .. }, _) => 2,
        // Of all GPUs together as well: with eight in a pass, calibrations within minutes were 3%
        // apart.
        (Quantity::Concurrent { .. }, _) if quantity.is_of_rate() => 16,
        _ if quantity.is_of_rate() => 3,
        // Between what the cores of a team keep and what they do not lie few sizes, and at
        // these they keep now more and now less of it.
        (Quantity::Twin { variant, elements, footprint }, _)
            if (*variant, *elements) == ONE_TEAM && *footprint < SHARED_FOOTPRINT =>
        {
            5
        }
        // Two visits find the same 4 to 8% apart, every fourth time 15, and caches of this
        // size are soon warm.
        (Quantity::Staged { bytes, .. }, _) if *bytes <= SOON_WARM => 3,
        (Quantity::Twin { footprint, .. }, _) if *footprint <= SOON_WARM => 3,
        _ => 1,
    }
}

/// What is staged, or gone round, within a few milliseconds a score of times.
const SOON_WARM: Bytes = Bytes::mib(8);

/// One of each kind that a prediction leans on, at sizes that take milliseconds:
/// where a fixed cost counts, and where a rate does.
fn is_telling(quantity: &Quantity, sizes: &Sizes) -> bool {
    match quantity {
        Quantity::Call { .. } => true,
        Quantity::RoundTrip { links, long: false, .. }
        | Quantity::Chain { links, across: false } => links.len() == 1,
        Quantity::Copy { bytes, registered: false, .. } => {
            [Bytes::kib(4), Bytes::mib(1), Bytes::mib(64)].contains(bytes)
        }
        Quantity::Shared { bytes, footprint, .. } => {
            (*bytes, *footprint) == (PROBING, WRITTEN_THROUGH)
        }
        Quantity::PeerCopy { bytes, .. } | Quantity::Concurrent { bytes, .. } => {
            *bytes == Bytes::mib(16)
        }
        Quantity::Crossing { .. } | Quantity::On { .. } => true,
        Quantity::Staged { bytes, footprint, .. } => *bytes == Bytes::mib(1) && footprint == bytes,
        Quantity::Kernel { variant, elements } => {
            let telling = match variant.kernel {
                Kernel::Polynomial => 1 << 20,
                kernel if is_measured_closely(kernel) => 1 << 24,
                _ => 1 << 22,
            };
            // Where arithmetic counts most.
            let most = (sizes.extents)(variant.kernel).last();
            *elements == telling && most.is_none_or(|&most| variant.extent == most)
        }
        Quantity::Twin { variant, elements, footprint } => {
            let telling = if is_measured_closely(variant.kernel) { 1 << 20 } else { 1 << 22 };
            let extents = (sizes.extents)(variant.kernel);
            let middle = extents.get(extents.len() / 2);
            *elements == telling
                && middle.is_none_or(|&middle| variant.extent == middle)
                && *footprint == Bytes::new(variant.bytes(*elements))
        }
        _ => false,
    }
}
