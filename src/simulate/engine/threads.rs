//! Several host threads, each on its own clock.
//!
//! No thread runs ahead: what another one does meanwhile may change what its next call finds. Each
//! enters a call at its time, and the call takes effect when the host's part of it is over.
//! [`Simulator::host`] is the thread whose turn it is.

use super::{Event, Simulator};
use crate::cost::{CallId, CompiledProgram, NONE, Waits};
use crate::simulate::host::{Blocked, Host};
use crate::simulate::observer::Observer;
use crate::units::Span;

impl Simulator {
    #[inline]
    pub(super) fn reset_threads(&mut self, compiled: &CompiledProgram<'_>) {
        self.thread = 0;
        self.threads.clear();
        let first = compiled.body.threads.first.iter();
        self.threads.extend(first.map(|&next| Host::at(next)));
    }

    /// Has each thread enter its first call.
    #[cold]
    pub(super) fn begin_threads(&mut self, compiled: &CompiledProgram<'_>) {
        self.host = self.threads[0];
        for thread in 0..self.threads.len() as u16 {
            self.turn_to(thread);
            self.enter_call(compiled);
        }
    }

    /// Whether all calls of the program have been made.
    pub(super) fn has_made_all(&mut self, compiled: &CompiledProgram<'_>) -> bool {
        if self.threads.is_empty() {
            return self.host.next as usize == compiled.body.calls.len();
        }
        self.threads[usize::from(self.thread)] = self.host;
        self.threads.iter().all(|host| host.next == NONE)
    }

    /// Makes it a thread's turn.
    #[inline]
    pub(super) fn turn_to(&mut self, thread: u16) {
        if thread != self.thread {
            self.threads[usize::from(self.thread)] = self.host;
            self.thread = thread;
            self.host = self.threads[usize::from(thread)];
        }
    }

    /// Makes it the turn of the thread that is in a call, and returns whether one is.
    #[inline]
    pub(super) fn turn_to_maker(&mut self, compiled: &CompiledProgram<'_>, call: CallId) -> bool {
        if let Some(&thread) = compiled.body.threads.of.get(call as usize) {
            self.turn_to(thread);
        }
        self.host.next == call
    }

    /// Has the thread whose turn it is enter its next call, if there is one.
    fn enter_call(&mut self, compiled: &CompiledProgram<'_>) {
        let id = self.host.next;
        let Some(call) = compiled.body.calls.get(id as usize) else { return };
        let mut cost = &compiled.body.costs[call.cost as usize];
        let depends = cost.may_go_inline || cost.waits != Waits::No;
        if cost.may_go_inline && self.streams.is_drained(compiled, call.stream) {
            self.streams.go_inline(call.stream);
            cost = &compiled.body.costs[call.cost as usize + 1];
        }
        self.host.enter(if depends { cost.host } else { compiled.body.host_of(id) });
        // The part of a call that comes behind a wait is not over by then.
        let behind = match cost.waits {
            Waits::Device { then, .. } => then,
            _ => Span::ZERO,
        };
        self.host.blocked = Blocked::Returning;
        let time = self.host.reached.earlier_by(behind).max(self.now);
        self.queue.schedule(time, Event::TakesEffect(self.thread));
    }

    /// The call that a thread is in takes effect.
    #[cold]
    pub(super) fn take_effect<O: Observer>(
        &mut self,
        compiled: &CompiledProgram<'_>,
        thread: u16,
        observer: &mut O,
    ) {
        self.turn_to(thread);
        let id = self.host.next;
        let call = &compiled.body.calls[id as usize];
        let cost = &compiled.body.costs[call.cost as usize];
        let stages = cost.waits == Waits::Staging;
        self.host.blocked = if stages { Blocked::Staging } else { Blocked::No };
        let woken = self.streams.make(compiled, id, self.now);
        self.polling.note(compiled, id);
        if let Some(stream) = woken {
            self.advance::<O>(compiled, stream);
        }
        if let Some(times) = &compiled.polling {
            // A doorbell that rings now has not been heard yet.
            let before = self.now.earlier_by(Span::from_nanos(1));
            self.polling.issued(compiled, times, (&self.streams, before));
        }
        self.release_threads(compiled, id);
        self.turn_to(thread);
        if self.host.blocked != Blocked::No {
            return;
        }
        match self.awaiting(compiled, call, cost.waits) {
            Some(awaiting) => self.host.blocked = awaiting,
            None if self.host.reached > self.now => self.return_at(self.host.reached),
            None => self.leave_call(compiled, observer),
        }
    }

    /// The thread whose turn it is returns from its call and enters the next one.
    pub(super) fn leave_call<O: Observer>(
        &mut self,
        compiled: &CompiledProgram<'_>,
        observer: &mut O,
    ) {
        let (id, thread) = (self.host.next, self.thread);
        self.host.leave(observer);
        self.host.next = compiled.body.threads.next[id as usize];
        self.release_threads(compiled, id);
        self.turn_to(thread);
        self.enter_call(compiled);
    }

    /// Wakes the threads that wait for something that has happened now that `ended` is over.
    #[cold]
    pub(super) fn release_threads(&mut self, compiled: &CompiledProgram<'_>, ended: CallId) {
        for thread in 0..self.threads.len() as u16 {
            self.turn_to(thread);
            self.release_host(compiled, ended);
        }
    }
}
