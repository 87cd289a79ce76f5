//! Which calls of a body cost the same, and where each is made. That is the same on every machine,
//! and so it is worked out once, however often the program is compiled.

use super::caches::Locality;
use super::call::{NONE, index, stream_index};
use super::call_costs::Key;
use super::history::MemoryHistory;
use super::host_times::CallSite;
use super::in_flight::{InFlight, waited_for};
use super::traffic::Traffic;
use super::written::JustWrittenAt;
use crate::program::{Before, Graph, Program};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The calls of a body, by what they cost.
#[derive(Default)]
pub(crate) struct Classes {
    pub(super) all: Vec<Class>,
    pub(super) calls: Vec<PlacedCall>,
    /// How many streams there are, with branches of graphs.
    pub(super) lanes: usize,
    /// How many recordings the calls make.
    pub recordings: usize,
    pub(super) graphs: Arc<Vec<Graph>>,
    /// H2D copies of what the CPU has just written.
    pub(super) written: JustWrittenAt,
}

/// Calls that cost the same.
pub(super) struct Class {
    /// The first of them.
    pub first: usize,
    pub locality: Locality,
    /// The place among the graphs of the one that the calls launch or belong to.
    pub graph: Option<usize>,
    pub before: Option<Before>,
}

/// A call of the body.
#[derive(Clone, Copy)]
pub(super) struct PlacedCall {
    pub class: u32,
    /// The recording that it makes or waits for, or [`NONE`].
    pub recording: u32,
    pub site: CallSite,
    /// Whether it is a launch outside of a graph.
    pub is_launch: bool,
}

impl Classes {
    pub(super) fn of(
        (program, traffic): (&Program, &Traffic),
        in_flight: &InFlight,
        mut history: MemoryHistory<'_>,
    ) -> Self {
        let mut written = JustWrittenAt::new();
        let graphs: Arc<Vec<Graph>> = Arc::new(program.graphs().collect());
        let mut in_graphs = graphs.iter().enumerate().peekable();
        let mut ending = in_flight.ending.iter().peekable();
        let mut known = KnownClasses::default();
        let mut all: Vec<Class> = Vec::new();
        // `cuStreamWaitEvent`: a wait is for the latest record before it.
        let (mut latest, mut recordings) = (vec![NONE; program.events], 0);
        let lanes = program.lanes();
        let mut calls = Vec::with_capacity(program.body.len());
        for (at, call) in program.body.iter().enumerate() {
            while in_graphs.next_if(|(_, graph)| graph.calls.end <= at).is_some() {}
            let graph = in_graphs.peek().filter(|(_, graph)| graph.launch <= at);
            let graph = graph.map(|&(place, graph)| (place, graph));
            let before = graph.and_then(|(_, graph)| graph.before(at));
            let key = Key::of((program, traffic), call, graph.map(|(_, graph)| graph));
            let key = (key, history.pass(call), before);
            written.extend(history.just_written.map(|age| (index(at), age)));
            let class = known.class_of(&key);
            if class as usize == all.len() {
                let graph = graph.map(|(place, _)| place);
                all.push(Class { first: at, locality: key.1, graph, before });
            }
            if let Some(event) = call.recorded() {
                latest[event.0] = index(recordings);
                recordings += 1;
            }
            let recording = call.event().map_or(NONE, |event| latest[event.0]);
            let lane = lanes.lane_of(at).unwrap_or(0);
            let device = match call.only_waits() {
                true => waited_for(program, call),
                false => {
                    let stream = program.streams.get(lane % program.streams.len().max(1));
                    stream.map_or(0, |one| one.device.0)
                }
            };
            let site = CallSite {
                thread: usize::from(program.thread_of(at).0),
                stream: stream_index(lane),
                device,
                ends_copies: ending.next_if_eq(&&at).is_some(),
            };
            let is_launch = call.is_launch() && before.is_none();
            calls.push(PlacedCall { class, recording, site, is_launch });
        }
        drop(in_graphs);
        Self { all, calls, lanes: lanes.count(), recordings, graphs, written }
    }
}

/// What the cost of a call depends on.
type ClassKey = (Key, Locality, Option<Before>);

/// The classes of the calls so far.
#[derive(Default)]
struct KnownClasses {
    numbers: BTreeMap<ClassKey, u32>,
    keys: Vec<ClassKey>,
    /// For each class, the one of the call that came behind its latest: programs repeat
    /// themselves, so it is the one that is looked for, as a rule.
    next: Vec<u32>,
    latest: u32,
}

impl KnownClasses {
    /// The number of a class, which may be a new one.
    fn class_of(&mut self, key: &ClassKey) -> u32 {
        let guess = self.next.get(self.latest as usize).copied().unwrap_or_default();
        let class = if self.keys.get(guess as usize) == Some(key) {
            guess
        } else if let Some(&known) = self.numbers.get(key) {
            known
        } else {
            let new = index(self.keys.len());
            self.numbers.insert(key.clone(), new);
            self.keys.push(key.clone());
            self.next.push(0);
            new
        };
        if let Some(next) = self.next.get_mut(self.latest as usize) {
            *next = class;
        }
        self.latest = class;
        class
    }
}
