//! The contents of streams: operations, each with the events that it waits for.
//!
//! Records and waits are calls of the host, but give a stream almost nothing to do, so the engine
//! handles them along with operations. A wait belongs to the call right behind it in its stream. A
//! record right behind an operation stands for that operation's end. (When it was issued does not
//! matter, because whoever waits for it is issued later.) All other records and waits are entries
//! of their own, and take no time.

use super::operation::{ItemId, NONE};
use super::program::{Class, Item, Sort, index};
use crate::profile::OperationKind;
use crate::units::Span;

/// Index of an entry. Entries are ordered by stream, and in each stream by issue.
pub(super) type EntryId = u32;

/// Something that a stream has to do.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    /// When the entry is issued if the host never waits.
    pub issued: Span,
    /// The call that issues the entry.
    pub item: ItemId,
    pub class: u32,
    /// The end of the entry's waits in [`Entries::waits`]; they begin where those of the entry
    /// before end.
    pub waits: u32,
    pub stream: u16,
    /// An operation, or a record or waits that are an entry of their own.
    pub sort: Sort,
}

impl Entry {
    /// The kind of operation. A copy that travels along with its command comes from where kernels
    /// are launched, so it counts as a kernel. Whether it does is known only while the plan runs.
    pub fn kind(&self, is_inline: bool) -> OperationKind {
        match self.sort {
            Sort::Operation(kind) if !is_inline => kind,
            _ => OperationKind::Kernel,
        }
    }

    /// The sentinel behind the last entry of a stream; no call ever issues it.
    const fn behind_all(waits: u32, stream: u16) -> Self {
        let (issued, sort) = (Span::ZERO, Sort::HostOnly);
        Self { issued, item: NONE, class: 0, waits, stream, sort }
    }
}

/// A wait for an event.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wait {
    /// When the wait is issued if the host never waits.
    pub issued: Span,
    /// The call that issues the wait.
    pub item: ItemId,
    pub until: Recording,
}

/// A recording of an event.
#[derive(Debug, Clone, Copy)]
pub(super) struct Recording {
    /// The call that makes the recording.
    pub item: ItemId,
    /// The entry whose end the recording marks, and that entry's stream; [`NONE`] if it was never
    /// made.
    pub entry: EntryId,
    pub stream: u16,
}

impl Recording {
    pub const NEVER: Self = Self { item: NONE, entry: NONE, stream: 0 };
}

#[derive(Debug, Clone, Default)]
pub(super) struct Entries {
    pub list: Vec<Entry>,
    pub waits: Vec<Wait>,
    /// Where each stream begins in `list`.
    pub starts: Vec<EntryId>,
}

impl Entries {
    /// The entries of a program's items; `issued` says when each item is issued. If streams hold
    /// each other back at a `barrier`, every record and wait is an entry of its own, because none
    /// may pass before its turn.
    pub fn new(
        (items, issued): (&mut [Item], &[Span]),
        classes: &[Class],
        streams: usize,
        barrier: bool,
    ) -> Self {
        let mut entries = Self::default();
        let mut recordings = vec![Recording::NEVER; items.len()];
        for (stream, calls) in in_streams(items, streams).into_iter().enumerate() {
            let start = entries.list.len();
            entries.starts.push(index(start));
            for id in calls {
                let Item { class, recording, sort, .. } = items[id as usize];
                let issued = issued[id as usize];
                let is_part = match sort {
                    Sort::Wait => {
                        let until = Recording::NEVER;
                        entries.waits.push(Wait { issued, item: id, until });
                        !barrier && joins_next(items, classes, id)
                    }
                    Sort::Record => !barrier && entries.ends_with_work(start),
                    _ => false,
                };
                items[id as usize].is_part = is_part;
                if !is_part {
                    let (waits, stream) = (index(entries.waits.len()), stream as u16);
                    entries.list.push(Entry { issued, item: id, class, waits, stream, sort });
                }
                if sort == Sort::Record {
                    let (entry, stream) = (index(entries.list.len() - 1), stream as u16);
                    recordings[recording as usize] = Recording { item: id, entry, stream };
                }
            }
            let waits = index(entries.waits.len());
            entries.list.push(Entry::behind_all(waits, stream as u16));
        }
        for wait in &mut entries.waits {
            if let Some(&until) = recordings.get(items[wait.item as usize].recording as usize) {
                wait.until = until;
            }
        }
        entries.list.shrink_to_fit();
        entries.waits.shrink_to_fit();
        entries
    }

    /// For each entry, the end of the row of kernels that begins with it. In a row, each kernel
    /// waits only for the one before it.
    pub fn rows(&self) -> Vec<EntryId> {
        let mut rows: Vec<EntryId> = (0..index(self.list.len())).collect();
        // The sentinel behind the last entry of a stream is no kernel, so the next index is valid.
        for id in (0..self.list.len()).rev().filter(|&id| self.list[id].sort == Sort::KERNEL) {
            let goes_on = self.list[id + 1].waits == self.list[id].waits;
            rows[id] = if goes_on { rows[id + 1] } else { index(id + 1) };
        }
        rows
    }

    /// Whether the stream ends with an operation or a record, with no waits behind it.
    fn ends_with_work(&self, start: usize) -> bool {
        let last = self.list[start..].last().filter(|last| last.sort != Sort::Wait);
        last.is_some_and(|last| last.waits as usize == self.waits.len())
    }
}

/// Whether the call behind a wait goes to the same stream, and goes there whatever the stream still
/// has to do.
fn joins_next(items: &[Item], classes: &[Class], id: ItemId) -> bool {
    items.get(id as usize + 1).is_some_and(|next| {
        next.sort != Sort::HostOnly
            && next.stream == items[id as usize].stream
            && !classes[next.class as usize].may_go_inline
    })
}

/// The calls that lie in each stream. Synchronisations concern a stream but do not lie in it.
fn in_streams(items: &[Item], streams: usize) -> Vec<Vec<ItemId>> {
    let mut calls = vec![Vec::new(); streams];
    for (id, item) in items.iter().enumerate().filter(|(_, item)| item.sort != Sort::HostOnly) {
        calls[usize::from(item.stream)].push(index(id));
    }
    calls
}
