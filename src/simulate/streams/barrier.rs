//! The legacy default stream, which holds back blocking streams and is held back by
//! them.

use super::Streams;
use crate::simulate::operation::NONE;
use crate::simulate::program::Program;

impl Streams {
    /// Who is behind it across the barrier is to be looked at as well.
    #[cold]
    pub(super) fn let_go(&mut self, program: &Program<'_>) {
        for &other in &program.barrier {
            let stream = &mut self.streams[usize::from(other)];
            if std::mem::take(&mut stream.held_back) {
                (stream.next, self.to_do) = (self.to_do, other);
            }
        }
    }

    /// Whether the head of a stream has to stay behind the barrier that the
    /// legacy default stream is; if not, it has to follow what was before it.
    #[cold]
    pub(super) fn holds_back(&mut self, program: &Program<'_>, index: u16) -> bool {
        let stream = &self.streams[usize::from(index)];
        let id = program.entries.list[stream.head as usize].item;
        if id >= self.until {
            return false;
        }
        let traits = |index: usize| &program.traits[index];
        let mine = traits(usize::from(index));
        let others = || {
            let others = program.barrier.iter().map(|&other| usize::from(other));
            others.filter(|&other| mine.waits_for(traits(other)))
        };
        let is_earlier =
            |other: usize| program.entries.list[self.streams[other].head as usize].item < id;
        let held_back = others().any(is_earlier);
        self.streams[usize::from(index)].held_back = held_back;
        if !held_back {
            for other in others() {
                let last = self.streams[other].last;
                if last.item != NONE {
                    self.streams[usize::from(index)].awaited.push(last);
                }
            }
        }
        held_back
    }
}
