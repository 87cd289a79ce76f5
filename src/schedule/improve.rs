//! Better schedules by small changes, with the simulator as the judge.

use super::decoder::{Decoder, Impossible, Schedule};
use super::graph::{NodeId, TaskGraph};
use super::list::{Choice, Listed, list};
use super::prices::{Prices, Processor};
use super::streams::Layout;
use crate::cost::{CompileError, CompiledProgram};
use crate::machine::{DeviceId, HostMemory};
use crate::profile::Profile;
use crate::program::Program;
use crate::scenario::TaskId;
use crate::simulate::Simulator;
use crate::units::{Bytes, Span};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// Looking ahead takes a time that grows with the cube of the number of nodes.
const MOST_TO_LOOK_AHEAD: usize = 128;
/// How many changes without any gain end the search.
const IDLE: usize = 1000;
/// How many changes ago a schedule may have been worse.
const EARLIER: usize = 16;

/// What a schedule comes to. Less is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Worth {
    pub makespan: Span,
    /// Of two that take equally long, the simpler one is better.
    streams: usize,
    calls: usize,
}

/// Finds schedules of one graph on one machine.
pub(super) struct Search<'a> {
    pub graph: &'a TaskGraph<'a>,
    pub prices: &'a Prices,
    pub profile: &'a Profile,
    pub memory: HostMemory,
    /// The most memory to take of each device.
    pub limit: Bytes,
    simulator: Simulator,
    /// Calls that were simulated.
    pub simulated: u64,
}

impl<'a> Search<'a> {
    pub fn new(
        graph: &'a TaskGraph<'a>,
        prices: &'a Prices,
        profile: &'a Profile,
        (memory, limit): (HostMemory, Bytes),
    ) -> Self {
        let simulator = Simulator::default();
        Self { graph, prices, profile, memory, limit, simulator, simulated: 0 }
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
    fn worth(&mut self, schedule: &Schedule) -> Result<Worth, Impossible> {
        if schedule.on.iter().all(|&on| on == Processor::Cpu) {
            return Err(Impossible::Other("the CPU has a family of its own".to_owned()));
        }
        let program = self.program(schedule)?;
        let compiled =
            CompiledProgram::new(&program, self.profile).map_err(|error| match error {
                CompileError::DoesNotFit(error) => Impossible::TooLarge(error.to_string()),
                CompileError::Unknown(unknown) => Impossible::Other(unknown.to_string()),
            })?;
        self.simulated += program.body.len() as u64;
        let makespan = self.simulator.makespan(&compiled);
        let (streams, calls) = (program.streams.len(), program.body.len());
        Ok(Worth { makespan, streams, calls })
    }

    /// The best of the schedules that lists give, and of two plain orders.
    ///
    /// # Errors
    /// If none of them can be made and predicted.
    pub fn first(&mut self) -> Result<(Worth, Schedule), Impossible> {
        let all = self.prices.processors();
        let gpus = &all[usize::from(self.prices.with_cpu)..];
        let mut listed: Vec<Listed> = Vec::new();
        let mut try_list = |processors: &[Processor], choice| {
            listed.extend(list(self.graph, self.prices, processors, choice));
        };
        try_list(gpus, Choice::EarliestFinish);
        if self.prices.with_cpu {
            try_list(&all, Choice::EarliestFinish);
        }
        if self.graph.nodes.len() <= MOST_TO_LOOK_AHEAD {
            try_list(&all, Choice::LookAhead);
        }
        listed.extend(self.plain_orders());
        let mut best = None;
        let mut why = Impossible::Other(match self.without_price() {
            Some(task) => format!("the profile does not know what task `{task}` takes"),
            None => "no task can be on a GPU".to_owned(),
        });
        for (order, on) in listed {
            let (order, streams) = (self.gpu_first(&order, &on), Layout::ALL[0]);
            let schedule = Schedule { order, on, streams, memory: self.limit };
            if let Err(error) = self.keep_better(&mut best, schedule) {
                why = error;
            }
        }
        for streams in Layout::ALL.into_iter().skip(1) {
            let Some((_, schedule)) = &best else { break };
            let changed = Schedule { streams, ..schedule.clone() };
            if let Err(error) = self.keep_better(&mut best, changed) {
                why = error;
            }
        }
        best.ok_or(why)
    }

    /// A task that no processor can do, or of which the profile does not know what it takes.
    fn without_price(&self) -> Option<&str> {
        let all = self.prices.processors();
        let is_unknown =
            |&id: &NodeId| all.iter().all(|&on| self.prices.of(self.graph, id, on).is_none());
        let node = (0..self.graph.nodes.len()).find(is_unknown)?;
        Some(&self.graph.workload.task(self.graph.nodes[node].task).name)
    }

    /// Keeps a schedule if it uses a GPU and is better than the best so far. Returns whether it is.
    fn keep_better(
        &mut self,
        best: &mut Option<(Worth, Schedule)>,
        schedule: Schedule,
    ) -> Result<bool, Impossible> {
        let worth = self.worth(&schedule)?;
        let is_better = best.as_ref().is_none_or(|(known, _)| worth < *known);
        if is_better {
            *best = Some((worth, schedule));
        }
        Ok(is_better)
    }

    /// Everything on the first GPU: chunk by chunk, and task by task.
    fn plain_orders(&self) -> Vec<Listed> {
        let gpu = Processor::Gpu(DeviceId::FIRST);
        let nodes = 0..self.graph.nodes.len();
        if nodes.clone().any(|node| self.prices.of(self.graph, node, gpu).is_none()) {
            return Vec::new();
        }
        let on = vec![gpu; self.graph.nodes.len()];
        let by_chunk: Vec<NodeId> = nodes.collect();
        let mut by_task = by_chunk.clone();
        by_task.sort_by_key(|&node| self.graph.nodes[node].task);
        vec![(by_chunk, on.clone()), (by_task, on)]
    }

    /// The order in which one host thread issues all that it can before it computes itself.
    fn gpu_first(&self, order: &[NodeId], on: &[Processor]) -> Vec<NodeId> {
        // How many nodes on the CPU come before each node at least.
        let mut behind = vec![0; self.graph.nodes.len()];
        let mut computed = 0;
        for &node in order {
            if on[node] == Processor::Cpu {
                behind[node] = computed;
                computed += 1;
            } else {
                let before = self.graph.nodes[node].before.iter();
                let of = |&id: &NodeId| behind[id] + usize::from(on[id] == Processor::Cpu);
                behind[node] = before.map(of).max().unwrap_or(0);
            }
        }
        let mut found = order.to_vec();
        found.sort_by_key(|&node| (behind[node], on[node] == Processor::Cpu));
        found
    }

    /// Changes a schedule for the better until so many calls are simulated. A change for the worse
    /// is taken, too, if the schedule was no better some changes ago (Burke and Bykov, "The Late
    /// Acceptance Hill-Climbing Heuristic", 2017).
    pub fn improve(&mut self, first: (Worth, Schedule), budget: u64) -> (Worth, Schedule) {
        if budget == 0 {
            return first;
        }
        let mut random = ChaCha8Rng::seed_from_u64(self.graph.pieces);
        let (mut best, mut current) = (first.clone(), first);
        let mut earlier = [current.0; EARLIER];
        let (mut idle, end) = (0, self.simulated + budget);
        for step in 0.. {
            if self.simulated >= end || idle >= IDLE {
                break;
            }
            idle += 1;
            let Some(changed) = self.changed(&current.1, &mut random) else { continue };
            let Ok(worth) = self.worth(&changed) else { continue };
            if worth <= current.0 || worth.makespan <= earlier[step % EARLIER].makespan {
                current = (worth, changed);
            }
            earlier[step % EARLIER] = current.0;
            if current.0 < best.0 {
                best = current.clone();
                idle = 0;
            }
        }
        self.with_less_memory(best)
    }

    /// The same in as little device memory as costs no time.
    fn with_less_memory(&mut self, (worth, schedule): (Worth, Schedule)) -> (Worth, Schedule) {
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

    /// A schedule that differs in one thing, in how work is dealt over streams, or in both: what
    /// one gains may depend on the other.
    fn changed(&self, schedule: &Schedule, random: &mut ChaCha8Rng) -> Option<Schedule> {
        let mut changed = schedule.clone();
        let kinds = if self.prices.processors().len() > 1 { 10 } else { 5 };
        match random.random_range(0..kinds) {
            0..=4 => self.move_node(&mut changed, random),
            5..=7 => self.move_to(&mut changed, random, |_, _| false),
            8 => self.move_to(&mut changed, random, |one, other| one.0 == other.0),
            _ => self.move_to(&mut changed, random, |one, other| one.1 == other.1),
        }
        if random.random_bool(0.25) {
            changed.streams = Layout::ALL[random.random_range(0..Layout::ALL.len())];
        }
        (changed != *schedule).then_some(changed)
    }

    /// Moves a node to another place in the order.
    fn move_node(&self, schedule: &mut Schedule, random: &mut ChaCha8Rng) {
        let order = &mut schedule.order;
        let from = random.random_range(0..order.len());
        let node = order[from];
        let Self { graph, .. } = self;
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
            let is_meant = id == node || belong(key(node), key(id));
            if is_meant && self.prices.of(self.graph, id, on).is_some() {
                schedule.on[id] = on;
            }
        }
        schedule.order = self.gpu_first(&schedule.order, &schedule.on);
    }
}
