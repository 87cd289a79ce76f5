//! Creating what a plan needs before it can run, and what comes for the first time in a process.

use super::context::{MeasurementContext, clocked};
use super::error::CalibrateError;
use super::new_process::STEPS;
use super::probe::{Counts, Probe, WarmUp};
use super::sizes::Sizes;
use crate::gpu::{Event, ExtraContext, ExtraModule, GpuError, Stream};
use crate::samples::{Quantity, SetupStep};
use crate::units::Span;

pub(super) fn probes(sizes: &Sizes) -> Vec<Probe> {
    let steps = sizes.setup_steps.iter().map(|&step| probe(step));
    steps.chain([in_new_process()]).collect()
}

/// Everything that comes for the first time in a process: each sample starts one, which takes some
/// tenths of a second.
fn in_new_process() -> Probe {
    let steps = SetupStep::IN_NEW_PROCESS.map(|step| Quantity::Setup { step });
    let sample = |context: &mut MeasurementContext<'_>, _| context.in_new_process();
    let probe = Probe::together(steps.to_vec(), Counts::Once, sample);
    probe.limit(1.0, 2).warm_up(WarmUp::None).only_if(|context| {
        // The new process needs a context beside that of this one.
        Ok(context.new_process.is_some() && ExtraContext::is_allowed(context.device)?)
    })
}

fn probe(step: SetupStep) -> Probe {
    let probe = |counts| {
        let what = Quantity::Setup { step };
        Probe::new(what, counts, move |context, count| context.setup(step, count))
    };
    match step {
        SetupStep::Stream | SetupStep::Event => probe(Counts::Of(16)).limit(0.5, 5),
        // Creating a context takes a quarter of a second. The device was opened, and its module
        // loaded, before.
        SetupStep::Context => {
            let probe = probe(Counts::Once).limit(1.0, 1).warm_up(WarmUp::None);
            probe.only_if(|context| ExtraContext::is_allowed(context.device))
        }
        _ => probe(Counts::Once).limit(1.0, 2).warm_up(WarmUp::None),
    }
}

impl MeasurementContext<'_> {
    /// Time of creating `count` of something. Destroying them is not timed.
    pub fn setup(&mut self, step: SetupStep, count: u64) -> Result<Span, GpuError> {
        let device = self.device;
        match step {
            SetupStep::Stream => made(count, || Stream::new(device)),
            SetupStep::Event => made(count, || Event::ordering(device)),
            SetupStep::Context => made(count, || ExtraContext::new(device)),
            SetupStep::Module => made(count, || ExtraModule::new(device)),
            _ => unreachable!("the others are timed in a new process"),
        }
    }

    /// The times of [`SetupStep::IN_NEW_PROCESS`] in a process that is started for them.
    fn in_new_process(&self) -> Result<[Span; STEPS], CalibrateError> {
        let process = self.new_process.as_ref().expect("it is asked for where there is one");
        let image = self.device.module_image()?;
        self.cpu.freely(|| process.times(image)).map_err(CalibrateError::NewProcess)
    }
}

fn made<T>(count: u64, make: impl Fn() -> Result<T, GpuError>) -> Result<Span, GpuError> {
    let mut kept = Vec::with_capacity(count as usize);
    clocked(|| {
        (0..count).try_for_each(|_| {
            kept.push(make()?);
            Ok(())
        })
    })
}
