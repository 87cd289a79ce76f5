//! When tasks start and end in the linear program, and what comes before and behind them.

use super::relaxation::{Load, Part, Relaxation, Rule};
use super::work::{Wait, Work};
use microlp::Variable;

/// When the first piece of a task starts, and when the last one ends.
#[derive(Clone, Copy)]
struct Moments {
    start: Variable,
    end: Variable,
}

/// For each task, which others come behind some piece of it, and which behind all of it.
struct Behind {
    some: Vec<Vec<bool>>,
    all: Vec<Vec<bool>>,
}

impl Relaxation<'_> {
    /// Adds all rules about order. They hold for the mean of all batches, since they hold for each.
    pub fn order(&mut self) {
        let work = self.work;
        let mut moment = || self.program.add_var(0.0, (0.0, f64::INFINITY));
        let moments: Vec<Moments> =
            work.nodes.iter().map(|_| Moments { start: moment(), end: moment() }).collect();
        let behind = work.behind();
        for (index, &this) in moments.iter().enumerate() {
            self.takes_its_time(index, this);
            for &wait in work.nodes[index].before.iter().filter(|wait| wait.for_all) {
                self.waits((index, this), wait, moments[wait.task].end);
            }
            self.loads_before(index, this, &behind);
            self.loads_behind(index, this, &behind);
        }
    }

    /// Pieces of a task may run at once.
    fn takes_its_time(&mut self, index: usize, this: Moments) {
        let node = &self.work.nodes[index];
        let mut load = Load::of(1.0);
        if !node.is_cut {
            let [cpu, gpu] = [node.cpu, node.gpu.map(|gpu| gpu.alone)]
                .map(|time| self.scaled(time.unwrap_or(0.0)));
            load.always = cpu;
            load.terms.push((self.shares[index], gpu - cpu));
        }
        self.comes_after(this.end, Some(this.start), load);
    }

    /// A task starts after the end of another, and after what it reads of it has changed sides.
    fn waits(&mut self, (index, this): (usize, Moments), wait: Wait, end: Variable) {
        let mut load = Load::of(1.0);
        let is_whole = [index, wait.task].iter().all(|&node| !self.work.nodes[node].is_cut);
        if let Some(id) = wait.data.filter(|_| is_whole && !self.work.maps) {
            for way in [0, 1] {
                let copy = self.scaled(self.work.data[id].copy[way]);
                let crossing = self.crossing(vec![Rule::between(wait.task, index, way)]);
                load.terms.push((crossing, copy));
            }
        }
        self.comes_after(this.start, Some(end), load);
    }

    /// What is done before a task, and what has arrived for it when it starts, or ends.
    fn loads_before(&mut self, index: usize, this: Moments, behind: &Behind) {
        let arrives_first = !self.work.maps && !self.work.nodes[index].is_cut;
        let is_before = |other: usize| behind.all[other][index];
        let before = Part {
            does: &is_before,
            reads: &|other| is_before(other) || (arrives_first && other == index),
            writes: &|_| false,
        };
        for load in self.loads(&before, 1.0) {
            self.comes_after(this.start, None, load);
        }
        let until_end = |other: usize| other == index || behind.some[other][index];
        let until = Part { does: &until_end, reads: &until_end, writes: &|_| false };
        for load in self.loads(&until, 1.0) {
            self.comes_after(this.end, None, load);
        }
    }

    /// What is still to be done, and to leave, when a task starts, or ends.
    fn loads_behind(&mut self, index: usize, this: Moments, behind: &Behind) {
        let leaves_last = !self.work.maps && !self.work.nodes[index].is_cut;
        let from_start = |other: usize| other == index || behind.some[index][other];
        let from = Part { does: &from_start, reads: &|_| false, writes: &from_start };
        for load in self.loads(&from, 1.0) {
            self.comes_after(self.end, Some(this.start), load);
        }
        let is_behind = |other: usize| behind.all[index][other];
        let after = Part {
            does: &is_behind,
            reads: &|_| false,
            writes: &|other| is_behind(other) || (leaves_last && other == index),
        };
        for load in self.loads(&after, 1.0) {
            self.comes_after(self.end, Some(this.end), load);
        }
    }
}

/// The most tasks for whose order there are rules: their number grows with its square.
const MOST_ORDERED: usize = 40;

impl Work {
    pub fn is_small(&self) -> bool {
        self.nodes.len() <= MOST_ORDERED
    }

    fn behind(&self) -> Behind {
        let none = vec![vec![false; self.nodes.len()]; self.nodes.len()];
        let mut behind = Behind { some: none.clone(), all: none };
        // Tasks are in an order that respects their dependencies.
        for node in (0..self.nodes.len()).rev() {
            for wait in &self.nodes[node].behind {
                // All behind some piece of a task is behind all of what that task waits for.
                let further = behind.some[wait.task].clone();
                let all = if wait.for_all { &further } else { &behind.all[wait.task].clone() };
                add(&mut behind.all[node], all);
                add(&mut behind.some[node], &further);
                behind.some[node][wait.task] = true;
                behind.all[node][wait.task] |= wait.for_all;
            }
        }
        behind
    }

    /// The longest way through the tasks that cannot be cut, each on the side that is quicker.
    pub fn longest_way(&self) -> f64 {
        let mut ends = vec![0.0_f64; self.nodes.len()];
        for (index, node) in self.nodes.iter().enumerate() {
            let start = node.before.iter().map(|wait| ends[wait.task]).fold(0.0, f64::max);
            let [cpu, gpu] =
                [node.cpu, node.gpu.map(|gpu| gpu.alone)].map(|time| time.unwrap_or(f64::INFINITY));
            ends[index] = start + if node.is_cut { 0.0 } else { cpu.min(gpu) };
        }
        ends.into_iter().fold(0.0, f64::max)
    }

    /// The load of processors that share all work evenly, each task on its better side.
    pub fn even_load(&self) -> f64 {
        let least = self.nodes.iter().map(|node| {
            let gpu = node.gpu.map_or(f64::INFINITY, |gpu| gpu.load);
            node.cpu.unwrap_or(f64::INFINITY).min(gpu)
        });
        least.sum::<f64>() * self.batches / (self.gpus as f64 + 1.0)
    }
}

fn add(to: &mut [bool], others: &[bool]) {
    to.iter_mut().zip(others).for_each(|(mine, theirs)| *mine |= theirs);
}
