//! The processes of a recording become one trace: streams get their numbers, work its calls.

use super::about::RecordedProcess;
use super::process::{Process, RawStream, RawWork};
use crate::record::format::Note;
use crate::trace::{
    CallKind, Defect, DeviceWork, Gpu, HostCall, HostThread, Origin, Range, StreamKey, Trace,
};
use crate::units::{Instant, Span};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

/// The default stream's handle, and another name for it.
const DEFAULT: u64 = 0;
const LEGACY: u64 = 1;
/// The handle of each thread's default stream.
const OF_THREAD: u64 = 2;

/// All processes so far, with times as CUPTI has them.
#[derive(Default)]
pub struct Joined {
    threads: Vec<HostThread>,
    /// Each with its begin and end.
    calls: Vec<(u64, u64, HostCall)>,
    work: Vec<(u64, u64, DeviceWork)>,
    /// With the names of those that say so.
    devices: BTreeMap<u32, Option<String>>,
    /// Each with its begin and end.
    ranges: Vec<(u64, u64, Range)>,
    /// The range outside of which nothing was recorded.
    pub part: Option<String>,
    defects: BTreeMap<Defect, usize>,
}

/// A stream by its context and handle, and the thread if each has its own.
type Handle = (u64, u64, Option<usize>);

fn handle_of(context: u64, handle: u64, thread: usize) -> Handle {
    let handle = if handle == LEGACY { DEFAULT } else { handle };
    (context, handle, (handle == OF_THREAD).then_some(thread))
}

impl Process {
    /// Adds the process to the others.
    pub fn join(mut self, to: &mut Joined) -> RecordedProcess {
        let streams = self.streams_of_calls();
        let first_thread = to.threads.len();
        let first_call = to.calls.len();
        let process = self.about.id;
        self.join_ranges(first_thread, to);
        let thread = |(id, name)| HostThread { process, id, name };
        to.threads.extend(self.threads.into_iter().map(thread));
        let mut by_correlation = HashMap::new();
        for (index, (call, key)) in self.calls.into_iter().zip(streams).enumerate() {
            if !matches!(call.kind, CallKind::Other) || call.handle.is_some() {
                by_correlation.insert(call.correlation, (first_call + index, call.begin));
            } else {
                by_correlation.entry(call.correlation).or_insert((first_call + index, call.begin));
            }
            let mut kind = call.kind;
            if let Some(stream) = kind.stream_mut() {
                *stream = key;
            }
            if let CallKind::Copy { places, .. } = &mut kind {
                places.digest = self.digests.get(&call.correlation).copied();
            }
            let thread = first_thread + call.thread;
            let (begin, end) = (Instant::default(), Instant::default());
            let host = HostCall { thread, kind, function: call.function, begin, end };
            to.calls.push((call.begin, call.end, host));
        }
        for device in self.work.iter().map(|work| work.stream.device) {
            let name = to.devices.entry(device).or_default();
            if name.is_none() {
                *name = self.gpus.get(&device).cloned();
            }
        }
        // Calls that nobody asked for are not missing.
        let asked = self.about.notes.iter().any(|(note, _)| *note == Note::DeviceOnly);
        for work in self.work {
            to.add(process, work, (!asked).then_some(&by_correlation));
        }
        if self.dropped > 0 {
            *to.defects.entry(Defect::Dropped).or_default() += self.dropped as usize;
        }
        self.about
    }

    /// Adds the ranges of threads that made calls. One that never ended lasts as long as anything
    /// else.
    fn join_ranges(&mut self, first_thread: usize, to: &mut Joined) {
        let ends = self.calls.iter().map(|call| call.end);
        let last = ends.chain(self.work.iter().map(|work| work.end)).max().unwrap_or(0);
        to.part = self.ranges.chosen.take().or(to.part.take());
        for range in std::mem::take(&mut self.ranges).all() {
            let Some(thread) = self.positions.get(&range.thread) else { continue };
            let end = range.end.unwrap_or(last.max(range.begin));
            if end < range.begin {
                to.note(Defect::EndsBeforeStart);
                continue;
            }
            let (begin, thread) = (range.begin, first_thread + thread);
            let at = Instant::default();
            to.ranges.push((begin, end, Range { thread, name: range.name, begin: at, end: at }));
        }
    }

    /// The stream of each call, where it is known: by what the GPU did for the call itself, or for
    /// the calls with this handle that are nearest in time.
    fn streams_of_calls(&self) -> Vec<Option<StreamKey>> {
        let process = self.about.id;
        let key = |stream: RawStream| StreamKey {
            process,
            device: stream.device,
            stream: stream.number.into(),
        };
        let mut devices = BTreeMap::new();
        // Work of one call in several streams comes from a graph, and says nothing.
        let mut of_calls: HashMap<u64, Option<StreamKey>> = HashMap::new();
        for work in &self.work {
            devices.insert(work.stream.context, work.stream.device);
            let of_call = of_calls.entry(work.correlation).or_insert(Some(key(work.stream)));
            if of_call.is_some_and(|known| known != key(work.stream)) {
                *of_call = None;
            }
        }
        let own = |correlation: &u64| of_calls.get(correlation).copied().flatten();
        let mut known: HashMap<Handle, BTreeMap<u64, StreamKey>> = HashMap::new();
        for call in &self.calls {
            if let (Some(handle), Some(stream)) = (call.handle, own(&call.correlation)) {
                let handle = handle_of(call.context, handle, call.thread);
                known.entry(handle).or_default().insert(call.begin, stream);
            }
        }
        // What is known by a stream's own number replaces what its work shows.
        for created in &self.created {
            if let Some(&device) = devices.get(&created.context) {
                let (context, number) = (created.context, created.number);
                let stream = key(RawStream { device, context, number });
                let handle = (u64::from(context), created.handle, None);
                known.entry(handle).or_default().insert(created.time, stream);
            }
        }
        let stream = |call: &super::process::RawCall| {
            let handle = call.handle?;
            own(&call.correlation).or_else(|| {
                let known = known.get(&handle_of(call.context, handle, call.thread))?;
                let before = known.range(..=call.begin).next_back();
                before.or_else(|| known.range(call.begin..).next()).map(|(_, stream)| *stream)
            })
        };
        self.calls.iter().map(stream).collect()
    }
}

impl Joined {
    fn note(&mut self, defect: Defect) {
        *self.defects.entry(defect).or_default() += 1;
    }

    /// Adds what a GPU did. Without `calls`, it has none.
    fn add(&mut self, process: u64, work: RawWork, calls: Option<&HashMap<u64, (usize, u64)>>) {
        if work.start == 0 || work.end == 0 {
            return self.note(Defect::ZeroTime);
        }
        if work.end < work.start {
            return self.note(Defect::EndsBeforeStart);
        }
        let call = calls.and_then(|calls| calls.get(&work.correlation)).copied();
        match call {
            None if calls.is_none() => {}
            None => self.note(Defect::NoCall),
            Some((_, begin)) if work.start < begin => self.note(Defect::BeforeItsCall),
            Some(_) => {}
        }
        let RawStream { device, number, .. } = work.stream;
        let stream = StreamKey { process, device, stream: number.into() };
        let (start, end) = (Instant::default(), Instant::default());
        let call = call.map(|(index, _)| index);
        let done = DeviceWork { kind: work.kind, stream, start, end, call, graph_node: work.node };
        self.work.push((work.start, work.end, done));
    }

    /// The trace, in order of time, which begins with its first event.
    pub fn finish(mut self, origin: Origin) -> Trace {
        let begins = self.calls.iter().map(|call| call.0);
        let first = begins.chain(self.work.iter().map(|work| work.0)).min().unwrap_or(0);
        let since = |time: u64| Instant::default() + Span::from_nanos(time.saturating_sub(first));
        let mut order: Vec<usize> = (0..self.calls.len()).collect();
        order.sort_by_key(|&index| self.calls[index].0);
        let mut places = vec![0; order.len()];
        for (place, &index) in order.iter().enumerate() {
            places[index] = place;
        }
        self.calls.sort_by_key(|call| call.0);
        self.work.sort_by_key(|work| work.0);
        let calls = self.calls.into_iter().map(|(begin, end, call)| HostCall {
            begin: since(begin),
            end: since(end),
            ..call
        });
        let work = self.work.into_iter().map(|(start, end, work)| DeviceWork {
            start: since(start),
            end: since(end),
            call: work.call.map(|index| places[index]),
            ..work
        });
        self.ranges.retain(|range| range.1 > first);
        self.ranges.sort_by_key(|range| (range.0, Reverse(range.1)));
        let ranges = self.ranges.into_iter().map(|(begin, end, range)| Range {
            begin: since(begin),
            end: since(end),
            ..range
        });
        Trace {
            origin,
            gpus: self.devices.into_iter().map(|(device, name)| Gpu { device, name }).collect(),
            threads: self.threads,
            calls: calls.collect(),
            work: work.collect(),
            ranges: ranges.collect(),
            defects: self.defects,
        }
    }
}
