//! How much of each copy between host and GPU is hidden behind kernels, and why the rest is not.

use super::{CallKind, DeviceWork, MemoryKind, StreamKey, Trace, WorkKind};
use crate::machine::Direction;
use crate::units::{Bytes, Instant, Span, words};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Where the time of a part of a trace goes.
#[derive(Debug, Clone, PartialEq)]
pub struct Account {
    /// From the first call's begin to the end of all that was asked for.
    pub span: Span,
    /// While kernels ran on some GPU, and copies crossed some link.
    pub kernels: Span,
    pub copies: Span,
    /// While both did, and while neither did.
    pub both: Span,
    pub idle: Span,
    /// The longest time in which neither did.
    pub longest_gap: Option<Gap>,
    /// Copies by the place in the program that makes them, the worst first.
    pub sites: Vec<CopySite>,
}

/// A time in which no GPU did anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    pub length: Span,
    /// The function that the host was in for most of it, and for how long. `None` if it was in no
    /// call to CUDA.
    pub in_call: Option<(Arc<str>, Span)>,
}

/// Copies of one kind, made in one place of the program.
#[derive(Debug, Clone, PartialEq)]
pub struct CopySite {
    pub direction: Direction,
    /// The memory on the host.
    pub memory: MemoryKind,
    /// The bytes of each, if all have as many.
    pub bytes: Option<Bytes>,
    /// The innermost named range around the call.
    pub range: Option<Arc<str>>,
    pub copies: usize,
    pub all_bytes: Bytes,
    /// What they take together, and how much of it is hidden.
    pub time: Span,
    pub hidden: Span,
    /// Why most of the rest is not.
    pub reason: Option<Reason>,
}

words! {
    /// Why a copy, or a part of it, was not hidden behind a kernel.
    #[derive(serde::Serialize, serde::Deserialize)]
    pub enum Reason {
        /// The driver staged it, and the host could not go on.
        Pageable = "pageable memory: the call returned only when the driver was done with it",
        Blocking = "the function waits for the copy",
        HostWaited = "the host waited for it before it launched anything else",
        SameStream = "the next kernel is behind it in its stream",
        DefaultStream = "it is in the default stream, which the next kernel's stream waits for",
        Event = "the next kernel's stream waited for it",
        OtherCopy = "the next kernel was waiting for another copy",
        EngineBusy = "the copy engine was busy with another copy while kernels ran",
        HostLate = "the host launched the next kernel only after it had ended",
        NothingBehind = "no kernel came after it",
    }
}

/// The share of a copy that counts as no part of it.
const SMALL: f64 = 0.02;
/// How many operations before a kernel are looked through for the one before it in its stream.
const LOOKED_BACK: usize = 500;
/// Two events that are so close count as one.
const CLOSE: Span = Span::from_micros(1);

impl Trace {
    /// Where the time of some calls goes; that of all work, if the trace has no calls.
    pub fn account(&self, calls: Range<usize>) -> Account {
        let asked: Vec<usize> = (0..self.work.len())
            .filter(|&at| match self.work[at].call {
                Some(call) => calls.contains(&call),
                None => !self.has_calls(),
            })
            .collect();
        let begin = if self.has_calls() { self.begin_of(calls.start) } else { Instant::START };
        let ends = asked.iter().map(|&at| self.work[at].end);
        let end = ends.chain([self.begin_of(calls.end)]).max().unwrap_or(begin);
        let is = |wanted: fn(&WorkKind) -> bool| {
            let among = self.work.iter().filter(move |work| wanted(&work.kind));
            Busy::of(among.map(|work| [work.start.max(begin), work.end.min(end)]))
        };
        let kernels = is(|kind| matches!(kind, WorkKind::Kernel { .. }));
        let copies = is(|kind| kind.crossing().is_some());
        let span = end.since(begin);
        let both: Span = copies.parts.iter().map(|&part| kernels.within(part)).sum();
        let idle = span.saturating_sub(kernels.all() + copies.all().saturating_sub(both));
        let busy = is(|_| true);
        Account {
            span,
            kernels: kernels.all(),
            copies: copies.all(),
            both,
            idle,
            longest_gap: busy.longest_gap([begin, end]).map(|gap| self.gap(gap)),
            sites: self.sites(&asked),
        }
    }

    fn gap(&self, [start, end]: [Instant; 2]) -> Gap {
        let mut within: BTreeMap<&Arc<str>, Span> = BTreeMap::new();
        for call in self.calls.iter().filter(|call| call.begin < end && call.end > start) {
            let part = call.end.min(end).since(call.begin.max(start));
            *within.entry(&call.function).or_default() += part;
        }
        let length = end.since(start);
        let most = within.into_iter().max_by_key(|&(_, time)| time);
        let most = most.filter(|(_, time)| *time * 2 > length);
        Gap { length, in_call: most.map(|(name, time)| (name.clone(), time)) }
    }

    fn sites(&self, asked: &[usize]) -> Vec<CopySite> {
        let ranges = self.ranges_of_calls();
        let lookup = Lookup::of(self);
        let mut found: BTreeMap<Key, (CopySite, BTreeMap<Reason, Span>)> = BTreeMap::new();
        for &at in asked {
            let work = &self.work[at];
            let Some((direction, memory)) = work.kind.crossing() else { continue };
            let WorkKind::Copy { bytes, .. } = work.kind else { continue };
            let range = work.call.and_then(|call| ranges[call].clone());
            let time = work.end.since(work.start);
            let hidden = lookup.kernels_of(work.stream).within([work.start, work.end]);
            let key = (direction, memory, bytes, range.clone());
            let (site, reasons) = found.entry(key).or_insert_with(|| {
                (CopySite::none(direction, memory, bytes, range), BTreeMap::new())
            });
            site.copies += 1;
            site.all_bytes += bytes.unwrap_or(Bytes::ZERO);
            site.time += time;
            site.hidden += hidden;
            let left = time.saturating_sub(hidden);
            if left.nanos_f64() > SMALL * time.nanos_f64()
                && let Some(reason) = lookup.reason(at)
            {
                *reasons.entry(reason).or_default() += left;
            }
        }
        let mut sites: Vec<CopySite> = found
            .into_values()
            .map(|(site, reasons)| {
                let most = reasons.into_iter().max_by_key(|&(_, time)| time);
                CopySite { reason: most.map(|(reason, _)| reason), ..site }
            })
            .collect();
        sites.sort_by_key(|site| std::cmp::Reverse(site.time.saturating_sub(site.hidden)));
        sites
    }

    /// For each call, the innermost range of its thread around it.
    fn ranges_of_calls(&self) -> Vec<Option<Arc<str>>> {
        let mut found = vec![None; self.calls.len()];
        let mut open: Vec<Vec<usize>> = vec![Vec::new(); self.threads.len()];
        let mut order: Vec<usize> = (0..self.ranges.len()).collect();
        order.sort_by_key(|&at| (self.ranges[at].begin, std::cmp::Reverse(self.ranges[at].end)));
        let mut next = order.into_iter().peekable();
        for (at, call) in self.calls.iter().enumerate() {
            while let Some(range) = next.next_if(|&range| self.ranges[range].begin <= call.begin) {
                open[self.ranges[range].thread].push(range);
            }
            let around = &mut open[call.thread];
            while around.last().is_some_and(|&range| self.ranges[range].end < call.begin) {
                around.pop();
            }
            found[at] = around.last().map(|&range| self.ranges[range].name.clone());
        }
        found
    }
}

type Key = (Direction, MemoryKind, Option<Bytes>, Option<Arc<str>>);

impl CopySite {
    fn none(
        direction: Direction,
        memory: MemoryKind,
        bytes: Option<Bytes>,
        range: Option<Arc<str>>,
    ) -> Self {
        Self {
            direction,
            memory,
            bytes,
            range,
            copies: 0,
            all_bytes: Bytes::ZERO,
            time: Span::ZERO,
            hidden: Span::ZERO,
            reason: None,
        }
    }

    pub fn not_hidden(&self) -> Span {
        self.time.saturating_sub(self.hidden)
    }
}

/// When something was busy: parts that do not touch, in order.
#[derive(Debug, Default)]
struct Busy {
    parts: Vec<[Instant; 2]>,
}

impl Busy {
    /// From parts in order of their starts.
    fn of(parts: impl Iterator<Item = [Instant; 2]>) -> Self {
        let mut found: Vec<[Instant; 2]> = Vec::new();
        for [start, end] in parts.filter(|[start, end]| start < end) {
            match found.last_mut() {
                Some(last) if start <= last[1] => last[1] = last[1].max(end),
                _ => found.push([start, end]),
            }
        }
        Self { parts: found }
    }

    fn all(&self) -> Span {
        self.parts.iter().map(|&[start, end]| end.since(start)).sum()
    }

    /// The longest part of a time in which it was not.
    fn longest_gap(&self, [begin, end]: [Instant; 2]) -> Option<[Instant; 2]> {
        let starts = std::iter::once(begin).chain(self.parts.iter().map(|part| part[1]));
        let ends = self.parts.iter().map(|part| part[0]).chain([end]);
        let gaps = starts.zip(ends).filter(|(start, end)| start < end);
        let longest = gaps.max_by_key(|&(start, end)| (end.since(start), std::cmp::Reverse(start)));
        longest.map(|(start, end)| [start, end])
    }

    /// How much of a time it was busy.
    fn within(&self, [start, end]: [Instant; 2]) -> Span {
        let first = self.parts.partition_point(|part| part[1] <= start);
        let parts = self.parts[first..].iter().take_while(|part| part[0] < end);
        parts.map(|part| part[1].min(end).since(part[0].max(start))).sum()
    }
}

/// What is asked of a trace for each copy.
struct Lookup<'t> {
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
    fn of(trace: &'t Trace) -> Self {
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

    fn kernels_of(&self, stream: StreamKey) -> &Busy {
        let found = self.kernels.get(&(stream.process, stream.device));
        found.map_or(&self.nothing, |(busy, _)| busy)
    }

    /// Why a copy was not hidden. That is not known where it is not known what the host did.
    fn reason(&self, at: usize) -> Option<Reason> {
        let work = &self.trace.work[at];
        let found = || self.host_was_held(work).unwrap_or_else(|| self.device_waited(at, work));
        self.trace.has_calls().then(found)
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
            return Some(Reason::Pageable);
        }
        let next = &self.trace.calls[self.next[position]?];
        let waits = next.kind.only_waits() && next.begin < work.end;
        (waits && next.end + CLOSE >= work.end).then_some(Reason::HostWaited)
    }

    /// What the next kernel waited for.
    fn device_waited(&self, at: usize, work: &DeviceWork) -> Reason {
        let StreamKey { process, device, .. } = work.stream;
        if self.engine_was_busy(at, work) {
            return Reason::EngineBusy;
        }
        let kernels = self.kernels.get(&(process, device)).map_or(&[][..], |(_, all)| all);
        let behind = kernels.partition_point(|&kernel| self.trace.work[kernel].start < work.end);
        let Some(&next) = kernels.get(behind) else {
            return Reason::NothingBehind;
        };
        let kernel = &self.trace.work[next];
        let launched = kernel.call.map(|call| self.trace.calls[call].begin);
        if launched.is_some_and(|launched| launched >= work.end) {
            return Reason::HostLate;
        }
        let other = kernel.stream;
        if other == work.stream {
            Reason::SameStream
        } else if self.waited_for_another(next, work) {
            Reason::OtherCopy
        } else if self.is_blocking && (work.stream.is_default() || other.is_default()) {
            Reason::DefaultStream
        } else {
            Reason::Event
        }
    }

    /// Whether what is before a kernel in its stream is a copy that ended after this one began.
    fn waited_for_another(&self, kernel: usize, work: &DeviceWork) -> bool {
        let stream = self.trace.work[kernel].stream;
        let before = self.trace.work[..kernel].iter().rev().take(LOOKED_BACK);
        let before = before.into_iter().find(|one| one.stream == stream);
        before.is_some_and(|one| one.kind.crossing().is_some() && one.end > work.start)
    }

    /// Whether the copy could have begun earlier, beside a kernel, but for another copy.
    fn engine_was_busy(&self, at: usize, work: &DeviceWork) -> bool {
        let StreamKey { process, device, .. } = work.stream;
        let Some((way, _)) = work.kind.crossing() else { return false };
        let asked = work.call.map_or(work.start, |call| self.trace.calls[call].end);
        let Some(copies) = self.copies.get(&(process, device, way)) else { return false };
        let place = copies.partition_point(|&copy| copy < at);
        let Some(before) = place.checked_sub(1).map(|place| &self.trace.work[copies[place]]) else {
            return false;
        };
        let is_other = before.stream != work.stream;
        let is_behind = before.end + CLOSE * 10 >= work.start && before.end > asked;
        let could_hide = self.kernels_of(work.stream).within([asked.min(work.start), work.start]);
        is_other && is_behind && could_hide > CLOSE
    }
}
