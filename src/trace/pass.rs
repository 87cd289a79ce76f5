//! The pass of a trace: most programs are one loop, and one turn of it says what all do.
//!
//! A call that recurs divides a thread's calls into segments. If nearly all of the time lies in
//! segments that make the same calls, give or take a few, then the segment is a pass. Among calls
//! that do so, the shortest segment counts: two turns are as regular as one.

use super::{CallKind, Trace, WorkKind};
use crate::stats::median;
use crate::units::{Instant, Span};
use std::cmp::Reverse;
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashMap};
use std::hash::{Hash, Hasher};

/// A loop of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pass {
    /// The thread whose calls recur: a position in [`Trace::threads`].
    pub thread: usize,
    /// Positions in [`Trace::calls`] of the first call of every turn that makes the usual calls,
    /// and of the first call behind it, in order.
    pub turns: Vec<[usize; 2]>,
    /// Which of `turns` takes the middle time: the steady pass.
    pub steady: usize,
    /// Turns that make other calls than most: a warm-up, a log of every hundredth.
    pub others: usize,
}

/// The fewest turns that are a loop.
const FEWEST: usize = 3;
/// The fewest calls of a turn if sizes and grids differ from turn to turn: a few copies in a row
/// are no loop.
const LEAST_IN_NAME: usize = 10;
/// The share of the loop's time that has to lie in turns that make the usual calls.
const EXPLAINED: f64 = 0.98;
/// The share that has to if no call divides the trace better.
const EXPLAINED_AT_LEAST: f64 = 0.8;
/// The share of all calls that has to lie between the first usual turn and the last.
const COVERED: f64 = 0.3;
/// How many turns may make other calls than usual, for each that makes the usual ones.
const MAY_BE_OTHERS: f64 = 0.3;
/// The share of a turn's calls that may be others than the usual ones.
const MAY_DIFFER: f64 = 0.05;
/// The most calls that are tried as dividers.
const TRIED: usize = 150;
/// The most that are tried of those that recur equally often: they mostly divide the trace into the
/// same turns, which begin elsewhere.
const TRIED_OF_EQUALS: usize = 6;

impl Trace {
    /// The loop of the thread that asks for most of the GPU's work, if it has one.
    pub fn pass(&self) -> Option<Pass> {
        let thread = self.busiest_thread()?;
        let own = self.calls.iter().enumerate();
        let own = own.filter(|(_, call)| call.thread == thread && call.kind != CallKind::Other);
        let positions: Vec<usize> = own.map(|(at, _)| at).collect();
        // Data can decide on grids and sizes: then each turn makes the same calls with others.
        let ways = [Alike::InSize, Alike::InName];
        ways.into_iter().find_map(|alike| self.pass_among(thread, &positions, alike))
    }

    fn pass_among(&self, thread: usize, positions: &[usize], alike: Alike) -> Option<Pass> {
        let sequence = Sequence::of(self, positions, alike);
        let found = sequence.dividers().into_iter().filter_map(|divider| sequence.divide(&divider));
        let mut found: Vec<Division> = found.collect();
        // The shortest turn of those that explain nearly all; else what explains most. One that
        // begins where the program's loop does has a whole turn more than one that begins inside.
        // Where the GPU has nothing left to do, and no memory of the loop is there, a turn is
        // whole in itself.
        found.retain(|one| alike == Alike::InSize || one.usual_length >= LEAST_IN_NAME);
        let good = found.iter().any(|one| one.explained >= EXPLAINED);
        let least = if good { EXPLAINED } else { EXPLAINED_AT_LEAST };
        found.retain(|one| one.explained >= least);
        let rank = |one: &Division| {
            let most = Reverse(one.turns.len());
            let gap = Reverse(one.gap);
            (one.usual_length, most, one.running, one.held, gap, one.turns[0][0])
        };
        let best = found.into_iter().min_by_key(rank)?;
        Some(self.pass_of(thread, positions, &best))
    }

    fn pass_of(&self, thread: usize, positions: &[usize], found: &Division) -> Pass {
        let behind = |at: usize| positions.get(at).copied().unwrap_or(self.calls.len());
        let turns: Vec<[usize; 2]> =
            found.turns.iter().map(|&[from, to]| [positions[from], behind(to)]).collect();
        let takes = |turn: &[usize; 2]| self.begin_of(turn[1]).since(self.calls[turn[0]].begin);
        let mut order: Vec<usize> = (0..turns.len()).collect();
        order.sort_by_key(|&at| (takes(&turns[at]), at));
        let steady = order[order.len() / 2];
        Pass { thread, turns, steady, others: found.others }
    }

    /// When a call begins; when the trace ends, if it is the one behind the last.
    pub fn begin_of(&self, call: usize) -> Instant {
        self.calls.get(call).map_or_else(|| self.end(), |call| call.begin)
    }

    /// The thread that asks for most of the GPU's work.
    fn busiest_thread(&self) -> Option<usize> {
        let mut asked: BTreeMap<usize, Span> = BTreeMap::new();
        for work in &self.work {
            if let Some(call) = work.call {
                let sum = asked.entry(self.calls[call].thread).or_default();
                *sum += work.end.since(work.start);
            }
        }
        asked.into_iter().max_by_key(|&(thread, sum)| (sum, Reverse(thread))).map(|one| one.0)
    }
}

/// When two calls count as equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Alike {
    /// They have the same bytes, and launch the same kernel with the same grid.
    InSize,
    /// They are the same function, and launch the same kernel.
    InName,
}

/// A thread's calls as numbers: equal calls have equal numbers.
struct Sequence {
    kinds: Vec<u64>,
    begins: Vec<Instant>,
    /// The time between the call before and each call, without the recorder's.
    gaps: Vec<Span>,
    /// For how long GPUs go on at the begin of each call with what was asked of them before.
    running: Vec<Span>,
    /// How many allocations there are before each call.
    held: Vec<u64>,
    end: Instant,
}

/// A way to divide a sequence into turns.
struct Division {
    /// First call of each usual turn, and the first behind it.
    turns: Vec<[usize; 2]>,
    others: usize,
    usual_length: usize,
    explained: f64,
    /// How long GPUs go on, at the begin of a turn of the middle, with what was asked before it:
    /// in hundredths of such a turn.
    running: u64,
    /// How many allocations there are at the begin of a turn of the middle.
    held: u64,
    /// The middle of the host's time before a turn: a loop is best cut where the host pauses.
    gap: Span,
}

impl Sequence {
    fn of(trace: &Trace, positions: &[usize], alike: Alike) -> Self {
        let mut kernels: HashMap<usize, u64> = HashMap::new();
        for work in &trace.work {
            let (Some(call), WorkKind::Kernel { name, grid, .. }) = (work.call, &work.kind) else {
                continue;
            };
            let grid = Some(grid).filter(|_| alike == Alike::InSize);
            kernels.entry(call).or_insert_with(|| hashed(&(name, grid)));
        }
        let kinds = positions.iter().map(|&at| {
            let call = &trace.calls[at];
            let what = match &call.kind {
                kind if alike == Alike::InName => hashed(&kind.stream()),
                CallKind::Copy { bytes, stream, .. } => hashed(&(0, bytes, stream)),
                CallKind::Clear { bytes, stream, .. } => hashed(&(1, bytes, stream)),
                other => hashed(&(2, other.stream())),
            };
            hashed(&(&call.function, what, kernels.get(&at)))
        });
        let begins: Vec<Instant> = positions.iter().map(|&at| trace.calls[at].begin).collect();
        let ends = positions.iter().map(|&at| trace.calls[at].end);
        let before = std::iter::once(Instant::START).chain(ends);
        let gap = |(&at, before): (&usize, Instant)| {
            let call = &trace.calls[at];
            let since = call.begin.since_start().saturating_sub(before.since_start());
            since.saturating_sub(call.recorder)
        };
        let gaps = positions.iter().zip(before).map(gap).collect();
        let (kinds, held, running) =
            (kinds.collect(), held(trace, positions), running(trace, positions));
        Self { kinds, begins, gaps, running, held, end: trace.end() }
    }

    /// Where each call that recurs does so, a few for each number of times.
    fn dividers(&self) -> Vec<Vec<usize>> {
        let mut places: HashMap<u64, Vec<usize>> = HashMap::new();
        for (at, &kind) in self.kinds.iter().enumerate() {
            places.entry(kind).or_default().push(at);
            // In some loops every call recurs within a turn, and only what follows it does not, or
            // what is before it.
            if let Some(next) = self.kinds.get(at + 1) {
                places.entry(hashed(&(kind, next))).or_default().push(at);
                places.entry(hashed(&(kind, next, "behind"))).or_default().push(at + 1);
            }
        }
        let mut recurring: Vec<Vec<usize>> =
            places.into_values().filter(|places| places.len() >= FEWEST).collect();
        recurring.sort_by_key(|places| (places.len(), places[0]));
        let groups = recurring.chunk_by(|one, other| one.len() == other.len());
        let few = groups.flat_map(|group| {
            let step = group.len().div_ceil(TRIED_OF_EQUALS);
            let idle = group.iter().min_by_key(|places| {
                (self.middle(&self.running, places), self.middle_held(places), places[0])
            });
            group.iter().step_by(step).chain(idle).cloned()
        });
        let few: Vec<Vec<usize>> = few.collect();
        let step = few.len().div_ceil(TRIED).max(1);
        few.into_iter().step_by(step).collect()
    }

    fn divide(&self, divider: &[usize]) -> Option<Division> {
        let last = self.kinds.len();
        let ends = divider[1..].iter().copied().chain([last]);
        let segments: Vec<[usize; 2]> =
            divider.iter().copied().zip(ends).map(|(from, to)| [from, to]).collect();
        let usual = self.usual(&segments[..segments.len() - 1])?;
        // The last turn may be followed by what ends the program: it counts up to its usual length.
        let length = usual[1] - usual[0];
        let calls = self.counted(usual);
        let cut = |&[from, to]: &[usize; 2]| {
            if to == last { [from, to.min(from + length)] } else { [from, to] }
        };
        let segments: Vec<[usize; 2]> = segments.iter().map(cut).collect();
        let is_usual: Vec<bool> =
            segments.iter().map(|&segment| self.is_like(segment, length, &calls)).collect();
        let first = is_usual.iter().position(|&usual| usual)?;
        let behind = is_usual.iter().rposition(|&usual| usual)? + 1;
        let loop_segments = &segments[first..behind];
        let turns: Vec<[usize; 2]> =
            (first..behind).filter(|&at| is_usual[at]).map(|at| segments[at]).collect();
        let covered = segments[behind - 1][1] - segments[first][0];
        let others = loop_segments.len() - turns.len();
        let is_regular = (others as f64) <= MAY_BE_OTHERS * turns.len() as f64;
        if turns.len() < FEWEST || (covered as f64) < COVERED * last as f64 || !is_regular {
            return None;
        }
        let time = |segments: &[[usize; 2]]| {
            segments.iter().map(|segment| self.takes(*segment).nanos_f64()).sum::<f64>()
        };
        let explained = time(&turns) / time(loop_segments).max(1.0);
        let starts: Vec<usize> = turns.iter().map(|turn| turn[0]).collect();
        let gap = self.middle(&self.gaps, &starts);
        let turn = time(&turns) / turns.len() as f64;
        let running = self.middle(&self.running, &starts).nanos_f64() / turn.max(1.0);
        let running = (100.0 * running) as u64;
        let held = self.middle_held(&starts);
        Some(Division { turns, others, usual_length: length, explained, running, held, gap })
    }

    /// The middle of some times at these places.
    fn middle(&self, times: &[Span], places: &[usize]) -> Span {
        let times: Vec<f64> = places.iter().map(|&at| times[at].nanos_f64()).collect();
        Span::from_nanos_f64(median(&times).unwrap_or_default())
    }

    /// The middle of how many allocations there are at these places.
    fn middle_held(&self, places: &[usize]) -> u64 {
        let mut held: Vec<u64> = places.iter().map(|&at| self.held[at]).collect();
        held.sort_unstable();
        held.get(held.len() / 2).copied().unwrap_or_default()
    }

    /// The segment that makes the calls of those equal segments that together take longest.
    fn usual(&self, segments: &[[usize; 2]]) -> Option<[usize; 2]> {
        let mut same: HashMap<u64, (Span, usize, usize)> = HashMap::new();
        for (at, &[from, to]) in segments.iter().enumerate() {
            let entry = same.entry(hashed(&&self.kinds[from..to])).or_insert((Span::ZERO, 0, at));
            *entry = (entry.0 + self.takes([from, to]), entry.1 + 1, entry.2);
        }
        let recurring = same.into_values().filter(|&(_, count, _)| count > 1);
        let longest = recurring.max_by_key(|&(time, _, first)| (time, Reverse(first)));
        if let Some((_, _, first)) = longest {
            return Some(segments[first]);
        }
        // No two are equal: the one of the middle length.
        let mut by_length: Vec<[usize; 2]> = segments.to_vec();
        by_length.sort_by_key(|&[from, to]| (to - from, from));
        by_length.get(by_length.len() / 2).copied()
    }

    fn counted(&self, [from, to]: [usize; 2]) -> HashMap<u64, usize> {
        let mut counted = HashMap::new();
        for &kind in &self.kinds[from..to] {
            *counted.entry(kind).or_insert(0) += 1;
        }
        counted
    }

    /// Whether a segment makes the usual calls, but for a few.
    fn is_like(&self, [from, to]: [usize; 2], length: usize, usual: &HashMap<u64, usize>) -> bool {
        let may_differ = (MAY_DIFFER * length as f64) as usize;
        if (to - from).abs_diff(length) > may_differ {
            return false;
        }
        let found = self.counted([from, to]);
        let shared =
            |(kind, &count): (&u64, &usize)| count.min(usual.get(kind).copied().unwrap_or(0));
        let shared: usize = found.iter().map(shared).sum();
        length.max(to - from) - shared <= may_differ
    }

    /// The time from the begin of a segment to that of the next.
    fn takes(&self, [from, to]: [usize; 2]) -> Span {
        self.begins.get(to).copied().unwrap_or(self.end).since(self.begins[from])
    }
}

/// For how long GPUs go on, at the begin of each of some calls, with what was asked before it.
fn running(trace: &Trace, positions: &[usize]) -> Vec<Span> {
    let mut ends = vec![Instant::START; trace.calls.len()];
    for work in &trace.work {
        if let Some(call) = work.call {
            ends[call] = ends[call].max(work.end);
        }
    }
    let mut last = Instant::START;
    let until = |end: Instant| {
        let before = last;
        last = last.max(end);
        before
    };
    let before: Vec<Instant> = ends.into_iter().map(until).collect();
    let left =
        |&at: &usize| before[at].since_start().saturating_sub(trace.calls[at].begin.since_start());
    positions.iter().map(left).collect()
}

/// How many allocations there are before each of some calls.
fn held(trace: &Trace, positions: &[usize]) -> Vec<u64> {
    let mut there: u64 = 0;
    let before = trace.calls.iter().map(|call| {
        let before = there;
        match call.kind {
            CallKind::Allocate { .. } => there += 1,
            CallKind::Free { .. } => there = there.saturating_sub(1),
            _ => {}
        }
        before
    });
    let before: Vec<u64> = before.collect();
    positions.iter().map(|&at| before[at]).collect()
}

fn hashed(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
