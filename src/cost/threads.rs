//! Who makes which call, in a program whose calls come from several host threads.

use super::call::{CallId, NONE, index};
use super::entries::{Entries, EntryId};
use crate::program::Program;

/// The calls of each host thread. Empty for a program of one, which makes all of them in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct ThreadCalls {
    /// For each call, its thread.
    pub of: Vec<u16>,
    /// For each call, the next one of its thread, or [`NONE`].
    pub next: Vec<CallId>,
    /// The first call of each thread, or [`NONE`].
    pub first: Vec<CallId>,
    /// For each call, its entry, or [`NONE`] if it has none of its own.
    pub entries: Vec<EntryId>,
}

impl ThreadCalls {
    pub fn of(program: &Program) -> Self {
        let threads = program.thread_count();
        if threads == 1 {
            return Self::default();
        }
        let calls = 0..program.body.len();
        let of: Vec<u16> = calls.clone().map(|call| program.thread_of(call).0).collect();
        let (mut next, mut first) = (vec![NONE; of.len()], vec![NONE; threads]);
        for call in calls.rev() {
            let first = &mut first[usize::from(of[call])];
            next[call] = std::mem::replace(first, index(call));
        }
        Self { of, next, first, entries: Vec::new() }
    }

    /// Notes which calls have entries.
    pub fn note(&mut self, entries: &Entries) {
        if self.are_several() {
            self.entries.resize(self.of.len(), NONE);
            let calls = (0..).zip(&entries.list).filter(|(_, entry)| entry.call != NONE);
            calls.for_each(|(id, entry)| self.entries[entry.call as usize] = id);
        }
    }

    #[inline]
    pub fn are_several(&self) -> bool {
        !self.first.is_empty()
    }
}
