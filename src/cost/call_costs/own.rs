//! What kernels cost that are not of the library.

use super::CallCosts;
use crate::cost::halved::Bottleneck;
use crate::cost::locality::Locality;
use crate::cost::multiprocessors::Blocks;
use crate::cost::remote::Mapped;
use crate::cost::work::{CallCost, Work};
use crate::kernels::{Geometry, GpuSide, Grid, OwnKernel};
use crate::machine::MultiprocessorLimits;
use crate::profile::{OwnTime, Unknown};
use crate::program::OwnStep;
use crate::units::Span;

impl CallCosts<'_> {
    /// A kernel behind a gap, in nanoseconds.
    pub(super) fn own_work(
        &self,
        (step, mapped): (&OwnStep, Mapped),
        locality: &Locality,
        gap: f64,
    ) -> Result<Work, Unknown> {
        let kernel = self.program.own_kernel(step);
        let time = self.profile.own_on_gpu(kernel, step)?;
        let machine = &self.profile.machine;
        let on = (machine.multiprocessors, &machine.multiprocessor);
        // It is taken to go through what it names once.
        let [as_stated, _] = self.as_stated(step);
        let busy = self.halved.ns(Bottleneck::Kernels, (time.busy * as_stated).max(0.0));
        let away = self.away(mapped, locality, busy)?;
        let busy = Span::from_nanos_f64(away);
        let blocks = Blocks::holding(&grid(kernel, step, &time, on), busy, on);
        Ok(Work::Kernel { gap: self.gap(gap), blocks })
    }

    /// How many times as long as stated a step takes on the GPU and on the CPU.
    fn as_stated(&self, step: &OwnStep) -> [f64; 2] {
        self.stated.get(step.kernel).copied().unwrap_or([1.0; 2])
    }

    pub(super) fn own_compute(
        &self,
        step: &OwnStep,
        locality: &Locality,
    ) -> Result<CallCost, Unknown> {
        if !Mapped::combined(self.program, &step.reads, &step.writes).is_nothing() {
            return Err(Unknown::refused("your own kernels on the CPU with write-combined memory"));
        }
        let touch = self.touch_time(locality);
        let time = self.profile.own_on_cpu(self.program.own_kernel(step), step);
        let (time, touch) = Unknown::both(time, touch)?;
        let [_, as_stated] = self.as_stated(step);
        let time =
            self.halved.ns(Bottleneck::Cpu, time * as_stated) + touch + self.back(locality)?;
        Ok(CallCost::on_host(Span::from_nanos_f64(time.max(0.0))))
    }
}

/// What of the device a launch holds. If its grid is not known, it fills the device once.
fn grid(
    kernel: &OwnKernel,
    step: &OwnStep,
    time: &OwnTime,
    (multiprocessors, limits): (u32, &MultiprocessorLimits),
) -> Grid {
    if let (GpuSide::Product(_), Some(shape)) = (&kernel.gpu, step.product()) {
        return Grid::of_product(shape.rows, shape.columns);
    }
    let fills = Grid::ONE_BLOCK;
    match &step.geometry {
        Some(geometry) => {
            let [registers, declared] = time.takes.unwrap_or([fills.registers_per_thread, 0]);
            let Geometry { shared_bytes, .. } = geometry;
            Grid {
                blocks: geometry.blocks(),
                threads_per_block: geometry.threads(),
                registers_per_thread: registers,
                shared_bytes_per_block: shared_bytes + declared,
            }
        }
        None => {
            let resident = (limits.threads / fills.threads_per_block).min(limits.blocks).max(1);
            Grid { blocks: multiprocessors.max(1) * resident, ..fills }
        }
    }
}
