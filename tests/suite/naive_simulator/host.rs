//! The host's threads: each makes its calls in order, and waits in some.

use super::simulator::{Event, Simulator, Thread};
use hallway::cost::Waits;
use hallway::machine::DeviceId;
use hallway::program::Call;
use hallway::units::Span;

impl Simulator<'_> {
    /// A thread enters its next call, from `first` on.
    pub fn enter_next(&mut self, thread: usize, first: usize) {
        let is_next = |&call: &usize| {
            let is_its_own = usize::from(self.program.thread_of(call).0) == thread;
            is_its_own && !self.graphs.iter().any(|graph| graph.calls.contains(&call))
        };
        self.threads[thread].next = (first..self.program.body.len()).find(is_next);
        let Some(call) = self.threads[thread].next else { return };
        let may_go_inline = self.prices.cost_of(call).may_go_inline;
        if let (Some(lane), true) = (self.lanes[call], may_go_inline) {
            if self.head(lane).is_some() || self.streams[lane].cleared > self.resumed {
                self.resume();
            }
            self.inline[call] = self.head(lane).is_none();
        }
        let cost = *self.cost(call);
        let depends = may_go_inline || cost.waits != Waits::No;
        let lasts = if depends { cost.host } else { self.prices.host_time(call) };
        let entered = self.threads[thread].reached;
        let reached = entered + lasts.nanos();
        self.threads[thread] = Thread { next: Some(call), entered, reached, waits: None };
        // The nodes of a graph start while it is launched.
        let mut launched = entered + cost.latency.nanos();
        let graph = self.graphs.iter().find(|graph| graph.launch == call).cloned();
        for node in graph.into_iter().flat_map(|graph| graph.calls) {
            launched += self.cost(node).host.nanos();
            self.issue(node, launched);
        }
        let time = reached.saturating_sub(cost.then.nanos()).max(self.now);
        self.events.push((time, Event::TakesEffect(thread)));
    }

    /// The only host thread goes on after something that it had to wait for.
    pub fn resume(&mut self) {
        if self.threads.len() == 1 {
            self.resumed = self.now;
            self.come_to_arrivals(self.now);
        }
    }

    pub fn issue(&mut self, call: usize, time: u64) {
        self.issued[call] = Some(time);
        self.order.push(call);
        if let Some(lane) = self.lanes[call].filter(|&lane| self.head(lane) == Some(call)) {
            self.advance(vec![lane]);
        }
        if self.threads.len() == 1 && self.lanes[call].is_some() {
            self.ring_doorbell(call);
        }
    }

    pub fn take_effect(&mut self, thread: usize) {
        let Thread { next, reached, .. } = self.threads[thread];
        let call = next.expect("it is in a call");
        let cost = *self.cost(call);
        self.issue(call, self.now);
        if self.threads.len() > 1 {
            self.come_to_arrivals(self.now.saturating_sub(1));
        }
        self.release_threads();
        if cost.waits == Waits::Staging {
            return;
        }
        if cost.waits != Waits::No && !self.has_happened(call) {
            self.threads[thread].waits = Some([cost.wake, cost.then].map(Span::nanos));
        } else if reached > self.now {
            self.events.push((reached, Event::Returns(thread)));
        } else {
            self.leave(thread);
        }
    }

    pub fn leave(&mut self, thread: usize) {
        let Thread { next, entered, reached, .. } = self.threads[thread];
        let call = next.expect("it is in a call");
        self.host[call] = Some((entered, reached));
        self.release_threads();
        self.enter_next(thread, call + 1);
    }

    /// Whether what a call waits for is over.
    fn has_happened(&self, call: usize) -> bool {
        match (&self.program.body[call], self.cost(call).waits) {
            (Call::Synchronize { stream }, _) => self.head(stream.0).is_none(),
            (Call::SynchronizeEvent { event }, _) => {
                let record = self.recorded(event.0, call);
                record.is_none_or(|record| self.endings[record].is_some())
            }
            (Call::SynchronizeThread(other), _) => {
                let is_his = |&at: &usize| self.program.thread_of(at) == *other;
                (0..call).filter(is_his).all(|at| self.host[at].is_some())
            }
            (_, Waits::Device(only)) => (0..self.streams.len()).all(|at| {
                let DeviceId(device) = self.streams[at].traits.device;
                only.is_some_and(|only| only.0 != device) || self.head(at).is_none()
            }),
            _ => true,
        }
    }

    /// Wakes up threads that need not wait any longer.
    pub fn release_threads(&mut self) {
        for thread in 0..self.threads.len() {
            let Thread { next, reached, waits, .. } = self.threads[thread];
            if let (Some(call), Some([wake, then])) = (next, waits)
                && self.has_happened(call)
            {
                self.threads[thread].waits = None;
                let is_thread = matches!(self.cost(call).waits, Waits::Thread(_));
                let is_awake = !is_thread && self.now + then <= reached;
                let time = if is_awake { reached } else { self.now + wake + then };
                self.events.push((time, Event::Returns(thread)));
            }
        }
    }
}
