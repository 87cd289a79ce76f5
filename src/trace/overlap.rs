//! How much of each copy between host and GPU is hidden behind kernels, and why the rest is not.

mod busy;
mod reasons;

pub use reasons::Reason;

use super::{MemoryKind, Trace, WorkKind};
use crate::machine::Direction;
use crate::stats::median;
use crate::units::{Bytes, Instant, Span};
use busy::Busy;
use reasons::Lookup;
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
    /// The times in which no GPU did anything.
    pub gaps: Gaps,
    /// Copies by the place in the program that makes them, the worst first.
    pub sites: Vec<CopySite>,
}

/// The times in which no GPU did anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gaps {
    pub count: usize,
    /// Their middle length, and all together.
    pub middle: Span,
    pub all: Span,
    /// How much of all of them some thread was in a call to CUDA.
    pub in_calls: Span,
    pub longest: Option<Gap>,
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
    /// How few of the copies have most of the rest.
    pub exposed: usize,
}

/// The share of a copy that counts as no part of it.
const SMALL: f64 = 0.02;
/// The share of what is not hidden that counts as most of it.
const MOST: f64 = 0.8;
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
            gaps: self.gaps(&busy.gaps([begin, end])),
            sites: self.sites(&asked),
        }
    }

    fn gaps(&self, gaps: &[[Instant; 2]]) -> Gaps {
        let length = |&[start, end]: &[Instant; 2]| end.since(start);
        let lengths: Vec<f64> = gaps.iter().map(|gap| length(gap).nanos_f64()).collect();
        let calls = Busy::of(self.calls.iter().map(|call| [call.begin, call.end]));
        let longest = gaps.iter().max_by_key(|&gap| (length(gap), std::cmp::Reverse(gap[0])));
        Gaps {
            count: gaps.len(),
            middle: Span::from_nanos_f64(median(&lengths).unwrap_or_default()),
            all: gaps.iter().map(length).sum(),
            in_calls: gaps.iter().map(|&gap| calls.within(gap)).sum(),
            longest: longest.map(|&gap| self.gap(gap)),
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
        let mut found: BTreeMap<Key, (CopySite, Unhidden)> = BTreeMap::new();
        for &at in asked {
            let work = &self.work[at];
            let Some((direction, memory)) = work.kind.crossing() else { continue };
            let WorkKind::Copy { bytes, .. } = work.kind else { continue };
            let range = work.call.and_then(|call| ranges[call].clone());
            let time = work.end.since(work.start);
            let hidden = lookup.kernels_of(work.stream).within([work.start, work.end]);
            let key = (direction, memory, bytes, range.clone());
            let (site, unhidden) = found.entry(key).or_insert_with(|| {
                (CopySite::none(direction, memory, bytes, range), Unhidden::default())
            });
            site.copies += 1;
            site.all_bytes += bytes.unwrap_or(Bytes::ZERO);
            site.time += time;
            site.hidden += hidden;
            let left = time.saturating_sub(hidden);
            unhidden.of_copies.push(left);
            if left.nanos_f64() > SMALL * time.nanos_f64() {
                for (reason, time) in lookup.reasons(at, left) {
                    *unhidden.reasons.entry(reason).or_default() += time;
                }
            }
        }
        let mut sites: Vec<CopySite> = found
            .into_values()
            .map(|(site, unhidden)| {
                let (reason, exposed) = (unhidden.most(), unhidden.exposed());
                CopySite { reason, exposed, ..site }
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

/// What is not hidden of the copies of a site.
#[derive(Default)]
struct Unhidden {
    of_copies: Vec<Span>,
    reasons: BTreeMap<Reason, Span>,
}

impl Unhidden {
    fn most(&self) -> Option<Reason> {
        self.reasons.iter().max_by_key(|&(_, time)| time).map(|(&reason, _)| reason)
    }

    /// How many of the copies have most of it.
    fn exposed(&self) -> usize {
        let mut sorted = self.of_copies.clone();
        sorted.sort_unstable_by(|one, other| other.cmp(one));
        let most = MOST * sorted.iter().copied().sum::<Span>().nanos_f64();
        let sum_up = |sum: &mut f64, time: &Span| {
            let before = *sum;
            *sum += time.nanos_f64();
            (before < most).then_some(())
        };
        sorted.iter().scan(0.0, sum_up).count()
    }
}

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
            exposed: 0,
        }
    }

    pub fn not_hidden(&self) -> Span {
        self.time.saturating_sub(self.hidden)
    }
}
