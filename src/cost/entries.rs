//! The contents of streams: operations, each with the events that it waits for.
//!
//! Records and waits are calls of the host, but give a stream almost nothing to do, so the engine
//! handles them along with operations. A wait belongs to the call right behind it in its stream. A
//! record right behind an operation stands for that operation's end. (When it was issued does not
//! matter, because whoever waits for it is issued later.) All other records and waits are entries
//! of their own, and take no time.

use super::call::{CallId, CompiledCall, NONE, index};
use super::work::{CallCost, WorkKind};
use crate::profile::OperationKind;

/// Index of an entry. Entries are ordered by stream, and in each stream by issue.
pub(crate) type EntryId = u32;

/// Something that a stream has to do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    /// The call that issues the entry.
    pub call: CallId,
    pub cost: u32,
    /// The end of the entry's waits in [`Entries::waits`]; they begin where those of the entry
    /// before end.
    pub waits: u32,
    pub stream: u16,
    /// An operation, or a record or waits that are an entry of their own.
    pub kind: WorkKind,
}

impl Entry {
    /// The kind of operation. A copy that travels along with its command comes from where kernels
    /// are launched, so it counts as a kernel. Whether it does is known only while the program
    /// runs.
    #[inline]
    pub fn operation_kind(&self, is_inline: bool) -> OperationKind {
        match self.kind {
            WorkKind::Operation(kind) if !is_inline => kind,
            _ => OperationKind::Kernel,
        }
    }

    /// The sentinel behind the last entry of a stream; no call ever issues it.
    const fn behind_all(waits: u32, stream: u16) -> Self {
        Self { call: NONE, cost: 0, waits, stream, kind: WorkKind::Nothing }
    }
}

/// A wait for an event.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wait {
    /// The call that issues the wait.
    pub call: CallId,
    pub until: Recording,
}

/// A recording of an event.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Recording {
    /// The call that makes the recording.
    pub call: CallId,
    /// The entry whose end the recording marks, and that entry's stream; [`NONE`] if it was never
    /// made.
    pub entry: EntryId,
    pub stream: u16,
}

impl Recording {
    pub const NEVER: Self = Self { call: NONE, entry: NONE, stream: 0 };
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Entries {
    pub list: Vec<Entry>,
    pub waits: Vec<Wait>,
    /// Where each stream begins in `list`.
    pub starts: Vec<EntryId>,
    /// What each recording marks the end of.
    pub recordings: Vec<Recording>,
}

impl Entries {
    /// The entries of the body's calls. If streams hold each other back at a `barrier`, every
    /// record and wait is an entry of its own, because none may pass before its turn.
    pub fn new(
        calls: &mut [CompiledCall],
        costs: &[CallCost],
        (streams, recordings): (usize, usize),
        barrier: bool,
    ) -> Self {
        let mut entries = Self::default();
        let mut recordings = vec![Recording::NEVER; recordings];
        for (stream, ids) in in_streams(calls, streams).into_iter().enumerate() {
            let start = entries.list.len();
            entries.starts.push(index(start));
            for id in ids {
                let CompiledCall { cost, recording, kind, .. } = calls[id as usize];
                let is_part = match kind {
                    WorkKind::Wait => {
                        entries.waits.push(Wait { call: id, until: Recording::NEVER });
                        !barrier && joins_next(calls, costs, id)
                    }
                    WorkKind::Record => !barrier && entries.ends_with_work(start),
                    _ => false,
                };
                calls[id as usize].is_part = is_part;
                if !is_part {
                    let (waits, stream) = (index(entries.waits.len()), stream as u16);
                    entries.list.push(Entry { call: id, cost, waits, stream, kind });
                }
                if kind == WorkKind::Record {
                    let (entry, stream) = (index(entries.list.len() - 1), stream as u16);
                    recordings[recording as usize] = Recording { call: id, entry, stream };
                }
            }
            let waits = index(entries.waits.len());
            entries.list.push(Entry::behind_all(waits, stream as u16));
        }
        for wait in &mut entries.waits {
            if let Some(&until) = recordings.get(calls[wait.call as usize].recording as usize) {
                wait.until = until;
            }
        }
        entries.recordings = recordings;
        entries.list.shrink_to_fit();
        entries.waits.shrink_to_fit();
        entries
    }

    /// For each entry, the end of the row of kernels that begins with it. In a row, each kernel
    /// waits only for the one before it.
    pub fn rows(&self) -> Vec<EntryId> {
        let mut rows: Vec<EntryId> = (0..index(self.list.len())).collect();
        // The sentinel behind the last entry of a stream is no kernel, so the next index is valid.
        for id in (0..self.list.len()).rev().filter(|&id| self.list[id].kind == WorkKind::KERNEL) {
            let goes_on = self.list[id + 1].waits == self.list[id].waits;
            rows[id] = if goes_on { rows[id + 1] } else { index(id + 1) };
        }
        rows
    }

    /// Whether the stream ends with an operation or a record, with no waits behind it.
    fn ends_with_work(&self, start: usize) -> bool {
        let last = self.list[start..].last().filter(|last| last.kind != WorkKind::Wait);
        last.is_some_and(|last| last.waits as usize == self.waits.len())
    }
}

/// Whether the call behind a wait goes to the same stream, and goes there whatever the stream still
/// has to do.
fn joins_next(calls: &[CompiledCall], costs: &[CallCost], id: CallId) -> bool {
    calls.get(id as usize + 1).is_some_and(|next| {
        next.kind != WorkKind::Nothing
            && next.stream == calls[id as usize].stream
            && !costs[next.cost as usize].may_go_inline
    })
}

/// The calls that lie in each stream. Synchronisations concern a stream but do not lie in it.
fn in_streams(calls: &[CompiledCall], streams: usize) -> Vec<Vec<CallId>> {
    let mut ids = vec![Vec::new(); streams];
    for (id, call) in calls.iter().enumerate().filter(|(_, call)| call.kind != WorkKind::Nothing) {
        ids[usize::from(call.stream)].push(index(id));
    }
    ids
}
