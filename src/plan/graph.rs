//! Graphs: calls that are captured once, in the set-up, and then launched as one.
//!
//! Capture makes nodes of copies and launches. A node depends on the one before
//! it in its stream and on what its stream was made to wait for; records and
//! waits say so and are no nodes themselves (CUDA C++ Programming Guide,
//! "Creating a Graph Using Stream Capture").

use super::program::{Call, Direction, EventId, Place, Plan, StreamId, StreamKind};
use crate::scenario::HostMemory;
use std::collections::BTreeMap;
use std::ops::Range;

/// A graph of a plan's body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Graph {
    /// Position of its launch in the body.
    pub launch: usize,
    /// The stream that its capture begins and ends in, and that it is launched into.
    pub origin: StreamId,
    /// Positions of the calls that were captured.
    pub calls: Range<usize>,
    /// How many of them are nodes.
    pub nodes: usize,
    /// What stands before each call.
    pub before: Vec<Before>,
}

/// What stands before a call of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Before {
    pub behind: Behind,
    /// Behind a kernel of its branch, which had another branch to wait for.
    pub has_waited: bool,
    /// Behind a kernel of its branch of whose end an event tells another branch.
    pub is_awaited: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Behind {
    /// Nothing that has to be done first: the call is a root of the graph.
    Nothing,
    Something,
    /// A kernel of its branch, and it is one itself: the two go to the device as one.
    Kernel,
}

impl Graph {
    /// What stands before the call at a position of the body, if it is one of these.
    pub fn before(&self, at: usize) -> Option<Before> {
        at.checked_sub(self.calls.start).and_then(|at| self.before.get(at)).copied()
    }

    /// Whether there are several: a branch begins with a wait for an event of another.
    pub fn has_branches(&self) -> bool {
        self.nodes < self.calls.len()
    }

    /// What goes to the device one by one.
    pub fn parts(&self) -> usize {
        self.nodes - self.before.iter().filter(|one| one.behind == Behind::Kernel).count()
    }
}

impl Plan {
    /// The graphs of the body, in order.
    pub fn graphs(&self) -> impl Iterator<Item = Graph> {
        let graph = |(launch, call): (usize, &Call)| match *call {
            Call::Replay { stream, calls } => {
                let calls = launch + 1..launch + 1 + calls;
                let orders = |call: &&Call| matches!(call, Call::Record { .. } | Call::Wait { .. });
                let nodes = calls.len() - self.body[calls.clone()].iter().filter(orders).count();
                let before = before(&self.body[calls.clone()]);
                Some(Graph { launch, origin: stream, calls, nodes, before })
            }
            _ => None,
        };
        self.body.iter().enumerate().filter_map(graph)
    }

    /// The number of the FIFO that each call of the body goes to, if it goes to
    /// one. Most are streams. But what a graph captures from another stream than
    /// its origin is no more than a branch of it, whatever else becomes of that
    /// stream: branches have the numbers of their streams, counted behind them all.
    pub fn lanes(&self) -> Vec<Option<usize>> {
        let stream = |call: &Call| call.stream().map(|stream| stream.0);
        let mut lanes: Vec<Option<usize>> = self.body.iter().map(stream).collect();
        for graph in self.graphs() {
            for lane in lanes[graph.calls].iter_mut().flatten() {
                *lane += if *lane == graph.origin.0 { 0 } else { self.streams.len() };
            }
        }
        lanes
    }

    /// How many numbers [`Plan::lanes`] has.
    pub fn lane_count(&self) -> usize {
        self.streams.len() * if self.graphs().next().is_some() { 2 } else { 1 }
    }
}

/// For each call of a graph what stands before it. A kernel is behind another if nothing lies
/// between the two but what others wait for.
fn before(calls: &[Call]) -> Vec<Before> {
    let nothing =
        Branch { behind: Behind::Nothing, waits: false, has_waited: false, awaited: false };
    let mut streams: BTreeMap<StreamId, Branch> = BTreeMap::new();
    let mut events: BTreeMap<EventId, Behind> = BTreeMap::new();
    let mut before = |call: &Call| {
        let Some(stream) = call.stream() else {
            return Before { behind: Behind::Something, has_waited: false, is_awaited: false };
        };
        let branch = streams.entry(stream).or_insert(nothing);
        let found = branch.behind;
        let is_kernel = matches!(call, Call::Launch { .. } | Call::Clear { .. });
        let before = Before {
            behind: if is_kernel { found } else { found.min(Behind::Something) },
            has_waited: found == Behind::Kernel && branch.has_waited,
            is_awaited: branch.awaited,
        };
        match call {
            Call::Record { event, .. } => {
                branch.awaited |= found == Behind::Kernel;
                events.insert(*event, found.min(Behind::Something));
            }
            Call::Wait { event, .. } => {
                let recorded = events.get(event).copied().unwrap_or(Behind::Nothing);
                branch.behind = found.max(recorded).min(Behind::Something);
                branch.waits |= recorded != Behind::Nothing;
            }
            _ => {
                let behind = if is_kernel { Behind::Kernel } else { Behind::Something };
                *branch = Branch { behind, has_waited: branch.waits, ..nothing };
            }
        }
        before
    };
    calls.iter().map(&mut before).collect()
}

/// What the next call of a branch finds.
#[derive(Clone, Copy)]
struct Branch {
    behind: Behind,
    /// For another branch, since its last operation.
    waits: bool,
    /// That operation did.
    has_waited: bool,
    /// It was a kernel, and an event was recorded behind it.
    awaited: bool,
}

/// The plan with everything up to its first synchronisation as one graph.
///
/// # Errors
/// What of it cannot be captured.
pub(super) fn captured(mut plan: Plan) -> Result<Plan, String> {
    if plan.streams.iter().any(|stream| stream.kind == StreamKind::LegacyDefault) {
        return Err("the legacy default stream cannot be captured".to_owned());
    }
    if plan.devices() > 1 {
        return Err("graphs over several GPUs are not calibrated".to_owned());
    }
    let waits = |call: &Call| matches!(call, Call::Synchronize { .. });
    let end = plan.body.iter().position(waits).unwrap_or(plan.body.len());
    let mut rest = plan.body.split_off(end);
    rest.retain(|call| !waits(call));
    if rest.iter().any(|call| call.stream().is_some()) {
        return Err("the host waits in the middle of it, which cannot be captured".to_owned());
    }
    for call in &plan.body {
        check(&plan, call)?;
    }
    let mut used: Vec<StreamId> = plan.body.iter().filter_map(Call::stream).collect();
    used.sort_unstable();
    used.dedup();
    let [origin, others @ ..] = &used[..] else {
        return Err("nothing of it runs on the device".to_owned());
    };
    let stream = *origin;
    let mut event = || {
        plan.events += 1;
        EventId(plan.events - 1)
    };
    // A stream is captured from where it first waits for one that is, and the
    // origin has to wait for all in the end (CUDA C++ Programming Guide,
    // "Cross-stream Dependencies and Events").
    let mut calls = Vec::new();
    if !others.is_empty() {
        let event = event();
        calls.push(Call::Record { stream, event });
        calls.extend(others.iter().map(|&stream| Call::Wait { stream, event }));
    }
    calls.append(&mut plan.body);
    for &other in others {
        let event = event();
        calls.push(Call::Record { stream: other, event });
        calls.push(Call::Wait { stream, event });
    }
    plan.body.push(Call::Replay { stream, calls: calls.len() });
    plan.body.append(&mut calls);
    plan.body.push(Call::Synchronize { stream });
    plan.body.append(&mut rest);
    Ok(plan)
}

fn check(plan: &Plan, call: &Call) -> Result<(), String> {
    let what = match call {
        Call::Copy { direction, from, to, .. } => {
            let ashore = match direction {
                Direction::HostToDevice => from,
                Direction::DeviceToHost => to,
            };
            if plan.allocation(ashore.allocation).place == Place::Host(HostMemory::Pinned) {
                return Ok(());
            }
            "a copy of pageable memory"
        }
        Call::Clear { .. } | Call::Launch { .. } | Call::Record { .. } | Call::Wait { .. } => {
            return Ok(());
        }
        Call::Compute { .. } => "what the host computes",
        Call::Allocate(_) | Call::Pin(_) | Call::Renew(_) => "taking memory",
        Call::Replay { .. } => "the launch of another graph",
        Call::PeerCopy { .. } => "a copy between GPUs",
        Call::Use(_) => "going to another GPU's context",
        Call::Synchronize { .. } => "a synchronisation",
    };
    Err(format!("{what} cannot be captured"))
}
