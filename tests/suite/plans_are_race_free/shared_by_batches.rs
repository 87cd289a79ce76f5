//! What all chunks of a batch read whole crosses once a batch. What all batches share is there
//! once, on the host and on each GPU, and crosses once in a pass.

use super::{Case, is_wait, needs, pinned, places, read, strategies};
use crate::workloads::{ON_DEVICE, ON_HOST, SCRATCH, SPLIT, floats, head, task};
use hallway::families::{Buffered, ByChunk, ByEngine, Each, Family, Issue, MultiGpu, Resident};
use hallway::families::{Spread, build};
use hallway::machine::DeviceId;
use hallway::program::{Call, Place, Program};
use hallway::scenario::Workload;
use hallway::units::Bytes;
use std::collections::BTreeMap;

/// Four batches of twenty rows, times one matrix, with a bias that is cut as the rows are.
fn text(home: &str) -> String {
    let shared = format!("shared = true\n{home}");
    let product = format!("arguments = {{ inner = 8 }}\n{SPLIT}");
    [
        head("shared", "batches = 4"),
        floats(["rows", "out"], 160, ON_HOST),
        floats(["weights"], 64, &shared),
        floats(["bias"], 160, &shared),
        floats(["sums"], 160, SCRATCH),
        task("product", "matmul", &["rows", "weights"], "sums", &product),
        task("bias", "saxpy", &["sums", "bias"], "out", SPLIT),
    ]
    .concat()
}

/// How often all of the weights come to each device, from wherever, whole or in pieces.
fn arrivals(plan: &Program) -> BTreeMap<DeviceId, usize> {
    let mut found: BTreeMap<DeviceId, Bytes> = BTreeMap::new();
    for call in &plan.body {
        let Call::Copy { to, .. } = call else { continue };
        let there = plan.allocation(to.allocation);
        if let Place::Device(device) = there.place
            && there.name == "weights"
        {
            *found.entry(device).or_default() += to.length;
        }
    }
    let times = |bytes: Bytes| bytes.as_usize().div_ceil(Bytes::of_f32(64).as_usize());
    found.into_iter().map(|(device, bytes)| (device, times(bytes))).collect()
}

#[test]
fn every_plan_computes_what_the_cpu_does() {
    for home in [ON_HOST, ON_DEVICE] {
        let case = Case::new(read(&text(home)));
        assert!(case.check(3).unwrap() >= 30);
    }
}

#[test]
fn it_crosses_once_in_a_pass() {
    let case = Case::new(read(&text(ON_HOST)));
    let (mut over, mut come) = (0, 0);
    for strategy in strategies() {
        let Ok(plan) = build(&case.workload, strategy) else { continue };
        let is_naive = plan.label.starts_with("round-trip");
        let expected = if is_naive { vec![4] } else { vec![1; plan.devices()] };
        let found: Vec<usize> = arrivals(&plan).into_values().collect();
        // Some plans use it on the host, or have its pages move.
        assert!(found.is_empty() || found == expected, "{}: {found:?}", plan.label);
        come += usize::from(!found.is_empty());
        let on_host = plan.allocations.iter().find(|one| one.name == "weights").expect("a home");
        assert_eq!(on_host.bytes, Bytes::of_f32(64), "{}", plan.label);
        over += usize::from(plan.devices() > 1);
    }
    assert!(over > 10 && come > 50, "{over} plans over several GPUs of {come}");
}

/// From the device, it comes to the host once for a pass of the CPU.
#[test]
fn the_cpu_fetches_it_once() {
    let case = Case::new(read(&text(ON_DEVICE)));
    let plan = &case.plans()[0];
    assert!(plan.computes_on_cpu(), "{}", plan.label);
    let comes = |call: &Call| match call {
        Call::Copy { from, .. } => plan.allocation(from.allocation).name == "weights",
        _ => false,
    };
    assert_eq!(places(plan, comes).len(), 1);
}

#[test]
fn every_forgotten_wait_for_it_is_found() {
    let case = Case::new(read(&text(ON_HOST)));
    let depth = Issue::DepthFirst;
    for family in [
        Family::ByChunk(ByChunk { chunks: 1, streams: 3, issue: depth }),
        Family::ByChunk(ByChunk { chunks: 5, streams: 3, issue: depth }),
        Family::ByEngine(ByEngine { chunks: 2 }),
        Family::Buffered(Buffered { chunks: 1, ring: 2 }),
        Family::MultiGpu(MultiGpu {
            chunks: 1,
            devices: 2,
            each: Each::ByEngine,
            spread: Spread::Peers,
        }),
    ] {
        let plan = build(&case.workload, pinned(family)).expect("fits");
        assert!(needs(&case, &plan, is_wait) > 0, "{}", plan.label);
    }
    let plan = build(&case.workload, pinned(Resident)).expect("fits");
    assert!(places(&plan, is_wait).is_empty(), "one stream");
}

/// Ten rows in each of two batches, times one matrix.
pub(super) fn rows() -> Workload {
    let buffers = floats(["x", "out"], 80, ON_HOST) + &floats(["y"], 64, ON_HOST);
    let rest = format!("arguments = {{ inner = 8 }}\n{SPLIT}");
    let task = task("t", "matmul", &["x", "y"], "out", &rest);
    read(&(head("rows", "batches = 2") + &buffers + &task))
}

/// All chunks of a batch use its weights, which therefore cross the link once per batch.
#[test]
fn what_is_read_whole_comes_once_for_each_batch() {
    let case = Case::new(rows());
    for family in [
        Family::ByEngine(ByEngine { chunks: 5 }),
        Family::Buffered(Buffered { chunks: 5, ring: 2 }),
        Family::ByChunk(ByChunk { chunks: 5, streams: 3, issue: Issue::DepthFirst }),
        Family::ByChunk(ByChunk { chunks: 5, streams: 3, issue: Issue::BreadthFirst }),
    ] {
        let plan = build(&case.workload, pinned(family)).expect("ten rows");
        let weights = Bytes::of_f32(64);
        let comes = |call: &Call| matches!(call, Call::Copy { from, .. } if from.length == weights);
        assert_eq!(places(&plan, comes).len(), 2, "{}", plan.label);
        // Breadth-first, a stream that waits for the next batch's weights has already
        // waited for this batch's.
        let every_wait_counts = !plan.label.contains("breadth");
        needs(&case, &plan, |call| every_wait_counts && is_wait(call));
    }
    // Rows are never cut.
    let refusal = build(&case.workload, pinned(ByEngine { chunks: 11 })).expect_err("ten");
    assert!(refusal.to_string().contains(", in rows of 8"), "{refusal}");
}
