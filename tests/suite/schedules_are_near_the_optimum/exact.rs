//! The shortest schedule of a small task graph on one CPU, one GPU and a link each way, found by
//! going through all that may be it.
//!
//! For every choice of sides, what is to be done is known: tasks, and a copy of each item that is
//! read on another side than it was made. Of the schedules in which nothing could begin earlier
//! without delaying something else, one is a shortest (Giffler and Thompson, "Algorithms for
//! solving production-scheduling problems", 1960). Those are enumerated, and left where a bound
//! says that they come to nothing better.

/// A task: its times, and the items that it reads. It writes the item of its own number.
#[derive(Debug, Clone)]
pub struct Task {
    pub cpu: u64,
    pub gpu: u64,
    pub reads: Vec<usize>,
}

/// An item: the first are those that tasks write, then come those that are there from the start.
#[derive(Debug, Clone)]
pub struct Item {
    /// Time of a copy, either way.
    pub copy: u64,
    /// Whether it must be on the host in the end.
    pub goes_home: bool,
}

#[derive(Debug, Clone)]
pub struct Instance {
    pub tasks: Vec<Task>,
    pub items: Vec<Item>,
}

const MACHINES: usize = 4;
const CPU: usize = 0;
const GPU: usize = 1;
/// The link to the GPU, and the one from it.
const DOWN: usize = 2;
const UP: usize = 3;

/// Something that a machine does without a break.
#[derive(Clone)]
struct Operation {
    machine: usize,
    takes: u64,
    before: Vec<usize>,
    behind: Vec<usize>,
    /// The longest way to the end behind its start.
    tail: u64,
}

impl Instance {
    /// The shortest time from start to end, at most `known`, which some schedule has.
    pub fn optimum(&self, known: u64) -> u64 {
        let mut best = known;
        let mut sides = Vec::new();
        self.choose(&mut sides, &mut best);
        best
    }

    /// Goes through all choices of sides that begin with these.
    fn choose(&self, on_gpu: &mut Vec<bool>, best: &mut u64) {
        let load = |side: bool| -> u64 {
            let tasks = self.tasks.iter().zip(&*on_gpu).filter(|(_, on_gpu)| **on_gpu == side);
            tasks.map(|(task, _)| if side { task.gpu } else { task.cpu }).sum()
        };
        if load(true).max(load(false)) >= *best {
            return;
        }
        if on_gpu.len() == self.tasks.len() {
            let operations = self.operations(on_gpu);
            Search { operations, best }.run();
            return;
        }
        let task = &self.tasks[on_gpu.len()];
        let quicker = task.gpu < task.cpu;
        for side in [quicker, !quicker] {
            on_gpu.push(side);
            self.choose(on_gpu, best);
            on_gpu.pop();
        }
    }

    fn operations(&self, on_gpu: &[bool]) -> Vec<Operation> {
        let new = |machine, takes, before: Vec<usize>| Operation {
            machine,
            takes,
            before,
            behind: Vec::new(),
            tail: 0,
        };
        let mut all: Vec<Operation> = Vec::new();
        // The operation behind which an item is on the host and on the GPU.
        let mut there: Vec<[Option<usize>; 2]> = vec![[None; 2]; self.items.len()];
        let tasks = self.tasks.len();
        for (at, task) in self.tasks.iter().enumerate() {
            let side = usize::from(on_gpu[at]);
            let mut before = Vec::new();
            for &item in &task.reads {
                let is_at_home = item >= tasks && side == 0;
                if !is_at_home && there[item][side].is_none() {
                    let machine = if side == 1 { DOWN } else { UP };
                    all.push(new(machine, self.items[item].copy, {
                        there[item][1 - side].into_iter().collect()
                    }));
                    there[item][side] = Some(all.len() - 1);
                }
                before.extend(there[item][side]);
            }
            let (machine, takes) = if side == 1 { (GPU, task.gpu) } else { (CPU, task.cpu) };
            all.push(new(machine, takes, before));
            there[at][side] = Some(all.len() - 1);
        }
        for (at, item) in self.items.iter().enumerate().take(tasks) {
            if item.goes_home && there[at][0].is_none() {
                all.push(new(UP, item.copy, there[at][1].into_iter().collect()));
            }
        }
        for operation in 0..all.len() {
            for before in all[operation].before.clone() {
                all[before].behind.push(operation);
            }
        }
        for operation in (0..all.len()).rev() {
            let rest = all[operation].behind.iter().map(|&next| all[next].tail).max();
            all[operation].tail = all[operation].takes + rest.unwrap_or(0);
        }
        all
    }
}

struct Search<'b> {
    operations: Vec<Operation>,
    best: &'b mut u64,
}

/// A schedule so far.
#[derive(Clone)]
struct Partial {
    ends: Vec<Option<u64>>,
    free: [u64; MACHINES],
    left: usize,
}

impl Search<'_> {
    fn run(&mut self) {
        let count = self.operations.len();
        self.go_on(&Partial { ends: vec![None; count], free: [0; MACHINES], left: count });
    }

    fn go_on(&mut self, partial: &Partial) {
        if partial.left == 0 {
            *self.best = (*self.best).min(partial.free.into_iter().max().unwrap_or(0));
            return;
        }
        let starts = self.starts(partial);
        if self.bound(partial, &starts) >= *self.best {
            return;
        }
        let is_ready = |at: usize| {
            let mut before = self.operations[at].before.iter();
            partial.ends[at].is_none() && before.all(|&one| partial.ends[one].is_some())
        };
        let ready: Vec<usize> = (0..self.operations.len()).filter(|&at| is_ready(at)).collect();
        let end = |at: usize| starts[at] + self.operations[at].takes;
        let first = ready.iter().copied().min_by_key(|&at| end(at)).expect("something is left");
        let (machine, until) = (self.operations[first].machine, end(first));
        let mut choices: Vec<usize> = ready
            .into_iter()
            .filter(|&at| self.operations[at].machine == machine)
            .filter(|&at| starts[at] < until || at == first)
            .collect();
        choices.sort_by_key(|&at| u64::MAX - self.operations[at].tail);
        for at in choices {
            let mut next = partial.clone();
            let ends = starts[at] + self.operations[at].takes;
            next.ends[at] = Some(ends);
            next.free[machine] = ends;
            next.left -= 1;
            self.go_on(&next);
        }
    }

    /// The earliest moment at which each operation that is left can start.
    fn starts(&self, partial: &Partial) -> Vec<u64> {
        let mut starts = vec![0; self.operations.len()];
        // An operation comes behind all that it waits for.
        for (at, operation) in self.operations.iter().enumerate() {
            let ends = |&one: &usize| {
                partial.ends[one].unwrap_or(starts[one] + self.operations[one].takes)
            };
            let ready = operation.before.iter().map(ends).max().unwrap_or(0);
            starts[at] = ready.max(partial.free[operation.machine]);
        }
        starts
    }

    fn bound(&self, partial: &Partial, starts: &[u64]) -> u64 {
        let mut bound = partial.free.into_iter().max().unwrap_or(0);
        for machine in 0..MACHINES {
            let left = || {
                let all = self.operations.iter().enumerate();
                all.filter(|(at, one)| one.machine == machine && partial.ends[*at].is_none())
            };
            let head = left().map(|(at, _)| starts[at]).min().unwrap_or(0);
            let rest = left().map(|(_, one)| one.tail - one.takes).min().unwrap_or(0);
            let load: u64 = left().map(|(_, one)| one.takes).sum();
            bound = bound.max(head + load + rest);
            bound = left().map(|(at, one)| starts[at] + one.tail).fold(bound, u64::max);
        }
        bound
    }
}

/// Two tasks on one input of 10, which take 40 on the CPU and 10 on the GPU. On both sides, one
/// ends after 40, and the other after 30, home again. On the GPU alone, the input comes until
/// 10, the tasks end at 20 and 30, and their results are home at 30 and 40.
#[test]
fn the_optimum_of_two_tasks_is_what_it_is_by_hand() {
    let task = || Task { cpu: 40, gpu: 10, reads: vec![2] };
    let item = |goes_home| Item { copy: 10, goes_home };
    let instance =
        Instance { tasks: vec![task(), task()], items: vec![item(true), item(true), item(false)] };
    assert_eq!(instance.optimum(u64::MAX), 40);
    let mut quick = instance;
    quick.tasks.iter_mut().for_each(|task| task.cpu = 25);
    // One on each side: 25 and 30.
    assert_eq!(quick.optimum(u64::MAX), 30);
}
