//! What the head of a stream follows: the operation before it, the events that it waits for, and
//! those that records and waits before it waited for. [`Start`] works out what each hand-over
//! takes.

use super::{Head, Streams};
use crate::cost::Tie;
use crate::simulate::hand_overs::{EngineView, Start};
use crate::simulate::operation::Cause;
use crate::timeline::Reason;
use crate::units::Instant;

impl Streams<'_> {
    /// When an operation may start, given everything that it has to follow. If its engine has to
    /// find that out by polling, also from when polling periods count.
    #[inline(always)]
    pub(super) fn follow<const LISTENS: bool>(
        &mut self,
        head: &Head<'_>,
        (longer, engines): (f64, EngineView<'_>),
    ) -> (Instant, Option<Instant>) {
        let compiled = self.compiled;
        let &Head { entry, cost, kind, is_first, arrival } = head;
        let stream = &mut self.streams[usize::from(entry.stream)];
        let mut start = Start {
            compiled,
            kind,
            device: stream.device,
            engines,
            is_first,
            arrival,
            last: &stream.last,
            since: stream.queues_behind_last(kind, arrival.1).then_some(stream.started),
            time: arrival.1,
            missed: None,
            cause: Cause { reason: Reason::Issue, before: entry.call, ready: arrival.1 },
        };
        let [within, across] =
            if cost.in_graph { [Tie::Graph; 2] } else { [Tie::Stream, Tie::Event] };
        start.follow(&stream.last, within, longer, Reason::Stream);
        for event in &stream.awaited {
            start.follow(event, across, 0.0, Reason::Event);
        }
        for wait in &compiled.body.entries.waits[stream.first_wait as usize..entry.waits as usize] {
            if let Some(event) = self.endings.get(wait.until.entry as usize) {
                start.follow(event, across, 0.0, Reason::Event);
            }
        }
        let Start { time, missed, cause, .. } = start;
        stream.awaited.clear();
        if LISTENS {
            stream.cause = cause;
        }
        (time, missed)
    }
}
