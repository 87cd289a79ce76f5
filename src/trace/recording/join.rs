//! The processes of a recording become one trace: streams get their numbers, work its calls.

use super::about::RecordedProcess;
use super::process::{About, Process, RawCall, RawStream, RawWork, Remark};
use crate::record::format::{EMPTY_KERNEL, Note, PLACES};
use crate::trace::{
    CallKind, CopyPlaces, Defect, DeviceWork, Gpu, HostCall, HostThread, Origin, Range, StreamKey,
    Trace,
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
    empty_kernel: Option<Span>,
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
        let found = places_of(&self.remarks);
        let recorder = self.recorder();
        let empty = self.costs.get(&EMPTY_KERNEL).map(|&nanos| Span::from_nanos(nanos));
        to.empty_kernel = to.empty_kernel.or(empty);
        let first_thread = to.threads.len();
        let first_call = to.calls.len();
        let process = self.about.id;
        self.join_ranges(first_thread, to);
        let thread = |(id, name)| HostThread { process, id, name };
        to.threads.extend(self.threads.into_iter().map(thread));
        let mut by_correlation = HashMap::new();
        let calls = self.calls.into_iter().zip(streams).zip(recorder);
        for (index, ((call, key), recorder)) in calls.enumerate() {
            if !matches!(call.kind, CallKind::Other) || call.handle.is_some() {
                by_correlation.insert(call.correlation, (first_call + index, call.begin));
            } else {
                by_correlation.entry(call.correlation).or_insert((first_call + index, call.begin));
            }
            let mut kind = call.kind;
            if let Some(stream) = kind.stream_mut() {
                *stream = key;
            }
            if let CallKind::Copy { places, .. } = &mut kind
                && let Some(found) = found.get(&call.correlation)
            {
                (places.digest, places.to_new) = (found.digest, found.to_new);
                places.changed_early = found.changed_early;
            }
            let thread = first_thread + call.thread;
            let (begin, end) = (Instant::default(), Instant::default());
            let function = call.function;
            let host = HostCall { thread, kind, function, begin, end, recorder };
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

    /// For each call, what the recorder took since the last one of its thread: for the end of
    /// that call and the begin of this one, and to look at memory.
    fn recorder(&self) -> Vec<Span> {
        let mut order: Vec<usize> = (0..self.calls.len()).collect();
        order.sort_by_key(|&at| (self.calls[at].thread, self.calls[at].begin));
        let mut remarks: Vec<&Remark> = self.remarks.iter().collect();
        remarks.sort_by_key(|remark| (remark.thread, remark.begin));
        let mut remarks = remarks.into_iter().peekable();
        let cost = |call: &RawCall| self.costs.get(&(call.form as u8)).copied().unwrap_or(0);
        let mut taken = vec![Span::ZERO; self.calls.len()];
        let mut before: Option<&RawCall> = None;
        for at in order {
            let call = &self.calls[at];
            let last = before.filter(|last| last.thread == call.thread);
            // An end and a begin take half each of what calls of one form show between them.
            let mut nanos = u128::from(cost(call) / 2) + u128::from(last.map_or(0, cost) / 2);
            let place = (call.thread, call.begin);
            let is_before = |remark: &&Remark| (remark.thread, remark.begin) < place;
            while let Some(remark) = remarks.next_if(is_before) {
                if remark.thread == call.thread {
                    nanos += u128::from(remark.end.saturating_sub(remark.begin));
                }
            }
            taken[at] = Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
            before = Some(call);
        }
        taken
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
        let stream = |call: &RawCall| {
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

/// What is known of the places of copies, by the numbers of their calls.
fn places_of(remarks: &[Remark]) -> HashMap<u64, CopyPlaces> {
    let mut found: HashMap<u64, CopyPlaces> = HashMap::new();
    for remark in remarks {
        let places = found.entry(remark.correlation).or_default();
        match remark.about {
            About::Digest(sum) => places.digest = Some(sum),
            About::NewPages(pages) => places.to_new = u64::from(pages) * 2 >= PLACES,
            About::Changed => places.changed_early = true,
        }
    }
    found
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
            empty_kernel: self.empty_kernel,
            stated_uses: Vec::new(),
            defects: self.defects,
        }
    }
}
