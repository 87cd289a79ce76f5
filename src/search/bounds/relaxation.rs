//! The linear program behind a bound: shares of tasks, what crosses because of them, and loads.
//!
//! A linear program, and not only the loads of the processors, since data that must cross tie the
//! shares of tasks to one another.

use super::work::{Data, Work};
use crate::machine::Direction;
use crate::scenario::Home;
use microlp::{
    ComparisonOp, LinearExpr, OptimizationDirection, Problem, SolveOptions, SolveOutcome, Variable,
};
use std::collections::BTreeMap;

/// What floating point may have added to the optimum, relative to it.
const ROUNDING: f64 = 1e-6;
/// Steps of the search for shares of 0 and 1.
const MOST_STEPS: u64 = 300;
/// The time of all tasks, in the units of the program, which keeps its coefficients alike.
const WHOLE: f64 = 1e3;

pub(super) struct Relaxation<'w> {
    pub work: &'w Work,
    /// Nanoseconds of a unit of the program's time.
    unit: f64,
    pub program: Problem,
    /// When all has ended.
    pub end: Variable,
    /// For each task, how much of it GPUs do.
    pub shares: Vec<Variable>,
    /// How much of a buffer crosses, by the rules that say so.
    crossings: BTreeMap<Vec<Rule>, Variable>,
}

impl<'w> Relaxation<'w> {
    pub fn new(work: &'w Work) -> Self {
        let mut program = Problem::new(OptimizationDirection::Minimize);
        let end = program.add_var(1.0, (0.0, f64::INFINITY));
        let shares = work.nodes.iter().map(|node| match (node.cpu, node.gpu) {
            (None, _) => program.add_var(0.0, (1.0, 1.0)),
            (_, None) => program.add_var(0.0, (0.0, 0.0)),
            // Another batch may have the same task on the other side.
            _ if node.is_cut || work.batches > 1.0 || !work.is_small() => {
                program.add_var(0.0, (0.0, 1.0))
            }
            _ => program.add_binary_var(0.0),
        });
        let shares = shares.collect();
        let unit = work.even_load().max(1.0) / WHOLE;
        Self { work, unit, program, end, shares, crossings: BTreeMap::new() }
    }

    /// Nanoseconds of the least end. `None` if the solver fails.
    pub fn solve(mut self) -> Option<f64> {
        let everything = Part { does: &|_| true, reads: &|_| true, writes: &|_| true };
        for load in self.loads(&everything, self.work.batches) {
            self.comes_after(self.end, None, load);
        }
        if self.work.is_small() {
            self.order();
        }
        let mut options = SolveOptions::default();
        options.node_limit = Some(MOST_STEPS);
        let outcome = self.program.solve_with(options).ok()?;
        let least = match &outcome {
            SolveOutcome::Solution(found) if outcome.is_optimal() => found.objective(),
            _ => outcome.stats().best_bound?,
        };
        (least > 0.0).then_some(least * self.unit * (1.0 - ROUNDING))
    }

    /// The loads of the CPU, the GPUs, and the links to them and from them.
    pub fn loads(&mut self, part: &Part<'_>, batches: f64) -> [Load; 4] {
        let gpus = self.work.gpus as f64;
        let [mut cpu, mut gpu] = [Load::of(1.0), Load::of(gpus)];
        for (index, node) in self.work.nodes.iter().enumerate() {
            if (part.does)(index) {
                let share = self.shares[index];
                let [on_cpu, on_gpu] = [node.cpu, node.gpu.map(|gpu| gpu.load)]
                    .map(|load| load.unwrap_or(0.0) * batches / self.unit);
                cpu.always += on_cpu;
                cpu.terms.push((share, -on_cpu));
                gpu.terms.push((share, on_gpu));
            }
        }
        let [to, from] = Direction::BOTH.map(|way| self.link(part, way as usize, batches));
        [cpu, gpu, to, from]
    }

    /// What is read on another side than it was written, or than it is at home, crosses once at
    /// least.
    fn link(&mut self, part: &Part<'_>, way: usize, batches: f64) -> Load {
        let mut link = Load::of(self.work.gpus as f64);
        for (id, data) in self.work.data.iter().enumerate() {
            let load = data.copy[way] / self.unit;
            if load == 0.0 {
                continue;
            }
            let first = self.first_crossings(part, id, data, way);
            let arrivals = if data.is_shared { 1.0 } else { batches };
            let later = self.later_crossings(part, id, data, way);
            for (rules, times) in [(first, arrivals), (later, batches)] {
                if !rules.is_empty() {
                    link.terms.push((self.crossing(rules), load * times));
                }
            }
        }
        link
    }

    /// How much of a buffer crosses: at least what each rule says.
    pub fn crossing(&mut self, mut rules: Vec<Rule>) -> Variable {
        rules.sort_unstable();
        rules.dedup();
        if let Some(&known) = self.crossings.get(&rules) {
            return known;
        }
        let crossing = self.program.add_var(0.0, (0.0, 1.0));
        for Rule { more, less } in &rules {
            // crossing >= more - less. If only `less` is there, what counts is the part of that
            // task that the CPU does, 1 - share.
            let mut rule = LinearExpr::empty();
            rule.add(crossing, 1.0);
            more.iter().for_each(|&node| rule.add(self.shares[node], -1.0));
            less.iter().for_each(|&node| rule.add(self.shares[node], 1.0));
            let least = if more.is_none() { 1.0 } else { 0.0 };
            self.program.add_constraint(rule, ComparisonOp::Ge, least);
        }
        self.crossings.insert(rules, crossing);
        crossing
    }

    /// When a buffer's first contents cross the link: a rule for each task that reads them.
    fn first_crossings(&self, part: &Part<'_>, id: usize, data: &Data, way: usize) -> Vec<Rule> {
        let nodes = self.work.nodes.iter().enumerate();
        let readers =
            nodes.filter(|(index, node)| (part.reads)(*index) && node.takes.contains(&id));
        let rule = |(reader, _)| match (data.home, way) {
            (Home::Host(_), 0) => Some(Rule::on_gpu(reader)),
            (Home::Device, 1) => Some(Rule::on_cpu(reader)),
            _ => None,
        };
        readers.filter_map(rule).collect()
    }

    /// When what a task writes crosses the link: a rule for each reader, and one for its home.
    fn later_crossings(&self, part: &Part<'_>, id: usize, data: &Data, way: usize) -> Vec<Rule> {
        let mut rules = Vec::new();
        for (writer, node) in self.work.nodes.iter().enumerate() {
            for wait in node.behind.iter().filter(|wait| wait.data == Some(id)) {
                if (part.reads)(wait.task) || (part.writes)(writer) {
                    rules.push(Rule::between(writer, wait.task, way));
                }
            }
            if node.leaves.contains(&id) && (part.writes)(writer) {
                match (data.home, way) {
                    (Home::Host(_), 1) => rules.push(Rule::on_gpu(writer)),
                    (Home::Device, 0) => rules.push(Rule::on_cpu(writer)),
                    _ => {}
                }
            }
        }
        rules
    }

    /// A moment is no earlier than the end of a load that begins at another, or at the start.
    pub fn comes_after(&mut self, moment: Variable, begins: Option<Variable>, load: Load) {
        if begins.is_none() && load.terms.is_empty() && load.always == 0.0 {
            return;
        }
        // Several buffers may cross for the same reason.
        let mut terms: BTreeMap<usize, (Variable, f64)> = BTreeMap::new();
        for (variable, load) in load.terms {
            terms.entry(variable.idx()).or_insert((variable, 0.0)).1 += load;
        }
        let mut expression = LinearExpr::empty();
        terms.into_values().for_each(|(variable, load)| expression.add(variable, load));
        expression.add(moment, -load.count);
        begins.into_iter().for_each(|begins| expression.add(begins, load.count));
        self.program.add_constraint(expression, ComparisonOp::Le, -load.always);
    }

    /// A time in the units of the program.
    pub fn scaled(&self, nanos: f64) -> f64 {
        nanos / self.unit
    }
}

/// Which tasks of all: those that are done, those whose reads have to arrive, and those whose
/// results have to leave.
pub(super) struct Part<'a> {
    pub does: &'a dyn Fn(usize) -> bool,
    pub reads: &'a dyn Fn(usize) -> bool,
    pub writes: &'a dyn Fn(usize) -> bool,
}

/// What a resource has to do, over the variables of the linear program.
pub(super) struct Load {
    /// How many of the resource there are.
    count: f64,
    pub always: f64,
    pub terms: Vec<(Variable, f64)>,
}

impl Load {
    pub const fn of(count: f64) -> Self {
        Self { count, always: 0.0, terms: Vec::new() }
    }
}

/// That data cross by at least the share of one task, or by all, without the share of another.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rule {
    more: Option<usize>,
    less: Option<usize>,
}

impl Rule {
    const fn on_gpu(node: usize) -> Self {
        Self { more: Some(node), less: None }
    }

    const fn on_cpu(node: usize) -> Self {
        Self { more: None, less: Some(node) }
    }

    /// What one task writes and another reads crosses to a device (0) or from one (1).
    pub const fn between(writer: usize, reader: usize, way: usize) -> Self {
        let (more, less) = if way == 0 { (reader, writer) } else { (writer, reader) };
        Self { more: Some(more), less: Some(less) }
    }
}
