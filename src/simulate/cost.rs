//! What each call of a plan costs on a machine: profile look-ups, done once
//! for each sort and size of call and before time starts to run.

use super::operation::Work;
use super::processors::Blocks;
use super::program::{Class, Waits};
use crate::kernels::{Effort, Grid, Variant};
use crate::plan::{Call, DeviceId, Direction, Place, Plan, Slice, Step};
use crate::profile::{Around, Contention, HostCall, MemoryCost, OperationKind, Profile, Unknown};
use crate::scenario::HostMemory;
use crate::units::{Bytes, Span};

/// "For transfers from pageable host memory to device memory", copies up to
/// this size return once the driver has taken the data (CUDA Driver API manual,
/// "API synchronization behavior"): it goes along with the commands themselves.
const STAGED_AT_ONCE: Bytes = Bytes::kib(64);

/// What the cost of a call goes by: calls of equal keys cost the same.
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
    pub fn of(plan: &Plan, call: &Call) -> Self {
        let variant = |step: &Step| Variant::of(step.kernel, &step.arguments);
        match call {
            Call::Synchronize { .. } => Self::Synchronize,
            Call::Record { .. } => Self::Record,
            Call::Wait { .. } => Self::Wait,
            Call::Clear { .. } => Self::Clear,
            Call::Copy { stream, direction, from, to } => {
                let ashore = ashore(*direction, from, to);
                let device = plan.device_of(*stream);
                Self::Copy(*direction, device, ashore.allocation.0, ashore.length)
            }
            Call::PeerCopy { from, to, .. } => Self::PeerCopy(plan.peers_of(from, to), from.length),
            Call::Use(_) => Self::UseDevice,
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
    around: Around,
    /// The part of it that copies to the device read.
    copied_in: Bytes,
    /// For each allocation, whether the body renews it.
    fresh: Vec<bool>,
    /// For each allocation, whether a copy to the host writes it.
    copied_out: Vec<bool>,
    /// For each device, whether copies of one direction may meet those of the other.
    both_ways: Vec<bool>,
}

impl<'a> Costs<'a> {
    pub fn new(plan: &'a Plan, profile: &'a Profile) -> Self {
        let mut is_shared = [false; 2];
        let mut fresh = vec![false; plan.allocations.len()];
        let mut copied_out = fresh.clone();
        let mut copies = vec![[false; 2]; plan.devices()];
        for call in &plan.body {
            match call {
                Call::Renew(id) => fresh[id.0] = true,
                Call::Compute { step } => {
                    let effort = Effort::of(step.kernel, &step.arguments);
                    is_shared[usize::from(effort.is_shared(step.elements() as usize))] = true;
                }
                Call::Copy { stream, direction, to, .. } => {
                    copies[plan.device_of(*stream).0][*direction as usize] = true;
                    copied_out[to.allocation.0] |= *direction == Direction::DeviceToHost;
                }
                _ => {}
            }
        }
        let meet = |(device, copies)| plan.streams_of(DeviceId(device)) > 1 && copies == [true; 2];
        let both_ways = copies.into_iter().enumerate().map(meet).collect();
        let (footprint, same_threads) = (plan.host_footprint(), is_shared != [true; 2]);
        let (around, copied_in) = (Around { footprint, same_threads }, plan.copied_in_footprint());
        Self { plan, profile, around, copied_in, fresh, copied_out, both_ways }
    }

    /// # Errors
    /// If the profile does not know what the call costs.
    pub fn class(&self, call: &Call) -> Result<Class, Unknown> {
        let Self { plan, profile, .. } = *self;
        let on_host =
            |host| Class { host, latency: Span::ZERO, work: Work::Nothing, waits: Waits::No };
        Ok(match call {
            Call::Compute { step } => {
                let (kernel, n) = (step.kernel, step.elements());
                let touch = self.touch_time(&step.output, MemoryCost::FirstTouchTeam)?;
                let time = profile.twin(kernel, &step.arguments, n, self.around)? + touch;
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
            Call::Synchronize { .. } => Class {
                waits: Waits::Stream(profile.wake_host()?),
                ..on_host(profile.call(HostCall::Synchronize)?)
            },
            Call::Record { .. } => {
                Class { work: Work::Record, ..on_host(profile.call(HostCall::Record)?) }
            }
            Call::Wait { .. } => {
                Class { work: Work::Wait, ..on_host(profile.call(HostCall::Wait)?) }
            }
            Call::Clear { .. } => Class {
                latency: profile.start(OperationKind::Kernel)?,
                // A memset is a small kernel of the driver's own.
                work: Work::Kernel {
                    gap: Span::from_nanos_f64(profile.kernel_gap()?),
                    blocks: Blocks::new(&Grid::ONE_BLOCK, Span::ZERO, 1),
                },
                ..on_host(profile.call(HostCall::Clear)?)
            },
            Call::Launch { step, .. } => Class {
                latency: profile.start(OperationKind::Kernel)?,
                work: kernel_work(profile, step)?,
                ..on_host(profile.call(HostCall::Launch)?)
            },
            Call::Copy { stream, direction, from, to } => {
                let device = plan.device_of(*stream);
                self.copy((*direction, device), ashore(*direction, from, to))?
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
        let (host, latency) = self.entry(direction)?;
        let bytes = ashore.length;
        let alone = self.profile.copy(direction, bytes)?;
        // Copies that never meet have no need to know.
        let shared = if self.both_ways[device.0] {
            self.profile.shared(direction)?
        } else {
            Contention::NONE
        };
        let longer = shared.per_byte_ns * bytes.as_f64();
        let work = Work::Copy {
            direction,
            alone,
            delay: shared.per_copy_ns.max(0.0),
            slowdown: 1.0 + longer.max(0.0) / alone.nanos_f64().max(1.0),
            bytes,
        };
        Ok(Class { host, latency, work, waits: Waits::No })
    }

    /// The host cost of a copy's call, and the time until the copy may start.
    fn entry(&self, direction: Direction) -> Result<(Span, Span), Unknown> {
        let (call, kind) = match direction {
            Direction::HostToDevice => (HostCall::CopyIn, OperationKind::CopyIn),
            Direction::DeviceToHost => (HostCall::CopyOut, OperationKind::CopyOut),
        };
        Ok((self.profile.call(call)?, self.profile.start(kind)?))
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
            return Ok(Class { host: returns, latency: Span::ZERO, work, waits: Waits::No });
        }
        let (host, latency) = self.entry(direction)?;
        let work = Work::Staged {
            direction,
            duration: complete.saturating_sub(host + latency),
            early: complete.saturating_sub(returns),
        };
        Ok(Class { host, latency, work, waits: Waits::Staging })
    }

    /// The host memory that a staged copy goes round. `None`: what it reads was
    /// written by a copy to the host, past the caches.
    fn found_of(&self, direction: Direction, ashore: &Slice) -> Option<Bytes> {
        let past_caches =
            direction == Direction::HostToDevice && self.copied_out[ashore.allocation.0];
        (!past_caches).then_some(self.copied_in)
    }

    /// Extra time for writing to memory that the plan renews in every run.
    fn touch_time(&self, target: &Slice, touch: MemoryCost) -> Result<f64, Unknown> {
        if self.fresh[target.allocation.0] {
            self.profile.memory(touch, target.length)
        } else {
            Ok(0.0)
        }
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
    let gap = profile.kernel_gap()?.min(time).max(0.0);
    let busy = Span::from_nanos_f64((time - gap).max(0.0));
    let grid = Grid::of(step.kernel, &step.arguments, n);
    let blocks = Blocks::new(&grid, busy, profile.machine.multiprocessors);
    Ok(Work::Kernel { gap: Span::from_nanos_f64(gap), blocks })
}
