//! Graphs: calls that are captured once, in the set-up, and then launched as one.
//!
//! Capture makes nodes of copies and launches. A node depends on the one before
//! it in its stream and on what its stream was made to wait for; records and
//! waits say so and are no nodes themselves (CUDA C++ Programming Guide,
//! "Creating a Graph Using Stream Capture").

use super::call::Call;
use super::operands::{Awaited, EventId, StreamKind};
use super::value::Program;
use crate::machine::{Direction, StreamId};
use crate::units::Bytes;
use std::collections::BTreeMap;
use std::ops::Range;

/// A graph of a program's body.
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
    /// For each of these calls, what has to be done before it.
    pub before: Vec<Before>,
}

/// What a call of a graph comes after. It decides what a node costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Before {
    pub behind: Behind,
    /// The call comes behind a kernel of its own branch that had to wait for another branch.
    pub has_waited: bool,
    /// The call comes behind a kernel of its own branch that another branch waits for.
    pub is_awaited: bool,
    /// The copy to the device that the call comes right behind in its branch, if it does.
    pub upload: Option<Upload>,
}

/// A copy to the device that is a node of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Upload {
    pub bytes: Bytes,
    /// Whether it depends on no other node.
    pub is_root: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Behind {
    /// The call depends on no other: it is a root of the graph.
    Nothing,
    Something,
    /// A kernel of the same branch, and the call is a kernel, too: the driver hands both to the
    /// device together.
    Kernel,
}

impl Graph {
    /// What the call at a position of the body comes after, if the call is in this graph.
    pub fn before(&self, at: usize) -> Option<Before> {
        at.checked_sub(self.calls.start).and_then(|at| self.before.get(at)).copied()
    }

    /// Whether the graph has several branches: each but the first begins with a wait.
    pub fn has_branches(&self) -> bool {
        self.nodes < self.calls.len()
    }
}

impl Program {
    /// The graphs of the body, in order.
    pub fn graphs(&self) -> impl Iterator<Item = Graph> {
        let graph = |(launch, call): (usize, &Call)| {
            let calls = launch + 1..launch + 1 + call.launched_calls()?;
            let orders =
                |call: &&Call| call.recorded().is_some() || call.stream_waits_for().is_some();
            let nodes = calls.len() - self.body[calls.clone()].iter().filter(orders).count();
            let before = before(&self.body[calls.clone()]);
            Some(Graph { launch, origin: call.stream()?, calls, nodes, before })
        };
        self.body.iter().enumerate().filter_map(graph)
    }

    /// The queues that the calls of the body go into.
    pub fn lanes(&self) -> Lanes<'_> {
        let captured = |(launch, call): (usize, &Call)| {
            Some((launch + 1..launch + 1 + call.launched_calls()?, call.stream()?))
        };
        let captured = self.body.iter().enumerate().filter_map(captured).collect();
        Lanes { program: self, captured }
    }

    /// The number of queues: see [`Lanes::count`].
    pub fn lane_count(&self) -> usize {
        self.lanes().count()
    }
}

/// The queues that the calls of a body go into. Streams are queues with their own numbers. What a
/// graph captures from a stream other than its origin is a branch of the graph, not of the stream:
/// branches are numbered like their streams, after all streams.
#[derive(Debug, Clone)]
pub struct Lanes<'p> {
    program: &'p Program,
    /// The calls that each graph has captured, and its origin.
    captured: Vec<(Range<usize>, StreamId)>,
}

impl Lanes<'_> {
    /// The queue of the call at a position of the body, if it goes into one.
    #[inline]
    pub fn lane_of(&self, call: usize) -> Option<usize> {
        let stream = self.program.body[call].stream()?;
        let at = self.captured.partition_point(|(calls, _)| calls.end <= call);
        let captured = self.captured.get(at).filter(|(calls, _)| calls.contains(&call));
        let is_branch = captured.is_some_and(|&(_, origin)| origin != stream);
        Some(stream.0 + if is_branch { self.program.streams.len() } else { 0 })
    }

    /// The queues of all calls, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Option<usize>> + ExactSizeIterator {
        (0..self.program.body.len()).map(|call| self.lane_of(call))
    }

    /// The number of queues: streams and branches of graphs.
    pub fn count(&self) -> usize {
        self.program.streams.len() * if self.captured.is_empty() { 1 } else { 2 }
    }
}

/// For each call of a graph, what it comes after. A kernel counts as right behind another if only
/// event records lie between them.
fn before(calls: &[Call]) -> Vec<Before> {
    let nothing = Branch {
        behind: Behind::Nothing,
        waits: false,
        has_waited: false,
        awaited: false,
        upload: None,
    };
    let mut streams: BTreeMap<StreamId, Branch> = BTreeMap::new();
    let mut events: BTreeMap<EventId, Behind> = BTreeMap::new();
    let mut before = |call: &Call| {
        let Some(stream) = call.stream() else {
            let behind = Behind::Something;
            return Before { behind, has_waited: false, is_awaited: false, upload: None };
        };
        let branch = streams.entry(stream).or_insert(nothing);
        let found = branch.behind;
        let is_kernel = call.is_launch() || call.is_clear();
        let before = Before {
            behind: if is_kernel { found } else { found.min(Behind::Something) },
            has_waited: found == Behind::Kernel && branch.has_waited,
            is_awaited: branch.awaited,
            upload: branch.upload,
        };
        if let Some(event) = call.recorded() {
            branch.awaited |= found == Behind::Kernel;
            events.insert(event, found.min(Behind::Something));
        } else if let Some(event) = call.stream_waits_for() {
            let recorded = events.get(&event).copied().unwrap_or(Behind::Nothing);
            branch.behind = found.max(recorded).min(Behind::Something);
            branch.waits |= recorded != Behind::Nothing;
            branch.upload = None;
        } else {
            let behind = if is_kernel { Behind::Kernel } else { Behind::Something };
            let upload = call.crossing().filter(|one| one.1 == Direction::HostToDevice);
            let is_root = found == Behind::Nothing;
            let upload = upload.map(|(.., to)| Upload { bytes: to.length, is_root });
            *branch = Branch { behind, has_waited: branch.waits, upload, ..nothing };
        }
        before
    };
    calls.iter().map(&mut before).collect()
}

/// The state of a branch: what its next call comes after.
#[derive(Clone, Copy)]
struct Branch {
    behind: Behind,
    /// Whether the branch has waited for another one since its last operation.
    waits: bool,
    /// Whether the last operation had waited for another branch.
    has_waited: bool,
    /// Whether the last operation is a kernel with an event recorded behind it.
    awaited: bool,
    /// The last operation, if it is a copy to the device that nothing else has joined.
    upload: Option<Upload>,
}

/// Turns everything up to the program's first synchronisation into one graph.
///
/// # Errors
/// What of it cannot be captured.
pub fn captured(mut program: Program) -> Result<Program, String> {
    if program.streams.iter().any(|stream| stream.kind == StreamKind::LegacyDefault) {
        return Err("a call in the legacy default stream cannot be captured (give it a `stream`)"
            .to_owned());
    }
    if program.thread_count() > 1 {
        return Err("calls from several host threads cannot be captured".to_owned());
    }
    if program.devices() > 1 {
        return Err("graphs across several GPUs are not calibrated".to_owned());
    }
    let waits = |call: &Call| matches!(call.awaited(), Some(Awaited::Stream(_)));
    let end = program.body.iter().position(waits).unwrap_or(program.body.len());
    let mut rest = program.body.split_off(end);
    rest.retain(|call| !waits(call));
    if rest.iter().any(|call| call.stream().is_some()) {
        return Err("a host wait in the middle of a run cannot be captured".to_owned());
    }
    for call in &program.body {
        capturable(&program, call)?;
    }
    let mut used: Vec<StreamId> = program.body.iter().filter_map(Call::stream).collect();
    used.sort_unstable();
    used.dedup();
    let [origin, others @ ..] = &used[..] else {
        return Err("nothing in it runs on the device".to_owned());
    };
    let stream = *origin;
    let mut event = || {
        program.events += 1;
        EventId(program.events - 1)
    };
    // A stream is captured from where it first waits for one that is, and the
    // origin has to wait for all in the end (CUDA C++ Programming Guide,
    // "Cross-stream Dependencies and Events").
    let mut calls = Vec::new();
    if !others.is_empty() {
        let event = event();
        calls.push(Call::record(stream, event));
        calls.extend(others.iter().map(|&stream| Call::wait(stream, event)));
    }
    calls.append(&mut program.body);
    for &other in others {
        let event = event();
        calls.push(Call::record(other, event));
        calls.push(Call::wait(stream, event));
    }
    program.body.push(Call::Replay { stream, calls: calls.len() });
    program.body.append(&mut calls);
    program.body.push(Call::synchronize(stream));
    program.body.append(&mut rest);
    Ok(program)
}

/// Whether a call can be captured in a graph.
///
/// # Errors
/// Why it cannot.
pub(super) fn capturable(program: &Program, call: &Call) -> Result<(), String> {
    let is_staged = call.crossing().is_some_and(|(_, direction, from, to)| {
        let ashore = direction.ashore(from, to);
        !program.allocation(ashore.allocation).place.is_pinned()
    });
    let staged = is_staged.then_some("a copy of pageable memory");
    let Some(what) = call.bars().or(staged) else { return Ok(()) };
    Err(format!("{what} cannot be captured"))
}
