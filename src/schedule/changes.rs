//! Small changes of a schedule.

use super::decoder::Schedule;
use super::graph::NodeId;
use super::improve::Search;
use super::prices::Processor;
use super::streams::Layout;
use crate::scenario::TaskId;
use rand::RngExt;
use rand::rngs::ChaCha8Rng;

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
            changed.streams = Layout::ALL[random.random_range(0..Layout::ALL.len())];
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
