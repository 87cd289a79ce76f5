//! Why a pass takes what it takes: how its time divides, and what each stream waits for.

use crate::machine::StreamId;
use crate::program::spelled::Names;
use crate::program::{Call, Program};
use crate::timeline::{Activity, Lane, Reason, Timeline, busy};
use crate::units::{Instant, Span};
use serde::{Deserialize, Serialize};

/// How the time of a pass divides, and when its streams were held up. Numbers of calls count from
/// 1, as `hallway explain` lists them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Why {
    /// The time of the pass that is divided: that of the profile without scatter.
    pub pass_ns: Span,
    /// What the longest chain of dependent work consists of.
    pub times: TimeShares,
    /// The streams that have work on the device.
    pub streams: Vec<StreamTimes>,
}

/// The time of a pass along its critical path. The parts add up to the pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimeShares {
    /// The CPU computes, copies, or does other work of its own.
    pub compute_ns: Span,
    /// The host makes calls: launches, copies, memory.
    pub calls_ns: Span,
    /// Copies to the device, with the staging of pageable memory.
    pub h2d_ns: Span,
    /// Kernels on the device, and copies inside it.
    pub kernels_ns: Span,
    /// Copies to the host.
    pub d2h_ns: Span,
    /// Copies from GPU to GPU.
    pub p2p_ns: Span,
    /// Nothing on the path is done: hand-overs, the way to the device, waking up.
    pub waits_ns: Span,
}

/// What a stream does in a pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StreamTimes {
    /// Name of the stream.
    pub stream: String,
    /// For how long it has work on the device that is under way.
    pub busy_ns: Span,
    /// What held it up, the longest first. The time behind its last operation is left out.
    pub held_up: Vec<HoldUp>,
}

/// Something that held a stream up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HoldUp {
    /// What it was.
    pub by: HeldUpBy,
    /// For how long, in all.
    pub ns: Span,
    /// How long the longest time was.
    pub longest_ns: Span,
    /// When that began.
    pub from_ns: Span,
    /// The call whose operation had to wait then.
    pub call: usize,
    /// The call that it waited for: of the host, the longest one that it was in meanwhile.
    pub awaited: Option<usize>,
}

/// What can hold a stream up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum HeldUpBy {
    /// The host had not issued the operation yet.
    Host,
    /// An operation of another stream had to end: an event says so.
    OtherStream,
    /// The engine was busy with operations of other streams.
    Engine,
    /// One operation handed over to the next.
    HandOver,
}

/// When a call is made, and when the device does its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallTimes {
    /// When the host enters the call. `null` of a call that a graph makes.
    pub begins_ns: Option<Span>,
    /// When it returns.
    pub returns_ns: Option<Span>,
    /// When the device starts on it. `null` where it has nothing to do.
    pub starts_ns: Option<Span>,
    /// When the work is done, of the device or else of the host. `null` of what only marks a place
    /// in a stream.
    pub done_ns: Option<Span>,
}

impl Why {
    /// What a timeline with causes says, as the simulator makes them.
    pub fn of(program: &Program, timeline: &Timeline) -> Self {
        let names = Names::in_program(program);
        let streams = (0..program.streams.len()).map(StreamId);
        let streams = streams.filter_map(|id| StreamTimes::of((program, &names), timeline, id));
        Self {
            pass_ns: timeline.makespan,
            times: TimeShares::of(program, timeline),
            streams: streams.collect(),
        }
    }
}

impl TimeShares {
    fn of(program: &Program, timeline: &Timeline) -> Self {
        let mut found = Self::default();
        for segment in timeline.critical_path().segments {
            let Activity { lane, call, .. } = *segment.activity;
            *found.part(program, lane, call) += segment.time;
        }
        let done = found.all();
        // Nothing is done in gaps between activities.
        found.waits_ns += timeline.makespan.saturating_sub(done);
        found
    }

    fn part(&mut self, program: &Program, lane: Lane, call: usize) -> &mut Span {
        // The call of a pageable copy lasts as long as the copy is staged.
        let lane = match program.body.get(call).and_then(Call::crossing) {
            Some((_, direction, ..)) if program.is_staged(call) => Lane::of(direction),
            _ => lane,
        };
        let call = program.body.get(call);
        match lane {
            Lane::Host if call.is_some_and(Call::only_waits) => &mut self.waits_ns,
            Lane::Host if call.is_some_and(Call::is_host_work) => &mut self.compute_ns,
            Lane::Host => &mut self.calls_ns,
            Lane::CopyIn => &mut self.h2d_ns,
            Lane::Kernels => &mut self.kernels_ns,
            Lane::CopyOut => &mut self.d2h_ns,
            Lane::PeerCopy => &mut self.p2p_ns,
        }
    }

    /// The sum of all parts.
    pub fn all(&self) -> Span {
        let Self { compute_ns, calls_ns, h2d_ns, kernels_ns, d2h_ns, p2p_ns, waits_ns } = *self;
        [compute_ns, calls_ns, h2d_ns, kernels_ns, d2h_ns, p2p_ns, waits_ns].into_iter().sum()
    }
}

impl StreamTimes {
    /// `None` of a stream that has nothing to do.
    fn of(
        (program, names): (&Program, &Names<'_>),
        timeline: &Timeline,
        id: StreamId,
    ) -> Option<Self> {
        let is_here = |activity: &&Activity| {
            let stream = program.body.get(activity.call).and_then(Call::stream);
            activity.lane != Lane::Host && stream == Some(id)
        };
        let mut operations: Vec<&Activity> = timeline.activities.iter().filter(is_here).collect();
        operations.sort_by_key(|operation| (operation.start, operation.call));
        operations.first()?;
        let mut held_up: Vec<HoldUp> = Vec::new();
        let mut reached = Instant::START;
        for operation in &operations {
            if operation.start > reached {
                let more = hold_up(program, timeline, (reached, operation));
                match held_up.iter_mut().find(|one| one.by == more.by) {
                    Some(one) if one.longest_ns >= more.longest_ns => one.ns += more.ns,
                    Some(one) => *one = HoldUp { ns: one.ns + more.ns, ..more },
                    None => held_up.push(more),
                }
            }
            reached = reached.max(operation.end);
        }
        held_up.sort_by_key(|one| (std::cmp::Reverse(one.ns), one.by));
        let stretches = operations.iter().map(|operation| (operation.start, operation.end));
        Some(Self { stream: names.stream(id), busy_ns: busy(stretches), held_up })
    }
}

/// Why an operation begins so much later than its stream was ready for it.
fn hold_up(
    program: &Program,
    timeline: &Timeline,
    (from, operation): (Instant, &Activity),
) -> HoldUp {
    let cause = operation.cause;
    let by = match cause.map(|cause| cause.reason) {
        Some(Reason::Event) => HeldUpBy::OtherStream,
        Some(Reason::Engine) => HeldUpBy::Engine,
        Some(Reason::Stream) => HeldUpBy::HandOver,
        Some(Reason::Issue | Reason::Device | Reason::Thread) | None => HeldUpBy::Host,
    };
    let awaited = match by {
        HeldUpBy::Host => {
            let issued_by = cause.map_or(operation.call, |cause| cause.after);
            host_call(program, timeline, (issued_by, from, operation.start))
        }
        _ => cause.map(|cause| cause.after),
    };
    let ns = operation.start.since(from);
    HoldUp {
        by,
        ns,
        longest_ns: ns,
        from_ns: from.since_start(),
        call: operation.call + 1,
        awaited: awaited.map(|call| call + 1),
    }
}

/// The call in which the host thread that issued another one was for longest between two moments.
fn host_call(
    program: &Program,
    timeline: &Timeline,
    (issued_by, from, until): (usize, Instant, Instant),
) -> Option<usize> {
    let thread = program.thread_of(issued_by);
    let calls = timeline.lane(Lane::Host).filter(|call| program.thread_of(call.call) == thread);
    let within = calls.filter_map(|call| {
        let (start, end) = (call.start.max(from), call.end.min(until));
        (end > start).then(|| (end.since(start), call.call))
    });
    within.max_by_key(|(time, call)| (*time, std::cmp::Reverse(*call))).map(|(_, call)| call)
}

/// When each call of a pass is made, and when its work is done.
pub fn call_times(program: &Program, timeline: &Timeline) -> Vec<CallTimes> {
    let mut times = vec![CallTimes::default(); program.body.len()];
    for Activity { lane, call, start, end, .. } in &timeline.activities {
        let Some(one) = times.get_mut(*call) else { continue };
        let (start, end) = (start.since_start(), end.since_start());
        if *lane == Lane::Host {
            (one.begins_ns, one.returns_ns) = (Some(start), Some(end));
        } else {
            (one.starts_ns, one.done_ns) = (Some(start), Some(end));
        }
    }
    for (call, one) in program.body.iter().zip(&mut times) {
        let is_of_host = call.stream().is_none() || call.only_waits();
        if is_of_host && one.done_ns.is_none() {
            one.done_ns = one.returns_ns;
        }
    }
    times
}
