//! The schedule: the order in which everything is measured, and how far along it some samples are.

use super::error::OtherSchedule;
use super::probe::{Counts, Probe};
use super::sample::is_supported;
use super::sizes::Sizes;
use super::{
    calls, chains, contention, copies, graphs, host_copies, kernels, memory, memory_waits,
    multi_gpu, polling, round_trips, rows, setup, staging, transfers, twins,
};
use crate::gpu::{AnyDevice, Device};
use crate::samples::{Measurement, Provenance, Quantity};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;

/// A calibration's schedule: every probe in its order, pass by pass. It is determined by seed,
/// extent, version of hallway, and which libraries for kernels are there.
pub struct Schedule {
    pub(super) passes: Vec<Vec<Probe>>,
}

impl Schedule {
    /// The schedule of a full calibration of this machine.
    pub fn new(machine: &Provenance) -> Self {
        Self::of_vendor::<Device>(machine)
    }

    /// A short schedule of the quickest and most telling probes, to check whether the
    /// machine is still what it was.
    pub fn telling(machine: &Provenance) -> Self {
        let sizes = Sizes::new(machine.extent);
        // Host probes come twice, because they vary more.
        let host = host_probes(&sizes, machine);
        let mut probes = [device_probes::<Device>(&sizes), host.clone(), host].concat();
        probes.extend(multi_gpu::probes(machine));
        probes.retain(|probe| probe.is_telling);
        probes.shuffle(&mut ChaCha8Rng::seed_from_u64(machine.seed));
        Self { passes: vec![probes] }
    }

    /// The schedule of a full calibration of a machine with a GPU of any vendor.
    pub fn of_vendor<D: AnyDevice>(machine: &Provenance) -> Self {
        let sizes = Sizes::new(machine.extent);
        // Passes lie far apart, because neighbours on a shared machine come and go, and how much
        // two passes differ in a parameter tells how certain it is.
        let passes = sizes.either(2, 1);
        let mut random = ChaCha8Rng::seed_from_u64(machine.seed);
        let mut pass = |_| {
            // Probes of device and host are shuffled together. A CPU whose threads all work for a
            // minute on end is slower than in a plan that needs it now and then.
            let mut probes = [device_probes::<D>(&sizes), host_probes(&sizes, machine)].concat();
            probes.extend(transfers::managed_probes(&sizes, machine.managed_bytes));
            probes.extend(multi_gpu::probes(machine));
            let often = |probe: &Probe| vec![probe.clone(); probe.visits_of(machine.extent)];
            let mut probes: Vec<Probe> = probes.iter().flat_map(often).collect();
            probes.shuffle(&mut random);
            probes
        };
        Self { passes: (0..passes).map(&mut pass).collect() }
    }

    /// How many passes there are.
    pub fn passes(&self) -> usize {
        self.passes.len()
    }

    /// How many probes the first `passes` passes have.
    pub fn probes_until(&self, passes: usize) -> usize {
        self.passes[..passes].iter().map(Vec::len).sum()
    }

    /// Without the probes that measure nothing of what is wanted.
    #[must_use]
    pub fn only(mut self, is_wanted: impl Fn(&Quantity) -> bool) -> Self {
        let keeps = |probe: &Probe| probe.quantities.iter().any(&is_wanted);
        self.passes.iter_mut().for_each(|pass| pass.retain(keeps));
        self
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
    pub fn done(&self, measurements: &[Measurement]) -> Result<(usize, usize), OtherSchedule> {
        let (mut probes, mut taken) = (0, 0);
        for expected in self.quantities() {
            let mut rest = measurements[taken..].iter().zip(&expected);
            if let Some(at) = rest.position(|(found, expected)| found.quantity != **expected) {
                return Err(OtherSchedule { number: taken + at + 1 });
            }
            if measurements.len() < taken + expected.len() {
                return Ok((probes, taken));
            }
            (probes, taken) = (probes + 1, taken + expected.len());
        }
        if taken < measurements.len() {
            return Err(OtherSchedule { number: taken + 1 });
        }
        Ok((probes, taken))
    }
}

/// The probes of the device and of the link to it.
fn device_probes<D: AnyDevice>(sizes: &Sizes) -> Vec<Probe> {
    let mut all = [
        calls::probes(),
        chains::probes(),
        graphs::probes(),
        polling::probes(),
        rows::probes(sizes),
        memory_waits::probes(),
        round_trips::probes(sizes),
        copies::probes(sizes),
        contention::probes(sizes),
        kernels::probes(sizes),
        transfers::probes(sizes),
        setup::probes(sizes),
    ]
    .concat();
    all.retain(|probe| probe.quantities.iter().all(is_supported::<D>));
    all
}

/// The probes that need the CPU: pageable copies, twins, memory management.
fn host_probes(sizes: &Sizes, machine: &Provenance) -> Vec<Probe> {
    let twins = twins::probes(sizes, machine.cpu_threads);
    [staging::probes(sizes), twins, memory::probes(sizes), host_copies::probes()].concat()
}
