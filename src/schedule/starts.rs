//! Where the search for a schedule begins.

use super::decoder::{Impossible, Schedule};
use super::graph::NodeId;
use super::improve::{AHEAD, Search, Valued};
use super::issue::{Layout, MOST_STREAMS};
use super::list::{Choice, Listed, list};
use super::prices::Processor;
use super::relist::relisted;
use crate::machine::DeviceId;
use rand::rngs::ChaCha8Rng;

/// Looking ahead takes a time that grows with the cube of the number of nodes.
const MOST_TO_LOOK_AHEAD: usize = 128;
/// To list by time takes one that grows with the square of the number of nodes.
const MOST_BY_TIME: usize = 512;
/// How many of the best schedules are kept.
const MOST: usize = 3;

/// Once so many calls are simulated, no more starts are tried.
const MOST_CALLS: u64 = 100_000;

impl Search<'_> {
    /// The best of the schedules that lists give, of two plain orders, and of all on the CPU, best
    /// first.
    ///
    /// # Errors
    /// If none of them can be made and predicted.
    pub fn starts(&mut self) -> Result<Vec<Valued>, Impossible> {
        let mut why = Impossible::Other(match self.without_price() {
            Some(task) => format!("the profile lacks the time of task `{task}`"),
            None => "no task can run on a GPU".to_owned(),
        });
        let mut found: Vec<Valued> = Vec::new();
        for listed in self.listed() {
            self.note_listed(listed, &mut found, &mut why);
        }
        found.sort();
        found.truncate(MOST);
        for (_, schedule) in found.clone() {
            self.note(Schedule { ahead: AHEAD[1], ..schedule }, &mut found, &mut why);
        }
        for streams in self.layouts.clone().into_iter().skip(1) {
            let Some((_, schedule)) = found.iter().min().cloned() else { break };
            self.note(Schedule { streams, ..schedule }, &mut found, &mut why);
        }
        found.sort();
        found.dedup_by(|one, other| (&one.1.order, &one.1.on) == (&other.1.order, &other.1.on));
        found.truncate(MOST);
        if found.is_empty() { Err(why) } else { Ok(found) }
    }

    /// Adds the schedules that follow from a list.
    fn note_listed(&mut self, (order, on): Listed, found: &mut Vec<Valued>, why: &mut Impossible) {
        let order = self.gpu_first(&order, &on);
        let (streams, memory) = (self.layouts[0], self.limit);
        let schedule = Schedule { order, on, streams, ahead: 0, memory };
        if self.side_by_side > 1 {
            let streams = Layout::over(self.side_by_side.min(MOST_STREAMS));
            self.note(Schedule { streams, ..schedule.clone() }, found, why);
        }
        self.note(schedule, found, why);
    }

    /// Adds schedules of better lists, which take many tries to find.
    pub(super) fn relist(&mut self, tries: u64, random: &mut ChaCha8Rng, found: &mut Vec<Valued>) {
        if self.graph.nodes.len() > MOST_BY_TIME {
            return;
        }
        let all = self.prices.processors();
        if all.len() == 1 && self.side_by_side == 1 {
            return;
        }
        if let Some(listed) = relisted((self.graph, self.prices), &all, tries, random) {
            let mut why = Impossible::Other(String::new());
            self.note_listed(listed, found, &mut why);
            found.sort();
        }
    }

    /// Adds a schedule with what it comes to, or the reason why it comes to nothing. Large ones are
    /// left out where there are others already.
    fn note(&mut self, schedule: Schedule, found: &mut Vec<Valued>, why: &mut Impossible) {
        if self.simulated > MOST_CALLS && !found.is_empty() {
            return;
        }
        // Lists of few nodes give the same schedule many times.
        if let Some((worth, _)) = found.iter().find(|(_, known)| *known == schedule) {
            let worth = *worth;
            self.simulated += worth.calls as u64;
            found.push((worth, schedule));
            return;
        }
        match self.worth(&schedule) {
            Ok(worth) => found.push((worth, schedule)),
            Err(error) => *why = error,
        }
    }

    fn listed(&self) -> Vec<Listed> {
        let all = self.prices.processors();
        let cpu = usize::from(self.prices.with_cpu);
        let mut listed: Vec<Listed> = Vec::new();
        let mut try_list = |processors: &[Processor], choice| {
            listed.extend(list(self.graph, self.prices, processors, choice));
        };
        // What fewer GPUs do may be known, and what a number between them do not.
        let fewer =
            self.profile.gpu_counts().into_iter().filter(|&gpus| gpus < self.prices.devices);
        for gpus in std::iter::once(1).chain(fewer).chain([self.prices.devices]) {
            try_list(&all[cpu..cpu + gpus], Choice::EarliestFinish);
            if self.prices.with_cpu {
                try_list(&all[..cpu + gpus], Choice::EarliestFinish);
            }
        }
        if self.graph.nodes.len() <= MOST_TO_LOOK_AHEAD {
            try_list(&all, Choice::LookAhead);
        }
        if self.side_by_side > 1 {
            try_list(&all, Choice::SideBySide);
        }
        if self.graph.nodes.len() <= MOST_BY_TIME {
            try_list(&all, Choice::ByTime);
        }
        if self.prices.with_cpu {
            try_list(&all[..1], Choice::EarliestFinish);
        }
        listed.extend(self.plain_orders());
        listed
    }

    /// A task that no processor can do, or of which the profile does not know what it takes.
    fn without_price(&self) -> Option<&str> {
        let all = self.prices.processors();
        let is_unknown =
            |&id: &NodeId| all.iter().all(|&on| self.prices.of(self.graph, id, on).is_none());
        let node = (0..self.graph.nodes.len()).find(is_unknown)?;
        Some(&self.graph.workload.task(self.graph.nodes[node].task).name)
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
    pub(super) fn gpu_first(&self, order: &[NodeId], on: &[Processor]) -> Vec<NodeId> {
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
}
