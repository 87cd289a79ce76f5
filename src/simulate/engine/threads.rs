//! Several host threads, each on its own clock.
//!
//! No thread runs ahead: what another one does meanwhile may change what its next call finds. Each
//! enters a call at its time, and the call takes effect when the host's part of it is over.
//! [`Simulation::host`] is the thread whose turn it is.

use super::{Event, Simulation};
use crate::cost::{CallId, NONE, Waits};
use crate::machine::Direction;
use crate::simulate::host::Blocked;
use crate::units::Span;

impl<const LISTENS: bool> Simulation<'_, LISTENS> {
    /// Has each thread enter its first call.
    #[cold]
    pub(super) fn begin_threads(&mut self) {
        self.host = self.threads[0];
        for thread in 0..self.threads.len() as u16 {
            self.turn_to(thread);
            self.enter_call();
        }
    }

    /// Whether all calls of the program have been made.
    pub(super) fn has_made_all(&mut self) -> bool {
        if self.threads.is_empty() {
            return self.host.next as usize == self.layout.calls.len();
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
    pub(super) fn turn_to_maker(&mut self, call: CallId) -> bool {
        if let Some(&thread) = self.layout.threads.get(call as usize) {
            self.turn_to(thread);
        }
        self.host.next == call
    }

    /// Has the thread whose turn it is enter its next call, if there is one.
    fn enter_call(&mut self) {
        let id = self.host.next;
        let Some(call) = self.layout.calls.get(id as usize) else { return };
        let mut cost = &self.compiled.body.costs[call.cost as usize];
        let depends = cost.may_go_inline || cost.waits != Waits::No;
        if cost.may_go_inline && self.streams.is_drained(call.stream) {
            self.streams.go_inline(call.stream);
            cost = &self.compiled.body.costs[call.cost as usize + 1];
        }
        self.host.enter(if depends { cost.host } else { self.compiled.body.host_of(id) });
        self.host.blocked = Blocked::Returning;
        // The part of a call that comes behind a wait is not over by then.
        let time = self.host.reached.earlier_by(cost.then).max(self.now);
        self.queue.schedule(time, Event::TakesEffect(self.thread));
    }

    /// The call that a thread is in takes effect.
    #[cold]
    pub(super) fn take_effect(&mut self, thread: u16) {
        self.turn_to(thread);
        let id = self.host.next;
        let stages = self.compiled.body.cost_of(id).waits == Waits::Staging;
        self.host.blocked = if stages { Blocked::Staging } else { Blocked::No };
        let woken = self.streams.make(id, self.now);
        if let Some(polling) = &mut self.polling {
            polling.note(id);
        }
        if let Some(stream) = woken {
            self.advance(stream);
        }
        if let Some(polling) = &mut self.polling {
            // A doorbell that rings now has not been heard yet.
            polling.issued(&self.streams, self.now.earlier_by(Span::from_nanos(1)));
        }
        self.release_threads(id);
        self.turn_to(thread);
        if self.host.blocked != Blocked::No {
            return;
        }
        if !self.has_happened() {
            self.host.blocked = Blocked::Awaiting;
        } else if self.host.reached > self.now {
            self.return_at(self.host.reached);
        } else {
            self.leave_call();
        }
    }

    /// The thread whose turn it is returns from its call and enters the next one.
    pub(super) fn leave_call(&mut self) {
        let (id, thread) = (self.host.next, self.thread);
        self.leave();
        self.host.next = self.layout.next_of(thread, id + 1);
        self.release_threads(id);
        self.turn_to(thread);
        self.enter_call();
    }

    /// Wakes the threads that wait for something that has happened now that `ended` is over.
    #[cold]
    pub(super) fn release_threads(&mut self, ended: CallId) {
        for thread in 0..self.threads.len() as u16 {
            self.turn_to(thread);
            self.release_host(ended);
        }
    }
}

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
        let refetches = !self.compiled.body.structure.waiting_kernels.refetched.is_empty();
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
