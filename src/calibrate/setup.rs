//! Creating what a plan needs before it can run.

use super::context::{MeasurementContext, clocked};
use crate::gpu::{Event, ExtraContext, ExtraModule, GpuError, Stream};
use crate::samples::SetupStep;
use crate::units::Span;

impl MeasurementContext<'_> {
    /// Time of creating `count` of something. Destroying them is not timed.
    pub fn setup(&mut self, step: SetupStep, count: u64) -> Result<Span, GpuError> {
        let device = self.device;
        match step {
            SetupStep::Stream => made(count, || Stream::new(device)),
            SetupStep::Event => made(count, || Event::ordering(device)),
            SetupStep::Context => made(count, || ExtraContext::new(device)),
            SetupStep::Module => made(count, || ExtraModule::new(device)),
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
