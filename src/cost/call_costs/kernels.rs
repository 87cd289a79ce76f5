//! What kernels keep busy on the device: those of the library, and a program's own, which the CPU
//! may run as well.

use super::CallCosts;
use crate::cost::caches::Locality;
use crate::cost::halved::Bottleneck;
use crate::cost::multiprocessors::Blocks;
use crate::cost::remote::Mapped;
use crate::cost::work::{CallCost, Work};
use crate::kernels::{Geometry, GpuSide, Grid, Kernel, OwnKernel};
use crate::machine::{Direction, MultiprocessorLimits};
use crate::profile::{Known, OperationKind, OwnTime, Rule, TimedCall, Unknown};
use crate::program::{LibraryStep, OwnStep, Step};
use crate::units::{Bytes, Span};

impl CallCosts<'_> {
    /// Clearing memory is a small kernel of the driver's own.
    pub(super) fn clearing(&self, gap: f64) -> Work {
        let limits = &self.profile.machine.multiprocessor;
        let blocks = Blocks::new(&Grid::ONE_BLOCK, [Span::ZERO; 2], (1, limits));
        Work::Kernel { gap: self.gap(gap), blocks }
    }

    /// A launch outside of a graph.
    pub(super) fn launch(&self, step: &Step, locality: &Locality) -> Known<CallCost> {
        let profile = self.profile;
        let call = match step {
            Step::Library(step) => profile.launch(step.kernel),
            Step::Own(step) => match self.program.own_kernel(step).gpu {
                GpuSide::Product(_) => profile.launch(Kernel::Matmul),
                _ => profile.call(TimedCall::Launch),
            },
        };
        let work = profile.kernel_gap().and_then(|gap| self.kernel_work(step, locality, gap));
        let start = Unknown::both(profile.start(OperationKind::Kernel), call);
        let (work, (latency, call)) = Unknown::both(work, start)?;
        Ok(CallCost { latency, work, ..CallCost::on_host(call) })
    }

    /// A kernel with a gap before it, in nanoseconds.
    pub(super) fn kernel_work(&self, step: &Step, locality: &Locality, gap: f64) -> Known<Work> {
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
    ) -> Known<Work> {
        let (profile, n) = (self.profile, step.elements());
        let found = locality.on_device.unwrap_or_default();
        let time = self.kernel_time(step, &found)?;
        let usual_gap = profile.kernel_gap()?;
        let busy = self.halved.ns(Bottleneck::Kernels, (time.ns - usual_gap).max(0.0));
        let gap = self.gap(gap.min(time.ns));
        let grid = Grid::of(step.kernel, &step.arguments, n);
        let machine = (profile.machine.multiprocessors, &profile.machine.multiprocessor);
        if !mapped.is_nothing() || locality.moves > Bytes::ZERO {
            if !goes_through_once(step.kernel) {
                let kernel = step.kernel;
                let what = "on host or managed memory, because the kernel reads some of that \
                            memory more than once";
                return Err(Unknown::refused(format!("`{kernel}` {what}")));
            }
            let busy = busy.max(self.away(mapped, locality, usual_gap + busy)? - usual_gap);
            let blocks = Blocks::holding(&grid, Span::from_nanos_f64(busy), machine);
            return Ok(Work::Kernel { gap, blocks });
        }
        let at_best = match profile.follows(Rule::KernelTails) {
            true => self.halved.ns(Bottleneck::Kernels, time.at_best),
            false => busy,
        };
        let busy = [busy, at_best].map(Span::from_nanos_f64);
        let blocks = Blocks::new(&grid, busy, machine);
        Ok(Work::Kernel { gap, blocks })
    }

    /// What the device needs for a kernel before its blocks run.
    pub(super) fn gap(&self, gap: f64) -> Span {
        Span::from_nanos_f64(self.halved.ns(Bottleneck::Calls, gap))
    }

    /// Nanoseconds of a kernel that takes `usual` where all its data is on the device, and now uses
    /// some across the link, or waits until managed memory has moved. Its blocks hold their
    /// multiprocessors meanwhile.
    pub(super) fn away(&self, mapped: Mapped, locality: &Locality, usual: f64) -> Known<f64> {
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

    /// A kernel behind a gap, in nanoseconds.
    pub(super) fn own_work(
        &self,
        (step, mapped): (&OwnStep, Mapped),
        locality: &Locality,
        gap: f64,
    ) -> Known<Work> {
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
        self.stated.kernels.get(step.kernel).copied().unwrap_or([1.0; 2])
    }

    pub(super) fn own_compute(&self, step: &OwnStep, locality: &Locality) -> Known<CallCost> {
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

/// Kernels that go through their operands once, as the kernel does with which host memory was
/// measured across the link.
fn goes_through_once(kernel: Kernel) -> bool {
    !matches!(kernel, Kernel::Matmul | Kernel::Fft | Kernel::Transpose)
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
