//! The host's calls, made while simulated time stands still, up to one in which the host has to
//! wait.

use super::{Event, Simulator};
use crate::simulate::host::{Blocked, Host};
use crate::simulate::issue::Stretch;
use crate::simulate::observer::Observer;
use crate::simulate::operation::ItemId;
use crate::simulate::program::{CompiledProgram, Sort, Waits};
use crate::units::Instant;

impl Simulator {
    /// Runs the host ahead until it has to wait for the device.
    pub(super) fn issue<O: Observer, const PLAIN: bool>(
        &mut self,
        program: &CompiledProgram<'_>,
        observer: &mut O,
    ) {
        loop {
            let stretch = self.run_ahead::<O, PLAIN>(program, observer);
            let Some(item) = program.items.get(self.host.next as usize) else { return };
            let mut class = &program.classes[item.class as usize];
            if !PLAIN && class.may_go_inline {
                let drained = self.streams.is_drained(program, item.stream);
                if !drained && self.now < self.host.reached {
                    // How much the stream still has to do when the call is made is only known at
                    // that time.
                    self.host.blocked = Blocked::Returning;
                    self.queue.schedule(self.host.reached, Event::HostLooks);
                    return;
                }
                if drained {
                    self.streams.go_inline(item.stream);
                    class = &program.classes[item.class as usize + 1];
                }
            }
            self.host.enter(class.host);
            if item.sort != Sort::HostOnly {
                let delay = self.host.reached.since(Instant::START + stretch.times[1]);
                self.streams.delays.begin(self.host.next, delay);
            }
            self.wake::<O, PLAIN>(program, self.host.next + 1);
            let drained = || self.streams.is_drained(program, item.stream);
            match class.waits {
                Waits::Staging if self.host.blocked != Blocked::Returning => {
                    self.host.blocked = Blocked::Staging;
                }
                Waits::Stream(wake) if !drained() => {
                    self.host.blocked = Blocked::Draining { stream: item.stream, wake };
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
    /// stretch they form.
    fn run_ahead<O: Observer, const PLAIN: bool>(
        &mut self,
        program: &CompiledProgram<'_>,
        observer: &mut O,
    ) -> Stretch {
        let stretch = self.host.stretch(program);
        let Host { next, reached, .. } = self.host;
        if next < stretch.until {
            let delay = reached.since(Instant::START + stretch.times[0]);
            self.streams.delays.begin(next, delay);
            self.host.make(program, &stretch, observer);
            self.wake::<O, PLAIN>(program, stretch.until);
        }
        stretch
    }

    /// Lets streams that had nothing to do start the work of calls before `until`.
    fn wake<O: Observer, const PLAIN: bool>(
        &mut self,
        program: &CompiledProgram<'_>,
        until: ItemId,
    ) {
        while let Some(stream) = self.streams.next_issued(program, until) {
            self.advance::<O, PLAIN>(program, stream);
        }
        if let (false, Some(times)) = (PLAIN, &program.looks) {
            self.looks.issued(program, times, (&self.streams, self.now));
        }
    }

    pub(super) fn return_at(&mut self, time: Instant) {
        self.host.blocked = Blocked::Returning;
        self.queue.schedule(time, Event::HostReturns);
    }
}
