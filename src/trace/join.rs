//! Joins the calls of a draft with what the GPUs did for them, which makes it a trace.

use super::calls::{Calls, Position};
use super::draft::{Draft, DraftCall, DraftWork};
use super::functions::Action;
use super::requests::{Known, request};
use super::{Defect, DeviceWork, Gpu, HostCall, Range, StreamKey, Trace, TraceError, WorkKind};
use crate::units::{Bytes, Instant, Span};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// No profiler records for so long: events that lie further before all others have no time.
const LONGEST_SESSION: u64 = 30 * 24 * 3_600_000_000_000;

/// Makes the trace.
///
/// # Errors
/// If there is nothing in it that a trace is read for.
pub(super) fn join(
    mut draft: Draft,
    file: &Path,
    advice: &'static str,
) -> Result<Trace, TraceError> {
    leave_out_unset_times(&mut draft);
    if draft.calls.is_empty() && draft.work.is_empty() {
        let cut = draft.defects.contains_key(&Defect::Cut);
        return Err(TraceError::Nothing { file: file.to_owned(), cut, advice });
    }
    draft.calls.sort_by_key(|call| (call.begin, Reverse(call.end)));
    draft.work.sort_by_key(|work| work.start);
    draft.ranges.sort_by_key(|range| (range.begin, Reverse(range.end)));
    let first = first_time(&draft);
    let calls = Calls::of(&mut draft);
    let owners = owners(&mut draft, &calls);
    let known = Known::of(&mut draft, &calls, &owners);

    let at = |time: i64| Instant::START + Span::from_nanos(time.abs_diff(first));
    let streams = streams(&draft, &owners);
    let mut requests = Vec::with_capacity(draft.calls.len());
    for (position, call) in draft.calls.iter().enumerate() {
        let known = known.about(position as Position, &draft, &streams);
        let kind = request(draft.functions.of(call).action, call, known);
        requests.push(HostCall {
            thread: call.thread as usize,
            kind,
            function: draft.functions.of(call).name.clone(),
            begin: at(call.begin),
            end: at(call.end),
            recorder: Span::ZERO,
        });
    }
    let given = |owner: Position| {
        let arguments = of(&draft.calls, owner).arguments.as_deref();
        arguments.filter(|_| known.works(owner) == 1).and_then(|arguments| arguments.bytes)
    };
    let work = draft.work.into_iter().zip(&owners).zip(streams);
    let work = work.map(|((work, owner), stream)| DeviceWork {
        kind: with_bytes(work.kind, owner.and_then(&given)),
        stream,
        start: at(work.start),
        end: at(work.end),
        call: owner.map(|owner| owner as usize),
        graph_node: work.graph_node,
    });
    let work: Vec<DeviceWork> = work.collect();
    let is_unsized = |work: &&DeviceWork| matches!(work.kind, WorkKind::Copy { bytes: None, .. });
    let without_bytes = work.iter().filter(is_unsized).count();
    let mut defects = draft.defects;
    if without_bytes > 0 {
        *defects.entry(Defect::NoBytes).or_default() += without_bytes;
    }
    let devices: BTreeSet<u32> = work.iter().map(|work| work.stream.device).collect();
    let name = |device| draft.gpu_names.get(&device).cloned();
    let ranges = draft.ranges.into_iter().map(|range| Range {
        thread: range.thread as usize,
        name: range.name,
        begin: at(range.begin),
        end: at(range.end),
    });
    Ok(Trace {
        origin: draft.origin,
        gpus: devices.into_iter().map(|device| Gpu { device, name: name(device) }).collect(),
        threads: draft.threads.named(),
        calls: requests,
        work,
        ranges: ranges.collect(),
        empty_kernel: None,
        stated_uses: Vec::new(),
        defects,
    })
}

/// Profilers write zero where they could not read a clock, which is then often made relative to
/// the beginning of the recording.
fn leave_out_unset_times(draft: &mut Draft) {
    let unset = draft.unset;
    // Times that were cut to microseconds differ from the beginning by parts of one.
    let may_be_unset =
        |begin: i64| begin == 0 || unset.is_some_and(|unset| begin.abs_diff(unset) <= 1_000);
    let calls = draft.calls.iter().map(|call| call.begin);
    let begins = calls.chain(draft.work.iter().map(|work| work.start));
    let first = begins.filter(|&begin| !may_be_unset(begin)).min();
    let is_far = |begin: i64| {
        first.is_some_and(|first| begin < first && first.abs_diff(begin) > LONGEST_SESSION)
    };
    let has_time = |begin: i64, end: i64| !(may_be_unset(begin) && (begin == end || is_far(begin)));
    let count = |draft: &Draft| draft.calls.len() + draft.work.len() + draft.ranges.len();
    let before = count(draft);
    draft.calls.retain(|call| has_time(call.begin, call.end));
    draft.work.retain(|work| has_time(work.start, work.end));
    draft.ranges.retain(|range| has_time(range.begin, range.end));
    let left_out = before - count(draft);
    if left_out > 0 {
        *draft.defects.entry(Defect::ZeroTime).or_default() += left_out;
    }
}

fn first_time(draft: &Draft) -> i64 {
    let calls = draft.calls.iter().map(|call| call.begin);
    let work = draft.work.iter().map(|work| work.start);
    calls.chain(work).chain(draft.ranges.iter().map(|range| range.begin)).min().unwrap_or(0)
}

/// The call that asked for each work.
fn owners(draft: &mut Draft, calls: &Calls) -> Vec<Option<Position>> {
    let find = |work: &DraftWork, process| {
        let action = |position| draft.functions.of(of(&draft.calls, position)).action;
        calls.find(work.correlation, process, |position| fits(&work.kind, action(position)))
    };
    let found = draft.work.iter().map(|work| find(work, work.process));
    let mut owners: Vec<Option<Position>> = found.collect();
    // In a file of several processes that does not name them beside the work, their ids collide.
    // A GPU that all other work ties to one process settles which was meant.
    let homes = homes(draft, &owners);
    for (work, owner) in draft.work.iter().zip(&mut owners) {
        if let (None, None, Some(Some(home))) = (&owner, work.process, homes.get(&work.device)) {
            *owner = find(work, Some(*home));
        }
    }
    let mut without = 0;
    let mut early = 0;
    for (work, owner) in draft.work.iter().zip(&owners) {
        match owner {
            Some(owner) => early += usize::from(work.start < of(&draft.calls, *owner).begin),
            None => without += usize::from(!work.is_uncalled),
        }
    }
    for (defect, count) in [(Defect::NoCall, without), (Defect::BeforeItsCall, early)] {
        if count > 0 {
            *draft.defects.entry(defect).or_default() += count;
        }
    }
    owners
}

fn of(calls: &[DraftCall], position: Position) -> &DraftCall {
    &calls[position as usize]
}

/// Whether a call of this kind may ask for this work.
fn fits(work: &WorkKind, action: Action) -> bool {
    match action {
        Action::LaunchGraph | Action::Other => true,
        Action::Launch => matches!(work, WorkKind::Kernel { .. }),
        Action::Copy { .. } | Action::Prefetch => matches!(work, WorkKind::Copy { .. }),
        Action::Clear => matches!(work, WorkKind::Clear { .. }),
        _ => false,
    }
}

/// The stream of each work. Files that do not name the process are of one process, or merged: then
/// it is the process of the call, or the one that uses the GPU.
fn streams(draft: &Draft, owners: &[Option<Position>]) -> Vec<StreamKey> {
    let homes = homes(draft, owners);
    let only = draft.threads.all.first().map_or(0, |thread| thread.process);
    let of_work = |(work, owner): (&DraftWork, &Option<Position>)| {
        let home = || homes.get(&work.device).copied().flatten().unwrap_or(only);
        let process = process(draft, work, *owner).unwrap_or_else(home);
        StreamKey { process, device: work.device, stream: work.stream }
    };
    draft.work.iter().zip(owners).map(of_work).collect()
}

/// The process that each GPU works for; `None` if there are several.
fn homes(draft: &Draft, owners: &[Option<Position>]) -> BTreeMap<u32, Option<u64>> {
    let mut homes = BTreeMap::new();
    for (work, owner) in draft.work.iter().zip(owners) {
        if let Some(process) = process(draft, work, *owner) {
            let home = homes.entry(work.device).or_insert(Some(process));
            *home = home.filter(|&home| home == process);
        }
    }
    homes
}

/// The process of some work, as the file says or as its call does.
fn process(draft: &Draft, work: &DraftWork, owner: Option<Position>) -> Option<u64> {
    let of_call = |position| draft.threads.process(of(&draft.calls, position).thread);
    work.process.or_else(|| owner.map(of_call))
}

/// Some tools write the size of a copy only beside its call.
fn with_bytes(kind: WorkKind, given: Option<u64>) -> WorkKind {
    let given = given.map(Bytes::new);
    match kind {
        WorkKind::Copy { from, to, bytes } => WorkKind::Copy { from, to, bytes: bytes.or(given) },
        WorkKind::Clear { bytes } => WorkKind::Clear { bytes: bytes.or(given) },
        kind @ WorkKind::Kernel { .. } => kind,
    }
}
