//! The least load of the busiest of the CPU, the GPUs and the links, if every task may be divided
//! among the sides.
//!
//! A linear program, and not only the loads of the processors, since data that must cross tie the
//! shares of tasks to one another. Over the 22 graphs of `scenarios/graphs`, on the H200's profile,
//! the best plan's mean gap to its bound is 76% with it. It is 460% with the least load of the
//! processors and the copies that no share avoids, 467% without these copies, and 840% with all
//! work shared evenly.

use super::super::halving::halved;
use super::path::{CPU, GPU, Paths};
use super::work::{Data, Work};
use crate::machine::Direction;
use crate::profile::Profile;
use crate::scenario::{Home, Workload};
use crate::units::Span;
use microlp::{
    ComparisonOp, LinearExpr, OptimizationDirection, Problem, SolutionStatus, SolveOutcome,
    Variable,
};

/// What floating point may have added to the least load: see [`Work::least_load`].
const ROUNDING: f64 = 1e-6;
/// With more tasks, solving the relaxation takes too long.
const MOST_NODES: usize = 400;

impl Work {
    /// The optimum of a linear program: for each task the share that GPUs do, such that the largest
    /// load is least. Every schedule is a solution of it, with shares of 0 and 1, or with those of
    /// the pieces. So none has a lower load, and none ends before its largest load.
    ///
    /// A schedule that ends within `within` has no task on a side where the path through it is
    /// longer than that.
    pub fn least_load(&self, paths: &Paths, within: f64) -> f64 {
        if self.nodes.len() > MOST_NODES {
            return self.even_load();
        }
        let mut program = Problem::new(OptimizationDirection::Minimize);
        let time = program.add_var(1.0, (0.0, f64::INFINITY));
        let share = |node: usize| {
            let [cpu, gpu] = [CPU, GPU].map(|side| paths.through(node, side) <= within);
            (f64::from(u8::from(!cpu)), f64::from(u8::from(gpu)))
        };
        // Nothing ends in time if a task can be on neither side.
        let shares: Vec<(f64, f64)> = (0..self.nodes.len()).map(share).collect();
        if shares.iter().any(|(least, most)| least > most) {
            return f64::INFINITY;
        }
        let shares: Vec<Variable> =
            shares.into_iter().map(|range| program.add_var(0.0, range)).collect();
        let mut loads = Vec::from(self.processors(&shares));
        loads.extend(self.links(&mut program, &shares));
        loads.iter().for_each(|load| load.bounds(&mut program, time));
        match program.solve() {
            Ok(SolveOutcome::Solution(found)) if found.status() == SolutionStatus::Optimal => {
                found.objective() * (1.0 - ROUNDING)
            }
            _ => 0.0,
        }
    }

    /// The load of processors that share all work evenly, each task on its better side.
    fn even_load(&self) -> f64 {
        let least = self.nodes.iter().map(|node| {
            let gpu = node.gpu.map_or(f64::INFINITY, |gpu| gpu.load);
            node.cpu.unwrap_or(f64::INFINITY).min(gpu)
        });
        least.sum::<f64>() * self.batches / (self.gpus as f64 + 1.0)
    }

    fn processors(&self, shares: &[Variable]) -> [Load; 2] {
        let mut cpu = Load::of(1.0);
        let mut gpu = Load::of(self.gpus as f64);
        for (node, &share) in self.nodes.iter().zip(shares) {
            let on_cpu = node.cpu.unwrap_or(0.0) * self.batches;
            cpu.always += on_cpu;
            cpu.terms.push((share, -on_cpu));
            gpu.terms.push((share, node.gpu.map_or(0.0, |gpu| gpu.load) * self.batches));
        }
        [cpu, gpu]
    }

    /// What is read on another side than it was written, or than it is at home, crosses once at
    /// least.
    fn links(&self, program: &mut Problem, shares: &[Variable]) -> [Load; 2] {
        let mut links = Direction::BOTH.map(|_| Load::of(self.gpus as f64));
        for (id, data) in self.data.iter().enumerate() {
            for (way, link) in links.iter_mut().enumerate() {
                let load = data.copy[way];
                let mut crosses = |rules: Vec<Rule>, times: f64| {
                    if rules.is_empty() || load == 0.0 {
                        return;
                    }
                    let crossing = program.add_var(0.0, (0.0, 1.0));
                    link.terms.push((crossing, load * times));
                    for Rule { more, less, least } in rules {
                        // crossing >= least + more - less
                        let mut rule = LinearExpr::empty();
                        rule.add(crossing, 1.0);
                        more.into_iter().for_each(|node| rule.add(shares[node], -1.0));
                        less.into_iter().for_each(|node| rule.add(shares[node], 1.0));
                        program.add_constraint(rule, ComparisonOp::Ge, least);
                    }
                };
                crosses(self.first_crossings(id, data, way), data.arrivals);
                crosses(self.later_crossings(id, data, way), self.batches);
            }
        }
        links
    }

    /// When an item's first contents cross the link: a rule for each task that reads them.
    fn first_crossings(&self, id: usize, data: &Data, way: usize) -> Vec<Rule> {
        let readers = (0..self.nodes.len()).filter(|&node| self.nodes[node].takes.contains(&id));
        let rule = |reader| match (data.home, way) {
            (Home::Host(_), 0) => Some(Rule::on_gpu(reader)),
            (Home::Device, 1) => Some(Rule::on_cpu(reader)),
            _ => None,
        };
        readers.filter_map(rule).collect()
    }

    /// When what a task writes crosses the link: a rule for each reader, and one for its home.
    fn later_crossings(&self, id: usize, data: &Data, way: usize) -> Vec<Rule> {
        let mut rules = Vec::new();
        for (writer, node) in self.nodes.iter().enumerate() {
            for &(reader, _) in node.behind.iter().filter(|(_, data)| *data == Some(id)) {
                let (more, less) = if way == 0 { (reader, writer) } else { (writer, reader) };
                rules.push(Rule { more: Some(more), less: Some(less), least: 0.0 });
            }
            if node.leaves.contains(&id) {
                match (data.home, way) {
                    (Home::Host(_), 1) => rules.push(Rule::on_gpu(writer)),
                    (Home::Device, 0) => rules.push(Rule::on_cpu(writer)),
                    _ => {}
                }
            }
        }
        rules
    }
}

/// What a resource has to do, over the variables of the linear program.
struct Load {
    /// How many of the resource there are.
    count: f64,
    always: f64,
    terms: Vec<(Variable, f64)>,
}

impl Load {
    const fn of(count: f64) -> Self {
        Self { count, always: 0.0, terms: Vec::new() }
    }

    /// The time is no shorter than the load.
    fn bounds(&self, program: &mut Problem, time: Variable) {
        let mut expression = LinearExpr::empty();
        self.terms.iter().for_each(|&(variable, load)| expression.add(variable, load));
        expression.add(time, -self.count);
        program.add_constraint(expression, ComparisonOp::Le, -self.always);
    }
}

/// That data cross by at least `least` and the share of one task without that of another.
struct Rule {
    more: Option<usize>,
    less: Option<usize>,
    least: f64,
}

impl Rule {
    const fn on_gpu(node: usize) -> Self {
        Self { more: Some(node), less: None, least: 0.0 }
    }

    const fn on_cpu(node: usize) -> Self {
        Self { more: None, less: Some(node), least: 1.0 }
    }
}

/// Halvings between a time that is too short and one that may do: to a thousandth.
const STEPS: usize = 10;

/// A time below which no schedule of the workload's tasks can end on this machine, whoever does
/// them, in whatever order and pieces, and however their data come and go. `None` if the profile
/// does not know what one of the tasks takes on either side, or how long data takes to a GPU that
/// may need them, or there is no task.
///
/// It is the larger of two bounds:
///
/// - *Path.* A task begins after those that it waits for. On a GPU, what lives on the host has to
///   arrive first, and results have to leave; on the CPU, likewise what lives on the device. For
///   each task and side, the least time in front of it and behind it assumes for each other task
///   the side that makes that time least. So for every schedule, the path through a task is no
///   shorter than the shorter of its two sides' (by induction along the path). Tasks that are cut
///   add nothing to paths, since their pieces overlap, and neither do their copies. Where kernels
///   can use the host's memory across the link, nothing has to arrive before a task begins, but all
///   that it reads there has crossed when it ends, and what it writes crosses after it has begun.
/// - *Load.* Each processor does one thing at a time, and so does each link in each direction:
///   a schedule is no shorter than the load of any. Loads are those of a linear program, of which
///   every schedule is a solution: the share of each task on GPUs, and how much of each buffer
///   crosses because of that. Kernels that run side by side share a GPU: each counts for the part
///   of the multiprocessors that it needs, for as long as it needs it by itself.
///
/// What a task takes is its price by itself, with its data at hand, and nothing for calls, waits,
/// hand-overs and what others take from it. Of a task that can be cut, it is the least for each
/// element over pieces from the whole to a 64th.
pub fn task_bound(workload: &Workload, profile: &Profile) -> Option<Span> {
    let work = Work::new(workload, profile)?;
    let paths = Paths::new(&work);
    let least = paths.longest().max(work.least_load(&paths, f64::INFINITY));
    if !least.is_finite() {
        return None;
    }
    let is_too_short = |time: f64| work.least_load(&paths, time) > time;
    let (mut short, mut enough) = (least, least);
    while is_too_short(enough) {
        (short, enough) = (enough, enough * 1.25 + 1.0);
    }
    let mut steps = 0..STEPS;
    let middle = |short: f64, enough: f64| steps.next().map(|_| f64::midpoint(short, enough));
    let (short, _) = halved((short, enough), middle, |time| Some(is_too_short(time)))?;
    // Rounds down to whole nanoseconds, since a lower bound may not round up.
    Some(Span::from_nanos(short as u64))
}
