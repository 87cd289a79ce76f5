//! Better schedules by small changes, with the simulator as the judge.

use super::decoder::{Decoder, Impossible, Schedule};
use super::graph::{NodeId, TaskGraph};
use super::issue::Layout;
use super::list::side_by_side;
use super::prices::{Prices, Processor};
use crate::cost::{CompileError, CompiledProgram};
use crate::machine::HostMemory;
use crate::profile::Profile;
use crate::program::Program;
use crate::scenario::TaskId;
use crate::units::{Bytes, Span};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use std::collections::BTreeMap;

/// How many changes without any gain end a climb.
const IDLE: usize = 1000;
/// How many changes ago a schedule may have been worse.
const EARLIER: usize = 16;
/// How many climbs from near the best without any gain end the search.
const IN_VAIN: usize = 8;
/// At most so many changes at once shake the best schedule.
const SHAKES: usize = 6;

/// How often lists may try a node on a processor, for each call that may be simulated.
const TRIES: u64 = 25;

/// What a schedule comes to. Less is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Worth {
    pub makespan: Span,
    /// Fewer streams are simpler, so they are better if two schedules take equally long.
    pub streams: usize,
    pub calls: usize,
}

/// A schedule and what it comes to.
pub(super) type Valued = (Worth, Schedule);

/// Finds schedules of one graph on one machine.
pub(super) struct Search<'a> {
    pub graph: &'a TaskGraph<'a>,
    pub prices: &'a Prices,
    pub profile: &'a Profile,
    pub memory: HostMemory,
    /// The most memory to take of each device.
    pub limit: Bytes,
    /// How many kernels may run side by side on a GPU.
    pub side_by_side: usize,
    /// How work may be dealt over streams.
    pub layouts: Vec<Layout>,
    /// What schedules come to that were looked at.
    known: BTreeMap<Schedule, Option<Worth>>,
    /// Calls that were simulated, and nodes of schedules that have no program.
    pub simulated: u64,
}

impl<'a> Search<'a> {
    pub fn new(
        graph: &'a TaskGraph<'a>,
        prices: &'a Prices,
        profile: &'a Profile,
        (memory, limit): (HostMemory, Bytes),
    ) -> Self {
        let side_by_side = side_by_side(graph, prices);
        let (layouts, known) = (Layout::all(side_by_side), BTreeMap::new());
        Self { graph, prices, profile, memory, limit, side_by_side, layouts, known, simulated: 0 }
    }

    /// The program of a schedule.
    ///
    /// # Errors
    /// If device memory is too small, or a kernel cannot be launched.
    pub fn program(&self, schedule: &Schedule) -> Result<Program, Impossible> {
        Decoder::new(self.graph, schedule, self.prices, self.memory).program()
    }

    /// How good a schedule is.
    ///
    /// # Errors
    /// If it has no program, or none that can be predicted.
    pub(super) fn worth(&mut self, schedule: &Schedule) -> Result<Worth, Impossible> {
        let program = self.program(schedule)?;
        self.simulated += program.body.len() as u64;
        let compiled =
            CompiledProgram::new(&program, self.profile).map_err(|error| match error {
                CompileError::DoesNotFit(error) => Impossible::TooLarge(error.to_string()),
                CompileError::Unknown(unknown) => Impossible::Other(unknown.to_string()),
            })?;
        let makespan = compiled.makespan();
        let (streams, calls) = (program.streams.len(), program.body.len());
        Ok(Worth { makespan, streams, calls })
    }

    /// Like [`Self::worth`], and once for each schedule.
    fn valued(&mut self, schedule: Schedule) -> Option<Valued> {
        if let Some(&known) = self.known.get(&schedule) {
            return known.map(|worth| (worth, schedule));
        }
        let before = self.simulated;
        let worth = self.worth(&schedule).ok();
        if self.simulated == before {
            // What has no program takes time, too.
            self.simulated += schedule.order.len() as u64;
        }
        self.known.insert(schedule.clone(), worth);
        worth.map(|worth| (worth, schedule))
    }

    /// Looks for better schedules until so many calls are simulated: half of them from where lists
    /// began, the others from near the best so far (Lourenço, Martin and Stützle, "Iterated Local
    /// Search", 2003).
    pub fn improve(&mut self, mut starts: Vec<Valued>, budget: u64) -> Valued {
        if budget == 0 {
            return starts[0].clone();
        }
        let mut random = ChaCha8Rng::seed_from_u64(self.graph.pieces);
        self.relist(budget * TRIES, &mut random, &mut starts);
        let mut best = starts[0].clone();
        let end = self.simulated + budget;
        let each = budget / 2 / starts.len() as u64;
        for start in starts {
            let until = self.simulated + each;
            best = best.min(self.climb(start, until, &mut random));
        }
        let mut in_vain = 0;
        while self.simulated < end && in_vain < IN_VAIN {
            in_vain += 1;
            let Some(near) = self.shaken(&best.1, &mut random) else { continue };
            let found = self.climb(near, end, &mut random);
            if found < best {
                best = found;
                in_vain = 0;
            }
        }
        self.with_less_memory(best)
    }

    /// Several changes at once.
    fn shaken(&mut self, schedule: &Schedule, random: &mut ChaCha8Rng) -> Option<Valued> {
        let mut shaken = schedule.clone();
        for _ in 0..random.random_range(2..=SHAKES) {
            shaken = self.changed(&shaken, random);
        }
        self.valued(shaken)
    }

    /// Changes a schedule for the better until so many calls are simulated. A change for the worse
    /// is taken, too, if the schedule was no better some changes ago (Burke and Bykov, "The Late
    /// Acceptance Hill-Climbing Heuristic", 2017).
    fn climb(&mut self, first: Valued, end: u64, random: &mut ChaCha8Rng) -> Valued {
        let (mut best, mut current) = (first.clone(), first);
        let mut earlier = [current.0; EARLIER];
        let mut idle = 0;
        for step in 0.. {
            if self.simulated >= end || idle >= IDLE {
                break;
            }
            idle += 1;
            let changed = self.changed(&current.1, random);
            if changed == current.1 {
                continue;
            }
            let Some(changed) = self.valued(changed) else { continue };
            if changed.0 <= current.0 || changed.0.makespan <= earlier[step % EARLIER].makespan {
                current = changed;
            }
            earlier[step % EARLIER] = current.0;
            if current.0 < best.0 {
                best = current.clone();
                idle = 0;
            }
        }
        best
    }

    /// The schedule in as little device memory as costs no time.
    fn with_less_memory(&mut self, (worth, schedule): Valued) -> Valued {
        let used = self.program(&schedule).map_or(self.limit, |program| program.device_bytes());
        for share in [8, 4, 2] {
            let memory = Bytes::new(used.get() / share);
            let smaller = Schedule { memory, ..schedule.clone() };
            if let Ok(found) = self.worth(&smaller)
                && found.makespan <= worth.makespan
            {
                return (found, smaller);
            }
        }
        (worth, schedule)
    }
}

/// For how many nodes copies may be issued ahead.
pub(super) const AHEAD: [usize; 5] = [0, 8, 1, 2, 4];

impl Search<'_> {
    /// A schedule that differs in one thing, in how work is dealt over streams, or in both: what
    /// one gains may depend on the other.
    pub(super) fn changed(&self, schedule: &Schedule, random: &mut ChaCha8Rng) -> Schedule {
        let mut changed = schedule.clone();
        let kinds = if self.prices.processors().len() > 1 { 12 } else { 4 };
        match random.random_range(0..kinds) {
            0..=3 => {
                let node = random.random_range(0..changed.order.len());
                self.move_in_order(&mut changed, node, random);
            }
            4..=6 => self.move_to(&mut changed, random, |_, _| false),
            7 => self.move_to(&mut changed, random, |one, other| one.0 == other.0),
            8 => self.move_to(&mut changed, random, |one, other| one.1 == other.1),
            _ => self.swap(&mut changed, random),
        }
        if random.random_bool(0.2) {
            changed.streams = self.layouts[random.random_range(0..self.layouts.len())];
        }
        if self.prices.with_cpu && random.random_bool(0.1) {
            changed.ahead = AHEAD[random.random_range(0..AHEAD.len())];
        }
        changed
    }

    /// Moves a node to another place in the order.
    fn move_in_order(&self, schedule: &mut Schedule, node: NodeId, random: &mut ChaCha8Rng) {
        let (order, graph) = (&mut schedule.order, self.graph);
        let from = order.iter().position(|&other| other == node).expect("all are there");
        let first =
            order[..from].iter().rposition(|other| graph.nodes[node].before.contains(other));
        let last = order[from..].iter().position(|other| graph.nodes[node].behind.contains(other));
        let first = first.map_or(0, |at| at + 1);
        let last = last.map_or(order.len(), |at| from + at);
        let to = random.random_range(first..last);
        order.remove(from);
        order.insert(to, node);
    }

    /// Moves a node, and those that `belong` to it by task and chunk, to another processor.
    fn move_to(
        &self,
        schedule: &mut Schedule,
        random: &mut ChaCha8Rng,
        belong: impl Fn((TaskId, usize), (TaskId, usize)) -> bool,
    ) {
        let all = self.prices.processors();
        let node = random.random_range(0..self.graph.nodes.len());
        let on = all[random.random_range(0..all.len())];
        let key = |id: NodeId| (self.graph.nodes[id].task, self.graph.nodes[id].chunk);
        for id in 0..self.graph.nodes.len() {
            if id == node || belong(key(node), key(id)) {
                self.put(schedule, id, on);
            }
        }
        self.reorder(schedule, &[node], random);
    }

    /// Has two nodes change places.
    fn swap(&self, schedule: &mut Schedule, random: &mut ChaCha8Rng) {
        let nodes = self.graph.nodes.len();
        let [one, other] = [0, 1].map(|_| random.random_range(0..nodes));
        let [on_one, on_other] = [one, other].map(|node| schedule.on[node]);
        self.put(schedule, one, on_other);
        self.put(schedule, other, on_one);
        self.reorder(schedule, &[one, other], random);
    }

    fn put(&self, schedule: &mut Schedule, node: NodeId, on: Processor) {
        if self.prices.of(self.graph, node, on).is_some() {
            schedule.on[node] = on;
        }
    }

    /// After nodes went to other processors, has them, or what can be issued before the host
    /// computes, go to another place in the order, or leaves all as it is.
    fn reorder(&self, schedule: &mut Schedule, moved: &[NodeId], random: &mut ChaCha8Rng) {
        match random.random_range(0..4) {
            0 => {}
            1 => schedule.order = self.gpu_first(&schedule.order, &schedule.on),
            _ => {
                for &node in moved {
                    self.move_in_order(schedule, node, random);
                }
            }
        }
    }
}
