//! Why copies were not hidden behind kernels.

use super::busy::Busy;
use crate::machine::Direction;
use crate::trace::{CallKind, DeviceWork, StreamKey, Trace, WorkKind};
use crate::units::{Span, words};
use std::collections::BTreeMap;

words! {
    /// Why a copy, or a part of it, was not hidden behind a kernel.
    #[derive(serde::Serialize, serde::Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "kebab-case")]
    pub enum Reason {
        /// The driver staged it, and the host could not go on.
        Pageable = "pageable memory: the call returned only when the driver was done with the \
                    copy",
        NewMemory = "new memory: the copy waited for its pages, which had not been touched yet",
        PageableWaited = "pageable memory, and the host waited for the copy",
        Blocking = "the call waits for the copy",
        HostWaited = "the host waited for it before launching anything else",
        NeedsData = "the next kernel uses its data",
        SameStream = "the next kernel is queued behind it in the same stream",
        DefaultStream = "it is in the default stream, which the next kernel's stream waits for",
        Event = "the next kernel's stream waited for it",
        OtherCopy = "the next kernel was waiting for another copy",
        EngineBusy = "the copy engine was busy with another copy while kernels ran",
        HostLate = "the host launched the next kernel only after the copy had ended",
        NothingBehind = "no kernel came after it",
    }
}

/// How many operations before a kernel are looked through for the one before it in its stream.
const LOOKED_BACK: usize = 500;
/// Two events that are so close count as one.
const CLOSE: Span = Span::from_micros(1);

/// What is asked of a trace for each copy.
pub(super) struct Lookup<'t> {
    trace: &'t Trace,
    /// By GPU, when kernels ran, and the positions of its kernels.
    kernels: BTreeMap<(u64, u32), (Busy, Vec<usize>)>,
    /// By GPU and direction, the positions of its copies.
    copies: BTreeMap<(u64, u32, Direction), Vec<usize>>,
    /// For each call, the next one of its thread that asks for something or waits.
    next: Vec<Option<usize>>,
    nothing: Busy,
    is_blocking: bool,
}

impl<'t> Lookup<'t> {
    pub fn of(trace: &'t Trace) -> Self {
        let mut kernels: BTreeMap<(u64, u32), Vec<usize>> = BTreeMap::new();
        let mut copies: BTreeMap<(u64, u32, Direction), Vec<usize>> = BTreeMap::new();
        for (at, work) in trace.work.iter().enumerate() {
            let StreamKey { process, device, .. } = work.stream;
            match (&work.kind, work.kind.crossing()) {
                (WorkKind::Kernel { .. }, _) => {
                    kernels.entry((process, device)).or_default().push(at);
                }
                (_, Some((way, _))) => copies.entry((process, device, way)).or_default().push(at),
                _ => {}
            }
        }
        let busy = |positions: Vec<usize>| {
            let works = positions.iter().map(|&at| &trace.work[at]);
            (Busy::of(works.map(|work| [work.start, work.end])), positions)
        };
        let kernels = kernels.into_iter().map(|(gpu, positions)| (gpu, busy(positions))).collect();
        let mut next = vec![None; trace.calls.len()];
        let mut later: BTreeMap<usize, usize> = BTreeMap::new();
        for (at, call) in trace.calls.iter().enumerate().rev() {
            next[at] = later.get(&call.thread).copied();
            if call.kind != CallKind::Other {
                later.insert(call.thread, at);
            }
        }
        let is_blocking = trace.has_blocking_streams();
        Self { trace, kernels, copies, next, nothing: Busy::default(), is_blocking }
    }

    pub fn kernels_of(&self, stream: StreamKey) -> &Busy {
        let found = self.kernels.get(&(stream.process, stream.device));
        found.map_or(&self.nothing, |(busy, _)| busy)
    }

    /// Why so much of a copy was not hidden. That is not known where it is not known what the host
    /// did.
    pub fn reasons(&self, at: usize, left: Span) -> Vec<(Reason, Span)> {
        if !self.trace.has_calls() {
            return Vec::new();
        }
        let work = &self.trace.work[at];
        let next = self.next_kernel(work);
        let Some(next) = next else { return vec![(Reason::NothingBehind, left)] };
        if let Some(reason) = self.host_was_held(work) {
            return vec![(reason, left)];
        }
        let busy = self.engine_was_busy(at, work).min(left);
        let rest = (self.device_waited(next, work), left.saturating_sub(busy));
        vec![(Reason::EngineBusy, busy), rest]
    }

    /// The first kernel of its GPU that started after a copy.
    fn next_kernel(&self, work: &DeviceWork) -> Option<usize> {
        let StreamKey { process, device, .. } = work.stream;
        let (_, kernels) = self.kernels.get(&(process, device))?;
        let behind = kernels.partition_point(|&kernel| self.trace.work[kernel].start < work.end);
        kernels.get(behind).copied()
    }

    /// Whether the host was kept from launching anything while the copy was made.
    fn host_was_held(&self, work: &DeviceWork) -> Option<Reason> {
        let position = work.call?;
        let call = &self.trace.calls[position];
        let long = work.start + Span::from_nanos(work.end.since(work.start).nanos() / 2);
        let is_held = call.end >= long;
        if let CallKind::Copy { blocking: true, .. } = call.kind {
            return Some(Reason::Blocking);
        }
        if is_held && work.kind.is_staged() {
            let is_new = matches!(&call.kind, CallKind::Copy { places, .. } if places.to_new);
            return Some(if is_new { Reason::NewMemory } else { Reason::Pageable });
        }
        let next = &self.trace.calls[self.next[position]?];
        let waits = next.kind.only_waits() && next.begin < work.end;
        let is_staged = work.kind.is_staged();
        let reason = if is_staged { Reason::PageableWaited } else { Reason::HostWaited };
        (waits && next.end + CLOSE >= work.end).then_some(reason)
    }

    /// What the next kernel waited for.
    fn device_waited(&self, next: usize, work: &DeviceWork) -> Reason {
        let kernel = &self.trace.work[next];
        let launched = kernel.call.map(|call| self.trace.calls[call].begin);
        if launched.is_some_and(|launched| launched >= work.end) {
            return Reason::HostLate;
        }
        let other = kernel.stream;
        if self.uses(kernel, work) {
            Reason::NeedsData
        } else if other == work.stream {
            Reason::SameStream
        } else if self.waited_for_another(next, work) {
            Reason::OtherCopy
        } else if self.is_blocking && (work.stream.is_default() || other.is_default()) {
            Reason::DefaultStream
        } else {
            Reason::Event
        }
    }

    /// Whether a kernel was given an address among those on the GPU that a copy uses. Only
    /// recordings say so.
    fn uses(&self, kernel: &DeviceWork, work: &DeviceWork) -> bool {
        let kind = |work: &DeviceWork| work.call.map(|call| &self.trace.calls[call].kind);
        let (
            Some(CallKind::Launch { pointers, .. }),
            Some(CallKind::Copy { places, bytes: Some(bytes), .. }),
        ) = (kind(kernel), kind(work))
        else {
            return false;
        };
        let is_in = matches!(work.kind.crossing(), Some((Direction::HostToDevice, _)));
        let place = if is_in { places.to } else { places.from };
        let is_inside =
            |from: u64| pointers.iter().any(|&to| to >= from && to - from < bytes.get());
        place.is_some_and(is_inside)
    }

    /// Whether what is before a kernel in its stream is a copy that ended after this one began.
    fn waited_for_another(&self, kernel: usize, work: &DeviceWork) -> bool {
        let before = self.before_in_stream(kernel);
        before.is_some_and(|one| one.kind.crossing().is_some() && one.end > work.start)
    }

    /// For how long the copy could have run earlier, beside a kernel, but for another copy: it had
    /// been asked for, and all before it in its stream was done.
    fn engine_was_busy(&self, at: usize, work: &DeviceWork) -> Span {
        let StreamKey { process, device, .. } = work.stream;
        let Some((way, _)) = work.kind.crossing() else { return Span::ZERO };
        let asked = work.call.map_or(work.start, |call| self.trace.calls[call].end);
        let ready = self.before_in_stream(at).map_or(asked, |before| asked.max(before.end));
        let Some(copies) = self.copies.get(&(process, device, way)) else { return Span::ZERO };
        let place = copies.partition_point(|&copy| copy < at);
        let Some(before) = place.checked_sub(1).map(|place| &self.trace.work[copies[place]]) else {
            return Span::ZERO;
        };
        let is_other = before.stream != work.stream;
        let is_behind = before.end + CLOSE * 10 >= work.start && before.end > ready;
        if !is_other || !is_behind {
            return Span::ZERO;
        }
        self.kernels_of(work.stream).within([ready.min(work.start), work.start])
    }

    /// What is before an operation in its stream.
    fn before_in_stream(&self, at: usize) -> Option<&DeviceWork> {
        let stream = self.trace.work[at].stream;
        let before = self.trace.work[..at].iter().rev().take(LOOKED_BACK);
        before.into_iter().find(|one| one.stream == stream)
    }
}
