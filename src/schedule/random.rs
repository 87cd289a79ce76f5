//! Schedules at random. Nobody wants one, but each has to be right, so they are what tests check.

use super::decoder::{Decoder, Schedule};
use super::graph::{Node, TaskGraph};
use super::issue::Layout;
use super::prices::{Prices, Processor};
use crate::machine::{DeviceId, HostMemory};
use crate::profile::Profile;
use crate::program::Program;
use crate::scenario::Workload;
use crate::units::Bytes;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// The program of a random schedule: any order that dependencies allow, any processor that may do
/// a task, and little memory.
///
/// # Errors
/// If the workload cannot be cut like this, or memory is too small for one task.
pub fn random_schedule(
    workload: &Workload,
    profile: &Profile,
    (pieces, devices): (u64, usize),
    seed: u64,
) -> Result<Program, String> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let graph = TaskGraph::new(workload, pieces)?;
    let prices = Prices::new(&graph, profile, (HostMemory::Pinned, devices, true));
    let mut left: Vec<usize> = graph.nodes.iter().map(|node| node.before.len()).collect();
    let mut ready: Vec<usize> = (0..left.len()).filter(|&node| left[node] == 0).collect();
    let mut order = Vec::new();
    while !ready.is_empty() {
        let node = ready.swap_remove(random.random_range(0..ready.len()));
        order.push(node);
        for &behind in &graph.nodes[node].behind {
            left[behind] -= 1;
            if left[behind] == 0 {
                ready.push(behind);
            }
        }
    }
    // One side is rare in one schedule out of two.
    let rare = random.random_bool(0.5);
    let is_kept = |node: &Node| workload.task(node.task).on_cpu;
    if graph.nodes.iter().any(|node| is_kept(node) && !node.may_be_on_cpu) {
        return Err("a task that stays on the CPU cannot be split like this".to_owned());
    }
    let on = graph.nodes.iter().map(|node| {
        let on_cpu =
            is_kept(node) || node.may_be_on_cpu && random.random_bool(if rare { 0.1 } else { 0.5 });
        let other = if node.may_be_on_others { random.random_range(0..devices) } else { 0 };
        if on_cpu { Processor::Cpu } else { Processor::Gpu(DeviceId(other)) }
    });
    let on = on.collect();
    let all: u64 = graph.items.iter().map(|item| item.bytes.get().next_multiple_of(256)).sum();
    let memory = Bytes::new(all * random.random_range(1..8) / 4 + 4096);
    let layouts = Layout::all(prices.most_side_by_side());
    let streams = layouts[random.random_range(0..layouts.len())];
    let ahead = random.random_range(0..4);
    let schedule = Schedule { order, on, streams, ahead, memory };
    let decoder = Decoder::new(&graph, &schedule, &prices, HostMemory::Pinned);
    decoder.program().map_err(|why| why.to_string())
}
