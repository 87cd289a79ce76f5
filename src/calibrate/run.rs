//! Carrying out a calibration: its order, warm-up, and when each measurement stops.

use super::conditions::Watch;
use super::context::MeasurementContext;
use super::error::{CalibrateError, Calibrated};
use super::probe::{Counts, Patience, Probe, Streams};
use super::schedule::Schedule;
use super::stopping::Stopping;
use crate::gpu::AnyDevice;
use crate::host::Team;
use crate::kernels::{Kernel, Variant};
use crate::samples::{Doer, Measurement, Quantity, Recorder, Samples, Stop};
use crate::units::Span;
use std::io::Write;
use std::ops::ControlFlow;
use std::time::Duration;

/// About how long a chain lasts whose repetitions are chosen by its duration.
const CHAIN: Span = Span::from_millis(2);

/// Measures whatever `pass` of the schedule is not in the samples yet, and writes each measurement
/// as it comes. All passes before it must be complete. `along` hears how many probes of how many
/// are measured, over all passes; if it breaks, the calibration ends after the current probe.
///
/// # Errors
/// If the samples belong to another calibration, a device fails, the samples cannot be written, or
/// `along` breaks. What was written until then stays usable.
pub fn calibrate<D: AnyDevice, W: Write>(
    device: &D,
    team: &Team,
    (schedule, pass): (&Schedule, usize),
    mut samples: Samples,
    recorder: &mut Recorder<W>,
    along: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
) -> Calibrated<Samples> {
    let (mut done, _) = schedule.done(&samples.measurements)?;
    let total = schedule.probes_until(schedule.passes());
    let probes = &schedule.passes[pass];
    let left = &probes[done.saturating_sub(schedule.probes_until(pass)).min(probes.len())..];
    let mut go_on = |done: usize| {
        let is_over = along(done, total).is_break();
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
    let mut watch = Watch::new(device.monitor());
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
fn warm_up<D: AnyDevice>(context: &mut MeasurementContext<'_, D>) -> Calibrated {
    let start = D::now();
    let variant = Variant { kernel: Kernel::Polynomial, extent: 256 };
    while D::elapsed(start) < Duration::from_millis(500) {
        context.kernels(variant, 1 << 24, 8)?;
    }
    Ok(())
}

/// Takes all measurements of a probe: one for each quantity and count.
fn measure<D: AnyDevice>(
    context: &mut MeasurementContext<'_, D>,
    probe: &Probe,
    patience: &Patience,
    before: &Samples,
) -> Calibrated<Vec<Measurement>> {
    let what = &probe.quantities[0];
    // A plan may be issued from any CPU, and calls cost differently from one CPU to the next.
    if what.definition().doer == Doer::OneThread {
        context.cpu.choose();
    } else {
        context.cpu.settle();
    }
    context.change_streams(probe.streams == Streams::First);
    if !context.is_allowed(what)? {
        // The quantities stay unknown; everything else is measured.
        let unknown = |of: &Quantity| Measurement::new(of.clone(), 1, Vec::new(), Stop::Capped);
        return Ok(probe.quantities.iter().map(unknown).collect());
    }
    let counts = match probe.counts {
        Counts::Once => vec![1],
        Counts::Of(count) => vec![count],
        Counts::Both(few, many) => vec![few, many],
        Counts::ByDuration => {
            let one = context.sample(probe, 2)?.first().map_or(1, |span| span.nanos() / 2).max(1);
            let now = 2 + (CHAIN.nanos() / one).clamp(2, 32);
            // Use the count of earlier visits, so that their samples measure the same thing.
            let visits = before.measurements.iter().filter(|one| one.quantity == *what);
            vec![2, visits.map(|one| one.count).max().unwrap_or(now)]
        }
    };
    // Untimed warm-up. It covers what is set up at a first use, and a CPU's last-level cache, which
    // takes many rounds to settle on what to keep.
    let start = D::now();
    let (least, most, samples) = patience.warm_up_of(probe);
    for taken in 0.. {
        let elapsed = D::elapsed(start);
        if (taken >= samples && elapsed >= least) || elapsed >= most {
            break;
        }
        for &count in &counts {
            context.sample(probe, count)?;
        }
    }
    let limits = patience.limits(probe);
    let (taken, stop) = sampled(context, probe, &counts, limits)?;
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
fn sampled<D: AnyDevice>(
    context: &mut MeasurementContext<'_, D>,
    probe: &Probe,
    counts: &[u64],
    (limit, fewest): (Duration, usize),
) -> Calibrated<(Taken, Stop)> {
    let sample = |context: &mut MeasurementContext<'_, D>| {
        let parts = counts.iter().map(|&count| context.sample(probe, count));
        Ok::<_, CalibrateError>(parts.collect::<Result<Vec<_>, _>>()?.concat())
    };
    let needs_core = probe.quantities[0].definition().doer == Doer::OneThread;
    let mut taken = Taken::default();
    let stopping = Stopping::new(limit, fewest);
    let start = D::now();
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
        if let Some(stop) = stopping.reason(times, D::elapsed(start)) {
            return Ok((taken, stop));
        }
        let (alone, all) = (times[0].len(), times[0].len() + beside[0].len());
        let given_up = needs_core.then(|| stopping.gives_up((alone, all), D::elapsed(start)));
        if let Some(stop) = given_up.flatten() {
            if stop == Stop::Shared {
                times.iter_mut().zip(beside).for_each(|(times, beside)| times.append(beside));
            }
            return Ok((taken, stop));
        }
    }
}
