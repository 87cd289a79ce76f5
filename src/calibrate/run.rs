//! Carrying out a calibration: its order, warm-up, and when each measurement stops.

use super::context::MeasurementContext;
use super::course::{Course, visits};
use super::error::CalibrateError;
use super::probes::{Counts, POOL, Probe};
use super::stopping::{FEWEST, Stopping};
use super::watch::Watch;
use crate::gpu::{Device, ExtraContext, Monitor};
use crate::host::Team;
use crate::kernels::{Kernel, Variant};
use crate::samples::{
    Doer, Extent, Measurement, MemoryWork, Provenance, Quantity, Recorder, Samples, SetupStep, Stop,
};
use crate::units::{Bytes, Span};
use std::io::Write;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Told how far a calibration has come, and asked whether to go on.
pub trait Progress {
    /// `done` of `total` probes are measured, over all passes. Breaking ends the calibration after
    /// the current probe.
    fn advance(&mut self, done: usize, total: usize) -> ControlFlow<()>;
}

/// Time limits of a pass and of its measurements.
struct Patience {
    extent: Extent,
    /// The time limit of one measurement: of device work, and of host work. Host work varies more
    /// and in longer waves, so it is better measured several times than for long.
    device: Duration,
    host: Duration,
    /// Samples that host work gets at least, even beyond its time limit.
    fewest: usize,
    /// The least warm-up before the first sample that counts, for the CPU's threads to wake up.
    least_warm_up: Duration,
    /// The most warm-up, in which a team or one thread goes round a footprint until the caches hold
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

/// About how long a chain lasts whose repetitions are chosen by its duration.
const CHAIN: Span = Span::from_millis(2);

/// Measures whatever `pass` of the course is not in the samples yet, and writes each measurement as
/// it comes. All passes before it must be complete.
///
/// # Errors
/// If the samples belong to another calibration, a device fails, the samples cannot be written, or
/// `progress` breaks. What was written until then stays usable.
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
    // A new context for each pass: memory is placed anew, as another calibration would find it.
    let mut context = MeasurementContext::new(device, team, samples.machine.devices)?;
    warm_up(&mut context)?;
    // Some devices lower their clocks when idle, so the usual state is read after the warm-up.
    let mut watch = Watch::new(device);
    note(&mut samples, recorder, &watch)?;
    for probe in left {
        go_on(done)?;
        let measurements = measure(&mut context, probe, &patience, &samples)?;
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

/// Brings the clocks up: an idle device runs at a fraction of its speed.
fn warm_up(context: &mut MeasurementContext<'_>) -> Result<(), CalibrateError> {
    let start = Instant::now();
    let variant = Variant { kernel: Kernel::Polynomial, extent: 256 };
    while start.elapsed() < Duration::from_millis(500) {
        context.kernels(variant, 1 << 24, 8)?;
    }
    Ok(())
}

/// Takes all measurements of a probe: one for each quantity and count.
fn measure(
    context: &mut MeasurementContext<'_>,
    probe: &Probe,
    patience: &Patience,
    before: &Samples,
) -> Result<Vec<Measurement>, CalibrateError> {
    let what = &probe.quantities[0];
    // A plan may be issued from any CPU, and calls cost differently from one CPU to the next.
    if what.doer() == Doer::OneThread {
        context.cpu.choose();
    } else {
        context.cpu.settle();
    }
    context.change_streams(what);
    if matches!(what, Quantity::Setup { step: SetupStep::Context })
        && !ExtraContext::is_allowed(context.device)?
    {
        // The quantity stays unknown; everything else is measured.
        return Ok(vec![Measurement::new(what.clone(), 1, Vec::new(), Stop::Capped)]);
    }
    let counts = match probe.counts {
        Counts::Once => vec![1],
        Counts::Of(count) => vec![count],
        Counts::Both(few, many) => vec![few, many],
        Counts::ByDuration => {
            let one = context.sample(what, 2)?.first().map_or(1, |span| span.nanos() / 2).max(1);
            let now = 2 + (CHAIN.nanos() / one).clamp(2, 32);
            // Use the count of earlier visits, so that their samples measure the same thing.
            let visits = before.measurements.iter().filter(|one| one.quantity == *what);
            vec![2, visits.map(|one| one.count).max().unwrap_or(now)]
        }
    };
    // Untimed warm-up. It covers what is set up at a first use, and a CPU's last-level cache, which
    // takes many rounds to settle on what to keep.
    let start = Instant::now();
    let (least, most, samples) = patience.warm_up_of(what, counts[0]);
    for taken in 0.. {
        let elapsed = start.elapsed();
        if (taken >= samples && elapsed >= least) || elapsed >= most {
            break;
        }
        for &count in &counts {
            context.sample(what, count)?;
        }
    }
    let limits = patience.limits(what);
    let (taken, stop) = sampled(context, what, &counts, limits)?;
    let keys = counts
        .iter()
        .flat_map(|&count| probe.quantities.iter().map(move |quantity| (quantity.clone(), count)));
    let measurement = |((quantity, count), (times, beside))| Measurement {
        beside,
        ..Measurement::new(quantity, count, times, stop)
    };
    Ok(keys.zip(taken.times.into_iter().zip(taken.beside)).map(measurement).collect())
}

/// The samples of each quantity and count, in the probe's order.
#[derive(Default)]
struct Taken {
    times: Vec<Vec<Span>>,
    /// Samples during which something else used the core.
    beside: Vec<Vec<Span>>,
}

/// Takes samples until there is a reason to stop.
fn sampled(
    context: &mut MeasurementContext<'_>,
    what: &Quantity,
    counts: &[u64],
    (limit, fewest): (Duration, usize),
) -> Result<(Taken, Stop), CalibrateError> {
    let sample = |context: &mut MeasurementContext<'_>| {
        let parts = counts.iter().map(|&count| context.sample(what, count));
        Ok::<_, CalibrateError>(parts.collect::<Result<Vec<_>, _>>()?.concat())
    };
    let needs_core = what.doer() == Doer::OneThread;
    let mut taken = Taken::default();
    let mut stopping = Stopping::new(limit, fewest);
    let start = Instant::now();
    loop {
        if needs_core && context.cpu.settle() {
            // The new CPU's caches are cold, so one sample does not count.
            sample(context)?;
        }
        let spans = sample(context)?;
        let Taken { times, beside } = &mut taken;
        times.resize(spans.len(), Vec::new());
        beside.resize(spans.len(), Vec::new());
        let kept = if !needs_core || context.cpu.is_alone() { &mut *times } else { &mut *beside };
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

/// After the thread moves to another CPU, calls take 3% longer for about a millisecond.
const CALLS_WARM_UP: Duration = Duration::from_millis(2);

/// Threads that have slept share cores for a while. CPU plans of 7 to 15 us took an eighth longer
/// after one millisecond of warm-up than after three.
const TEAM_WAKES: Duration = Duration::from_millis(3);

/// From here on, pinning or touching memory takes tens of milliseconds.
const MANY_PAGES: Bytes = Bytes::mib(64);

/// Rounds through a footprint after which the caches hold what they will hold.
const ROUNDS_TO_LEARN: u64 = 20;

impl Patience {
    /// The warm-up before the first sample that counts: the least time, the most time, and the
    /// number of samples to take within these.
    fn warm_up_of(&self, what: &Quantity, count: u64) -> (Duration, Duration, u64) {
        let rounds = |footprint: Bytes, bytes: Bytes| {
            (ROUNDS_TO_LEARN * footprint.get()).div_ceil(bytes.get().max(1))
        };
        let least = self.least_warm_up / visits(what, self.extent) as u32;
        match what {
            // No cache keeps any of the largest footprint, so there is nothing to warm.
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
            // Beside that many pages, what is set up at a first use does not matter.
            Quantity::Memory { work, bytes } if *bytes >= MANY_PAGES && takes_pages(*work) => {
                (Duration::ZERO, Duration::ZERO, 0)
            }
            // The device was opened, and its module loaded, before.
            Quantity::Setup { step: SetupStep::Context | SetupStep::Module } => {
                (Duration::ZERO, Duration::ZERO, 0)
            }
            _ => (Duration::ZERO, Duration::MAX, 1),
        }
    }

    /// The time after which a measurement stops, and the samples that it takes in any case.
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
            // There are many of these, and a line or a staircase is fitted through all.
            Quantity::Trip { .. } | Quantity::LateTrip { .. } => (device / 4, 5),
            // These repeat within a thousandth.
            Quantity::Kernel { .. } => (device / 12, 5),
            // Each of these is a mean over some forty kernels.
            Quantity::Polled { .. } => (device / 2, 5),
            // These are differences of a tenth of a kernel or a copy, or more.
            Quantity::CopyBesideKernels { .. }
            | Quantity::JustCopied { .. }
            | Quantity::KernelAround { .. } => (device / 8, 5),
            // Creating a context takes a quarter of a second.
            Quantity::Setup { step: SetupStep::Context } => (self.device, 1),
            Quantity::Setup { .. } => (self.device, 2),
            // Pinning 128 MiB takes a sixteenth of a second.
            Quantity::Memory { .. } => (self.device / 2, 3),
            Quantity::Staged { .. } | Quantity::Twin { .. } | Quantity::Handed { .. } => {
                (host, self.fewest.div_ceil(visits))
            }
            // The fit also uses the best moments of these, so they need more time.
            Quantity::Shared { .. } if what.is_of_rate() => (2 * device, 3),
            _ if what.is_of_rate() => (device, 5_usize.div_ceil(visits)),
            _ => (device, 5),
        }
    }
}

/// Whether the work goes through host memory page by page.
const fn takes_pages(work: MemoryWork) -> bool {
    !matches!(work, MemoryWork::DeviceAllocate | MemoryWork::DeviceFree) && !is_of_combined(work)
}

const fn is_of_combined(work: MemoryWork) -> bool {
    use MemoryWork::{CombinedRead, CombinedReadTeam, CombinedWrite, CombinedWriteTeam};
    matches!(work, CombinedRead | CombinedReadTeam | CombinedWrite | CombinedWriteTeam)
}

/// Describes the machine for a calibration of `devices` of its GPUs.
///
/// # Errors
/// If a device does not answer, or there are fewer than `devices`.
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
        multiprocessor: gpu.multiprocessor,
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
