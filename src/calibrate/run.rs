//! Carrying the list out: order, warm-up and when to stop.

use super::course::{Course, OtherCourse, visits};
use super::probes::{Counts, POOL, Probe};
use super::rig::Rig;
use super::stopping::{FEWEST, Stopping};
use super::watch::Watch;
use crate::gpu::{Device, ExtraContext, GpuError, Monitor};
use crate::host::{HostError, Team};
use crate::kernels::{Kernel, Variant};
use crate::samples::{
    Doer, Extent, Measurement, MemoryWork, Provenance, Quantity, Recorder, Samples, SetupStep, Stop,
};
use crate::units::{Bytes, Span};
use std::io::Write;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

#[derive(Debug, thiserror::Error)]
pub enum CalibrateError {
    #[error(transparent)]
    Gpu(#[from] GpuError),
    #[error(transparent)]
    Host(#[from] HostError),
    #[error("cannot write the samples: {0}")]
    Write(#[from] std::io::Error),
    #[error(transparent)]
    OtherCourse(#[from] OtherCourse),
    #[error(
        "calibrating takes {needs} of host memory and {has} can be had: end what else takes \
         memory, or raise the limit of the container or the batch system"
    )]
    LittleMemory { needs: Bytes, has: Bytes },
    #[error("of the GPUs that are calibrated together: {0}; `--gpus 1` leaves the others out")]
    Several(GpuError),
    #[error("interrupted after {done} of {total} probes")]
    Interrupted { done: usize, total: usize },
}

/// How far a calibration has come.
pub trait Progress {
    /// `done` of `total` probes are measured, of a pass perhaps all; whether to go on.
    fn advance(&mut self, done: usize, total: usize) -> ControlFlow<()>;
}

/// How much time things get in a pass.
struct Patience {
    extent: Extent,
    /// For one measurement, after which it stops where it is. What the CPU and its
    /// memory do varies more, and in longer waves, than what a device does: it is
    /// better measured several times than for long.
    device: Duration,
    host: Duration,
    /// Samples of the host's part even so.
    fewest: usize,
    /// Before the first sample that counts, for the CPU's threads to wake up.
    least_warm_up: Duration,
    /// For a team, and for one thread, to go round a footprint until caches hold
    /// what they will hold.
    team_warm_up: Duration,
    thread_warm_up: Duration,
}

impl Patience {
    const fn of(extent: Extent) -> Self {
        let [device, host, least, team, thread] = match extent {
            Extent::Full | Extent::Elsewhere => [36, 12, 6, 30, 250],
            Extent::Quick => [18, 6, 5, 15, 40],
        };
        Self {
            extent,
            device: Duration::from_millis(device),
            host: Duration::from_millis(host),
            fewest: if matches!(extent, Extent::Quick) { 5 } else { FEWEST },
            least_warm_up: Duration::from_millis(least),
            team_warm_up: Duration::from_millis(team),
            thread_warm_up: Duration::from_millis(thread),
        }
    }
}

/// A chain measured by its duration lasts about this long.
const CHAIN: Span = Span::from_millis(2);

/// Measures what of a pass of the course is not in the samples yet, writing as it goes.
/// Of the passes before it, everything is.
///
/// # Errors
/// If the samples are not of this calibration, the device fails, the samples
/// cannot be written, or it is told to stop; what was written until then is usable.
pub fn calibrate<W: Write>(
    device: &Device,
    team: &Team,
    (course, pass): (&Course, usize),
    mut samples: Samples,
    recorder: &mut Recorder<W>,
    progress: &mut dyn Progress,
) -> Result<Samples, CalibrateError> {
    let (mut done, _) = course.done(&samples.measurements)?;
    let total = course.probes_until(course.passes());
    let probes = &course.passes[pass];
    let left = &probes[done.saturating_sub(course.probes_until(pass)).min(probes.len())..];
    let mut go_on = |done: usize| {
        let is_over = progress.advance(done, total).is_break();
        if is_over { Err(CalibrateError::Interrupted { done, total }) } else { Ok(()) }
    };
    if left.is_empty() {
        return go_on(done).map(|()| samples);
    }
    let patience = Patience::of(samples.machine.extent);
    let note = |samples: &mut Samples, recorder: &mut Recorder<W>, watch: &Watch| {
        let Some(condition) = watch.condition() else { return Ok(()) };
        recorder.add_condition(&condition)?;
        samples.conditions.push(condition);
        Ok::<_, CalibrateError>(())
    };
    // Made anew: where memory lies is drawn again, as for another calibration.
    let mut rig = Rig::new(device, team, samples.machine.devices)?;
    warm_up(&mut rig)?;
    // Some devices lower their clocks when they have nothing to do: usual is what they have now.
    let mut watch = Watch::new(device);
    note(&mut samples, recorder, &watch)?;
    for probe in left {
        go_on(done)?;
        let measurements = measure(&mut rig, probe, &patience, &samples)?;
        let disturbed = watch.disturbance(&probe.quantities[0]);
        for measurement in measurements {
            let measurement = Measurement { disturbed: disturbed.clone(), ..measurement };
            recorder.add(&measurement)?;
            samples.measurements.push(measurement);
        }
        done += 1;
    }
    go_on(done)?;
    note(&mut samples, recorder, &watch)?;
    Ok(samples)
}

/// Brings clocks up: an idle device runs at a fraction of its speed.
fn warm_up(rig: &mut Rig<'_>) -> Result<(), CalibrateError> {
    let start = Instant::now();
    let variant = Variant { kernel: Kernel::Polynomial, extent: 256 };
    while start.elapsed() < Duration::from_millis(500) {
        rig.kernels(variant, 1 << 24, 8)?;
    }
    Ok(())
}

/// All measurements of a probe: one for each quantity and count.
fn measure(
    rig: &mut Rig<'_>,
    probe: &Probe,
    patience: &Patience,
    before: &Samples,
) -> Result<Vec<Measurement>, CalibrateError> {
    let what = &probe.quantities[0];
    // A plan may be issued from any CPU, and calls differ from one to another.
    if what.doer() == Doer::OneThread {
        rig.cpu.choose();
    } else {
        rig.cpu.settle();
    }
    rig.change_streams(what);
    if matches!(what, Quantity::Setup { step: SetupStep::Context })
        && !ExtraContext::is_allowed(rig.device)?
    {
        // It stays unknown, and all else is measured.
        return Ok(vec![Measurement::new(what.clone(), 1, Vec::new(), Stop::Capped)]);
    }
    let counts = match probe.counts {
        Counts::Once => vec![1],
        Counts::Of(count) => vec![count],
        Counts::Both(few, many) => vec![few, many],
        Counts::ByDuration => {
            let one = rig.sample(what, 2)?.first().map_or(1, |span| span.nanos() / 2).max(1);
            let now = 2 + (CHAIN.nanos() / one).clamp(2, 32);
            // As at the visit before, for times of the same thing.
            let visits = before.measurements.iter().filter(|one| one.quantity == *what);
            vec![2, visits.map(|one| one.count).max().unwrap_or(now)]
        }
    };
    // Untimed: whatever is set up at a first use, and a CPU's last-level cache,
    // which takes many passes to learn what is worth keeping.
    let start = Instant::now();
    let (least, most, samples) = patience.warm_up_of(what, counts[0]);
    for taken in 0.. {
        let elapsed = start.elapsed();
        if (taken >= samples && elapsed >= least) || elapsed >= most {
            break;
        }
        for &count in &counts {
            rig.sample(what, count)?;
        }
    }
    let limits = patience.limits(what);
    let (taken, stop) = sampled(rig, what, &counts, limits)?;
    let keys = counts
        .iter()
        .flat_map(|&count| probe.quantities.iter().map(move |quantity| (quantity.clone(), count)));
    let measurement = |((quantity, count), (times, beside))| Measurement {
        beside,
        ..Measurement::new(quantity, count, times, stop)
    };
    Ok(keys.zip(taken.times.into_iter().zip(taken.beside)).map(measurement).collect())
}

/// The samples of each quantity and count.
#[derive(Default)]
struct Taken {
    times: Vec<Vec<Span>>,
    /// Those during which something else used the core.
    beside: Vec<Vec<Span>>,
}

/// Samples until there is a reason to stop.
fn sampled(
    rig: &mut Rig<'_>,
    what: &Quantity,
    counts: &[u64],
    (limit, fewest): (Duration, usize),
) -> Result<(Taken, Stop), CalibrateError> {
    let sample = |rig: &mut Rig<'_>| {
        let parts = counts.iter().map(|&count| rig.sample(what, count));
        Ok::<_, CalibrateError>(parts.collect::<Result<Vec<_>, _>>()?.concat())
    };
    let needs_core = what.doer() == Doer::OneThread;
    let mut taken = Taken::default();
    let mut stopping = Stopping::new(limit, fewest);
    let start = Instant::now();
    loop {
        if needs_core && rig.cpu.settle() {
            // Its caches know nothing of this yet.
            sample(rig)?;
        }
        let spans = sample(rig)?;
        let Taken { times, beside } = &mut taken;
        times.resize(spans.len(), Vec::new());
        beside.resize(spans.len(), Vec::new());
        let kept = if !needs_core || rig.cpu.is_alone() { &mut *times } else { &mut *beside };
        kept.iter_mut().zip(spans).for_each(|(kept, span)| kept.push(span));
        if let Some(stop) = stopping.reason(times, start.elapsed()) {
            return Ok((taken, stop));
        }
        let (alone, all) = (times[0].len(), times[0].len() + beside[0].len());
        let given_up = needs_core.then(|| stopping.gives_up((alone, all), start.elapsed()));
        if let Some(stop) = given_up.flatten() {
            if stop == Stop::Shared {
                times.iter_mut().zip(beside).for_each(|(times, beside)| times.append(beside));
            }
            return Ok((taken, stop));
        }
    }
}

/// On a CPU that they come to anew, calls take 3% longer for a millisecond.
const CALLS_WARM_UP: Duration = Duration::from_millis(2);

/// Threads that have slept share cores for a while: plans on the CPU of 7 to 15 us took an eighth
/// longer behind one millisecond than behind three.
const TEAM_WAKES: Duration = Duration::from_millis(3);

/// To pin or touch them takes tens of milliseconds.
const MANY_PAGES: Bytes = Bytes::mib(64);

/// Rounds through a footprint after which caches hold what they will hold.
const ROUNDS_TO_LEARN: u64 = 20;

impl Patience {
    /// The least and the most time, and the number of samples in between, before
    /// the first that counts.
    fn warm_up_of(&self, what: &Quantity, count: u64) -> (Duration, Duration, u64) {
        let rounds = |footprint: Bytes, bytes: Bytes| {
            (ROUNDS_TO_LEARN * footprint.get()).div_ceil(bytes.get().max(1))
        };
        let least = self.least_warm_up / visits(what, self.extent) as u32;
        match what {
            // Nothing of the largest footprint stays: there is nothing to learn.
            Quantity::Staged { footprint, .. } | Quantity::Twin { footprint, .. }
                if *footprint >= POOL =>
            {
                (least, least, 1)
            }
            Quantity::Staged { bytes, footprint, .. } => {
                (least, self.thread_warm_up, rounds(*footprint, *bytes))
            }
            Quantity::Twin { variant, elements, footprint } => {
                let own = Bytes::new(variant.bytes(*elements) * count);
                (least.max(TEAM_WAKES), self.team_warm_up, rounds(*footprint, own))
            }
            Quantity::Handed { .. } => (least, Duration::MAX, 1),
            Quantity::Call { .. } | Quantity::CallInTurn { .. } | Quantity::LaunchBeside { .. } => {
                (CALLS_WARM_UP, Duration::MAX, 1)
            }
            // What is set up at a first use is nothing beside as many pages.
            Quantity::Memory { work, bytes } if *bytes >= MANY_PAGES && takes_pages(*work) => {
                (Duration::ZERO, Duration::ZERO, 0)
            }
            // The device has been opened, and its modules loaded, before.
            Quantity::Setup { step: SetupStep::Context | SetupStep::Module } => {
                (Duration::ZERO, Duration::ZERO, 0)
            }
            _ => (Duration::ZERO, Duration::MAX, 1),
        }
    }

    /// The time after which a measurement stops, and the samples it takes even so.
    fn limits(&self, what: &Quantity) -> (Duration, usize) {
        let visits = visits(what, self.extent);
        let [device, host] = [self.device, self.host].map(|limit| limit / visits as u32);
        match what {
            // No family of plans uses these yet.
            Quantity::Transfer { .. }
            | Quantity::Beside { .. }
            | Quantity::IdleCall { .. }
            | Quantity::Setup { step: SetupStep::Stream | SetupStep::Event } => {
                (self.device / 2, 5)
            }
            // Many of them, and a line or a staircase through all.
            Quantity::Trip { .. } | Quantity::LateTrip { .. } => (device / 4, 5),
            // They repeat themselves within a thousandth.
            Quantity::Kernel { .. } => (device / 12, 5),
            // Each is a mean over some forty kernels.
            Quantity::Polled { .. } => (device / 2, 5),
            // A difference of a tenth of a kernel or a copy, or more.
            Quantity::CopyBesideKernels { .. }
            | Quantity::JustCopied { .. }
            | Quantity::KernelAround { .. } => (device / 8, 5),
            // A context takes a quarter of a second.
            Quantity::Setup { step: SetupStep::Context } => (self.device, 1),
            Quantity::Setup { .. } => (self.device, 2),
            // 128 MiB take a sixteenth of a second to pin.
            Quantity::Memory { .. } => (self.device / 2, 3),
            Quantity::Staged { .. } | Quantity::Twin { .. } | Quantity::Handed { .. } => {
                (host, self.fewest.div_ceil(visits))
            }
            // The best of their moments count, too.
            Quantity::Shared { .. } if what.is_of_rate() => (2 * device, 3),
            _ if what.is_of_rate() => (device, 5_usize.div_ceil(visits)),
            _ => (device, 5),
        }
    }
}

/// Whether it goes page by page of the host's memory.
const fn takes_pages(work: MemoryWork) -> bool {
    !matches!(work, MemoryWork::DeviceAllocate | MemoryWork::DeviceFree) && !is_of_combined(work)
}

const fn is_of_combined(work: MemoryWork) -> bool {
    use MemoryWork::{CombinedRead, CombinedReadTeam, CombinedWrite, CombinedWriteTeam};
    matches!(work, CombinedRead | CombinedReadTeam | CombinedWrite | CombinedWriteTeam)
}

/// Describes the machine under the calibration of so many of its GPUs.
///
/// # Errors
/// If a device does not answer, or there are fewer.
pub fn provenance(
    device: &Device,
    team: &Team,
    seed: u64,
    extent: Extent,
    devices: usize,
) -> Result<Provenance, CalibrateError> {
    let gpu = device.describe()?;
    let reach_each_other = |index: usize| {
        let other = device.nth(index)?;
        Ok(device.reaches(other)? && other.reaches(device)?)
    };
    let mut peer_access = devices > 1;
    for index in 1..devices {
        peer_access &= reach_each_other(index).map_err(CalibrateError::Several)?;
    }
    let monitor = Monitor::new(device);
    let place = monitor.as_ref().map(Monitor::place).unwrap_or_default();
    let nvml = match &monitor {
        Some(monitor) => monitor.version().unwrap_or_else(|| "does not say".to_owned()),
        None => "not found: clocks and throttling were not watched".to_owned(),
    };
    let cpu = crate::host::describe();
    let since_1970 = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    Ok(Provenance {
        gpu: gpu.name,
        gpu_uuid: monitor.as_ref().and_then(Monitor::uuid),
        compute_capability: gpu.compute_capability,
        multiprocessors: gpu.multiprocessors,
        device_memory_bytes: gpu.memory,
        host_memory_bytes: cpu.memory,
        copy_engines: gpu.copy_engines,
        link: gpu.link.unwrap_or_else(|| Provenance::NOT_SHOWN.to_owned()),
        driver: gpu
            .driver
            .or_else(|| monitor.as_ref()?.driver())
            .unwrap_or_else(|| Provenance::NOT_SHOWN.to_owned()),
        cuda: gpu.cuda,
        cpu: cpu.model,
        cpu_threads: team.threads(),
        numa_nodes: cpu.numa_nodes,
        unix_time: since_1970.map_or(0, |since| since.as_secs()),
        hallway_version: env!("CARGO_PKG_VERSION").to_owned(),
        seed,
        extent,
        managed_bytes: Bytes::ZERO,
        nvml: Some(nvml),
        gpu_cpus: place.cpus,
        gpu_numa_nodes: place.numa_nodes,
        devices,
        peer_access,
    })
}
