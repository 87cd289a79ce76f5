//! Runs a plan's data flow on the CPU, in a random order that its streams, events and
//! synchronisations allow. It is the third interpreter of a plan, beside the simulator
//! and the executor.
//!
//! If a plan lacks a wait, some legal order computes something else. Enough random orders
//! find it, without a GPU.

use super::data::Contents;
use super::error::Executed;
use super::outputs::outputs;
use super::placeholder::Placeholder;
use crate::host::{Operand, Team};
use crate::kernels::OwnKernel;
use crate::program::{
    Allocation, Awaited, Call, LibraryStep, MemoryChange, OwnStep, Program, Rows, Sides, Slice,
    Step, StreamTraits, Touched,
};
use crate::scenario::Workload;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use std::collections::VecDeque;

/// Elements of the longest vector, twice.
const ALIGNED: usize = 32;

/// The probability that a lane gets a new rank after a step.
const REDRAWN: f64 = 1.0 / 16.0;

/// Runs the plan's body once and compares the outputs with `after`. The seed decides what
/// happens next among everything that may.
///
/// # Errors
/// The first output that is wrong, or a plan that is not of this workload.
pub fn run_in_random_order(
    workload: &Workload,
    program: &Program,
    team: &Team,
    (before, after): (&Contents, &Contents),
    seed: u64,
) -> Executed {
    let outputs = outputs(workload, program)?;
    let mut interpreter = Interpreter::new(program, memory_before(program, before));
    interpreter.run_at_random(program, team, seed);
    for (id, holder) in outputs {
        after.check(workload, id, &interpreter.memory[holder])?;
    }
    Ok(())
}

/// What the buffers hold after the set-up of a program and one pass, each call done before the
/// next.
pub fn in_plain_order(program: &Program, before: &Contents, team: &Team) -> Contents {
    let mut interpreter = Interpreter::new(program, memory_before(program, before));
    interpreter.set_up(program, team);
    interpreter.run_in_plain_order(program, team);
    let mut after = before.clone();
    for (allocation, values) in program.allocations.iter().zip(interpreter.memory) {
        if let Some(id) = allocation.holds {
            after.set(id, values);
        }
    }
    after
}

/// What each allocation holds before the program. NaN stands for memory that is new.
fn memory_before(program: &Program, before: &Contents) -> Vec<Vec<f32>> {
    let contents = |allocation: &Allocation| match allocation.holds {
        Some(id) => before.of(id).to_vec(),
        None => vec![f32::NAN; allocation.bytes.in_f32s()],
    };
    program.allocations.iter().map(contents).collect()
}

/// Memory that ends up otherwise in another order of the plan's calls.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "element {element} of `{allocation}` depends on the order of calls, but nothing \
         determines that order"
)]
pub struct OrderMatters {
    pub allocation: String,
    pub element: usize,
}

/// Runs a plan's set-up and its body once in the order of its calls, each done before the next,
/// and once in a random order that it allows, on equal random memory. Both must leave equal
/// values in all memory, whatever the plan computes; one NaN is as good as another.
///
/// # Errors
/// The first element that differs.
pub fn check_orders(program: &Program, team: &Team, seed: u64) -> Result<(), OrderMatters> {
    let memory = program.allocations.iter().zip(1..).map(|(allocation, number)| {
        let mut values = vec![0.0; allocation.bytes.in_f32s()];
        team.fill_random(&mut values, seed + number);
        values
    });
    let mut plain = Interpreter::new(program, memory.collect());
    plain.set_up(program, team);
    let mut other = Interpreter::new(program, plain.memory.clone());
    plain.run_in_plain_order(program, team);
    other.run_at_random(program, team, seed);
    for (allocation, (one, two)) in
        program.allocations.iter().zip(plain.memory.iter().zip(&other.memory))
    {
        let differs = |(one, two): (&f32, &f32)| {
            one.to_bits() != two.to_bits() && !(one.is_nan() && two.is_nan())
        };
        if let Some(element) = one.iter().zip(two).position(differs) {
            return Err(OrderMatters { allocation: allocation.name.clone(), element });
        }
    }
    Ok(())
}

/// Plain memory for every allocation, and what each lane still has to do. A lane is a
/// stream, or a branch of a graph.
struct Interpreter {
    memory: Vec<Vec<f32>>,
    kernels: Vec<OwnKernel>,
    /// Traits of the lanes that are streams. Branches of graphs follow them and have none.
    traits: Vec<StreamTraits>,
    /// The issued calls of each lane that have not run, each with its position in the body.
    lanes: Vec<VecDeque<(usize, Call)>>,
    /// For each event, the number of its latest record. Numbers count the records of all events.
    events: Vec<Option<usize>>,
    /// For each record that was issued, whether it has happened.
    happened: Vec<bool>,
    /// For each record and wait of a lane, in order, the number of the record that it makes or
    /// waits for. A wait for an event that was never recorded waits for nothing.
    records: Vec<VecDeque<Option<usize>>>,
}

impl Interpreter {
    fn new(program: &Program, memory: Vec<Vec<f32>>) -> Self {
        Self {
            memory,
            kernels: program.kernels.clone(),
            traits: program.streams.clone(),
            lanes: vec![VecDeque::new(); program.lane_count()],
            events: vec![None; program.events],
            happened: Vec::new(),
            records: vec![VecDeque::new(); program.lane_count()],
        }
    }

    fn set_up(&mut self, program: &Program, team: &Team) {
        let host = program.lane_count();
        for call in &program.setup {
            let lane = call.stream().map_or(host, |stream| stream.0);
            self.make((0, call), lane, team);
        }
    }

    fn run_in_plain_order(&mut self, program: &Program, team: &Team) {
        let lanes = program.lanes();
        let host = lanes.count();
        for (call, lane) in program.body.iter().enumerate().zip(lanes.iter()) {
            self.make(call, lane.unwrap_or(host), team);
        }
    }

    /// Runs the plan's body. The seed decides what happens next among everything that may.
    fn run_at_random(&mut self, program: &Program, team: &Team, seed: u64) {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        // Lanes have random ranks. Of the lanes that can go on, the one with the highest rank
        // does, and now and then gets a new rank. If the lane were drawn evenly at each step,
        // none would fall as far behind as a race may need (Burckhardt et al., "A randomized
        // scheduler with probabilistic guarantees of finding bugs", ASPLOS 2010).
        let queues = program.lanes();
        let host = queues.count();
        let mut threads = calls_of_threads(program);
        let all = host + threads.len();
        let mut ranks: Vec<u32> = (0..all).map(|_| random.random()).collect();
        // Memory counts as it is when the host is done: what it has not waited for by then may
        // come too late.
        while threads.iter().any(|calls| !calls.is_empty()) {
            // The lanes of host threads follow those of the device.
            let lanes = (0..host).filter(|&lane| self.can_run(lane));
            let going_on = (0..threads.len()).filter(|&thread| {
                let next = threads[thread].front();
                next.is_some_and(|&next| self.may_make(next, &program.body[next], &threads))
            });
            let lanes = lanes.chain(going_on.map(|thread| host + thread));
            // Every event that is waited for was recorded before, and whoever waits for a thread
            // waits for earlier calls, so some lane can go on.
            let lane = lanes.max_by_key(|&lane| ranks[lane]);
            let lane = lane.expect("some lane can go on");
            if random.random_bool(REDRAWN) {
                ranks[lane] = random.random();
            }
            let Some(thread) = lane.checked_sub(host) else {
                self.run_head(lane, team);
                continue;
            };
            if let Some(next) = threads[thread].pop_front() {
                self.issue((next, &program.body[next]), queues.lane_of(next).unwrap_or(host), team);
            }
        }
    }

    /// Whether a host thread may make a call now, or still has to wait in it. `threads` are the
    /// calls that each thread still has to make.
    fn may_make(&self, at: usize, call: &Call, threads: &[VecDeque<usize>]) -> bool {
        match call.awaited() {
            Some(Awaited::Stream(stream)) => self.lanes[stream.0].is_empty(),
            Some(Awaited::Event(event)) => {
                self.events[event.0].is_none_or(|record| self.happened[record])
            }
            Some(Awaited::Device(device)) => {
                let mut lanes = self.traits.iter().zip(&self.lanes);
                lanes.all(|(stream, lane)| stream.device != device || lane.is_empty())
            }
            Some(Awaited::Thread(other)) => {
                threads[usize::from(other.0)].front().is_none_or(|&next| next > at)
            }
            None => true,
        }
    }

    /// Makes a call, and does all of it at once.
    fn make(&mut self, call: (usize, &Call), lane: usize, team: &Team) {
        self.issue(call, lane, team);
        while self.lanes.get(lane).is_some_and(|calls| !calls.is_empty()) {
            self.run_head(lane, team);
        }
    }

    /// Whether the first call of a lane may run now.
    fn can_run(&self, lane: usize) -> bool {
        match self.lanes[lane].front() {
            None => false,
            Some(&(number, _)) if self.is_held_back(lane, number) => false,
            Some((_, call)) if call.stream_waits_for().is_some() => {
                self.records[lane][0].is_none_or(|record| self.happened[record])
            }
            Some(_) => true,
        }
    }

    /// Whether earlier calls have to run first because of the legacy default stream: this
    /// lane waits for it, or is it and waits for the others.
    fn is_held_back(&self, lane: usize, number: usize) -> bool {
        let earlier = |other: &VecDeque<(usize, Call)>| other.front().is_some_and(|c| c.0 < number);
        let Some(mine) = self.traits.get(lane) else { return false };
        let mut others = self.traits.iter().zip(&self.lanes);
        others.any(|(theirs, other)| mine.waits_for(theirs) && earlier(other))
    }

    /// Makes a call on the host: puts it into its lane, or runs it if it is the host's own.
    fn issue(&mut self, (number, call): (usize, &Call), lane: usize, team: &Team) {
        if let Some(event) = call.recorded() {
            let record = Some(self.happened.len());
            self.events[event.0] = record;
            self.happened.push(false);
            self.records[lane].push_back(record);
        } else if let Some(event) = call.stream_waits_for() {
            self.records[lane].push_back(self.events[event.0]);
        }
        match call.stream() {
            _ if call.only_waits() => {}
            Some(_) => self.lanes[lane].push_back((number, call.clone())),
            None => self.run(call, team),
        }
    }

    /// Runs the first call of a lane.
    fn run_head(&mut self, lane: usize, team: &Team) {
        let Some((_, call)) = self.lanes[lane].pop_front() else { return };
        if call.recorded().is_some() {
            if let Some(record) = self.records[lane].pop_front().flatten() {
                self.happened[record] = true;
            }
        } else if call.stream_waits_for().is_some() {
            self.records[lane].pop_front();
        } else {
            self.run(&call, team);
        }
    }

    /// Does to memory what a call does.
    fn run(&mut self, call: &Call, team: &Team) {
        let Sides { from, to, rows, .. } = call.sides();
        match (call.memory_change(), call.step(), from, to) {
            // New memory holds anything, and what is freed is lost.
            (Some((_, MemoryChange::Pin | MemoryChange::Unpin)), ..) => {}
            (Some((id, _)), ..) => self.memory[id.0].fill(f32::NAN),
            (_, Some(Step::Library(step)), ..) => self.compute(step, team),
            (_, Some(Step::Own(step)), ..) => self.hold_place(step),
            (.., Some(from), Some(to)) => self.copy([*from, *to], rows),
            (.., to) => {
                // The rest changes no memory.
                if let Some((target, value)) = to.zip(call.fills_with()) {
                    self.bytes_mut(target).fill(value);
                }
            }
        }
    }

    fn compute(&mut self, step: &LibraryStep, team: &Team) {
        let values = |slice| bytemuck::cast_slice(self.bytes(slice)).to_vec();
        let inputs: Vec<Vec<f32>> = step.inputs.iter().map(values).collect();
        let operands: Vec<Operand<'_>> = inputs.iter().map(|v| Operand::Array(v)).collect();
        // Twins treat elements in front of an aligned one apart, which rounds otherwise: here, all
        // memory counts as aligned alike.
        let output: &mut [f32] = bytemuck::cast_slice_mut(self.bytes_mut(&step.output));
        let mut aligned = vec![0.0; output.len() + ALIGNED];
        let first = aligned.as_ptr().align_offset(4 * ALIGNED).min(ALIGNED);
        let aligned = &mut aligned[first..][..output.len()];
        aligned.copy_from_slice(output);
        team.run(step.kernel, &step.arguments, &operands, aligned, step.lead as usize);
        output.copy_from_slice(aligned);
    }

    fn hold_place(&mut self, step: &OwnStep) {
        let (elements, signature) = (step.elements, step.signature());
        let launch = Placeholder { kernel: &self.kernels[step.kernel], elements, signature };
        let reads: Vec<&[u8]> = step.reads.iter().map(|slice| self.bytes(slice)).collect();
        let lengths: Vec<usize> = step.writes.iter().map(|slice| slice.length.as_usize()).collect();
        let written = launch.written(&reads, &lengths);
        for (slice, bytes) in step.writes.iter().zip(written) {
            self.bytes_mut(slice).copy_from_slice(&bytes);
        }
    }

    /// Copies row by row; a range is one row.
    fn copy(&mut self, sides: [Slice; 2], rows: Option<Rows>) {
        let [from, to] = [0, 1].map(|at| Touched::side(sides[at], rows, at));
        for (read, written) in from.each_row().zip(to.each_row()) {
            let values = self.bytes(&read).to_vec();
            self.bytes_mut(&written).copy_from_slice(&values);
        }
    }

    fn bytes(&self, slice: &Slice) -> &[u8] {
        &bytemuck::cast_slice(&self.memory[slice.allocation.0])[range(slice)]
    }

    fn bytes_mut(&mut self, slice: &Slice) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.memory[slice.allocation.0])[range(slice)]
    }
}

/// The calls of the body, by the host thread that makes them.
fn calls_of_threads(program: &Program) -> Vec<VecDeque<usize>> {
    let mut threads = vec![VecDeque::new(); program.thread_count()];
    for at in 0..program.body.len() {
        threads[usize::from(program.thread_of(at).0)].push_back(at);
    }
    threads
}

fn range(slice: &Slice) -> std::ops::Range<usize> {
    slice.offset.as_usize()..slice.end().as_usize()
}
