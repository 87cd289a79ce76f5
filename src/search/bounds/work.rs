//! What the tasks of a workload take at least, and what has to move between host and device.

use crate::machine::{Direction, HostMemory};
use crate::profile::Profile;
use crate::program::BufferId;
use crate::scenario::{FamilyName, Home, TaskId, Workload};
use crate::schedule::{Alone, TaskGraph, alone, copy_alone};
use crate::units::{Bytes, Span};

/// Pieces down to a 64th are looked at: smaller ones cost more for each element, since every launch
/// and every copy has a fixed part.
const HALVINGS: u32 = 6;

/// The tasks of one batch. Times are nanoseconds.
pub(super) struct Work {
    pub nodes: Vec<Node>,
    pub data: Vec<Data>,
    pub gpus: usize,
    pub batches: f64,
    /// Whether kernels may use the host's memory where it is, so that nothing has to arrive first:
    /// no plan does so unless the scenario asks for it.
    pub maps: bool,
}

/// One task.
pub(super) struct Node {
    /// On the CPU, with all its threads.
    pub cpu: Option<f64>,
    pub gpu: Option<OnGpu>,
    /// Whether it can be cut into pieces.
    pub is_cut: bool,
    /// Tasks that it waits for, and those that wait for it.
    pub before: Vec<Wait>,
    pub behind: Vec<Wait>,
    /// Data that it reads as they are before the workload, and data that it leaves at home.
    pub takes: Vec<usize>,
    pub leaves: Vec<usize>,
}

/// A wait of one task for another, as either of the two has it.
#[derive(Clone, Copy)]
pub(super) struct Wait {
    /// The task at the other end.
    pub task: usize,
    /// The data between them.
    pub data: Option<usize>,
    /// Whether the first piece of one waits for the last piece of the other.
    pub for_all: bool,
}

#[derive(Clone, Copy)]
pub(super) struct OnGpu {
    /// Time from start to end.
    pub alone: f64,
    /// Time of a whole GPU: a kernel may need only part of it.
    pub load: f64,
}

/// One buffer of a batch.
pub(super) struct Data {
    pub home: Home,
    /// To a device, and from one.
    pub copy: [f64; 2],
    /// Whether all batches have it in common, so that its first contents arrive once.
    pub is_shared: bool,
}

impl Work {
    /// `None` if a task has no price on either side, if nothing is known of a way of data that a
    /// task may need on a GPU, or if there is no task.
    pub fn new(workload: &Workload, profile: &Profile) -> Option<Self> {
        let gpus = profile.gpu_counts().into_iter().max().unwrap_or(1);
        let in_place = [FamilyName::ZeroCopy, FamilyName::Managed];
        let may_map = !workload.programs.is_empty()
            || workload.plans.families.iter().any(|family| in_place.contains(family));
        let maps = may_map && profile.mapped(Bytes::mib(1), Bytes::ZERO).is_ok();
        let ways = workload.buffers.iter().map(|buffer| {
            Direction::BOTH.map(|way| least_copy(buffer.crossing_bytes(), way, profile))
        });
        let ways: Vec<[Option<f64>; 2]> = ways.collect();
        let data = workload.buffers.iter().zip(&ways).map(|(buffer, ways)| Data {
            home: buffer.home,
            copy: ways.map(Option::unwrap_or_default),
            is_shared: buffer.shared,
        });
        let least = least(workload, profile);
        let mut nodes = Vec::new();
        for (index, task) in workload.tasks.iter().enumerate() {
            let [cpu, gpu] = least[index];
            if cpu.is_none() && gpu.is_none() {
                return None;
            }
            let cpu = cpu.map(|[time, _]| time);
            let gpu = gpu.map(|[alone, load]| OnGpu { alone, load });
            let (takes, leaves) = ends(workload, TaskId(index));
            let is_lost = |ids: &[usize], way: usize| ids.iter().any(|&id| ways[id][way].is_none());
            if gpu.is_some() && (is_lost(&takes, 0) || is_lost(&leaves, 1)) {
                return None;
            }
            let (before, behind) = (waits_for(workload, index), Vec::new());
            let is_cut = task.splittable;
            nodes.push(Node { cpu, gpu, is_cut, before, behind, takes, leaves });
        }
        for node in 0..nodes.len() {
            for before in nodes[node].before.clone() {
                nodes[before.task].behind.push(Wait { task: node, ..before });
            }
        }
        let batches = workload.batches as f64;
        let work = Self { nodes, data: data.collect(), gpus, batches, maps };
        (!work.nodes.is_empty()).then_some(work)
    }
}

fn waits_for(workload: &Workload, index: usize) -> Vec<Wait> {
    let task = &workload.tasks[index];
    let wait = |other: TaskId, data, reads_whole| {
        let for_all = reads_whole || !task.splittable || !workload.task(other).splittable;
        Wait { task: other.0, data, for_all }
    };
    let reads = task.reads.iter().enumerate().filter_map(|(input, id)| {
        Some(wait(workload.writer_of(*id)?, Some(id.0), task.reads_whole(input)))
    });
    let after = task.after.iter().map(|&id| wait(id, None, false));
    reads.chain(after).filter(|wait| wait.task != index).collect()
}

/// What a task reads of the workload's inputs, and what it writes of its results.
fn ends(workload: &Workload, id: TaskId) -> (Vec<usize>, Vec<usize>) {
    let task = workload.task(id);
    let is_first = |read: &BufferId| workload.writer_of(*read).is_none_or(|writer| writer == id);
    let mut takes: Vec<usize> =
        task.reads.iter().filter(|read| is_first(read)).map(|read| read.0).collect();
    takes.sort_unstable();
    takes.dedup();
    let lives = |write: &&BufferId| workload.buffer(**write).home != Home::Scratch;
    (takes, task.writes.iter().filter(lives).map(|write| write.0).collect())
}

/// The least time that each task takes of the CPU and of a GPU, from start to end, and the least
/// load, whichever way it is cut.
fn least(workload: &Workload, profile: &Profile) -> Vec<[Option<[f64; 2]>; 2]> {
    let workload = Workload { batches: 1, ..workload.clone() };
    let mut least: Vec<[Option<[f64; 2]>; 2]> = vec![[None; 2]; workload.tasks.len()];
    for pieces in (0..=HALVINGS).map(|halvings| 1 << halvings) {
        let Ok(graph) = TaskGraph::new(&workload, pieces) else { continue };
        let mut sums = vec![[Some([0.0; 2]); 2]; workload.tasks.len()];
        for (node, alone) in graph.nodes.iter().zip(alone(&graph, profile)) {
            for (sum, alone) in sums[node.task.0].iter_mut().zip(alone) {
                *sum = sum.zip(alone).map(|([time, load], Alone { time: more, load: further })| {
                    [time + more.nanos_f64(), load + further]
                });
            }
        }
        for (known, sum) in least.iter_mut().flatten().zip(sums.into_iter().flatten()) {
            *known = match (*known, sum) {
                (Some([time, load]), Some([t, l])) => Some([f64::min(time, t), f64::min(load, l)]),
                (known, sum) => known.or(sum),
            };
        }
    }
    least
}

/// The least time in which so many bytes cross the link, in pieces or as one: by a copy of pinned
/// memory, by a kernel that uses it where it is, or, if neither is known, by a copy of pageable
/// memory. `None` if nothing is known.
fn least_copy(bytes: Bytes, direction: Direction, profile: &Profile) -> Option<f64> {
    let times = (0..=HALVINGS).map(|halvings| {
        let piece = Bytes::new((bytes.get() >> halvings).max(1));
        let times = bytes.as_f64() / piece.as_f64();
        let copied = copy_alone(piece, direction, HostMemory::Pinned, profile);
        let copied = copied.map(Span::nanos_f64);
        let [read, written] = match direction {
            Direction::HostToDevice => [piece, Bytes::ZERO],
            Direction::DeviceToHost => [Bytes::ZERO, piece],
        };
        let used = profile.mapped(read, written).ok().map(|(time, _)| time);
        let staged = || profile.staging(direction, piece, None).ok().map(|(_, complete)| complete);
        let known = copied.into_iter().chain(used).reduce(f64::min).or_else(staged);
        known.map(|known| times * known)
    });
    times.flatten().reduce(f64::min)
}
