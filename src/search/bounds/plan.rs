//! A time that a plan does not go below, known before its program is built.
//!
//! Invariant: where a bound is not below the time of a plan that is known, the other plan can be
//! left out, and the fastest of all is found nevertheless.

use super::super::scaling::scaled;
use super::prices::{by_itself, copy, launches};
use crate::families::{Lanes, Strategy};
use crate::machine::{Direction, HostMemory};
use crate::profile::Profile;
use crate::program::BufferId;
use crate::scenario::{Home, Task, Workload};
use crate::simulate::Demand;
use crate::units::{Bytes, Span};
use std::collections::BTreeMap;

/// Chunks begin at multiples of so many rows.
const ALIGNED: u64 = 32;

/// Bounds of the plans of a workload on a machine.
///
/// A chunk goes through the same steps in all plans that cut the work alike: its inputs are copied
/// to the device, each task is launched as often as it has iterations, and its results are copied
/// back. So a plan takes no less than
///
/// - the host needs for all launches;
/// - the first chunk's way in, the kernels of all chunks and the last one's way out: one after
///   the other in each stream with kernels, and together no more than all multiprocessors do;
/// - one chunk's copies and kernels, and the copies of all others in either direction, since an
///   engine carries one copy at a time;
/// - where a chunk's calls lie in one stream, all of them over the number of streams.
///
/// Each chunk counts as the smallest one, alone on the machine with its data at hand, without halos
/// and without what all chunks share. Prices are taken not to fall with the size. What copies and
/// kernels take from each other, hand-overs and waits are left out.
pub(in crate::search) struct Bounds<'a> {
    workload: &'a Workload,
    profile: &'a Profile,
    /// By the number of chunks; `None` if nothing is known of their demands.
    chunks: BTreeMap<u64, Option<ChunkDemand>>,
}

/// A time that a plan of a workload takes at least on a machine, by what its chunks demand, without
/// its program. Nothing where none is known.
pub fn plan_bound(workload: &Workload, strategy: Strategy, profile: &Profile) -> Span {
    Bounds::new(workload, profile).of(strategy)
}

/// What a chunk demands at least, in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
struct ChunkDemand {
    /// Time of the host for the chunk's launches.
    host: f64,
    /// Time of the stream that its kernels lie in, and how much of it is gaps between them.
    kernels: f64,
    gaps: f64,
    /// Time of all multiprocessors.
    load: f64,
    /// Times of the copies to the device and from it: in the stream, and on the engine.
    copies: [f64; 2],
    engines: [f64; 2],
}

impl<'a> Bounds<'a> {
    pub const fn new(workload: &'a Workload, profile: &'a Profile) -> Self {
        Self { workload, profile, chunks: BTreeMap::new() }
    }

    /// A time that the plan takes at least. Nothing where none is known.
    pub fn of(&mut self, strategy: Strategy) -> Span {
        let Some(lanes) = strategy.family.lanes() else { return Span::ZERO };
        // Copies of pageable memory hold the host, and their ends overlap.
        if strategy.memory == HostMemory::Pageable || strategy.each_pass {
            return Span::ZERO;
        }
        let chunks = strategy.family.chunks();
        let Some(mut one) = self.chunk(chunks) else { return Span::ZERO };
        if strategy.graph {
            // One call launches all of them, and the next kernel of a branch is at hand.
            (one.host, one.kernels, one.gaps) = (0.0, one.kernels - one.gaps, 0.0);
        }
        let all = (chunks * self.workload.batches) as f64;
        let (streams, are_along) = match lanes {
            Lanes::OfChunks(streams) => ((streams as f64).min(all), true),
            Lanes::OfEngines => (1.0, false),
        };
        let [copy_in, copy_out] = one.copies;
        let chain = copy_in + one.kernels + copy_out;
        let bounds = [
            one.least(all),
            copy_in + one.kernels * (all / streams).max(1.0) + copy_out,
            if are_along { chain * all / streams } else { chain },
        ];
        // Rounds down to whole nanoseconds, since a lower bound may not round up.
        Span::from_nanos(bounds.into_iter().fold(0.0, f64::max) as u64)
    }

    /// A time that every plan takes at least that cuts the work into so many chunks, goes through
    /// the tasks of each on one of so many devices, and makes each launch by a call.
    pub fn of_launches(&mut self, chunks: u64, devices: usize) -> Span {
        let Some(one) = self.chunk(chunks) else { return Span::ZERO };
        let all = (chunks * self.workload.batches) as f64;
        Span::from_nanos((one.host * all).max(one.load * all / devices.max(1) as f64) as u64)
    }

    fn chunk(&mut self, chunks: u64) -> Option<ChunkDemand> {
        let Self { workload, profile, .. } = *self;
        *self.chunks.entry(chunks).or_insert_with(|| demand(workload, chunks, profile))
    }
}

impl ChunkDemand {
    /// What `all` chunks like this one take at least of the host, the multiprocessors and the
    /// engines.
    fn least(&self, all: f64) -> f64 {
        let [copy_in, copy_out] = self.copies;
        let [engine_in, engine_out] = self.engines;
        [
            self.host * all,
            copy_in + self.load * all + copy_out,
            engine_in * all + self.kernels + copy_out,
            copy_in + self.kernels + engine_out * all,
        ]
        .into_iter()
        .fold(0.0, f64::max)
    }
}

/// What the smallest of so many chunks demands. `None` if that is not known.
fn demand(workload: &Workload, chunks: u64, profile: &Profile) -> Option<ChunkDemand> {
    // Where a part crosses, or the CPU has tasks, chunks demand less, and not all the same.
    let in_part = workload.buffers.iter().any(|buffer| buffer.needed.is_some());
    if in_part || workload.tasks.iter().any(|task| task.on_cpu) {
        return None;
    }
    let elements = smallest(workload, chunks)?;
    let mut found = ChunkDemand::default();
    for task in &workload.tasks {
        found.add_task(workload, task, elements, profile)?;
    }
    for (index, buffer) in workload.buffers.iter().enumerate() {
        let id = BufferId(index);
        let is_whole = workload.is_reduced(id) || workload.is_read_whole(id);
        if is_whole || buffer.shared || !matches!(buffer.home, Home::Host(_)) {
            continue;
        }
        let bytes = Bytes::new(elements * buffer.element_type.size());
        let ways = [workload.is_input(id), workload.is_output(id)];
        for (way, _) in Direction::BOTH.into_iter().zip(ways).filter(|(_, goes)| *goes) {
            // What is new in each pass stays pageable.
            let Demand { alone, load, .. } = copy(bytes, way, profile).filter(|_| !buffer.fresh)?;
            found.copies[way as usize] += alone.nanos_f64();
            found.engines[way as usize] += load;
        }
    }
    Some(found)
}

/// Elements of the smallest of so many chunks, of the buffers that are cut.
fn smallest(workload: &Workload, chunks: u64) -> Option<u64> {
    let is_cut = |id: &BufferId| !workload.is_reduced(*id) && !workload.is_read_whole(*id);
    let is_used = |id: &BufferId| workload.tasks.iter().any(|task| task.uses(*id));
    let ids = (0..workload.buffers.len()).map(BufferId);
    let mut lengths = ids.filter(is_cut).filter(is_used).map(|id| workload.buffer(id).elements);
    let length = lengths.next()?;
    if lengths.any(|other| other != length) {
        return None;
    }
    if chunks == 1 {
        return Some(length);
    }
    let grain = workload.grain();
    let rows = length / grain / chunks;
    let least = if rows < 2 * ALIGNED { rows } else { rows - (ALIGNED - 1) };
    (least > 0).then_some(least * grain)
}

impl ChunkDemand {
    /// Adds a task on so many elements with all its data on the device.
    fn add_task(
        &mut self,
        workload: &Workload,
        task: &Task,
        elements: u64,
        profile: &Profile,
    ) -> Option<()> {
        let alone = by_itself(workload, &Task { iterations: 1, ..task.clone() });
        let alone = scaled(&alone, elements)?;
        let times = task.iterations as f64;
        for Demand { host, gap, alone, load } in launches(&alone, profile)? {
            self.host += host.nanos_f64() * times;
            self.kernels += (gap + alone).nanos_f64() * times;
            self.gaps += gap.nanos_f64() * times;
            self.load += load * times;
        }
        Some(())
    }
}
