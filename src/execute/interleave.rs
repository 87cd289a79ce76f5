//! Runs a plan's data flow on the CPU, in a random order that its streams, events and
//! synchronisations allow. It is the third interpreter of a plan, beside the simulator
//! and the executor.
//!
//! If a plan lacks a wait, some legal order computes something else. Enough random orders
//! find it, without a GPU.

use super::data::{Contents, Mismatch, asked_for};
use crate::host::{Operand, Team};
use crate::program::{Call, EventId, Program, Slice, Step, StreamTraits};
use crate::scenario::Workload;
use crate::units::Bytes;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::VecDeque;

/// The probability that a lane gets a new rank after a step.
const REDRAWN: f64 = 1.0 / 16.0;

/// Runs the plan's body once and compares the outputs with `after`. The seed decides what
/// happens next among everything that may.
///
/// # Errors
/// The first output that is wrong.
pub fn run_in_random_order(
    workload: &Workload,
    plan: &Program,
    team: &Team,
    (before, after): (&Contents, &Contents),
    seed: u64,
) -> Result<(), Mismatch> {
    let mut machine = Machine::new(plan, before);
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    // Lanes have random ranks. Of the lanes that can go on, the one with the highest rank
    // does, and now and then gets a new rank. If the lane were drawn evenly at each step,
    // none would fall as far behind as a race may need (Burckhardt et al., "A randomized
    // scheduler with probabilistic guarantees of finding bugs", ASPLOS 2010).
    let (host, lanes_of) = (plan.lane_count(), plan.lanes());
    let mut ranks: Vec<u32> = (0..=host).map(|_| random.random()).collect();
    let mut issued = 0;
    // The outputs count as they are when the host is done: what it has not waited for by
    // then may come too late.
    while let Some(next) = plan.body.get(issued) {
        // The host's lane follows those of the device.
        let mut lanes: Vec<usize> = (0..host).filter(|&s| machine.can_run(s)).collect();
        let host_may_go_on = match next {
            Call::Synchronize { stream } => machine.lanes[stream.0].is_empty(),
            _ => true,
        };
        if host_may_go_on {
            lanes.push(host);
        }
        // Every event that is waited for was recorded before, so some lane can go on.
        let lane = lanes.into_iter().max_by_key(|&lane| ranks[lane]).expect("some lane can go on");
        if random.random_bool(REDRAWN) {
            ranks[lane] = random.random();
        }
        if lane == host {
            machine.issue((issued, next), lanes_of[issued].unwrap_or(host), team);
            issued += 1;
        } else {
            machine.run_head(lane, team);
        }
    }
    for id in asked_for(workload) {
        let holder = plan.allocations.iter().position(|a| a.holds == Some(id));
        let holder = holder.expect("an output buffer is held by an allocation");
        after.check(workload, id, &machine.memory[holder])?;
    }
    Ok(())
}

/// Plain memory for every allocation, and what each lane still has to do. A lane is a
/// stream, or a branch of a graph.
struct Machine {
    memory: Vec<Vec<f32>>,
    /// Traits of the lanes that are streams. Branches of graphs follow them and have
    /// none.
    traits: Vec<StreamTraits>,
    /// The issued calls of each lane that have not run, each with its position in the
    /// body.
    lanes: Vec<VecDeque<(usize, Call)>>,
    /// For each event, the number of its latest record, and that of the last record that
    /// has happened.
    events: Vec<(usize, usize)>,
    /// For each waiting call of a lane, the event and the number of the record that it
    /// waits for.
    awaited: Vec<VecDeque<(EventId, usize)>>,
}

impl Machine {
    fn new(plan: &Program, before: &Contents) -> Self {
        let memory = plan.allocations.iter().map(|allocation| match allocation.holds {
            Some(id) => before.of(id).to_vec(),
            None => vec![f32::NAN; allocation.bytes.as_usize() / 4],
        });
        Self {
            memory: memory.collect(),
            traits: plan.streams.clone(),
            lanes: vec![VecDeque::new(); plan.lane_count()],
            events: vec![(0, 0); plan.events],
            awaited: vec![VecDeque::new(); plan.lane_count()],
        }
    }

    /// Whether the first call of a lane may run now.
    fn can_run(&self, lane: usize) -> bool {
        match self.lanes[lane].front() {
            None => false,
            Some(&(number, _)) if self.is_held_back(lane, number) => false,
            Some((_, Call::Wait { .. })) => {
                let (event, number) = self.awaited[lane][0];
                self.events[event.0].1 >= number
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

    /// Makes a call on the host: puts it into its lane, or runs it if it is the host's
    /// own.
    fn issue(&mut self, (number, call): (usize, &Call), lane: usize, team: &Team) {
        match call {
            Call::Compute { step } => self.compute(step, team),
            Call::Renew(id) => self.memory[id.0].fill(f32::NAN),
            Call::Allocate(_)
            | Call::Pin(_)
            | Call::Use(_)
            | Call::Synchronize { .. }
            | Call::Replay { .. } => {}
            Call::Record { event, .. } => {
                self.events[event.0].0 += 1;
                self.lanes[lane].push_back((number, call.clone()));
            }
            Call::Wait { event, .. } => {
                self.awaited[lane].push_back((*event, self.events[event.0].0));
                self.lanes[lane].push_back((number, call.clone()));
            }
            Call::Clear { .. }
            | Call::Copy { .. }
            | Call::PeerCopy { .. }
            | Call::Launch { .. } => {
                self.lanes[lane].push_back((number, call.clone()));
            }
        }
    }

    /// Runs the first call of a lane.
    fn run_head(&mut self, lane: usize, team: &Team) {
        match self.lanes[lane].pop_front().map(|(_, call)| call) {
            Some(Call::Copy { from, to, .. } | Call::PeerCopy { from, to, .. }) => {
                let values = self.read(&from).to_vec();
                self.write(&to).copy_from_slice(&values);
            }
            Some(Call::Clear { target, .. }) => self.write(&target).fill(0.0),
            Some(Call::Launch { step, .. }) => self.compute(&step, team),
            Some(Call::Record { event, .. }) => self.events[event.0].1 += 1,
            Some(Call::Wait { .. }) => {
                self.awaited[lane].pop_front();
            }
            _ => {}
        }
    }

    fn compute(&mut self, step: &Step, team: &Team) {
        let inputs: Vec<Vec<f32>> = step.inputs.iter().map(|s| self.read(s).to_vec()).collect();
        let operands: Vec<Operand<'_>> = inputs.iter().map(|v| Operand::Array(v)).collect();
        let output = self.write(&step.output);
        team.run(step.kernel, &step.arguments, &operands, output, step.lead as usize);
    }

    fn read(&self, slice: &Slice) -> &[f32] {
        &self.memory[slice.allocation.0][range(slice)]
    }

    fn write(&mut self, slice: &Slice) -> &mut [f32] {
        &mut self.memory[slice.allocation.0][range(slice)]
    }
}

fn range(slice: &Slice) -> std::ops::Range<usize> {
    let index = |bytes: Bytes| bytes.as_usize() / 4;
    index(slice.offset)..index(slice.end())
}
