//! The legacy default stream: a barrier that holds back blocking streams, and is held back by them.

impl Streams {
    /// Marks the streams held back at the barrier to be examined again.
    #[cold]
    #[inline]
    pub(super) fn let_go(&mut self, compiled: &CompiledProgram<'_>) {
        for &other in &compiled.body.barrier {
            let stream = &mut self.streams[usize::from(other)];
            if std::mem::take(&mut stream.held_back) {
                (stream.next, self.to_do) = (self.to_do, other);
            }
        }
    }

    /// Whether the head of a stream has to stay behind the barrier of the legacy default stream. If
    /// not, it has to follow what came before it across the barrier.
    #[cold]
    pub(super) fn holds_back(&mut self, compiled: &CompiledProgram<'_>, index: u16) -> bool {
        let stream = &self.streams[usize::from(index)];
        let id = compiled.body.entry(stream.head).call;
        if !self.delays.is_issued(id) {
            return false;
        }
        let traits = |index: usize| &compiled.body.traits[index];
        let mine = traits(usize::from(index));
        let others = || {
            let others = compiled.body.barrier.iter().map(|&other| usize::from(other));
            others.filter(|&other| mine.waits_for(traits(other)))
        };
        let is_earlier =
            |other: usize| compiled.body.entries.list[self.streams[other].head as usize].call < id;
        let held_back = others().any(is_earlier);
        self.streams[usize::from(index)].held_back = held_back;
        if !held_back {
            for other in others() {
                let last = self.streams[other].last;
                if last.call != NONE {
                    self.streams[usize::from(index)].awaited.push(last);
                }
            }
        }
        held_back
    }
}
use super::Streams;
use crate::cost::{CompiledProgram, NONE};
