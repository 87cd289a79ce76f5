//! The multiprocessors: kernels in the order of their starts, each taking what
//! those before it leave over.
//!
//! The device dispatches the blocks of the first kernel first; the next
//! kernel's blocks go where there is room (CUDA C++ Programming Guide,
//! "Concurrent Kernel Execution"; Amert et al., "GPU Scheduling on the NVIDIA
//! TX2", RTSS 2017). In the fluid view that is: each kernel runs with its own
//! demand or what is left of the whole, whichever is less.

use super::operation::OperationId;
use crate::units::{Instant, Span};

struct Resident {
    id: OperationId,
    started: Instant,
    demand: f64,
    /// Nanoseconds left at full demand.
    left: f64,
}

#[derive(Default)]
pub(super) struct Processors {
    residents: Vec<Resident>,
    since: Instant,
    /// As in [`super::copies::Copies`].
    pub epoch: u64,
}

impl Processors {
    pub fn start(&mut self, now: Instant, id: OperationId, busy: Span, demand: f64) {
        self.settle(now);
        let left = busy.nanos_f64();
        self.residents.push(Resident { id, started: now, demand, left });
    }

    /// Moves to `now` and takes out a kernel that has ended, if one has.
    pub fn collect(&mut self, now: Instant) -> Option<(OperationId, Instant, Instant)> {
        self.settle(now);
        let done = self.residents.iter().position(|kernel| kernel.left < 0.5)?;
        let kernel = self.residents.remove(done);
        Some((kernel.id, kernel.started, now))
    }

    /// Whether any kernel is running.
    pub fn is_busy(&self) -> bool {
        !self.residents.is_empty()
    }

    pub fn next_change(&self) -> Option<Instant> {
        let ends = self.residents.iter().zip(self.speeds());
        let ends = ends.filter(|(_, speed)| *speed > 0.0);
        let ends = ends.map(|(kernel, speed)| (kernel.left / speed).max(0.0).ceil());
        ends.reduce(f64::min).map(|first| self.since + Span::from_nanos_f64(first))
    }

    /// The speed of each kernel relative to running alone.
    fn speeds(&self) -> Vec<f64> {
        let mut room = 1.0_f64;
        let speed = |kernel: &Resident| {
            let share = kernel.demand.min(room);
            room -= share;
            if share > 1e-9 { share / kernel.demand } else { 0.0 }
        };
        self.residents.iter().map(speed).collect()
    }

    fn settle(&mut self, now: Instant) {
        let passed = now.since(self.since).nanos_f64();
        for (index, speed) in self.speeds().into_iter().enumerate() {
            self.residents[index].left -= passed * speed;
        }
        self.since = now;
        self.epoch += 1;
    }
}
