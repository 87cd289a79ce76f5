//! What each call asked for: its function's action, and what other records say about it.

use super::calls::{Calls, Position};
use super::draft::{Arguments, Draft, DraftCall, Fact, MemoryEvent};
use super::functions::Action;
use super::{CallKind, CopyPlaces, Defect, StreamKey, WorkKind};
use crate::units::Bytes;

/// Records about calls, sorted by the calls' positions.
pub(super) struct Known {
    work: Vec<(Position, u32)>,
    facts: Vec<(Position, Fact)>,
    memory: Vec<(Position, MemoryEvent)>,
    /// Calls that a graph was captured from, and that did nothing by themselves.
    captured: Vec<bool>,
}

/// What is known about one call beside itself.
pub(super) struct About<'a> {
    work: Option<&'a WorkKind>,
    bytes: Option<Bytes>,
    stream: Option<StreamKey>,
    event: Option<u64>,
    memory: Option<&'a MemoryEvent>,
    is_captured: bool,
}

impl Known {
    pub fn of(draft: &mut Draft, calls: &Calls, owners: &[Option<Position>]) -> Self {
        let owned = owners.iter().enumerate();
        let owned = owned.filter_map(|(work, owner)| owner.map(|owner| (owner, work as u32)));
        let mut work: Vec<(Position, u32)> = owned.collect();
        work.sort_unstable();
        let facts = facts(draft, calls);
        let memory = memory(draft);
        let captured = captured(draft, &work);
        Self { work, facts, memory, captured }
    }

    /// How many works a call asked for.
    pub fn works(&self, position: Position) -> usize {
        at(&self.work, position).len()
    }

    pub fn about<'a>(
        &'a self,
        position: Position,
        draft: &'a Draft,
        streams: &[StreamKey],
    ) -> About<'a> {
        let work = at(&self.work, position);
        let kinds = work.iter().map(|&(_, index)| &draft.work[index as usize].kind);
        let bytes = kinds.clone().map(|kind| match kind {
            WorkKind::Copy { bytes, .. } | WorkKind::Clear { bytes } => *bytes,
            WorkKind::Kernel { .. } => None,
        });
        let facts = at(&self.facts, position).iter().map(|(_, fact)| fact);
        let process = draft.threads.process(draft.calls[position as usize].thread);
        let of_work = work.first().map(|&(_, index)| streams[index as usize]);
        About {
            work: kinds.clone().next(),
            bytes: sum(bytes),
            stream: of_work.or_else(|| facts.clone().find_map(|fact| fact.key(process))),
            event: facts.clone().find_map(|fact| fact.event),
            memory: at(&self.memory, position).first().map(|(_, event)| event),
            is_captured: self.captured[position as usize],
        }
    }
}

/// The entries of one call.
fn at<T>(sorted: &[(Position, T)], position: Position) -> &[(Position, T)] {
    let begin = sorted.partition_point(|entry| entry.0 < position);
    let end = sorted.partition_point(|entry| entry.0 <= position);
    &sorted[begin..end]
}

fn facts(draft: &mut Draft, calls: &Calls) -> Vec<(Position, Fact)> {
    let mut found = Vec::with_capacity(draft.facts.len());
    let mut without = 0;
    for fact in &draft.facts {
        let fits = |position: Position| {
            let call = &draft.calls[position as usize];
            matches!(
                draft.functions.of(call).action,
                Action::Record
                    | Action::Wait
                    | Action::Synchronize
                    | Action::SynchronizeEvent
                    | Action::SynchronizeDevice
            )
        };
        match calls.find(fact.correlation, fact.process, fits) {
            Some(position) => found.push((position, *fact)),
            None => without += usize::from(!fact.is_indirect),
        }
    }
    found.sort_by_key(|entry| entry.0);
    if without > 0 {
        *draft.defects.entry(Defect::NoCall).or_default() += without;
    }
    found
}

/// Finds the call during which memory was taken or given back: these records have no ids.
fn memory(draft: &Draft) -> Vec<(Position, MemoryEvent)> {
    /// The most calls of other threads that may lie between a call and its record.
    const NEAR: usize = 16;
    if draft.memory.is_empty() {
        return Vec::new();
    }
    let takes = |call: &DraftCall| match draft.functions.of(call).action {
        Action::Allocate(_) => Some(false),
        Action::Free => Some(true),
        _ => None,
    };
    let candidates = draft.calls.iter().enumerate().filter_map(|(position, call)| {
        let process = draft.threads.process(call.thread);
        takes(call).map(|is_free| ((process, is_free), call.begin, call.end, position as Position))
    });
    let mut candidates: Vec<_> = candidates.collect();
    candidates.sort_unstable();
    let mut found = Vec::with_capacity(draft.memory.len());
    for event in &draft.memory {
        let key = (event.process, event.is_free);
        let end = candidates.partition_point(|one| (one.0, one.1) <= (key, event.time));
        let mut before = candidates[..end].iter().rev().take(NEAR).filter(|one| one.0 == key);
        if let Some(call) = before.find(|one| event.time <= one.2) {
            found.push((call.3, *event));
        }
    }
    found.sort_by_key(|entry| entry.0);
    found
}

/// Which calls only became part of a graph. The others that did nothing have lost their records.
fn captured(draft: &mut Draft, work: &[(Position, u32)]) -> Vec<bool> {
    let mut is_capturing = vec![false; draft.threads.all.len()];
    let mut dropped = 0;
    let mut captured = Vec::with_capacity(draft.calls.len());
    let mut work = work.iter().map(|entry| entry.0).peekable();
    for (position, call) in draft.calls.iter().enumerate() {
        let mut did_work = false;
        while work.next_if(|&owner| owner as usize <= position).is_some() {
            did_work = true;
        }
        let is_capturing = &mut is_capturing[call.thread as usize];
        let action = draft.functions.of(call).action;
        match action {
            Action::BeginCapture => *is_capturing = true,
            Action::EndCapture => *is_capturing = false,
            _ => {}
        }
        captured.push(*is_capturing && !did_work);
        let asks = matches!(action, Action::Copy { .. } | Action::Clear | Action::Launch);
        dropped += usize::from(asks && !did_work && !*is_capturing);
    }
    if dropped > 0 {
        *draft.defects.entry(Defect::Dropped).or_default() += dropped;
    }
    captured
}

/// What a call asks for. One of which too little is known, such as a wait for an event that has no
/// number, is [`CallKind::Other`].
pub(super) fn request(action: Action, call: &DraftCall, about: About<'_>) -> CallKind {
    let given = call.arguments.as_deref().copied().unwrap_or_default();
    let stream = about.stream;
    let bytes = about.bytes.or(given.bytes.map(Bytes::new));
    match action {
        _ if about.is_captured => None,
        Action::Copy { blocking } => Some(copy(&given, bytes, stream, blocking)),
        Action::Clear => Some(CallKind::Clear { target: given.to, bytes, stream }),
        Action::Launch => Some(CallKind::Launch { stream, pointers: Vec::new() }),
        Action::LaunchGraph => Some(CallKind::LaunchGraph { stream }),
        Action::Record => about.event.map(|event| CallKind::Record { event, stream }),
        Action::Wait => about.event.map(|event| CallKind::Wait { event, stream }),
        Action::Synchronize => Some(CallKind::Synchronize { stream }),
        Action::SynchronizeEvent => about.event.map(|event| CallKind::SynchronizeEvent { event }),
        Action::SynchronizeDevice => Some(CallKind::SynchronizeDevice),
        Action::Allocate(memory) => {
            let seen = about.memory.map(|seen| (seen.memory, seen.address, Bytes::new(seen.bytes)));
            let told = given.address.zip(bytes).map(|(address, bytes)| (memory, address, bytes));
            seen.or(told).map(|(memory, address, bytes)| CallKind::Allocate {
                memory,
                address,
                bytes,
                stream,
            })
        }
        Action::Free => {
            let address = about.memory.map(|seen| seen.address).or(given.address);
            address.map(|address| CallKind::Free { address, stream })
        }
        Action::Register => {
            given.address.zip(bytes).map(|(address, bytes)| CallKind::Register { address, bytes })
        }
        Action::Unregister => given.address.map(|address| CallKind::Unregister { address }),
        Action::Prefetch => given.address.zip(bytes).map(|(address, bytes)| CallKind::Prefetch {
            address,
            bytes,
            stream,
        }),
        Action::BeginCapture | Action::EndCapture => None,
        // A function that the table does not know is known by what it did.
        Action::Other => about.work.map(|work| match work {
            WorkKind::Kernel { .. } => CallKind::Launch { stream, pointers: Vec::new() },
            WorkKind::Copy { .. } => copy(&given, bytes, stream, false),
            WorkKind::Clear { .. } => CallKind::Clear { target: given.to, bytes, stream },
        }),
    }
    .unwrap_or(CallKind::Other)
}

fn copy(
    given: &Arguments,
    bytes: Option<Bytes>,
    stream: Option<StreamKey>,
    blocking: bool,
) -> CallKind {
    let places = CopyPlaces { from: given.from, to: given.to, ..CopyPlaces::default() };
    CallKind::Copy { places, bytes, stream, blocking }
}

/// The sum of sizes, as far as 64 bits hold it.
fn sum(sizes: impl Iterator<Item = Option<Bytes>>) -> Option<Bytes> {
    sizes.fold(None, |sum: Option<Bytes>, one| match (sum, one) {
        (Some(sum), Some(one)) => Some(Bytes::new(sum.get().saturating_add(one.get()))),
        (sum, one) => sum.or(one),
    })
}
