//! What the head of a stream follows: the operation before it, and those that it, or
//! marks before it, waited for. What each hand-over takes is worked out in [`Start`].

use super::{Engines, Streams};
use crate::profile::OperationKind;
use crate::simulate::entries::Entry;
use crate::simulate::observer::{Cause, Observer};
use crate::simulate::program::{Class, Program, Tie};
use crate::simulate::start::Start;
use crate::timeline::Reason;
use crate::units::Instant;

/// The operation at the head of a stream, before it is known when it may start.
pub(super) struct Behind<'p> {
    pub entry: &'p Entry,
    pub class: &'p Class,
    pub kind: OperationKind,
    /// The first of its kind since its stream was last empty.
    pub is_first: bool,
    /// When it was issued, and when it reaches the device.
    pub arrival: (Instant, Instant),
}

impl Streams {
    /// When an operation of a plain program may start for which no hand-over takes time:
    /// as soon as all is over that it follows.
    #[inline(always)]
    pub(super) fn follow_at_once(&self, program: &Program<'_>, behind: &Behind<'_>) -> Instant {
        let &Behind { entry, arrival, .. } = behind;
        let stream = &self.streams[usize::from(entry.stream)];
        let mut time = arrival.1.max(stream.last.time);
        for wait in &program.entries.waits[stream.first_wait as usize..entry.waits as usize] {
            if let Some(event) = self.endings.get(wait.until.entry as usize) {
                time = time.max(event.time);
            }
        }
        time
    }

    /// The same where hand-overs may take time.
    #[inline(never)]
    pub(super) fn follow_at_a_price<O: Observer>(
        &mut self,
        program: &Program<'_>,
        behind: &Behind<'_>,
        engines: Engines<'_>,
    ) -> (Instant, Option<Instant>) {
        self.follow::<O>(program, behind, (0.0, engines))
    }

    /// When an operation may start, by everything that it has to follow; if its engine has to
    /// find out, from when it looks.
    #[inline(always)]
    pub(super) fn follow<O: Observer>(
        &mut self,
        program: &Program<'_>,
        behind: &Behind<'_>,
        (polling, engines): (f64, Engines<'_>),
    ) -> (Instant, Option<Instant>) {
        let &Behind { entry, class, kind, is_first, arrival } = behind;
        let stream = &mut self.streams[usize::from(entry.stream)];
        let mut start = Start {
            kind,
            device: stream.device,
            engines,
            is_first,
            arrival,
            last: &stream.last,
            since: stream.is_behind_its_like(kind, arrival.1).then_some(stream.started),
            time: arrival.1,
            missed: None,
            cause: Cause { reason: Reason::Issue, before: entry.item, ready: arrival.1 },
        };
        let [within, across] =
            if class.in_graph { [Tie::Graph; 2] } else { [Tie::Stream, Tie::Event] };
        start.follow(program, &stream.last, within, polling, Reason::Stream);
        for event in &stream.awaited {
            start.follow(program, event, across, 0.0, Reason::Event);
        }
        for wait in &program.entries.waits[stream.first_wait as usize..entry.waits as usize] {
            if let Some(event) = self.endings.get(wait.until.entry as usize) {
                start.follow(program, event, across, 0.0, Reason::Event);
            }
        }
        let Start { time, missed, cause, .. } = start;
        stream.awaited.clear();
        if O::LISTENS {
            stream.cause = cause;
        }
        (time, missed)
    }
}
