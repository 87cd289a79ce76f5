//! Creating what a plan needs before it can run.

use super::context::{MeasurementContext, Timed, clocked};
use super::probe::{Counts, Probe, WarmUp};
use super::sizes::Sizes;
use crate::gpu::{AnyDevice, GpuResult};
use crate::samples::{Quantity, SetupStep};

pub(super) fn probes(sizes: &Sizes) -> Vec<Probe> {
    let steps: &[SetupStep] =
        sizes.either(&SetupStep::HERE, &[SetupStep::Stream, SetupStep::Event]);
    steps.iter().map(|&step| probe(step)).collect()
}

fn probe(step: SetupStep) -> Probe {
    let probe = |counts| Probe::new(Quantity::Setup { step }, counts);
    match step {
        SetupStep::Stream | SetupStep::Event => probe(Counts::Of(16)).limit(0.5, 5),
        // Creating a context takes a quarter of a second. The device was opened, and its module
        // loaded, before.
        SetupStep::Context => probe(Counts::Once).limit(1.0, 1).warm_up(WarmUp::None),
        _ => probe(Counts::Once).limit(1.0, 2).warm_up(WarmUp::None),
    }
}

impl<D: AnyDevice> MeasurementContext<'_, D> {
    /// Time of creating `count` of something. Destroying them is not timed.
    pub fn setup(&mut self, step: SetupStep, count: u64) -> Timed {
        let device = self.device;
        match step {
            SetupStep::Stream => made::<D, _>(count, || device.stream(0)),
            SetupStep::Event => made::<D, _>(count, || device.ordering_event()),
            SetupStep::Context => made::<D, _>(count, || device.another_context()),
            SetupStep::Module => made::<D, _>(count, || device.load_again()),
            _ => unreachable!("the others are timed in a new process"),
        }
    }
}

fn made<D: AnyDevice, T>(count: u64, make: impl Fn() -> GpuResult<T>) -> Timed {
    let mut kept = Vec::with_capacity(count as usize);
    clocked::<D, _, _>(|| {
        (0..count).try_for_each(|_| {
            kept.push(make()?);
            Ok(())
        })
    })
}
