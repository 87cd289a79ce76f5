//! The streams and the host threads of a spelled program.

use crate::stats::median;
use crate::trace::{HostCall, StreamKey, Trace};
use crate::units::{Instant, Span};
use std::collections::{BTreeMap, BTreeSet};

/// The stream of graphs that were launched in the default stream: a number that no trace has.
pub(super) const CAPTURED: u64 = 1_000_000;

/// The streams that calls named so far.
#[derive(Debug)]
pub(super) struct Streams {
    named: BTreeSet<StreamKey>,
    kind: &'static str,
}

impl Streams {
    pub fn of(trace: &Trace) -> Self {
        let kind = if trace.has_blocking_streams() { "blocking" } else { "non-blocking" };
        Self { named: BTreeSet::new(), kind }
    }

    pub fn name(&mut self, stream: StreamKey) -> String {
        self.named.insert(stream);
        name(stream)
    }

    /// The GPUs that they are on.
    pub fn devices(&self) -> impl Iterator<Item = u32> {
        let devices: BTreeSet<u32> = self.named.iter().map(|stream| stream.device).collect();
        devices.into_iter()
    }

    /// The tables that declare them.
    pub fn tables(&self) -> impl Iterator<Item = String> {
        self.named.iter().map(|&stream| {
            let kind = match stream.stream {
                _ if stream.is_default() => "legacy-default",
                // It stands for the default stream, and waits for it.
                CAPTURED => "blocking",
                _ => self.kind,
            };
            let gpu = match stream.device {
                0 => String::new(),
                device => format!(", gpu = {device}"),
            };
            format!("{{ name = \"{}\", kind = \"{kind}\"{gpu} }}", name(stream))
        })
    }
}

fn name(StreamKey { device, stream, .. }: StreamKey) -> String {
    if device == 0 { format!("s{stream}") } else { format!("gpu{device}-s{stream}") }
}

/// The threads of a program, and how far each has come.
///
/// Threads that use one stream take turns, as a framework's forward and backward passes do: they
/// count as one thread of the program.
#[derive(Debug)]
pub(super) struct Threads<'t> {
    /// The thread of the program, by the thread of the trace.
    group: BTreeMap<usize, usize>,
    main: usize,
    /// Threads of the program, other than the main one, that made calls so far.
    named: BTreeSet<usize>,
    /// When the last call of each thread of the program ended; when the first begins, before it.
    ended: BTreeMap<usize, Instant>,
    /// What the recording tool took since then.
    recorder: BTreeMap<usize, Span>,
    /// The middle time of calls of each function.
    usual: BTreeMap<&'t str, Span>,
}

impl<'t> Threads<'t> {
    pub fn of(trace: &'t Trace, calls: &[usize], asked_for: &[Vec<usize>]) -> Self {
        let mut by_stream: BTreeMap<StreamKey, usize> = BTreeMap::new();
        let mut group: BTreeMap<usize, usize> = BTreeMap::new();
        let mut times: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        for &at in calls {
            let call = &trace.calls[at];
            group.entry(call.thread).or_insert(call.thread);
            let streams = asked_for[at].iter().map(|&work| trace.work[work].stream);
            for stream in streams.chain(call.kind.stream()) {
                let first = *by_stream.entry(stream).or_insert(call.thread);
                join(&mut group, first, call.thread);
            }
            *counts.entry(call.thread).or_default() += asked_for[at].len();
            times.entry(&*call.function).or_default().push(call.end.since(call.begin).nanos_f64());
        }
        let mut by_group: BTreeMap<usize, usize> = BTreeMap::new();
        for (thread, count) in counts {
            *by_group.entry(group[&thread]).or_default() += count;
        }
        let most = by_group.iter().max_by_key(|&(&thread, &count)| (count, usize::MAX - thread));
        let main = most.map_or(0, |(&thread, _)| thread);
        let begin = calls.first().map_or(Instant::START, |&at| trace.calls[at].begin);
        let ended = by_group.keys().map(|&thread| (thread, begin)).collect();
        let middle = |times: Vec<f64>| Span::from_nanos_f64(median(&times).unwrap_or_default());
        let usual = times.into_iter().map(|(name, times)| (name, middle(times))).collect();
        let (named, recorder) = (BTreeSet::new(), BTreeMap::new());
        Self { group, main, named, ended, recorder, usual }
    }

    pub const fn main(&self) -> usize {
        self.main
    }

    pub fn of_call(&self, call: &HostCall) -> usize {
        self.group[&call.thread]
    }

    /// What a call says of its thread.
    pub fn tag(&mut self, thread: usize) -> String {
        if thread == self.main {
            return String::new();
        }
        self.named.insert(thread);
        format!(", thread = \"{}\"", thread_name(thread))
    }

    /// The names of the threads that made calls, but for the main one.
    pub fn others(&self) -> impl Iterator<Item = String> {
        self.named.iter().map(|&thread| thread_name(thread))
    }

    /// The host's time between the last call of a thread and this one.
    pub fn gap(&self, call: &HostCall) -> Span {
        between(self.ended[&self.of_call(call)], call.begin)
    }

    /// Counts what the recording tool took before a call.
    pub fn count_recorder(&mut self, call: &HostCall) {
        let thread = self.of_call(call);
        *self.recorder.entry(thread).or_default() += call.recorder;
    }

    /// What the recording tool took between the last call of a thread and this one.
    pub fn recorder(&self, call: &HostCall) -> Span {
        self.recorder.get(&self.of_call(call)).copied().unwrap_or_default()
    }

    /// What the host paid for a call beyond the middle of its function.
    pub fn beyond_usual(&self, call: &HostCall) -> Span {
        call.end.since(call.begin).saturating_sub(self.usual[&*call.function])
    }

    /// All threads go on from a moment.
    pub fn begin_anew(&mut self, moment: Instant) {
        self.ended.values_mut().for_each(|ended| *ended = moment);
        self.recorder.clear();
    }

    pub fn ended(&mut self, call: &HostCall) {
        let thread = self.of_call(call);
        let ended = self.ended.entry(thread).or_default();
        *ended = (*ended).max(call.end);
        self.recorder.remove(&thread);
    }

    /// The host's time from the last call of a thread to an end, if there is any.
    pub fn until(&self, thread: usize, end: Instant) -> Option<Span> {
        let gap = between(*self.ended.get(&thread)?, end);
        (gap > Span::ZERO).then_some(gap)
    }
}

fn thread_name(thread: usize) -> String {
    format!("t{thread}")
}

fn between(before: Instant, after: Instant) -> Span {
    after.since_start().saturating_sub(before.since_start())
}

/// Makes two threads one.
fn join(group: &mut BTreeMap<usize, usize>, one: usize, other: usize) {
    let (one, other) = (group[&one], group[&other]);
    let (kept, gone) = (one.min(other), one.max(other));
    group.values_mut().filter(|thread| **thread == gone).for_each(|thread| *thread = kept);
}
