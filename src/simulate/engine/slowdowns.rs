//! What slows copies besides other copies and kernels that run.

use super::Simulation;
use crate::machine::Direction;

impl<const LISTENS: bool> Simulation<'_, LISTENS> {
    /// For which share of the time the host streams through memory now.
    fn streams(&self) -> f64 {
        if self.compiled.body.streaming.is_nowhere() {
            return 0.0;
        }
        if self.threads.is_empty() {
            return self.host.streams(self.compiled, self.now);
        }
        let others = self.threads.iter().zip(0..).filter(|(_, thread)| *thread != self.thread);
        let all = others.map(|(host, _)| host).chain([&self.host]);
        all.map(|host| host.streams_in_call(self.compiled, self.now)).fold(0.0, f64::max)
    }

    /// Sets by how much waiting kernels and the CPU slow the copies that start now. Changes while a
    /// copy is under way are left out.
    #[cold]
    pub(super) fn slow_down_copies(&mut self) {
        let [down, up] = self.compiled.body.streaming.slowdowns(self.streams());
        if !self.compiled.body.writes.is_empty() {
            self.copies.written = self.host.written(self.compiled, self.now);
        }
        let refetches = !self.compiled.waiting_kernels.refetched.is_empty();
        for device in 0..self.compiled.body.devices() {
            self.copies.slow_down((device, Direction::DeviceToHost), up);
            if self.copies.begins_down(device) {
                let refetching = match refetches {
                    true => self.streams.refetching(device, self.now),
                    false => 1.0,
                };
                self.copies.slow_down((device, Direction::HostToDevice), refetching * down);
            }
        }
    }
}
