//! What kernels that wait cost others.

use super::{Simulator, Stream};
use hallway::cost::Work;
use hallway::machine::OperationKind;

impl Simulator<'_> {
    /// Two numbers of kernels of a stream that have been launched and not ended: all, and those
    /// that wait for nothing but each other.
    fn held(&self, stream: usize) -> [u32; 2] {
        let Stream { calls, passed, .. } = &self.streams[stream];
        let is_launched = |call: &&usize| self.issued[**call].is_some_and(|at| at <= self.now);
        let launched: Vec<usize> =
            calls[*passed..].iter().take_while(is_launched).copied().collect();
        let is_kernel = |call: &usize| self.kind_of(*call) == Some(OperationKind::Kernel);
        let is_record = |call: &usize| self.prices.cost_of(*call).work == Work::Record;
        let row = launched.iter().take_while(|call| is_kernel(call) || is_record(call));
        let count = |kernels: usize| kernels as u32;
        [
            count(launched.iter().filter(|call| is_kernel(call)).count()),
            count(row.filter(|call| is_kernel(call)).count()),
        ]
    }

    /// What streams that wait cost a kernel behind another kernel.
    pub(super) fn beside_waiting(&self, stream: usize) -> f64 {
        if self.streams[stream].last.kind != Some(OperationKind::Kernel) {
            return 0.0;
        }
        let others = self.streams_with(OperationKind::Kernel).into_iter();
        let waits = |other: &usize| {
            let [held, running] = self.held(*other);
            *other != stream && held > 0 && running == 0
        };
        let copies = self.engines.each_ref().map(|engine| engine.copy.is_some());
        self.profile.polling(others.filter(waits).count(), copies)
    }

    /// How many times longer copies to the device take for kernels that wait.
    pub(super) fn refetching(&self) -> f64 {
        let launching = self.streams_with(OperationKind::Kernel);
        if launching.len() < 2 {
            return 1.0;
        }
        let held = launching.into_iter().map(|stream| self.held(stream));
        let waiting: Vec<u32> = held.map(|[held, running]| held - running).collect();
        let streams = waiting.iter().filter(|&&kernels| kernels > 0).count();
        let mean = f64::from(waiting.iter().sum::<u32>()) / streams.max(1) as f64;
        self.profile.link.refetching(streams, mean)
    }
}
