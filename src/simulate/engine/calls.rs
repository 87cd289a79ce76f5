//! The host's calls, made while simulated time stands still, up to one in which the host has to
//! wait.

use super::{Event, Simulation};
use crate::cost::{Burst, CallCost, CallId, CompiledCall, Entry, EntryId, Waits, Work, WorkKind};
use crate::simulate::host::{Blocked, Host};
use crate::simulate::operation::Cause;
use crate::timeline::{Lane, Reason};
use crate::units::Instant;

impl<const LISTENS: bool> Simulation<'_, LISTENS> {
    /// Runs the host ahead until it has to wait for the device.
    pub(super) fn issue(&mut self) {
        loop {
            let burst = self.run_ahead();
            let Some(call) = self.layout.calls.get(self.host.next as usize) else {
                return;
            };
            let mut cost = &self.compiled.body.costs[call.cost as usize];
            if cost.may_go_inline {
                let drained = self.streams.is_drained(call.stream);
                if !drained && self.now < self.host.reached {
                    // How much the stream still has to do when the call is made is only known at
                    // that time.
                    self.host.blocked = Blocked::Returning;
                    self.queue.schedule(self.host.reached, Event::HostEnters);
                    return;
                }
                if drained {
                    self.streams.go_inline(call.stream);
                    cost = &self.compiled.body.costs[call.cost as usize + 1];
                }
            }
            self.host.enter(cost.host);
            if call.kind != WorkKind::Nothing {
                let delay = self.host.reached.since(Instant::START + burst.times[1]);
                self.streams.delays.begin(self.host.next, delay);
            }
            self.wake(self.host.next + 1);
            if cost.waits == Waits::Staging && self.host.blocked != Blocked::Returning {
                self.host.blocked = Blocked::Staging;
            }
            if !self.has_happened() {
                self.host.blocked = Blocked::Awaiting;
            }
            if self.host.blocked != Blocked::No {
                return;
            }
            self.leave();
        }
    }

    /// Issues calls up to the next one that depends on what the device does, and returns the
    /// burst they form.
    #[inline]
    fn run_ahead(&mut self) -> Burst {
        let burst = self.host.burst(self.compiled);
        let Host { next, reached, .. } = self.host;
        if next < burst.until {
            let delay = reached.since(Instant::START + burst.times[0]);
            self.streams.delays.begin(next, delay);
            self.make(&burst);
            self.wake(burst.until);
        }
        burst
    }

    /// Lets streams that had nothing to do start the work of calls before `until`.
    #[inline]
    fn wake(&mut self, until: CallId) {
        while let Some(stream) = self.streams.next_issued(until) {
            self.advance(stream);
        }
        if let Some(polling) = &mut self.polling {
            polling.issued(&self.streams, self.now);
        }
    }

    /// Makes the calls of a burst.
    fn make(&mut self, burst: &Burst) {
        let reached = self.host.begin(burst);
        while LISTENS && self.host.next < burst.until {
            // The host made all calls of the graph with the graph's launch.
            if self.compiled.body.cost_of(self.host.next).in_graph {
                self.host.next += 1;
            } else {
                self.host.enter(self.compiled.body.host_of(self.host.next));
                self.leave();
            }
        }
        (self.host.next, self.host.reached) = (burst.until, reached);
    }

    /// Goes on to the host's next call.
    #[inline]
    pub(super) fn leave(&mut self) {
        let Host { next: call, entered, reached, cause, .. } = self.host;
        if LISTENS {
            self.note(Lane::Host, call, [entered, reached], cause);
            self.host.cause = Cause { reason: Reason::Issue, before: call, ready: reached };
        }
        (self.host.blocked, self.host.next) = (Blocked::No, call + 1);
    }

    /// Whether the host need not wait, or no longer, in the call that it is in.
    #[inline]
    pub(super) fn has_happened(&self) -> bool {
        let body = &self.compiled.body;
        let CompiledCall { cost, recording, stream, .. } =
            body.structure.layout.calls[self.host.next as usize];
        match body.costs[cost as usize].waits {
            Waits::No | Waits::Staging => true,
            Waits::Stream => self.streams.is_drained(stream),
            Waits::Event => {
                let recording = body.structure.layout.entries.recordings.get(recording as usize);
                recording.is_none_or(|one| self.streams.is_over(one.stream, one.entry))
            }
            Waits::Device(only) => {
                let streams = (0..).zip(&body.structure.layout.traits);
                let mut meant = streams.filter(|(_, one)| only.is_none_or(|id| one.device == id));
                meant.all(|(stream, _)| self.streams.is_drained(stream))
            }
            Waits::Thread(other) => {
                let other = self.threads.get(usize::from(other));
                other.is_none_or(|other| other.next > self.host.next)
            }
        }
    }

    /// Wakes the host if it waits for something that has happened now that `ended` is over.
    #[inline(always)]
    pub(super) fn release_host(&mut self, ended: CallId) {
        if self.host.blocked == Blocked::Awaiting && self.has_happened() {
            self.wake_host(ended);
        }
    }

    #[cold]
    fn wake_host(&mut self, ended: CallId) {
        let &CallCost { waits, wake, then, .. } = self.compiled.body.cost_of(self.host.next);
        let is_thread = matches!(waits, Waits::Thread(_));
        // The part of the call before the wait may take longer than what it waits for.
        if !is_thread && self.now <= self.host.reached.earlier_by(then) {
            return self.return_at(self.host.reached);
        }
        let reason = if is_thread { Reason::Thread } else { Reason::Device };
        self.host.cause = Cause { reason, before: ended, ready: self.now };
        self.return_at(self.now + wake + then);
    }

    /// Runs an operation that occupies no engine, and releases the host when its part is done.
    #[cold]
    pub(super) fn go_without_engine(&mut self, (id, entry): (EntryId, &Entry), work: &Work) {
        let Work::Staged { direction, duration, early, .. } = *work else {
            return self.queue.schedule(self.now + work.by_itself(), Event::Ends(id));
        };
        let since = self.streams.staged_since((id, entry), self.now);
        let end = self.now.max(since + duration);
        self.queue.schedule(end, Event::Ends(id));
        let device = self.layout.device_of(entry.stream);
        self.copies.stage((device, direction), self.now, end);
        if self.turn_to_maker(entry.call) {
            let cause = self.streams.cause(entry.stream);
            if cause.reason != Reason::Issue && cause.ready > self.host.reached {
                self.host.cause = Cause { reason: Reason::Device, ..cause };
            }
            self.return_at(self.now.max(since + duration.saturating_sub(early)));
        }
    }

    #[inline]
    pub(super) fn return_at(&mut self, time: Instant) {
        self.host.blocked = Blocked::Returning;
        self.queue.schedule(time, Event::HostReturns(self.thread));
    }
}
