//! The host's calls, made while simulated time stands still, up to one in which the host has to
//! wait.

use super::{Event, Simulator};
use crate::cost::{
    Burst, CallId, CompiledProgram, Entry, EntryId, NONE, Recording, Waits, Work, WorkKind,
};
use crate::simulate::host::{Awaited, Blocked, Host};
use crate::simulate::observer::{Cause, Observer};
use crate::timeline::Reason;
use crate::units::{Instant, Span};

impl Simulator {
    /// Runs the host ahead until it has to wait for the device.
    pub(super) fn issue<O: Observer>(&mut self, compiled: &CompiledProgram<'_>, observer: &mut O) {
        loop {
            let burst = self.run_ahead(compiled, observer);
            let Some(call) = compiled.body.calls.get(self.host.next as usize) else { return };
            let mut cost = &compiled.body.costs[call.cost as usize];
            if cost.may_go_inline {
                let drained = self.streams.is_drained(compiled, call.stream);
                if !drained && self.now < self.host.reached {
                    // How much the stream still has to do when the call is made is only known at
                    // that time.
                    self.host.blocked = Blocked::Returning;
                    self.queue.schedule(self.host.reached, Event::HostEnters);
                    return;
                }
                if drained {
                    self.streams.go_inline(call.stream);
                    cost = &compiled.body.costs[call.cost as usize + 1];
                }
            }
            self.host.enter(cost.host);
            if call.kind != WorkKind::Nothing {
                let delay = self.host.reached.since(Instant::START + burst.times[1]);
                self.streams.delays.begin(self.host.next, delay);
            }
            self.wake::<O>(compiled, self.host.next + 1);
            let drained = || self.streams.is_drained(compiled, call.stream);
            match cost.waits {
                Waits::Staging if self.host.blocked != Blocked::Returning => {
                    self.host.blocked = Blocked::Staging;
                }
                Waits::Stream(wake) if !drained() => {
                    self.host.blocked = Blocked::Draining { stream: call.stream, wake };
                }
                Waits::Event(wake) => {
                    let recording = compiled.body.entries.recordings.get(call.recording as usize);
                    let what = Awaited::Recording(*recording.unwrap_or(&Recording::NEVER));
                    self.await_if_need_be(compiled, what, (wake, Span::ZERO));
                }
                Waits::Device { only, wake, then } => {
                    self.await_if_need_be(compiled, Awaited::Device(only), (wake, then));
                }
                _ => {}
            }
            if self.host.blocked != Blocked::No {
                return;
            }
            self.host.leave(observer);
        }
    }

    /// Issues calls up to the next one that depends on what the device does, and returns the
    /// burst they form.
    #[inline]
    fn run_ahead<O: Observer>(
        &mut self,
        compiled: &CompiledProgram<'_>,
        observer: &mut O,
    ) -> Burst {
        let burst = self.host.burst(compiled);
        let Host { next, reached, .. } = self.host;
        if next < burst.until {
            let delay = reached.since(Instant::START + burst.times[0]);
            self.streams.delays.begin(next, delay);
            self.host.make(compiled, &burst, observer);
            self.wake::<O>(compiled, burst.until);
        }
        burst
    }

    /// Lets streams that had nothing to do start the work of calls before `until`.
    #[inline]
    fn wake<O: Observer>(&mut self, compiled: &CompiledProgram<'_>, until: CallId) {
        while let Some(stream) = self.streams.next_issued(compiled, until) {
            self.advance::<O>(compiled, stream);
        }
        if let Some(times) = &compiled.polling {
            self.polling.issued(compiled, times, (&self.streams, self.now));
        }
    }

    /// Blocks the host until something has happened, unless it has.
    #[cold]
    fn await_if_need_be(
        &mut self,
        compiled: &CompiledProgram<'_>,
        what: Awaited,
        (wake, then): (Span, Span),
    ) {
        if !self.has_happened(compiled, what) {
            self.host.blocked = Blocked::Awaiting { what, wake, then };
        }
    }

    pub(super) fn has_happened(&self, compiled: &CompiledProgram<'_>, what: Awaited) -> bool {
        match what {
            Awaited::Recording(Recording { entry: NONE, .. }) => true,
            Awaited::Recording(Recording { entry, stream, .. }) => {
                self.streams.is_over(stream, entry)
            }
            Awaited::Device(only) => {
                let streams = (0..).zip(&compiled.body.traits);
                let mut meant = streams.filter(|(_, one)| only.is_none_or(|id| one.device == id));
                meant.all(|(stream, _)| self.streams.is_drained(compiled, stream))
            }
            Awaited::Thread(other) => self.threads[usize::from(other)].next > self.host.next,
        }
    }

    /// Wakes the host if it waits for something that has happened now that `ended` is over.
    #[cold]
    #[inline(never)]
    fn release_awaiting(&mut self, compiled: &CompiledProgram<'_>, ended: CallId) {
        let Blocked::Awaiting { what, wake, then } = self.host.blocked else { return };
        if !self.has_happened(compiled, what) {
            return;
        }
        // The part of the call before the wait may take longer than what it waits for.
        let before = self.host.reached.earlier_by(then);
        if self.now <= before {
            return self.return_at(self.host.reached);
        }
        self.host.cause = Cause { reason: Reason::Device, before: ended, ready: self.now };
        self.return_at(self.now + wake + then);
    }

    /// Wakes the host if it waits for something that is done now that `ended` is over.
    #[inline(always)]
    pub(super) fn release_host(&mut self, compiled: &CompiledProgram<'_>, ended: CallId) {
        if matches!(self.host.blocked, Blocked::Awaiting { .. }) {
            self.release_awaiting(compiled, ended);
        }
        if let Blocked::Draining { stream, wake } = self.host.blocked
            && self.streams.is_drained(compiled, stream)
        {
            let still_awake = self.now <= self.host.reached;
            if !still_awake {
                self.host.cause = Cause { reason: Reason::Device, before: ended, ready: self.now };
            }
            self.return_at(if still_awake { self.host.reached } else { self.now + wake });
        }
    }

    /// Runs an operation that occupies no engine, and releases the host when its part is done.
    #[cold]
    pub(super) fn go_without_engine(
        &mut self,
        compiled: &CompiledProgram<'_>,
        (id, entry): (EntryId, &Entry),
        work: &Work,
    ) {
        let Work::Staged { direction, duration, early, .. } = *work else {
            return self.queue.schedule(self.now + work.by_itself(), Event::Ends(id));
        };
        let since = self.streams.staged_since(compiled, (id, entry), self.now);
        let end = self.now.max(since + duration);
        self.queue.schedule(end, Event::Ends(id));
        let device = compiled.body.device_of(entry.stream);
        self.copies.stage((device, direction), self.now, end);
        if self.turn_to_maker(compiled, entry.call) {
            let cause = self.streams.cause(compiled, entry.stream);
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
