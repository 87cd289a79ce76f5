//! The measurement schedule: the order in which everything is measured, and how far along
//! it some samples are.

use super::error::OtherCourse;
use super::probes::{Counts, Probe, device_probes, host_probes, managed_probes};
use super::several;
use super::sizes::{LEAST_KEPT, PROBING, Sizes, is_measured_closely};
use crate::kernels::Kernel;
use crate::samples::{
    Extent, Measurement, ONE_TEAM, Provenance, Quantity, SHARED_FOOTPRINT, WRITTEN_THROUGH,
};
use crate::units::Bytes;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;

/// A calibration's measurement schedule: every probe in its order, pass by pass. It is
/// determined by seed, extent, version of hallway, and which libraries for kernels are
/// there.
pub struct Course {
    pub(super) passes: Vec<Vec<Probe>>,
}

impl Course {
    /// The schedule of a full calibration of this machine.
    pub fn new(machine: &Provenance) -> Self {
        let sizes = Sizes::new(machine.extent);
        let mut random = ChaCha8Rng::seed_from_u64(machine.seed);
        let mut pass = |_| {
            // Probes of device and host are shuffled together. A CPU whose threads all
            // work for a minute on end is slower than in a plan that needs it now and
            // then.
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

    /// How many passes there are.
    pub fn passes(&self) -> usize {
        self.passes.len()
    }

    /// How many probes the first `passes` passes have.
    pub fn probes_until(&self, passes: usize) -> usize {
        self.passes[..passes].iter().map(Vec::len).sum()
    }

    /// A short schedule of the quickest and most telling probes, to check whether the
    /// machine is still what it was.
    pub fn telling(machine: &Provenance) -> Self {
        let sizes = Sizes::new(machine.extent);
        // Host probes come twice, because they vary more.
        let host = host_probes(&sizes, machine.cpu_threads);
        let mut probes = [device_probes(&sizes), host.clone(), host].concat();
        probes.extend(several::probes(machine));
        probes.retain(|probe| is_telling(&probe.quantities[0], &sizes));
        probes.shuffle(&mut ChaCha8Rng::seed_from_u64(machine.seed));
        Self { passes: vec![probes] }
    }

    /// The quantities of the measurements, probe by probe.
    pub fn quantities(&self) -> impl Iterator<Item = Vec<&Quantity>> {
        let of = |probe: &'_ Probe| match probe.counts {
            Counts::Once | Counts::Of(_) => 1,
            Counts::Both(..) | Counts::ByDuration => 2,
        };
        let probes = self.passes.iter().flatten();
        probes.map(move |probe| (0..of(probe)).flat_map(|_| &probe.quantities).collect())
    }

    /// How many probes the measurements complete, and how many measurements those probes
    /// have. The last probe may be incomplete.
    ///
    /// # Errors
    /// If the measurements are of something else, or in another order.
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

/// How often a pass measures a quantity. An SMT sibling may slow a core by a third for
/// seconds, and others may use the link. Every plan is made of these quantities, so it is
/// better to measure them at many moments than for long at one.
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
        // This is a difference of a tenth of what is measured. With 5 visits a pass,
        // launches took 0.26 us and 0.72 us longer beside copies, within minutes.
        (Quantity::LaunchBeside { .. }, _) => 16,
        // Calls differ by a tenth from visit to visit, and all calls of a plan come from
        // here. With 5 visits a pass, a launch took 3.48 us and 3.94 us, within minutes.
        (Quantity::CallInTurn { .. }, _) => 48,
        (
            Quantity::CopyBesideKernels { .. }
            | Quantity::Trip { .. }
            | Quantity::LateTrip { .. }
            | Quantity::GraphCall { .. }
            | Quantity::Handed { .. },
            _,
        ) => 3,
        // Others on the link take what they need, which changes. For copies both ways,
        // all moments count: they went at 32 to 43 GB/s within a minute, and with half as
        // many visits the median was known to a hundredth at best.
        (Quantity::Shared { .. }, _) if quantity.is_of_rate() => 64,
        // How the engines affect each other differs by a twentieth from visit to visit.
        // For large copies, the footprints differ by as little.
        (Quantity::Shared { bytes, .. }, _) if *bytes >= LEAST_KEPT => 4,
        (Quantity::Shared { .. }, _) => 2,
        // Copies of all GPUs at once vary, too: with 8 visits a pass, calibrations a few
        // minutes apart differed by 3%.
        (Quantity::Concurrent { .. }, _) if quantity.is_of_rate() => 16,
        _ if quantity.is_of_rate() => 3,
        // Few sizes lie between what the cores of a team keep in cache and what they do
        // not, and at these sizes the part that they keep varies.
        (Quantity::Twin { variant, elements, footprint }, _)
            if (*variant, *elements) == ONE_TEAM && *footprint < SHARED_FOOTPRINT =>
        {
            5
        }
        // Two visits differ by 4 to 8%, every fourth time by 15%, and caches of this size
        // are soon warm.
        (Quantity::Staged { bytes, .. }, _) if *bytes <= SOON_WARM => 3,
        (Quantity::Twin { footprint, .. }, _) if *footprint <= SOON_WARM => 3,
        _ => 1,
    }
}

/// A footprint that takes a few milliseconds to go round twenty times.
const SOON_WARM: Bytes = Bytes::mib(8);

/// One of each kind of quantity that predictions lean on, at sizes that take
/// milliseconds: where a fixed cost counts, and where a rate does.
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
