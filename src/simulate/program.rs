//! A plan prepared for the engine: calls become small items, and costs are looked up once.

use super::antithetic::Antithetic;
use super::channels::CHANNELS;
use super::copies::{ENGINES, PEER_ENGINE};
use super::cost::{Costs, Key};
use super::entries::{Entries, EntryId};
use super::found::Found;
use super::issue::{Stretch, stretches};
use super::launches::{Launches, Place};
use super::looks::LookTimes;
use super::needs;
use super::operation::{NONE, Work};
use super::plain;
use super::shares::Shares;
use super::streams::NOBODY;
use crate::machine::{DeviceId, Direction};
use crate::profile::{OperationKind, Profile, Unknown};
use crate::program::{
    Before, Call, DoesNotFit, Graph, Program, StreamKind, StreamTraits, Whose, check_fits,
};
use crate::units::Span;
use rand::RngExt;
use std::collections::BTreeMap;

/// Why a plan cannot be predicted on a machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SimulateError {
    #[error(transparent)]
    Unknown(#[from] Unknown),
    #[error(transparent)]
    DoesNotFit(#[from] DoesNotFit),
}

/// What calls of one kind and size cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Class {
    /// Host time from entry to return, when the call need not wait. For a node of a graph, the part
    /// of the graph's launch that passes until the next node is issued.
    pub host: Span,
    /// From the return of the call to the earliest start on an idle device. For the launch of a
    /// graph, the part of the launch before the first node.
    pub latency: Span,
    pub work: Work,
    pub waits: Waits,
    /// Whether the call is in a graph, where the host makes only the graph's launch.
    pub in_graph: bool,
    /// Whether the next class applies if the stream is empty: the data travels with the command.
    pub may_go_inline: bool,
}

/// What the host waits for before a call returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waits {
    No,
    /// Everything in the stream; waking up takes as long as given.
    Stream(Span),
    /// The call's own operation, up to the point at which staging no longer needs the host.
    Staging,
}

/// A call of the body.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item {
    pub class: u32,
    /// The recording that the call makes or waits for. A wait for an event that was never recorded
    /// waits for nothing.
    pub recording: u32,
    /// The stream, for calls that have one. Branches of graphs count as streams.
    pub stream: u16,
    pub sort: Sort,
    /// Whether the item is part of another entry of its stream: see [`super::entries`].
    pub is_part: bool,
}

/// What the engine needs to know of an item without looking up its class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    /// The call puts nothing into a stream.
    HostOnly,
    Record,
    Wait,
    Operation(OperationKind),
}

impl Sort {
    pub const KERNEL: Self = Self::Operation(OperationKind::Kernel);

    const fn of(work: &Work) -> Self {
        match work {
            Work::Nothing => Self::HostOnly,
            Work::Record => Self::Record,
            Work::Wait => Self::Wait,
            Work::Copy { direction, .. } | Work::Staged { direction, .. } => {
                Self::Operation(OperationKind::of_copy(*direction))
            }
            Work::PeerCopy { .. } => Self::Operation(OperationKind::PeerCopy),
            // An inline copy comes from where kernels are launched, so nothing is handed over.
            Work::Kernel { .. } | Work::Inline { .. } => Self::Operation(OperationKind::Kernel),
        }
    }
}

/// The price of a hand-over, in nanoseconds: for the first operation of its kind in an empty
/// stream, and for one that was queued behind others.
#[derive(Debug, Clone, Copy)]
pub(super) struct Price {
    pub first: f64,
    pub queued: f64,
    /// Set where engines poll: how much too early the later operation may come without waiting.
    pub looks: Option<Span>,
}

/// Prices by the kind of the later operation, by what ties the two, and by the kind of the earlier
/// one. `None` where the later one goes on at once, or the pair never occurs.
pub(super) type HandOvers = [[[Option<Price>; OperationKind::COUNT]; 3]; OperationKind::COUNT];

/// What ties an operation to one that it has to follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tie {
    Stream,
    Event,
    /// The later of the two is a node of a graph.
    Graph,
}

/// A plan's body on a machine, ready to be simulated any number of times.
#[derive(Debug, Clone)]
pub struct CompiledProgram<'p> {
    pub(super) profile: &'p Profile,
    pub(super) items: Vec<Item>,
    /// The host time of each call, if some calls differ from their class; otherwise empty.
    pub(super) hosts: Vec<Span>,
    pub(super) classes: Vec<Class>,
    pub(super) entries: Entries,
    pub(super) stretches: Vec<Stretch>,
    /// The streams that have kernels.
    pub(super) launching: Vec<u16>,
    /// For each entry, the end of the row of kernels that begins with it, in which each waits only
    /// for the one before it. Empty unless several streams have kernels.
    pub(super) rows: Vec<EntryId>,
    /// Streams whose commands are read again and again while they wait. Empty unless a device that
    /// copies are made to has several.
    pub(super) refetched: Vec<u16>,
    /// For the entry of each kernel, its place among the kernels of its channel. Empty unless there
    /// are more streams than channels.
    pub(super) places: Vec<u32>,
    pub(super) recordings: usize,
    pub(super) hand_overs: HandOvers,
    /// Whether a hand-over may take time, by the later operation's kind and by the tie.
    pub(super) takes_time: [[bool; 3]; OperationKind::COUNT],
    /// How many nanoseconds longer a wait for an event takes if another device records it.
    pub(super) crossing: f64,
    /// How engines poll; `None` if hand-overs have prices instead.
    pub(super) looks: Option<LookTimes>,
    /// The links that copies share; empty if neither copies nor kernels slow any copy.
    pub(super) shares: Shares,
    /// Whether any copy takes longer beside kernels.
    pub(super) kernels_delay_copies: bool,
    /// The legacy default stream and the streams that it is a barrier for; empty if it is not used.
    pub(super) barrier: Vec<u16>,
    /// The traits of each stream. Branches of graphs are non-blocking: no barrier holds them back.
    pub(super) traits: Vec<StreamTraits>,
    /// The channel of each stream.
    pub(super) channels: Vec<u16>,
    graphs: Vec<Graph>,
    /// By device, the nanoseconds for which each copy engine pauses to change streams.
    pub(super) switch: Vec<[f64; ENGINES]>,
    /// Whether the program is plain: see [`super::plain`].
    pub(super) is_plain: bool,
}

impl<'p> CompiledProgram<'p> {
    /// Looks up what every call of the plan's body costs.
    ///
    /// # Errors
    /// If the profile does not know one of them, or the plan does not fit its machine.
    pub fn new(plan: &Program, profile: &'p Profile) -> Result<Self, SimulateError> {
        Self::with_luck(plan, &Found::new(plan, profile), profile, None)
    }

    /// Prepares a plan under random conditions, if `luck` is given: launches take longer or shorter
    /// one by one, and the clock by which engines poll starts anywhere in a tick.
    pub(super) fn with_luck(
        plan: &Program,
        found: &Found,
        profile: &'p Profile,
        mut luck: Option<Antithetic>,
    ) -> Result<Self, SimulateError> {
        check_fits(plan, profile.machine.capacities(), Whose::Machine)?;
        needs::shape(plan, &found.in_flight)?;
        let phase = luck.as_mut().map_or(0.5, RngExt::random);
        let mut program = Self {
            profile,
            items: Vec::with_capacity(plan.body.len()),
            hosts: Vec::new(),
            classes: Vec::new(),
            entries: Entries::default(),
            stretches: Vec::new(),
            launching: Vec::new(),
            rows: Vec::new(),
            refetched: Vec::new(),
            places: Vec::new(),
            recordings: 0,
            hand_overs: HandOvers::default(),
            takes_time: Default::default(),
            crossing: 0.0,
            looks: None,
            shares: Shares::default(),
            kernels_delay_copies: false,
            barrier: barrier(plan),
            traits: plan.streams.clone(),
            channels: Vec::new(),
            graphs: plan.graphs().collect(),
            switch: Vec::new(),
            is_plain: false,
        };
        let launches = Launches::new(profile, luck, plan.devices().max(1));
        program.add_calls(plan, found, launches)?;
        program.lay_out(plan);
        profile.alike(program.devices())?;
        program.hand_overs = needs::hand_overs(&program)?;
        program.crossing = needs::crossing(&program)?;
        program.takes_time = needs::takes_time(&program);
        program.looks = LookTimes::new(&program, phase);
        program.switch = program.switches()?;
        program.shares = Shares::new(&program)?;
        program.kernels_delay_copies = program.classes.iter().any(
            |class| matches!(class.work, Work::Copy { beside_kernels, .. } if beside_kernels > 0.0),
        );
        needs::polling(&program)?;
        program.refetched = needs::refetched(&program)?;
        program.is_plain = plain::is_plain(&program);
        Ok(program)
    }

    /// Looks up each call of the body; calls that cost the same are looked up once.
    fn add_calls(
        &mut self,
        plan: &Program,
        found: &Found,
        mut launches: Launches<'_>,
    ) -> Result<(), Unknown> {
        let costs = Costs::new(plan, self.profile);
        let mut known: BTreeMap<(Key, Option<Before>), Option<u32>> = BTreeMap::new();
        // `cuStreamWaitEvent`: a wait is for the latest record before it.
        let mut latest = vec![NONE; plan.events];
        let lanes = plan.lanes();
        let mut missing = Vec::new();
        for (at, call) in plan.body.iter().enumerate() {
            let graph = self.graph_at(at);
            let before = graph.and_then(|graph| graph.before(at));
            let data = found.at(at);
            let key = (Key::of(plan, call, &data, graph), before);
            let class = match known.get(&key) {
                Some(&class) => class,
                None => {
                    let usual = costs.class(call, &data, (graph, before));
                    let usual = usual.map_err(|unknown| missing.push(unknown)).ok();
                    let inline = costs.inline(call).filter(|_| graph.is_none());
                    let class = usual.is_some().then_some(index(self.classes.len()));
                    let may_go_inline = inline.is_some();
                    self.classes.extend(usual.map(|usual| Class { may_go_inline, ..usual }));
                    self.classes.extend(inline);
                    known.insert(key, class);
                    class
                }
            };
            let Some(class) = class else { continue };
            let recording = match call {
                Call::Record { event, .. } => {
                    latest[event.0] = index(self.recordings);
                    self.recordings += 1;
                    latest[event.0]
                }
                Call::Wait { event, .. } => latest[event.0],
                _ => NONE,
            };
            let stream = stream_index(lanes[at].unwrap_or(0));
            let is_launch = matches!(call, Call::Launch { .. }) && before.is_none();
            let device = self.traits.get(usize::from(stream)).map_or(0, |traits| traits.device.0);
            let class_of = &self.classes[class as usize];
            let sort = Sort::of(&class_of.work);
            let ends_copies = found.in_flight.ending.contains(&at);
            let place = Place { stream, device, ends_copies };
            self.hosts.extend(launches.host_of(class_of, place, is_launch));
            self.items.push(Item { class, recording, stream, sort, is_part: false });
        }
        missing.into_iter().reduce(Unknown::and).map_or(Ok(()), Err)
    }

    /// Sorts items into streams, which include branches of graphs, and streams into channels.
    fn lay_out(&mut self, plan: &Program) {
        let branch =
            |traits: &StreamTraits| StreamTraits { kind: StreamKind::NonBlocking, ..*traits };
        let branches = plan.lane_count() - plan.streams.len();
        self.traits.extend(plan.streams[..branches].iter().map(branch));
        let has_barrier = !self.barrier.is_empty();
        let (stretches, issued) = stretches(self);
        self.stretches = stretches;
        let items = (&mut self.items[..], &issued[..]);
        self.entries = Entries::new(items, &self.classes, plan.lane_count(), has_barrier);
        self.launching = self.launching_streams();
        if self.launching.len() > 1 {
            self.rows = self.entries.rows();
        }
        self.channels = self.dealt_to_channels();
        if (0..plan.devices()).any(|device| plan.streams_of(DeviceId(device)) > CHANNELS) {
            self.places = self.places_in_channels();
        }
    }

    pub(super) fn class_of(&self, item: u32) -> &Class {
        &self.classes[self.items[item as usize].class as usize]
    }

    /// Host time of a call, from entry to return, when it need not wait.
    pub(super) fn host_of(&self, item: u32) -> Span {
        self.hosts.get(item as usize).copied().unwrap_or_else(|| self.class_of(item).host)
    }

    /// The class of an entry's call.
    pub(super) fn class_in(&self, entry: EntryId) -> &Class {
        &self.classes[self.entries.list[entry as usize].class as usize]
    }

    pub(super) fn devices(&self) -> usize {
        self.traits.iter().map(|stream| stream.device.0 + 1).max().unwrap_or(1)
    }

    /// The device of a stream.
    pub(super) fn device_of(&self, stream: u16) -> usize {
        self.traits[usize::from(stream)].device.0
    }

    /// The graph that a call launches or belongs to.
    pub(super) fn graph_at(&self, call: usize) -> Option<&Graph> {
        self.graphs.iter().find(|graph| graph.launch == call || graph.calls.contains(&call))
    }

    /// The call by which the host issues an item: for a node of a graph, the graph's launch.
    pub(super) fn issued_by(&self, item: u32) -> u32 {
        if !self.class_of(item).in_graph {
            return item;
        }
        self.graph_at(item as usize).map_or(item, |graph| index(graph.launch))
    }

    pub(super) fn streams(&self) -> usize {
        self.entries.starts.len()
    }

    fn launching_streams(&self) -> Vec<u16> {
        let mut launches = vec![false; self.streams()];
        for item in self.items.iter().filter(|item| item.sort == Sort::KERNEL) {
            launches[usize::from(item.stream)] = true;
        }
        (0..).zip(launches).filter_map(|(stream, launches)| launches.then_some(stream)).collect()
    }

    /// What changing streams costs each copy engine: the more, the more streams it takes copies
    /// from.
    fn switches(&self) -> Result<Vec<[f64; ENGINES]>, Unknown> {
        let mut copying = vec![[false; ENGINES]; self.streams()];
        let mut outside_graphs = vec![[false; ENGINES]; self.devices()];
        for item in &self.items {
            let class = &self.classes[item.class as usize];
            if let Some(engine) = engine_of(&class.work) {
                copying[usize::from(item.stream)][engine] = true;
                outside_graphs[self.device_of(item.stream)][engine] |= !class.in_graph;
            }
        }
        let of_device = |device: usize| {
            let streams = |engine: usize| {
                let here = self.traits.iter().zip(&copying);
                here.filter(|(traits, uses)| traits.device.0 == device && uses[engine]).count()
            };
            needs::one_stream_of_peer_copies(streams(PEER_ENGINE))?;
            let [down, up] = Direction::BOTH.map(|direction| {
                let engine = direction as usize;
                let in_graph = !outside_graphs[device][engine];
                self.profile.switch(direction, streams(engine), in_graph)
            });
            Ok([down?, up?, 0.0])
        };
        (0..self.devices()).map(of_device).collect()
    }
}

/// The copy engine, within its device, that an operation keeps busy.
const fn engine_of(work: &Work) -> Option<usize> {
    match work {
        Work::Copy { direction, .. } | Work::Staged { direction, .. } => Some(*direction as usize),
        Work::PeerCopy { .. } => Some(PEER_ENGINE),
        _ => None,
    }
}

/// The legacy default stream and those that it is a barrier for; empty if nothing goes to it.
fn barrier(plan: &Program) -> Vec<u16> {
    if !plan.streams.iter().any(|stream| stream.kind == StreamKind::LegacyDefault) {
        return Vec::new();
    }
    let takes_part = |stream: &StreamTraits| stream.kind != StreamKind::NonBlocking;
    (0..).zip(&plan.streams).filter_map(|(id, stream)| takes_part(stream).then_some(id)).collect()
}

/// # Panics
/// If a plan has 65,535 streams or more, which [`needs::shape`] refuses.
fn stream_index(number: usize) -> u16 {
    let index = u16::try_from(number).ok().filter(|&index| index != NOBODY);
    index.expect("fewer streams than 2^16")
}

/// # Panics
/// If the number is 2^32 - 1 or more. [`needs::shape`] refuses plans with so many calls.
pub(super) fn index(number: usize) -> u32 {
    u32::try_from(number).ok().filter(|&index| index != NONE).expect("fewer calls than 2^32")
}
