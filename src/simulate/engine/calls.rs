//! The host's calls, made while simulated time stands still, up to one in which the host has to
//! wait.

use super::{Event, Simulator};
use crate::cost::{
    Burst, CallId, CompiledCall, CompiledProgram, Entry, EntryId, NONE, Recording, Waits, Work,
    WorkKind,
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
            if cost.waits == Waits::Staging && self.host.blocked != Blocked::Returning {
                self.host.blocked = Blocked::Staging;
            }
            if let Some(awaiting) = self.awaiting(compiled, call, cost.waits) {
                self.host.blocked = awaiting;
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

    /// What keeps the host in a call that waits, unless that has happened.
    pub(super) fn awaiting(
        &self,
        compiled: &CompiledProgram<'_>,
        call: &CompiledCall,
        waits: Waits,
    ) -> Option<Blocked> {
        let (what, wake, then) = match waits {
            Waits::No | Waits::Staging => return None,
            Waits::Stream(wake) => (Awaited::Stream(call.stream), wake, Span::ZERO),
            Waits::Event(wake) => {
                let recording = compiled.body.entries.recordings.get(call.recording as usize);
                let recording = *recording.unwrap_or(&Recording::NEVER);
                (Awaited::Recording(recording), wake, Span::ZERO)
            }
            Waits::Device { only, wake, then } => (Awaited::Device(only), wake, then),
            Waits::Thread(other) => (Awaited::Thread(other), Span::ZERO, Span::ZERO),
        };
        (!self.has_happened(compiled, what)).then_some(Blocked::Awaiting { what, wake, then })
    }

    #[inline]
    fn has_happened(&self, compiled: &CompiledProgram<'_>, what: Awaited) -> bool {
        match what {
            Awaited::Stream(stream) => self.streams.is_drained(compiled, stream),
            Awaited::Recording(Recording { entry: NONE, .. }) => true,
            Awaited::Recording(Recording { entry, stream, .. }) => {
                self.streams.is_over(stream, entry)
            }
            Awaited::Device(only) => {
                let streams = (0..).zip(&compiled.body.traits);
                let mut meant = streams.filter(|(_, one)| only.is_none_or(|id| one.device == id));
                meant.all(|(stream, _)| self.streams.is_drained(compiled, stream))
            }
            Awaited::Thread(other) => {
                let other = self.threads.get(usize::from(other));
                other.is_none_or(|other| other.next > self.host.next)
            }
        }
    }

    /// Wakes the host if it waits for something that has happened now that `ended` is over.
    #[inline(always)]
    pub(super) fn release_host(&mut self, compiled: &CompiledProgram<'_>, ended: CallId) {
        if let Blocked::Awaiting { what, wake, then } = self.host.blocked
            && self.has_happened(compiled, what)
        {
            self.wake_host(what, (wake, then), ended);
        }
    }

    #[cold]
    fn wake_host(&mut self, what: Awaited, (wake, then): (Span, Span), ended: CallId) {
        let is_thread = matches!(what, Awaited::Thread(_));
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
