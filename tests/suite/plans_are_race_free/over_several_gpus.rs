//! Plans over several GPUs are free of races, too, and each call is made in the right
//! context.

use super::shared_by_batches::rows;
use super::*;
use hallway::machine::DeviceId;
use hallway::program::{CopyBy, Place, Route};

/// The families that deal chunks over several GPUs, in every variant.
pub fn over_several(chunks: u64, devices: usize) -> impl Iterator<Item = Family> {
    let each = [Each::ByEngine, Each::ByChunk { streams: 1 }, Each::ByChunk { streams: 2 }];
    let ways = each.into_iter().flat_map(|each| [Spread::Host, Spread::Peers].map(|s| (each, s)));
    ways.map(move |(each, spread)| Family::MultiGpu(MultiGpu { chunks, devices, each, spread }))
}

/// Checks that each call is made in the context of its stream, on memory of its device.
pub fn check_contexts(plan: &Program) -> Result<(), String> {
    let mut current = DeviceId::FIRST;
    for (index, call) in plan.body.iter().enumerate() {
        if let Call::Use(device) = call {
            current = *device;
        }
        if call.stream().is_some_and(|stream| plan.device_of(stream) != current) {
            return Err(format!("{}: call {index} is made in another context", plan.label));
        }
        for place in allocations_of(plan, call).into_iter().map(|id| plan.allocations[id].place) {
            let is_right = match (place, call) {
                (Place::Host(memory), Call::Launch { .. }) => memory.is_seen_by_devices(),
                (Place::Host(_), call) => !matches!(call, Call::Clear { .. }),
                (_, Call::Copy { by: CopyBy::Stream(_, Route::ToPeer), .. }) => true,
                (place, _) => place == Place::Device(current),
            };
            if !is_right {
                return Err(format!("{}: call {index} uses memory {place:?}", plan.label));
            }
        }
    }
    let stays = current != DeviceId::FIRST;
    if stays { Err(format!("{} ends in another context", plan.label)) } else { Ok(()) }
}

/// Weights cross the link once for each GPU, or once altogether and then go from one GPU
/// to the others. Each GPU waits for its own copy.
#[test]
fn what_is_read_whole_comes_to_every_gpu() {
    let case = Case::new(rows());
    for family in over_several(6, 3) {
        let Family::MultiGpu(MultiGpu { spread, .. }) = family else { unreachable!() };
        let plan = build(&case.workload, pinned(family)).expect("ten rows");
        let weights = Bytes::of_f32(64);
        let comes = |call: &Call| call.crossing().is_some_and(|one| one.2.length == weights);
        let goes_on =
            |call: &Call| matches!(call, Call::Copy { by: CopyBy::Stream(_, Route::ToPeer), .. });
        let expected = if spread == Spread::Peers { (2, 4) } else { (6, 0) };
        let found = (places(&plan, comes).len(), places(&plan, goes_on).len());
        assert_eq!(found, expected, "{}", plan.label);
        needs(&case, &plan, is_wait);
    }
}

#[test]
fn chunks_that_cannot_be_dealt_evenly_are_refused() {
    let each = Each::ByEngine;
    let over = |chunks, devices| pinned(MultiGpu { chunks, devices, each, spread: Spread::Host });
    let refused = |workload: &Workload, chunks, devices| {
        build(workload, over(chunks, devices)).expect_err("not evenly").to_string()
    };
    let workload = simple(Kernel::Scale, 300, "batches = 2");
    let text = refused(&workload, 5, 2);
    assert!(text.contains("5 chunks cannot be divided evenly among 2 GPUs"), "{text}");
    let text = refused(&workload, 1, 3);
    assert!(text.contains("there are fewer chunks than GPUs (3)"), "{text}");
    let plan = build(&workload, over(1, 2)).expect("a batch each");
    assert_eq!(plan.devices(), 2);
    let mut workload = simple(Kernel::Scale, 300, "");
    workload.buffers[0].home = Home::Device;
    let text = refused(&workload, 2, 2);
    assert!(text.contains("`x` stays on one GPU"), "{text}");
}

/// A limit on device memory holds for each GPU.
#[test]
fn every_gpu_has_memory_of_its_own() {
    let mut workload = simple(Kernel::Scale, 1024, "");
    workload.limits.device_memory = Some(Bytes::kib(4));
    build(&workload, pinned(ByEngine { chunks: 8 })).expect_err("8 KiB");
    for family in over_several(8, 2) {
        build(&workload, pinned(family)).expect("4 KiB each");
    }
}
