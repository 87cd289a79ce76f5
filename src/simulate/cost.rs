//! What each call of a plan costs on a machine: profile look-ups, done once
//! for each sort and size of call and before time starts to run.

use super::operation::Work;
use super::processors::Blocks;
use super::program::{Class, Waits};
use crate::kernels::{Grid, Variant};
use crate::plan::{Call, Direction, Place, Plan, Slice, Step};
use crate::profile::{Profile, Unknown};
use crate::scenario::HostMemory;
use crate::units::{Bytes, Span};

/// "For transfers from pageable host memory to device memory", copies up to
/// this size return once the driver has taken the data (CUDA Driver API manual,
/// "API synchronization behavior"): it goes along with the commands themselves.
const STAGED_AT_ONCE: Bytes = Bytes::kib(64);

/// Host memory that one pass goes round.
#[derive(Debug, Clone, Copy)]
struct Footprint {
    touched: Bytes,
    copied_in: Bytes,
}

/// What the cost of a call goes by: calls of equal keys cost the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    Synchronize,
    Record,
    Wait,
    Clear,
    /// The direction, the allocation on the host's side and the bytes.
    Copy(Direction, usize, Bytes),
    Launch(Variant, u64),
    /// The kernel, its elements and the allocation that it writes to.
    Compute(Variant, u64, usize),
    Memory(MemoryCall, usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MemoryCall {
    Allocate,
    Pin,
    Renew,
}

impl Key {
    pub fn of(call: &Call) -> Self {
        let variant = |step: &Step| Variant::of(step.kernel, &step.arguments);
        match call {
            Call::Synchronize { .. } => Self::Synchronize,
            Call::Record { .. } => Self::Record,
            Call::Wait { .. } => Self::Wait,
            Call::Clear { .. } => Self::Clear,
            Call::Copy { direction, from, to, .. } => {
                let ashore = ashore(*direction, from, to);
                Self::Copy(*direction, ashore.allocation.0, ashore.length)
            }
            Call::Launch { step, .. } => Self::Launch(variant(step), step.elements()),
            Call::Compute { step } => {
                Self::Compute(variant(step), step.elements(), step.output.allocation.0)
            }
            Call::Allocate(id) => Self::Memory(MemoryCall::Allocate, id.0),
            Call::Pin(id) => Self::Memory(MemoryCall::Pin, id.0),
            Call::Renew(id) => Self::Memory(MemoryCall::Renew, id.0),
        }
    }
}

/// Costs calls of one plan.
pub(super) struct Costs<'a> {
    plan: &'a Plan,
    profile: &'a Profile,
    /// What one pass touches is what lies between two uses of the same data.
    footprint: Footprint,
    /// For each allocation, whether the body renews it.
    fresh: Vec<bool>,
}

impl<'a> Costs<'a> {
    pub fn new(plan: &'a Plan, profile: &'a Profile) -> Self {
        let footprint =
            Footprint { touched: plan.host_footprint(), copied_in: plan.copied_in_footprint() };
        let mut fresh = vec![false; plan.allocations.len()];
        for call in &plan.body {
            if let Call::Renew(id) = call {
                fresh[id.0] = true;
            }
        }
        Self { plan, profile, footprint, fresh }
    }

    /// # Errors
    /// If the profile does not know what the call costs.
    pub fn class(&self, call: &Call) -> Result<Class, Unknown> {
        let Self { plan, profile, .. } = *self;
        let calls = &profile.calls;
        let on_host =
            |host| Class { host, latency: Span::ZERO, work: Work::Nothing, waits: Waits::No };
        Ok(match call {
            Call::Compute { step } => {
                let (kernel, n) = (step.kernel, step.elements());
                let touch = self.touch_time(&step.output, true);
                let time =
                    profile.twin(kernel, &step.arguments, n, self.footprint.touched)? + touch;
                on_host(Span::from_nanos_f64(time.max(0.0)))
            }
            Call::Allocate(id) | Call::Pin(id) | Call::Renew(id) => {
                let (bytes, memory) = (plan.allocation(*id).bytes.as_f64(), &profile.memory);
                on_host(match (call, plan.allocation(*id).place) {
                    (Call::Renew(_), _) => memory.renew.span(bytes),
                    (Call::Pin(_), _) => memory.register.span(bytes),
                    (_, Place::Device) => memory.device_allocate.span(bytes),
                    (_, Place::Host(HostMemory::Pinned)) => memory.pinned_allocate.span(bytes),
                    (_, Place::Host(HostMemory::Pageable)) => memory.first_touch_team.span(bytes),
                })
            }
            Call::Synchronize { .. } => Class {
                waits: Waits::Stream(profile.latency.wake_host.span()),
                ..on_host(calls.synchronize.span())
            },
            Call::Record { .. } => Class { work: Work::Record, ..on_host(calls.record.span()) },
            Call::Wait { .. } => Class { work: Work::Wait, ..on_host(calls.wait.span()) },
            Call::Clear { .. } => Class {
                latency: profile.latency.start_kernel.span(),
                // A memset is a small kernel of the driver's own.
                work: Work::Kernel {
                    gap: profile.latency.kernel_gap.span(),
                    blocks: Blocks::new(&Grid::ONE_BLOCK, Span::ZERO, 1),
                },
                ..on_host(calls.clear.span())
            },
            Call::Launch { step, .. } => Class {
                latency: profile.latency.start_kernel.span(),
                work: kernel_work(profile, step)?,
                ..on_host(calls.launch.span())
            },
            Call::Copy { direction, from, to, .. } => {
                self.copy(*direction, ashore(*direction, from, to))?
            }
        })
    }

    fn copy(&self, direction: Direction, ashore: &Slice) -> Result<Class, Unknown> {
        let (calls, latency) = (&self.profile.calls, &self.profile.latency);
        let (host, latency) = match direction {
            Direction::HostToDevice => (calls.copy_in.span(), latency.start_copy_in.span()),
            Direction::DeviceToHost => (calls.copy_out.span(), latency.start_copy_out.span()),
        };
        if self.plan.allocation(ashore.allocation).place == Place::Host(HostMemory::Pageable) {
            return self.staged(direction, ashore, (host, latency));
        }
        let bytes = ashore.length;
        let alone = self.profile.copy(direction)?.span(bytes.as_f64());
        let slowdown = self.profile.link.slowdown(direction, bytes, alone);
        let work = Work::Copy { direction, alone, slowdown };
        Ok(Class { host, latency, work, waits: Waits::No })
    }

    fn staged(
        &self,
        direction: Direction,
        ashore: &Slice,
        (host, latency): (Span, Span),
    ) -> Result<Class, Unknown> {
        let (returns, complete) =
            self.profile.staging(direction, ashore.length, self.footprint.copied_in)?;
        let touch = match direction {
            Direction::HostToDevice => 0.0,
            Direction::DeviceToHost => self.touch_time(ashore, false),
        };
        let complete = Span::from_nanos_f64((complete + touch).max(0.0));
        let returns = Span::from_nanos_f64((returns + touch).max(0.0)).min(complete);
        if direction == Direction::HostToDevice && ashore.length <= STAGED_AT_ONCE {
            let work = Work::Inline { duration: complete.saturating_sub(returns) };
            return Ok(Class { host: returns, latency: Span::ZERO, work, waits: Waits::No });
        }
        let work = Work::Staged {
            direction,
            duration: complete.saturating_sub(host + latency),
            early: complete.saturating_sub(returns),
        };
        Ok(Class { host, latency, work, waits: Waits::Staging })
    }

    /// Extra time for writing to memory that the plan renews in every run.
    fn touch_time(&self, target: &Slice, team: bool) -> f64 {
        let memory = &self.profile.memory;
        let curve = if team { &memory.first_touch_team } else { &memory.first_touch };
        if self.fresh[target.allocation.0] { curve.at(target.length.as_f64()) } else { 0.0 }
    }
}

/// The host's side of a copy.
const fn ashore<'s>(direction: Direction, from: &'s Slice, to: &'s Slice) -> &'s Slice {
    match direction {
        Direction::HostToDevice => from,
        Direction::DeviceToHost => to,
    }
}

fn kernel_work(profile: &Profile, step: &Step) -> Result<Work, Unknown> {
    let n = step.elements();
    let time = profile.kernel(step.kernel, &step.arguments, n)?;
    let gap = profile.latency.kernel_gap.ns.min(time).max(0.0);
    let busy = Span::from_nanos_f64((time - gap).max(0.0));
    let grid = Grid::of(step.kernel, &step.arguments, n);
    let blocks = Blocks::new(&grid, busy, profile.machine.multiprocessors);
    Ok(Work::Kernel { gap: Span::from_nanos_f64(gap), blocks })
}
