//! Plans of real families, checked against closed forms.

use super::*;
use crate::machines::{machine, wide_machine};
use crate::workloads::simple;
use hallway::families::{Buffered, ByChunk, ByEngine, Cpu, Issue, Resident, build};
use hallway::profile::{HostLocality, MOST_OPERANDS, Reuse, Warmth};
use hallway::samples::CalibrationExtent;
use hallway::scenario::Home;
use hallway::simulate::lower_bound;

/// A multiple of 32, so that chunks can be cut there.
const CHUNK: u64 = 9_600;

fn planned(family: impl Into<Family>, elements: u64) -> Program {
    let workload = simple(Kernel::Scale, elements, "");
    build(&workload, pinned(family)).expect("fits")
}

#[test]
fn resident_is_the_sum_of_its_parts() {
    for elements in [4_000, 50_000, 1_000_000] {
        let timeline = simulate(&planned(Resident, elements), &machine()).expect("known");
        let (first, last) = (1_000 + 3_000, 6_000);
        let part = 1_000 + elements;
        assert_eq!(makespan(&timeline), first + part + 300 + part + 400 + part + last);
    }
}

#[test]
fn by_engine_fills_runs_and_drains() {
    for chunks in [1, 2, 3, 8, 20] {
        let plan = planned(ByEngine { chunks }, chunks * CHUNK);
        let timeline = simulate(&plan, &wide_machine()).expect("known");
        // Copy in, kernel and copy out of a chunk take equally long, and longer than the 5200 that
        // the host needs to issue a chunk.
        let part = 1_000 + CHUNK;
        let fill = 1_000 + 3_000;
        let drain = 700 + part + 900 + part + 6_000;
        assert_eq!(makespan(&timeline), fill + chunks * part + drain, "{chunks} chunks");
    }
}

#[test]
fn a_ring_of_one_runs_chunk_by_chunk() {
    // Inputs and outputs have one buffer each. A chunk can be copied in while the one before is
    // copied out, but not while it is worked on.
    let (chunks, part) = (6, 1_000 + CHUNK);
    let plan = planned(Buffered { chunks, ring: 1 }, chunks * CHUNK);
    let timeline = simulate(&plan, &wide_machine()).expect("known");
    // Copy in, hand-over, kernel. Then the next copy in starts at once, beside the copy out, which
    // begins 900 later and keeps the next kernel from its output buffer.
    let kernel_ends = spans(&timeline, Lane::Kernels).iter().map(|span| span.1).collect::<Vec<_>>();
    assert_eq!(kernel_ends[0], 4_000 + part + 700 + part);
    for pair in kernel_ends.windows(2) {
        // The later of the two decides: the copy out after 900, or the copy in with a hand-over of
        // 700.
        assert_eq!(pair[1] - pair[0], (900 + part).max(part + 700) + part);
    }
}

#[test]
fn the_cpu_is_the_sum_of_its_twins() {
    // A task that uses all memory of the plan finds it as it did in the calibration.
    let timeline = simulate(&planned(Cpu, 30_000), &machine()).expect("known");
    assert_eq!((makespan(&timeline), timeline.activities.len()), (1_000 + 30_000, 1));
    // Other batches push the data out: two of 480 kB into the shared cache, at 2 for each element,
    // and twenty into memory, at 5.
    for (batches, slope) in [(2, 2), (20, 5)] {
        let workload = simple(Kernel::Scale, 60_000, &format!("batches = {batches}"));
        let plan = build(&workload, pinned(Cpu)).expect("fits");
        let timeline = simulate(&plan, &machine()).expect("known");
        assert_eq!(makespan(&timeline), batches * (1_000 + slope * 60_000));
    }
}

/// However a kernel is cut, pieces of a working set are as far away as the whole, and free room for
/// blocks does not make memory faster.
#[test]
fn pieces_of_what_stays_on_the_device_are_no_faster_than_the_whole() {
    let mut machine = machine();
    // Data that stays in the caches is ten times as fast.
    let elements = 1 << 20;
    let stays = elements as f64 / 16.0;
    let slow = |elements: f64| 1_500.0 + (elements - stays) + stays / 10.0;
    let knots = vec![(1.0, 1_500.0), (stays, 1_500.0 + stays / 10.0), (1e9, slow(1e9))];
    for model in &mut machine.kernels {
        model.time.knots.clone_from(&knots);
    }
    let mut workload = simple(Kernel::Scale, elements, "");
    workload.buffers.iter_mut().for_each(|buffer| buffer.home = Home::Device);
    let misses = |bytes: u64| Some(vec![(8.0, 0.0), (bytes as f64, 1.0)]);
    let waits =
        |until: f64| Some(Curve { knots: vec![(1.0, 900.0), (until, 900.0)], scatter: 0.0 });
    // This must hold whatever is known about waiting for memory, and up to whichever size.
    for (misses, waits) in [
        (None, None),
        (misses(elements), None),
        (misses(elements), waits(1e9)),
        (misses(elements), waits(100.0)),
    ] {
        machine.caches.device_misses = misses;
        for model in &mut machine.kernels {
            model.from_memory.clone_from(&waits);
        }
        let takes = |family| {
            let plan = build(&workload, pinned(family)).expect("fits");
            let bound = lower_bound(&plan, &machine).expect("known");
            let timeline = simulate(&plan, &machine).expect("known");
            assert!(bound <= timeline.makespan, "{family:?}");
            makespan(&timeline) as f64
        };
        let whole = takes(Family::Resident(Resident));
        assert!(whole > slow(elements as f64));
        for chunks in [2, 16, 64] {
            let issue = Issue::DepthFirst;
            for (family, most) in [
                (Family::ByEngine(ByEngine { chunks }), 1.4),
                (Family::ByChunk(ByChunk { chunks, streams: 2, issue }), 1.1),
                (Family::ByChunk(ByChunk { chunks, streams: 4, issue }), 1.1),
            ] {
                let ratio = takes(family) / whole;
                assert!((0.995..most).contains(&ratio), "{ratio} of {family:?}");
            }
        }
    }
}

/// Copies of other chunks that are issued before a kernel still run after it.
#[test]
fn what_was_just_copied_is_near_whatever_was_issued_since() {
    let mut machine = wide_machine();
    let elements: u64 = 1 << 20;
    machine.caches.device_misses = Some(vec![(8.0, 0.0), (elements as f64, 1.0)]);
    for model in &mut machine.kernels {
        model.from_memory = Some(Curve { knots: vec![(1.0, 9e3), (1e9, 9e3)], scatter: 0.0 });
    }
    let busy = |issue| {
        let plan = planned(ByChunk { chunks: 16, streams: 4, issue }, elements);
        let timeline = simulate(&plan, &machine).expect("known");
        lasts(&timeline, Lane::Kernels).into_iter().max()
    };
    assert_eq!(busy(Issue::BreadthFirst), busy(Issue::DepthFirst));
}

/// For arrays larger than any that was measured repeatedly, the caches keep no more than of the
/// largest one. What exceeds it takes as long as data in memory.
#[test]
fn caches_keep_no_more_of_more_data() {
    let mut machine = machine();
    machine.caches.shared_bytes = Bytes::mib(4);
    let takes = |elements: u64| {
        let own = Bytes::new(8 * elements);
        let reuse = Reuse([(own, own); MOST_OPERANDS]);
        let around = HostLocality { reuse, footprint: own, ..HostLocality::default() };
        machine.twin(Kernel::Scale, &Arguments::default(), elements, around).expect("known")
    };
    assert_eq!([1_000_000, 3_000_000].map(takes), [1_001_000.0, 1_001_000.0 + 5.0 * 2e6]);
}

/// A machine on which black-scholes was measured at two sizes only, and scale at more sizes that
/// threads share.
fn sparse_machine() -> Profile {
    let mut machine = machine();
    let mut set = |kernel: Kernel, found: Warmth, knots: &[(f64, f64)]| {
        let mut twins = machine.twins.iter_mut();
        let twin = twins.find(|one| one.variant.kernel == kernel && one.found == found);
        twin.expect("all are there").time.knots = knots.to_vec();
    };
    set(Kernel::BlackScholes, Warmth::Same, &[(1e3, 2e4), (1e6, 2e6)]);
    set(Kernel::BlackScholes, Warmth::Memory, &[(1e3, 2.1e4), (1e6, 3e6)]);
    set(Kernel::Scale, Warmth::Same, &[(1e3, 100.0), (1e5, 4e3), (1e6, 1e4)]);
    machine.machine.cpu_threads = 16;
    machine
}

fn takes(machine: &Profile, kernel: Kernel, elements: u64) -> f64 {
    let footprint = Bytes::new(kernel.bytes_per_element() * elements);
    let around = HostLocality { footprint, ..HostLocality::default() };
    machine.twin(kernel, &Arguments::default(), elements, around).expect("known").round()
}

/// Between few measured sizes, one thread continues from its last size, and a team from the cost of
/// sharing. Outside of the measured sizes, the curves are unchanged.
#[test]
fn one_thread_and_a_team_are_not_taken_for_one_curve() {
    let mut machine = sparse_machine();
    let options = |machine: &Profile, elements| takes(machine, Kernel::BlackScholes, elements);
    assert_eq!(options(&machine, 8_000), 8.0 * 2e4);
    assert_eq!(options(&machine, 100_000), 4e3 + (2e6 - 4e3) / 10.0);
    assert_eq!(takes(&machine, Kernel::Scale, 90_000), 4e3);
    // Sixteen threads do a million in a quarter of the time, because most of the time of one thread
    // is fixed.
    let mut twins = machine.twins.iter_mut();
    let twin = twins.find(|one| one.variant.kernel == Kernel::BlackScholes);
    twin.expect("one").time.knots[1].1 = 5e5;
    assert_eq!(options(&machine, 8_000), (2e4 + 16.0_f64 * (5e5 - 4e3) / 1e6 * 7e3).round());
    // Measurements from elsewhere may share work differently.
    machine.machine.extent = CalibrationExtent::Elsewhere;
    assert_eq!(options(&machine, 8_000), (2e4 + 4.8e5_f64 * 7e3 / 999e3).round());
}

/// Two sizes say what a twin takes whatever the number of elements. If they say nothing, it is the
/// least that another twin takes.
#[test]
fn below_its_smallest_size_a_twin_takes_a_fixed_part_and_the_rest_in_proportion() {
    let mut machine = sparse_machine();
    let mut set = |kernel: Kernel, knots: &[(f64, f64)]| {
        let mut twins = machine.twins.iter_mut().filter(|one| one.found == Warmth::Same);
        let twin = twins.find(|one| one.variant.kernel == kernel).expect("all are there");
        twin.time.knots = knots.to_vec();
    };
    set(Kernel::Scale, &[(1e3, 150.0), (2e3, 250.0)]);
    set(Kernel::BlackScholes, &[(1e3, 2e4), (2e3, 6e4)]);
    machine.twins.retain(|one| [Kernel::Scale, Kernel::BlackScholes].contains(&one.variant.kernel));
    assert_eq!(takes(&machine, Kernel::Scale, 500), 50.0 + 50.0);
    assert_eq!(takes(&machine, Kernel::Scale, 1), 50.0);
    assert_eq!(takes(&machine, Kernel::BlackScholes, 500), 50.0 + (2e4 - 50.0) / 2.0);
}

/// Data that is farther away never takes less time, even where only near sizes were measured in
/// between.
#[test]
fn what_is_far_away_takes_no_less() {
    let machine = sparse_machine();
    let footprint = Bytes::mib(1024);
    let sizes = (0..=60).map(|step| (1e3 * 10_f64.powf(f64::from(step) / 20.0)) as u64);
    // Between these sizes, the team is known far away, and one thread only nearby.
    for elements in sizes.filter(|size| !(7_500..=11_029).contains(size)) {
        let bytes = Bytes::new(16 * elements);
        let reuse = Reuse([(bytes, footprint); MOST_OPERANDS]);
        let far = HostLocality { reuse, footprint, ..HostLocality::default() };
        let kernel = Kernel::BlackScholes;
        let far = machine.twin(kernel, &Arguments::default(), elements, far).expect("known");
        assert!(far >= takes(&machine, kernel, elements) - 1.0, "{elements}: {far}");
    }
}

/// Someone who fills in a table learns everything that is missing at once.
#[test]
fn all_that_a_profile_lacks_is_named_at_once() {
    let mut machine = machine();
    (machine.calls.launch, machine.calls.copy_in, machine.calls.synchronize) = (None, None, None);
    machine.kernels.clear();
    let unknown = simulate(&planned(Resident, 9_600), &machine).expect_err("four");
    assert_eq!(
        unknown.to_string(),
        "the profile lacks kernel `scale` on the GPU; the host cost of a launch; the host cost \
         of a synchronisation; the host cost of an H2D copy call: run `hallway calibrate` to \
         measure this; docs/reference/table.md says whether a table can supply this instead"
    );
}
