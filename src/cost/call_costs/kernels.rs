//! What kernels keep busy on the device.

use super::CallCosts;
use crate::cost::halved::Bottleneck;
use crate::cost::locality::Locality;
use crate::cost::multiprocessors::Blocks;
use crate::cost::remote::Mapped;
use crate::cost::work::{CallCost, Work};
use crate::kernels::{GpuSide, Grid, Kernel};
use crate::machine::Direction;
use crate::profile::{HostCall, OperationKind, Unknown};
use crate::program::{LibraryStep, Step};
use crate::units::{Bytes, Span};

impl CallCosts<'_> {
    /// Clearing memory is a small kernel of the driver's own.
    pub(super) fn clearing(&self, gap: f64) -> Work {
        let limits = &self.profile.machine.multiprocessor;
        let blocks = Blocks::new(&Grid::ONE_BLOCK, [Span::ZERO; 2], (1, limits));
        Work::Kernel { gap: self.gap(gap), blocks }
    }

    /// A launch outside of a graph.
    pub(super) fn launch(&self, step: &Step, locality: &Locality) -> Result<CallCost, Unknown> {
        let profile = self.profile;
        let call = match step {
            Step::Library(step) => profile.launch(step.kernel),
            Step::Own(step) => match self.program.own_kernel(step).gpu {
                GpuSide::Product(_) => profile.launch(Kernel::Matmul),
                _ => profile.call(HostCall::Launch),
            },
        };
        let work = profile.kernel_gap().and_then(|gap| self.kernel_work(step, locality, gap));
        let start = Unknown::both(profile.start(OperationKind::Kernel), call);
        let (work, (latency, call)) = Unknown::both(work, start)?;
        Ok(CallCost { latency, work, ..CallCost::on_host(call) })
    }

    /// A kernel with a gap before it, in nanoseconds.
    pub(super) fn kernel_work(
        &self,
        step: &Step,
        locality: &Locality,
        gap: f64,
    ) -> Result<Work, Unknown> {
        let mapped = Mapped::of(self.program, step);
        match step {
            Step::Library(step) => self.library_work((step, mapped), locality, gap),
            Step::Own(step) => self.own_work((step, mapped), locality, gap),
        }
    }

    /// The measured time of a library kernel includes the usual gap between kernels of a stream.
    fn library_work(
        &self,
        (step, mapped): (&LibraryStep, Mapped),
        locality: &Locality,
        gap: f64,
    ) -> Result<Work, Unknown> {
        let (profile, n) = (self.profile, step.elements());
        let found = locality.on_device.unwrap_or_default();
        let time = self.kernel_time(step, &found)?;
        let usual_gap = profile.kernel_gap()?;
        let busy = self.halved.ns(Bottleneck::Kernels, (time.ns - usual_gap).max(0.0));
        let gap = self.gap(gap.min(time.ns));
        if !mapped.is_nothing() || locality.moves > Bytes::ZERO {
            if !goes_through_once(step.kernel) {
                let kernel = step.kernel;
                let what = "on host or managed memory, because it reads some of it more than once";
                return Err(Unknown::refused(format!("`{kernel}` {what}")));
            }
            let busy = busy.max(self.away(mapped, locality, usual_gap + busy)? - usual_gap);
            let grid = Grid::of(step.kernel, &step.arguments, n);
            let machine = &profile.machine;
            let machine = (machine.multiprocessors, &machine.multiprocessor);
            let blocks = Blocks::holding(&grid, Span::from_nanos_f64(busy), machine);
            return Ok(Work::Kernel { gap, blocks });
        }
        let grid = Grid::of(step.kernel, &step.arguments, n);
        let at_best = self.halved.ns(Bottleneck::Kernels, time.at_best);
        let busy = [busy, at_best].map(Span::from_nanos_f64);
        let machine = &profile.machine;
        let blocks = Blocks::new(&grid, busy, (machine.multiprocessors, &machine.multiprocessor));
        Ok(Work::Kernel { gap, blocks })
    }

    /// What the device needs for a kernel before its blocks run.
    pub(super) fn gap(&self, gap: f64) -> Span {
        Span::from_nanos_f64(self.halved.ns(Bottleneck::Calls, gap))
    }

    /// Nanoseconds of a kernel that takes `usual` where all its data is on the device, and now uses
    /// some across the link, or waits until managed memory has moved. Its blocks hold their
    /// multiprocessors meanwhile.
    pub(super) fn away(
        &self,
        mapped: Mapped,
        locality: &Locality,
        usual: f64,
    ) -> Result<f64, Unknown> {
        let (profile, halved) = (self.profile, self.halved);
        let time = match mapped.is_nothing() {
            true => usual,
            false => {
                let read = halved.bytes(Direction::HostToDevice, mapped.read);
                let written = halved.bytes(Direction::DeviceToHost, mapped.written);
                let (across, later) = profile.mapped(read, written)?;
                across.max(usual + later)
            }
        };
        let moves = match locality.moves {
            Bytes::ZERO => 0.0,
            bytes => halved.ns(Bottleneck::PageFaults, profile.faults(bytes)?),
        };
        Ok(time + moves)
    }
}

/// Kernels that go through their operands once, as the kernel does with which host memory was
/// measured across the link.
fn goes_through_once(kernel: Kernel) -> bool {
    !matches!(kernel, Kernel::Matmul | Kernel::Fft | Kernel::Transpose)
}
