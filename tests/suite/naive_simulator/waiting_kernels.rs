//! What kernels that wait cost others.

use super::simulator::{Simulator, Stream};
use hallway::cost::Work;
use hallway::machine::{Direction, OperationKind};
use hallway::program::StreamKind;

impl Simulator<'_> {
    /// Two numbers of kernels of a stream that have been launched and not ended: all, and those
    /// that wait for nothing but each other.
    fn held(&self, lane: usize) -> [usize; 2] {
        let Stream { calls, passed, .. } = &self.streams[lane];
        let is_launched = |call: &&usize| self.issued[**call].is_some_and(|at| at <= self.now);
        let launched = || calls[*passed..].iter().take_while(is_launched);
        let has_barrier =
            self.streams.iter().any(|one| one.traits.kind == StreamKind::LegacyDefault);
        let is_kernel = |call: &&usize| self.usual_kind_of(**call) == Some(OperationKind::Kernel);
        let is_record = |call: &&usize| !has_barrier && self.work(**call) == Work::Record;
        let row = launched().take_while(|call| is_kernel(call) || is_record(call));
        [launched().filter(is_kernel).count(), row.filter(is_kernel).count()]
    }

    /// The streams of a device with kernels.
    fn launching(&self, device: usize, in_graphs: bool) -> Vec<usize> {
        let is_wanted = |&call: &usize| {
            let is_kernel = self.usual_kind_of(call) == Some(OperationKind::Kernel);
            is_kernel && (in_graphs || !self.prices.cost_of(call).in_graph)
        };
        let here = |lane: &usize| self.streams[*lane].traits.device.0 == device;
        let has_kernels = |lane: &usize| self.streams[*lane].calls.iter().any(is_wanted);
        (0..self.streams.len()).filter(here).filter(has_kernels).collect()
    }

    /// What streams that wait cost a kernel behind another kernel.
    pub fn beside_waiting(&self, lane: usize) -> f64 {
        let Stream { traits, last, .. } = &self.streams[lane];
        if last.kind != Some(OperationKind::Kernel) {
            return 0.0;
        }
        let waits = |other: &usize| {
            let [held, running] = self.held(*other);
            *other != lane && held > 0 && running == 0
        };
        let others = self.launching(traits.device.0, true).into_iter().filter(waits).count();
        let [down, up, _] = &self.engines[traits.device.0];
        self.profile.polling(others, [down.copy.is_some(), up.copy.is_some()])
    }

    /// How many times longer copies to a device take for kernels that wait.
    pub fn refetching(&self, device: usize) -> f64 {
        let is_down = |call: usize| match self.prices.cost_of(call).work {
            Work::Copy { direction, .. } => direction == Direction::HostToDevice,
            _ => false,
        };
        let refetches = |device: usize| {
            let copies = |call| is_down(call) && self.device_of(call) == device;
            self.launching(device, false).len() > 1 && (0..self.lanes.len()).any(copies)
        };
        if !refetches(device) {
            return 1.0;
        }
        let held = self.launching(device, false).into_iter().map(|lane| self.held(lane));
        let waiting = held.map(|[held, running]| held - running).filter(|&kernels| kernels > 0);
        let waiting: Vec<usize> = waiting.collect();
        let mean = waiting.iter().sum::<usize>() as f64 / waiting.len().max(1) as f64;
        self.profile.link.refetching(waiting.len(), mean)
    }
}
