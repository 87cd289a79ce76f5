//! What each call of a plan costs on a machine. Costs are looked up in the profile once for each
//! kind and size of call, before simulated time starts.

use super::in_flight::STAGED_AT_ONCE;
use super::operation::Work;
use super::processors::Blocks;
use super::program::{Class, Waits};
use crate::kernels::{Grid, Variant};
use crate::machine::{DeviceId, Direction, HostMemory};
use crate::profile::{
    Around, GraphCall, HostCall, MemoryCost, OnDevice, OperationKind, Profile, Unknown,
};
use crate::program::{Before, Behind, Call, Graph, Place, Program, Slice, Step};
use crate::units::{Bytes, Span};

/// What the cost of a call depends on: calls with equal keys cost the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    Synchronize,
    Record,
    Wait,
    Clear,
    /// The direction, the device, the allocation on the host's side and the bytes.
    Copy(Direction, DeviceId, usize, Bytes),
    PeerCopy([DeviceId; 2], Bytes),
    UseDevice,
    /// The kernel, its elements, and where its data is.
    Launch(Variant, u64, Option<OnDevice>),
    /// The kernel, its elements, the allocation that it writes to, and where its data is.
    Compute(Variant, u64, usize, Option<Around>),
    Memory(MemoryCall, usize),
    /// The place in the body of the graph's launch, since each graph has nodes of its own.
    Replay(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MemoryCall {
    Allocate,
    Pin,
    Renew,
}

impl Key {
    /// The key of a call. `graph` is the graph that it launches or belongs to, if there is one.
    pub fn of(plan: &Program, call: &Call, data: &Data<'_>, graph: Option<&Graph>) -> Self {
        let variant = |step: &Step| Variant::of(step.kernel, &step.arguments);
        match call {
            Call::Synchronize { .. } => Self::Synchronize,
            Call::Replay { .. } => Self::Replay(graph.map_or(0, |graph| graph.launch)),
            Call::Record { .. } => Self::Record,
            Call::Wait { .. } => Self::Wait,
            Call::Clear { .. } => Self::Clear,
            Call::Copy { stream, direction, from, to } => {
                let ashore = direction.ashore(from, to);
                let device = plan.device_of(*stream);
                Self::Copy(*direction, device, ashore.allocation.0, ashore.length)
            }
            Call::PeerCopy { from, to, .. } => Self::PeerCopy(plan.peers_of(from, to), from.length),
            Call::Use(_) => Self::UseDevice,
            Call::Launch { step, .. } => {
                Self::Launch(variant(step), step.elements(), data.on_device.copied())
            }
            Call::Compute { step } => Self::Compute(
                variant(step),
                step.elements(),
                step.output.allocation.0,
                data.around.copied(),
            ),
            Call::Allocate(id) => Self::Memory(MemoryCall::Allocate, id.0),
            Call::Pin(id) => Self::Memory(MemoryCall::Pin, id.0),
            Call::Renew(id) => Self::Memory(MemoryCall::Renew, id.0),
        }
    }
}

/// Where a kernel finds its data.
#[derive(Default)]
pub(super) struct Data<'d> {
    /// Set for a kernel on the CPU.
    pub around: Option<&'d Around>,
    pub on_device: Option<&'d OnDevice>,
}

/// Looks up the costs of one plan's calls.
pub(super) struct Costs<'a> {
    plan: &'a Program,
    profile: &'a Profile,
    /// Bytes of host memory that copies use in a pass.
    copied_both_ways: Bytes,
    /// Bytes of host memory that copies to the host write in a pass.
    copied_out: Bytes,
    /// For each allocation, whether the body renews it.
    fresh: Vec<bool>,
    /// For each allocation, whether a copy to the device reads it, and whether one to the
    /// host writes it.
    copied: [Vec<bool>; 2],
    /// For each device, whether copies of one direction may overlap those of the other.
    both_ways: Vec<bool>,
    /// For each device, whether copies may overlap kernels.
    launches: Vec<bool>,
}

impl<'a> Costs<'a> {
    pub fn new(plan: &'a Program, profile: &'a Profile) -> Self {
        let mut fresh = vec![false; plan.allocations.len()];
        let mut copies = vec![[false; 2]; plan.devices()];
        let mut launches = vec![false; plan.devices()];
        for call in &plan.body {
            match call {
                Call::Renew(id) => fresh[id.0] = true,
                Call::Copy { stream, direction, .. } => {
                    copies[plan.device_of(*stream).0][*direction as usize] = true;
                }
                Call::Launch { stream, .. } | Call::Clear { stream, .. } => {
                    launches[plan.device_of(*stream).0] = true
                }
                _ => {}
            }
        }
        let is_alone = |device| plan.streams_of(DeviceId(device)) < 2;
        let meet = |(device, copies)| !is_alone(device) && copies == [true; 2];
        let both_ways = copies.into_iter().enumerate().map(meet).collect();
        let launches = launches.into_iter().enumerate();
        let launches = launches.map(|(device, any)| any && !is_alone(device)).collect();
        let copied = plan.copied();
        let copied_both_ways = plan.copied_footprint(&Direction::BOTH);
        let copied_out = plan.copied_footprint(&[Direction::DeviceToHost]);
        Self { plan, profile, copied_both_ways, copied_out, fresh, copied, both_ways, launches }
    }

    /// The class of a call. `graph` is the graph that it launches or belongs to; `before` is what
    /// it follows as a node of that graph.
    ///
    /// # Errors
    /// If the profile does not know one of the prices.
    pub fn class(
        &self,
        call: &Call,
        data: &Data<'_>,
        (graph, before): (Option<&Graph>, Option<Before>),
    ) -> Result<Class, Unknown> {
        match (graph, before) {
            (Some(_), Some(before)) => self.node(call, data, before),
            (Some(graph), None) => self.graph(graph),
            (None, _) => self.call(call, data),
        }
    }

    /// The class of a call that launches a graph.
    fn graph(&self, graph: &Graph) -> Result<Class, Unknown> {
        let launch = |nodes| self.profile.graph_call(GraphCall::Launch, nodes);
        let calls = self.plan.body[graph.calls.clone()].iter().zip(&graph.before);
        let with_data = calls.map(|(call, before)| self.with_launch(call, before.behind));
        let longer = with_data.flatten().map(|(longer, _)| longer).sum();
        Ok(Class { latency: launch(0)?, ..on_host(launch(graph.parts())? + longer) })
    }

    /// The class of a copy that finds its stream empty and is small enough to travel along with its
    /// command; `None` of other calls.
    pub fn inline(&self, call: &Call) -> Option<Class> {
        let (returns, duration) = self.along(call)?;
        Some(Class { work: Work::Inline { duration }, ..on_host(returns) })
    }

    /// Two times of a copy whose data travels along with its command: from the entry of the call to
    /// its return, and from there to the end of the copy. `None` of all other calls.
    fn along(&self, call: &Call) -> Option<(Span, Span)> {
        let Call::Copy { direction: Direction::HostToDevice, from, .. } = call else { return None };
        let place = self.plan.allocation(from.allocation).place;
        let is_pinned = place == Place::Host(HostMemory::Pinned);
        let model = self.profile.inline.as_ref().filter(|_| is_pinned)?;
        let bytes = from.length.as_f64();
        let span = |ns: f64| Span::from_nanos_f64(ns.max(0.0));
        let returns = span(model.until_return.at(bytes));
        let duration = span(model.until_complete.at(bytes)).saturating_sub(returns);
        (from.length <= model.most_bytes).then_some((returns, duration))
    }

    /// Two times of a node whose data travels along with its graph's launch, as small copies that
    /// depend on nothing do: how much longer the launch takes, and from its return to the end of
    /// the copy.
    fn with_launch(&self, call: &Call, behind: Behind) -> Option<(Span, Span)> {
        let (returns, duration) = self.along(call).filter(|_| behind == Behind::Nothing)?;
        let usual = self.profile.call(HostCall::CopyIn).ok()?;
        Some((returns.saturating_sub(usual), duration))
    }

    /// The class of a node: to the host, it costs only its part of the graph's launch.
    fn node(&self, call: &Call, data: &Data<'_>, before: Before) -> Result<Class, Unknown> {
        let profile = self.profile;
        let joined = before.behind == Behind::Kernel;
        let gap = || {
            let gap = if joined { profile.node_gap() } else { profile.kernel_gap() }?;
            Ok(gap + profile.branch_gap(before.has_waited, before.is_awaited))
        };
        let with_data = self.with_launch(call, before.behind);
        let (latency, work) = match (call, with_data) {
            (_, Some((_, duration))) => (Span::ZERO, Work::Inline { duration }),
            (Call::Copy { stream, direction, from, to }, None) => {
                let bytes = direction.ashore(from, to).length;
                let (kind, device) =
                    (OperationKind::of_copy(*direction), self.plan.device_of(*stream));
                (profile.node_start(kind)?, self.transfer((*direction, device), bytes)?)
            }
            (Call::Launch { step, .. }, None) => {
                let work = kernel_work(profile, step, data, gap()?)?;
                (profile.node_start(OperationKind::Kernel)?, work)
            }
            (Call::Clear { .. }, None) => {
                (profile.node_start(OperationKind::Kernel)?, clearing(profile, gap()?))
            }
            (Call::Record { .. }, None) => (Span::ZERO, Work::Record),
            (Call::Wait { .. }, None) => (Span::ZERO, Work::Wait),
            _ => return Err(Unknown::new("graphs of calls that cannot be captured")),
        };
        let part = match work {
            Work::Record | Work::Wait => Span::ZERO,
            _ if joined => Span::ZERO,
            _ => {
                let part = profile.graph_call(GraphCall::Launch, 1)?
                    - profile.graph_call(GraphCall::Launch, 0)?;
                part + with_data.map_or(Span::ZERO, |(longer, _)| longer)
            }
        };
        Ok(Class { latency, work, in_graph: true, ..on_host(part) })
    }

    fn call(&self, call: &Call, data: &Data<'_>) -> Result<Class, Unknown> {
        let Self { plan, profile, .. } = *self;
        Ok(match call {
            Call::Replay { .. } => {
                return Err(Unknown::new("the launch of a graph in a plan's set-up"));
            }
            Call::Compute { step } => {
                let (kernel, n) = (step.kernel, step.elements());
                let touch = self.touch_time(&step.output, MemoryCost::FirstTouchTeam)?;
                let what = || Unknown::new("the cost of CPU kernels in a plan's set-up");
                let around = *data.around.ok_or_else(what)?;
                let time = profile.twin(kernel, &step.arguments, n, around)? + touch;
                on_host(Span::from_nanos_f64(time.max(0.0)))
            }
            Call::Allocate(id) | Call::Pin(id) | Call::Renew(id) => {
                let cost = match (call, plan.allocation(*id).place) {
                    (Call::Renew(_), _) => MemoryCost::Renew,
                    (Call::Pin(_), _) => MemoryCost::Register,
                    (_, Place::Device(_)) => MemoryCost::DeviceAllocate,
                    (_, Place::Host(HostMemory::Pinned)) => MemoryCost::PinnedAllocate,
                    (_, Place::Host(HostMemory::Pageable)) => MemoryCost::FirstTouchTeam,
                };
                let time = profile.memory(cost, plan.allocation(*id).bytes)?;
                on_host(Span::from_nanos_f64(time.max(0.0)))
            }
            Call::Synchronize { .. } => {
                let call = profile.call(HostCall::Synchronize);
                let (wake, call) = Unknown::both(profile.wake_host(), call)?;
                Class { waits: Waits::Stream(wake), ..on_host(call) }
            }
            Call::Record { .. } => {
                Class { work: Work::Record, ..on_host(profile.call(HostCall::Record)?) }
            }
            Call::Wait { .. } => {
                Class { work: Work::Wait, ..on_host(profile.call(HostCall::Wait)?) }
            }
            Call::Clear { .. } => Class {
                latency: profile.start(OperationKind::Kernel)?,
                work: clearing(profile, profile.kernel_gap()?),
                ..on_host(profile.call(HostCall::Clear)?)
            },
            Call::Launch { step, .. } => {
                let gap = profile.kernel_gap();
                let work = gap.and_then(|gap| kernel_work(profile, step, data, gap));
                let call = profile.launch(step.kernel);
                let start = Unknown::both(profile.start(OperationKind::Kernel), call);
                let (work, (latency, call)) = Unknown::both(work, start)?;
                Class { latency, work, ..on_host(call) }
            }
            Call::Copy { stream, direction, from, to } => {
                let device = plan.device_of(*stream);
                self.copy((*direction, device), direction.ashore(from, to))?
            }
            Call::PeerCopy { from, to, .. } => {
                let (way, bytes) = (plan.peers_of(from, to), from.length);
                let work = Work::PeerCopy { way, alone: profile.peer_copy(way, bytes)?, bytes };
                let latency = profile.start(OperationKind::PeerCopy)?;
                Class { work, latency, ..on_host(profile.call(HostCall::PeerCopy)?) }
            }
            Call::Use(_) => on_host(profile.call(HostCall::UseDevice)?),
        })
    }

    fn copy(
        &self,
        (direction, device): (Direction, DeviceId),
        ashore: &Slice,
    ) -> Result<Class, Unknown> {
        if self.plan.allocation(ashore.allocation).place == Place::Host(HostMemory::Pageable) {
            return self.staged(direction, ashore);
        }
        let work = self.transfer((direction, device), ashore.length);
        let ((host, latency), work) = Unknown::both(self.entry(direction), work)?;
        Ok(Class { latency, work, ..on_host(host) })
    }

    /// A copy of pinned memory on its engine.
    fn transfer(
        &self,
        (direction, device): (Direction, DeviceId),
        bytes: Bytes,
    ) -> Result<Work, Unknown> {
        let alone = self.profile.copy(direction, bytes)?;
        // Copies that never overlap the other direction do not need to know what that costs.
        let [delay, longer] = if self.both_ways[device.0] {
            self.profile.beside_the_other((direction, bytes), self.copied_out)?
        } else {
            [0.0; 2]
        };
        let has_kernels = self.launches[device.0];
        let link = &self.profile.link;
        let beside_kernels = if has_kernels { link.beside_kernels(direction, bytes) } else { 0.0 };
        // A copy of a single byte carries next to no data, so its time is the fixed part. (If the
        // smallest size that is known takes longer, most of its time is data.)
        let smallest = self.profile.copy(direction, Bytes::new(1)).unwrap_or_default();
        let fixed = smallest.min(alone);
        Ok(Work::Copy {
            direction,
            alone,
            delay,
            beside_kernels,
            slowdown: 1.0 + longer / alone.nanos_f64().max(1.0),
            bytes,
            fixed,
        })
    }

    /// The host time of a copy's call, and the latency until the copy may start.
    fn entry(&self, direction: Direction) -> Result<(Span, Span), Unknown> {
        let call = match direction {
            Direction::HostToDevice => HostCall::CopyIn,
            Direction::DeviceToHost => HostCall::CopyOut,
        };
        let start = self.profile.start(OperationKind::of_copy(direction));
        Unknown::both(self.profile.call(call), start)
    }

    fn staged(&self, direction: Direction, ashore: &Slice) -> Result<Class, Unknown> {
        let (returns, complete) =
            self.profile.staging(direction, ashore.length, self.found_of(direction, ashore))?;
        let touch = match direction {
            Direction::HostToDevice => 0.0,
            Direction::DeviceToHost => self.touch_time(ashore, MemoryCost::FirstTouch)?,
        };
        let complete = Span::from_nanos_f64((complete + touch).max(0.0));
        let returns = Span::from_nanos_f64((returns + touch).max(0.0)).min(complete);
        if direction == Direction::HostToDevice && ashore.length <= STAGED_AT_ONCE {
            let work = Work::Inline { duration: complete.saturating_sub(returns) };
            return Ok(Class { work, ..on_host(returns) });
        }
        let (mut host, latency) = self.entry(direction)?;
        if direction == Direction::DeviceToHost {
            host = host.max(self.profile.staging_call()?).min(complete.saturating_sub(latency));
        }
        let work = Work::Staged {
            direction,
            duration: complete.saturating_sub(host + latency),
            early: complete.saturating_sub(returns),
        };
        Ok(Class { latency, work, waits: Waits::Staging, ..on_host(host) })
    }

    /// Bytes of host memory in which a staged copy looks for its data: all that copies use in a
    /// pass, as written data takes room in the caches, too. `None` if no cache has it: a copy to
    /// the host staged the data before, or no copy to the device reads what this copy overwrites.
    fn found_of(&self, direction: Direction, ashore: &Slice) -> Option<Bytes> {
        let [is_read, is_written] = self.copied.each_ref().map(|all| all[ashore.allocation.0]);
        let past_caches = match direction {
            Direction::HostToDevice => is_written,
            Direction::DeviceToHost => !is_read,
        };
        (!past_caches).then_some(self.copied_both_ways)
    }

    /// Nanoseconds of the first touch of `target`, if the plan renews that memory in every pass.
    fn touch_time(&self, target: &Slice, touch: MemoryCost) -> Result<f64, Unknown> {
        if self.fresh[target.allocation.0] {
            self.profile.memory(touch, target.length)
        } else {
            Ok(0.0)
        }
    }
}

/// The class of a call that occupies the host for this long and puts nothing into a stream.
const fn on_host(host: Span) -> Class {
    let (latency, work, waits) = (Span::ZERO, Work::Nothing, Waits::No);
    Class { host, latency, work, waits, in_graph: false, may_go_inline: false }
}

/// Clearing memory is a small kernel of the driver's own.
fn clearing(profile: &Profile, gap: f64) -> Work {
    let limits = &profile.machine.multiprocessor;
    let blocks = Blocks::new(&Grid::ONE_BLOCK, [Span::ZERO; 2], (1, limits));
    Work::Kernel { gap: Span::from_nanos_f64(gap), blocks }
}

/// A kernel with a gap before it, in nanoseconds. Its measured time includes the usual gap between
/// kernels of a stream.
fn kernel_work(profile: &Profile, step: &Step, data: &Data<'_>, gap: f64) -> Result<Work, Unknown> {
    let n = step.elements();
    let found = data.on_device.copied().unwrap_or_default();
    let time = profile.kernel(step.kernel, &step.arguments, n, &found)?;
    let busy = (time.ns - profile.kernel_gap()?).max(0.0);
    let gap = gap.min(time.ns);
    let grid = Grid::of(step.kernel, &step.arguments, n);
    let busy = [busy, time.at_best].map(Span::from_nanos_f64);
    let machine = &profile.machine;
    let blocks = Blocks::new(&grid, busy, (machine.multiprocessors, &machine.multiprocessor));
    Ok(Work::Kernel { gap: Span::from_nanos_f64(gap), blocks })
}
