//! What kernels that wait cost others.

use super::simulator::{Simulator, Stream};
use hallway::cost::Work;
use hallway::machine::{Direction, OperationKind};
use hallway::program::StreamKind;

impl Simulator<'_> {
    /// Two numbers of kernels of a stream that have been launched and not ended: all, and those
    /// that wait for nothing but each other.
    fn held(&self, lane: usize) -> [u32; 2] {
        let Stream { calls, passed, .. } = &self.streams[lane];
        let is_launched = |call: &&usize| self.issued[**call].is_some_and(|at| at <= self.now);
        let launched: Vec<usize> =
            calls[*passed..].iter().take_while(is_launched).copied().collect();
        let has_barrier =
            self.streams.iter().any(|one| one.traits.kind == StreamKind::LegacyDefault);
        let is_kernel = |call: &usize| self.launches(*call);
        let is_record = |call: &usize| !has_barrier && self.work(*call) == Work::Record;
        let row = launched.iter().take_while(|call| is_kernel(call) || is_record(call));
        let count = |kernels: usize| kernels as u32;
        [
            count(launched.iter().filter(|call| is_kernel(call)).count()),
            count(row.filter(|call| is_kernel(call)).count()),
        ]
    }

    fn launches(&self, call: usize) -> bool {
        self.usual_kind_of(call) == Some(OperationKind::Kernel)
    }

    /// The streams of a device with kernels.
    fn launching(&self, device: usize, in_graphs: bool) -> Vec<usize> {
        let is_wanted = |&call: &usize| {
            self.launches(call) && (in_graphs || !self.prices.cost_of(call).in_graph)
        };
        let here = |lane: &usize| self.streams[*lane].traits.device.0 == device;
        let has_kernels = |lane: &usize| self.streams[*lane].calls.iter().any(is_wanted);
        (0..self.streams.len()).filter(here).filter(has_kernels).collect()
    }

    /// What streams that wait cost a kernel behind another kernel.
    pub fn beside_waiting(&self, lane: usize) -> f64 {
        if self.streams[lane].last.kind != Some(OperationKind::Kernel) {
            return 0.0;
        }
        let device = self.streams[lane].traits.device.0;
        let waits = |other: &usize| {
            let [held, running] = self.held(*other);
            *other != lane && held > 0 && running == 0
        };
        let others = self.launching(device, true).into_iter().filter(waits).count();
        let [down, up, _] = self.engines[device].each_ref().map(|engine| engine.copy.is_some());
        self.profile.polling(others, [down, up])
    }

    /// How many times longer copies to a device take for kernels that wait.
    pub fn refetching(&self, device: usize) -> f64 {
        let is_down = |call: &usize| {
            matches!(
                self.prices.cost_of(*call).work,
                Work::Copy { direction: Direction::HostToDevice, .. }
            )
        };
        let refetched = |device: usize| {
            let copies = |call: usize| is_down(&call) && self.device_of(call) == device;
            let is_copied_to = (0..self.lanes.len()).any(copies);
            Some(self.launching(device, false)).filter(|all| all.len() > 1 && is_copied_to)
        };
        if (0..self.engines.len()).all(|device| refetched(device).is_none()) {
            return 1.0;
        }
        let held = refetched(device).unwrap_or_default().into_iter().map(|lane| self.held(lane));
        let waiting: Vec<u32> = held.map(|[held, running]| held - running).collect();
        let streams = waiting.iter().filter(|&&kernels| kernels > 0).count();
        let mean = f64::from(waiting.iter().sum::<u32>()) / streams.max(1) as f64;
        self.profile.link.refetching(streams, mean)
    }
}
