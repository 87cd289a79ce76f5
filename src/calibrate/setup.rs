//! Creating what a plan needs before it can run.

use super::context::{MeasurementContext, clocked};
use super::probe::{Counts, Probe, WarmUp};
use super::sizes::Sizes;
use crate::gpu::{Event, ExtraContext, ExtraModule, GpuError, Stream};
use crate::samples::{Quantity, SetupStep};
use crate::units::Span;

pub(super) fn probes(sizes: &Sizes) -> Vec<Probe> {
    sizes.setup_steps.iter().map(|&step| probe(step)).collect()
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
            probe.only_if(ExtraContext::is_allowed)
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
