//! What the head of a stream follows: the operation before it, the events that it waits for, and
//! those that records and waits before it waited for. [`Start`] works out what each hand-over
//! takes.

use super::{Engines, Streams};
use crate::profile::OperationKind;
use crate::simulate::entries::Entry;
use crate::simulate::observer::{Cause, Observer};
use crate::simulate::program::{Class, CompiledProgram, Tie};
use crate::simulate::start::Start;
use crate::timeline::Reason;
use crate::units::Instant;

/// The operation at the head of a stream, before it is known when it may start.
pub(super) struct Behind<'p> {
    pub entry: &'p Entry,
    pub class: &'p Class,
    pub kind: OperationKind,
    /// Whether the operation is the first of its kind since its stream was last empty.
    pub is_first: bool,
    /// When the operation was issued, and when it reaches the device.
    pub arrival: (Instant, Instant),
}

impl Streams {
    /// When an operation of a plain program may start, if no hand-over to it takes time: as soon as
    /// everything that it follows is over.
    #[inline(always)]
    pub(super) fn follow_at_once(
        &self,
        program: &CompiledProgram<'_>,
        behind: &Behind<'_>,
    ) -> Instant {
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

    /// When an operation of a plain program may start, if hand-overs to it may take time. See
    /// [`Streams::follow`].
    #[inline(never)]
    pub(super) fn follow_at_a_price<O: Observer>(
        &mut self,
        program: &CompiledProgram<'_>,
        behind: &Behind<'_>,
        engines: Engines<'_>,
    ) -> (Instant, Option<Instant>) {
        self.follow::<O>(program, behind, (0.0, engines))
    }

    /// When an operation may start, given everything that it has to follow. If its engine has to
    /// find that out by polling, also from when polling periods count.
    #[inline(always)]
    pub(super) fn follow<O: Observer>(
        &mut self,
        program: &CompiledProgram<'_>,
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
