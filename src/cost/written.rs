//! What the CPU has just written before the engine reads it.
//!
//! The caches of the CPU then hold what memory does not, and the engine's reads have to get it from
//! there, which takes longer. Once the engine has read it, memory has it, too. How old the data is
//! when the engine comes to it depends on how far the CPU is ahead by then, so the simulator asks
//! when a copy starts.

use super::call::{CallId, index};
use super::uses::Uses;
use crate::machine::{Direction, HostMemory};
use crate::profile::{JustWritten, Profile};
use crate::program::{Call, CopyBy, Place, Program, Slice, Threads};
use crate::units::{Bytes, Span};
use std::collections::BTreeMap;

/// For each H2D copy of what the CPU has written, by its place in the body, how old the data is
/// when the copy is issued.
pub(super) type JustWrittenAt = BTreeMap<CallId, JustWritten>;

/// What the CPU writes in a pass, in the time of a host that never waits.
#[derive(Debug, Clone, Default)]
pub(crate) struct HostWrites {
    /// From when on a call writes, until when, and how many bytes were written before it. With
    /// several host threads, all of it is at the start: data then counts as if the engine came to
    /// it at once.
    calls: Vec<(Span, Span, f64)>,
    written: f64,
    /// Empty if no copy takes longer for it.
    copies: JustWrittenAt,
}

impl HostWrites {
    /// `calls`: how long each occupies the host, and when it has returned if the host never waits.
    pub fn new(
        program: &Program,
        calls: impl Iterator<Item = (Span, Span)>,
        (copies, profile): (&JustWrittenAt, &Profile),
    ) -> Self {
        let mut found = Self::default();
        if !copies.values().any(|age| profile.just_written(age) > 0.0) {
            return found;
        }
        found.copies.clone_from(copies);
        let footprint = program.host_footprint();
        for (call, (host, until)) in program.body.iter().zip(calls) {
            let bytes: Bytes = writes(call, footprint).iter().map(|(slice, _)| slice.length).sum();
            if bytes > Bytes::ZERO {
                found.calls.push((until.saturating_sub(host), until, found.written));
                found.written += bytes.as_f64();
            }
        }
        found
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.copies.is_empty()
    }

    /// Bytes written until a moment.
    pub fn written_at(&self, at: Span) -> f64 {
        let next = self.calls.partition_point(|&(_, until, _)| until <= at);
        let Some(&(from, until, before)) = self.calls.get(next) else { return self.written };
        let after = self.calls.get(next + 1).map_or(self.written, |&(.., before)| before);
        let share = at.saturating_sub(from).nanos_f64() / (until - from).nanos_f64().max(1.0);
        before + (after - before) * share.min(1.0)
    }

    /// How old the data of a copy is that was issued at `issued` and starts when `written` bytes
    /// have been written.
    pub fn age(&self, call: CallId, issued: Span, written: f64) -> Option<JustWritten> {
        let JustWritten { by_all, since } = *self.copies.get(&call)?;
        let more = Bytes::new((written - self.written_at(issued)).max(0.0) as u64);
        Some(JustWritten { by_all, since: since.map(|since| since + more) })
    }
}

/// Finds them. The body repeats, so the first copy follows the last call.
pub(super) fn just_written(program: &Program) -> JustWrittenAt {
    let mut found = JustWrittenAt::new();
    let body = || program.body.iter().enumerate();
    if !body().any(|(_, call)| reads(program, call).is_some()) {
        return found;
    }
    let footprint = program.host_footprint();
    let most: usize = body().map(|(_, call)| writes(call, footprint).len()).sum();
    if most == 0 {
        return found;
    }
    let mut written: Uses<bool> = Uses::new(2 * most);
    for (at, call) in body().chain(body()) {
        for (slice, by_all) in writes(call, footprint) {
            written.note(&slice, by_all);
        }
        match call {
            Call::Renew(id) | Call::Allocate { allocation: id, .. } => {
                let length = program.allocation(*id).bytes;
                written.forget(&Slice { allocation: *id, offset: Bytes::ZERO, length });
            }
            // A device wrote it.
            call if call.is_launch() => call.facts().writes().for_each(|slice| {
                written.forget(slice);
            }),
            _ => {
                if let Some((_, Direction::DeviceToHost, _, to)) = call.crossing() {
                    written.forget(to);
                }
            }
        }
        if let Some(from) = reads(program, call) {
            match age(&written, from) {
                Some(age) => found.insert(index(at), age),
                None => found.remove(&index(at)),
            };
            written.forget(from);
        }
    }
    found
}

/// The pinned memory that an H2D copy reads.
fn reads<'a>(program: &Program, call: &'a Call) -> Option<&'a Slice> {
    let (_, Direction::HostToDevice, from, _) = call.crossing()? else { return None };
    let place = program.allocation(from.allocation).place;
    (place == Place::Host(HostMemory::Pinned)).then_some(from)
}

/// What a call lets the CPU write, and whether all threads do, in a program that uses so much host
/// memory in a pass.
fn writes(call: &Call, footprint: Bytes) -> Vec<(Slice, bool)> {
    match call {
        Call::Compute { step } => {
            let is_shared = step.is_shared(footprint);
            step.writes().iter().map(|slice| (*slice, is_shared)).collect()
        }
        Call::Copy { by: CopyBy::Host(threads), to, .. } => vec![(*to, *threads == Threads::All)],
        _ => Vec::new(),
    }
}

/// How long ago a slice was written, in bytes that the CPU has written since.
fn age(written: &Uses<bool>, slice: &Slice) -> Option<JustWritten> {
    let by_all = written.last_by(slice)?;
    let byte = Bytes::new(1);
    let ends = [slice.offset, slice.end() - byte];
    let ends = ends.map(|offset| Slice { offset, length: byte, ..*slice });
    // What was written in one go is as old at its start as at its end.
    let first = written.since(&ends, &[]).flatten().max()?;
    let covered = written.covered(slice).min(first);
    Some(JustWritten { by_all, since: [first - covered, first] })
}
