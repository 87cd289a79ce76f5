//! The host: it makes calls in order, and waits for the device.

use super::{Event, Simulator};
use hallway::cost::{Waits, Work};
use hallway::program::Call;

impl Simulator<'_> {
    /// Lets the host make calls up to one that waits for the device.
    pub(super) fn issue(&mut self) {
        while self.next < self.program.body.len() && self.waits.is_none() {
            let (call, cost) = (self.next, *self.prices.cost_of(self.next));
            assert!(!cost.may_go_inline && !cost.in_graph, "not simulated here");
            self.entered = self.reached;
            self.reached += self.prices.host_time(call).nanos();
            if cost.work != Work::Nothing {
                self.issued[call] = Some(self.reached);
                let stream = self.stream_of(call);
                if self.head(stream) == Some(call) {
                    self.advance(stream);
                }
            }
            self.ring_doorbells();
            let waits = match cost.waits {
                Waits::No => None,
                Waits::Stream(wake) | Waits::Event(wake) => Some([wake.nanos(), 0]),
                Waits::Device { wake, then, .. } => Some([wake.nanos(), then.nanos()]),
                Waits::Thread(_) | Waits::Staging => panic!("not simulated here"),
            };
            self.waits = waits.filter(|_| !self.has_happened());
            if self.waits.is_none() {
                self.leave_call();
            }
        }
    }

    pub(super) fn leave_call(&mut self) {
        self.host[self.next] = Some((self.entered, self.reached));
        self.next += 1;
    }

    /// Whether what the host's call waits for is over.
    fn has_happened(&self) -> bool {
        match &self.program.body[self.next] {
            Call::Synchronize { stream } => self.head(stream.0).is_none(),
            Call::SynchronizeEvent { event } => {
                let recorded = self.recorded(event.0, self.next);
                recorded.is_none_or(|record| self.endings[record].is_some())
            }
            _ => (0..self.streams.len()).all(|stream| self.head(stream).is_none()),
        }
    }

    /// Wakes the host up if it need not wait any longer.
    pub(super) fn release_host(&mut self) {
        if self.waits.is_some_and(|_| self.has_happened())
            && let Some([wake, then]) = self.waits.take()
        {
            let is_awake = self.now + then <= self.reached;
            let time = if is_awake { self.reached } else { self.now + wake + then };
            self.events.push((time, Event::HostReturns));
        }
    }
}
