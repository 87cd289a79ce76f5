//! One host thread issues calls in order, and each call has its own cost.

use super::*;
use crate::machines::{machine, per_element_of_bytes};
use hallway::profile::{Handed, StagingModel, Warmth};
use hallway::units::Span;

#[test]
fn every_call_has_its_own_cost() {
    let body = vec![
        launch(0, 10),
        copy_in(0, PINNED, 10),
        copy_out(0, PINNED, 10),
        record(0, 0),
        wait(1, 0),
        Call::Clear { stream: StreamId(2), target: slice(DEVICE, 10) },
    ];
    let timeline = run(body, &machine());
    let ends = [2_000, 3_000, 4_500, 4_600, 4_800, 6_800];
    assert_eq!(spans(&timeline, Lane::Host).iter().map(|span| span.1).collect::<Vec<_>>(), ends);
}

#[test]
fn a_synchronisation_waits_for_its_stream_and_wakes_up() {
    // The copy is issued at 1000, arrives at 4000 and takes 1000 + 5000.
    let timeline = run(vec![copy_in(0, PINNED, 5_000), synchronize(0)], &machine());
    assert_eq!(spans(&timeline, Lane::CopyIn), [(4_000, 10_000)]);
    assert_eq!(spans(&timeline, Lane::Host), [(0, 1_000), (1_000, 16_000)]);
    assert_eq!(makespan(&timeline), 16_000);
}

#[test]
fn a_pageable_copy_holds_the_host_until_its_last_piece_is_staged() {
    // 20000 elements are more than 64 KiB. The copy is complete after 10000 + 20000 and returns
    // 2000 earlier. The device has it from 4000 on (1000 for the call, and a latency of 3000).
    let timeline = run(vec![copy_in(0, PAGEABLE, 20_000), record(0, 0)], &machine());
    assert_eq!(spans(&timeline, Lane::CopyIn), [(4_000, 30_000)]);
    assert_eq!(spans(&timeline, Lane::Host), [(0, 28_000), (28_000, 28_100)]);
    // A copy out takes 12000 + 3 * 20000 until it is complete, and does not return before.
    let timeline = run(vec![copy_out(0, PAGEABLE, 20_000), record(0, 0)], &machine());
    assert_eq!(spans(&timeline, Lane::CopyOut), [(6_500, 72_000)]);
    assert_eq!(spans(&timeline, Lane::Host), [(0, 72_000), (72_000, 72_100)]);
}

#[test]
fn a_pageable_copy_waits_for_its_stream_but_a_small_one_in_returns_early() {
    // The kernel of 90000 ends at 2000 + 4000 + 1000 + 90000 = 97000.
    let busy = |copy| run(vec![launch(0, 90_000), copy, record(0, 0)], &machine());
    let host_end = |timeline: &Timeline| spans(timeline, Lane::Host)[1].1;
    // 64 KiB are 16384 elements. They are staged at once, in 2000 + 8000 + 16384.
    let small = busy(copy_in(0, PAGEABLE, 16_384));
    assert_eq!(host_end(&small), 26_384);
    // The rest of the copy, 2000 on the device, follows the kernel.
    assert_eq!(spans(&small, Lane::CopyIn), [(97_000, 99_000)]);
    // With one element more, all but the call and a latency of 4000 comes after the kernel.
    let large = busy(copy_in(0, PAGEABLE, 16_385));
    assert_eq!(spans(&large, Lane::CopyIn), [(97_000, 97_000 + 26_385 - 4_000)]);
    assert_eq!(host_end(&large), 97_000 + 26_385 - 4_000 - 2_000);
    // For copies out there is no such exception: the copy takes 12000 + 30, less 1500 + 5000.
    let out = busy(copy_out(0, PAGEABLE, 10));
    assert_eq!(spans(&out, Lane::CopyOut), [(97_400, 97_400 + 12_030 - 6_500)]);
    assert_eq!(host_end(&out), 97_400 + 12_030 - 6_500);
}

#[test]
fn what_the_caches_cannot_hold_is_cold() {
    // The kernel uses what another kernel used before it, with `others` bytes used in between.
    let behind = |others: Bytes| {
        let mut step = step(PAGEABLE, others.as_f32_count());
        (step.inputs[0].offset, step.output.offset) =
            (Bytes::of_f32(10_000), Bytes::of_f32(10_000));
        let all = copy_in(0, PAGEABLE, 10_000 + others.as_f32_count());
        vec![
            compute(10_000),
            copy_in(0, PAGEABLE, 20_000),
            Call::Compute { step: step.into() },
            all,
        ]
    };
    let mut plan = tiny(Vec::new());
    plan.allocations[PINNED.0].bytes = Bytes::ZERO;
    let on_host = |plan: &Program| {
        let calls = spans(&simulate(plan, &machine()).expect("known"), Lane::Host);
        [calls[0], calls[1]]
    };
    // A twin takes 1000, and for each element 2 from the shared cache or 5 from memory. A copy
    // takes 8000, and for each element 1 if hot or 2 if cold. In between, the share of misses
    // decides: it is one half at half a MiB after misses begin.
    for (kib, twin, copy) in [
        (1_024, 21_000, 28_000),
        (1_536, 21_000, 38_000),
        (2_048, 21_000, 48_000),
        (2_560, 36_000, 48_000),
        (3_072, 51_000, 48_000),
        (9_999, 51_000, 48_000),
    ] {
        plan.allocations[PAGEABLE.0].bytes = Bytes::kib(kib);
        plan.body = behind(Bytes::kib(kib) - Bytes::of_f32(10_000));
        assert_eq!(on_host(&plan), [(0, twin), (twin, twin + copy)], "{kib} KiB");
    }
    // Two adjacent halves are used; the memory beside them does not count.
    plan.body = behind(Bytes::of_f32(20_000));
    assert_eq!(on_host(&plan)[0], (0, 21_000));
    // Device memory does not take room in the host's caches.
    plan.allocations[DEVICE.0].bytes = Bytes::mib(64);
    assert_eq!(on_host(&plan)[0], (0, 21_000));
    // A twin that uses everything itself finds it again, at 1 for each element.
    plan.body = vec![compute(10_000), copy_in(0, PAGEABLE, 20_000)];
    assert_eq!(on_host(&plan)[0], (0, 11_000));
}

#[test]
fn what_a_core_has_of_its_own_is_near_to_read_and_in_the_way_to_write() {
    // The core holds everything that a pass reads up to 64 KiB, and nothing from 128 KiB on. A copy
    // out takes 3 more for each element whose place is in the core's cache.
    let mut machine = machine();
    machine.caches.own_misses = Some(vec![(65_536.0, 0.0), (131_072.0, 1.0)]);
    let model = |direction| move |model: &&mut StagingModel| model.direction == direction;
    let models = &mut machine.staging;
    let mut shared = models.iter_mut().find(model(Direction::HostToDevice)).expect("in").clone();
    shared.found = Warmth::Shared;
    shared.until_return = Some(per_element_of_bytes(8_000.0, 3.0));
    shared.until_complete = per_element_of_bytes(8_000.0, 3.0);
    let out = models.iter_mut().find(model(Direction::DeviceToHost)).expect("out");
    out.until_complete = per_element_of_bytes(12_000.0, 6.0);
    out.until_return = Some(out.until_complete.clone());
    models.push(shared);
    let host = |body: Vec<Call>, kib| {
        let mut plan = tiny(body);
        plan.allocations[PAGEABLE.0].bytes = Bytes::kib(kib);
        lasts(&simulate(&plan, &machine).expect("known"), Lane::Host).pop().expect("a call")
    };
    let n = 16_385_u32;
    // A pass goes through the rest of the memory, too.
    let rest = |kib: u64| {
        let mut rest = copy_in(0, PAGEABLE, (256 * kib).saturating_sub(n.into()).max(1));
        if let Call::Copy { from, .. } = &mut rest {
            from.offset = Bytes::of_f32(n.into());
        }
        [rest, synchronize(0)]
    };
    let copy_in = || copy_in(0, PAGEABLE, n.into());
    for (kib, near) in [(64, 1.0), (96, 2.0), (128, 3.0), (1_024, 3.0)] {
        let body = rest(kib).into_iter().chain([copy_in()]).collect();
        let takes = (host(body, kib) - 8_000) as f64 / f64::from(n);
        assert!((takes - near).abs() < 0.01, "{kib} KiB: {takes}");
    }
    let copy_out = || copy_out(0, PAGEABLE, u64::from(n));
    let out = |body: Vec<Call>, kib| host(body, kib) - 12_000;
    for (kib, slope) in [(65, 5.95), (96, 4.5), (128, 3.0)] {
        let body = rest(kib).into_iter().chain([copy_in(), synchronize(0), copy_out()]).collect();
        let takes = out(body, kib) as f64 / f64::from(n);
        assert!((takes - slope).abs() < 0.01, "{kib} KiB: {takes}");
    }
    // Memory that is never read is in no cache, however small it is.
    assert_eq!(out(vec![copy_out()], 65), 3 * u64::from(n));
}

#[test]
fn copies_out_to_one_place_will_do_where_no_others_were_measured() {
    let mut machine = machine();
    machine.staging.retain(|model| model.found == Warmth::Same);
    let host = spans(&run(vec![copy_out(0, PAGEABLE, 20_000)], &machine), Lane::Host);
    assert_eq!(host, [(0, 12_000 + 2 * 20_000)]);
    // What copies out wrote is in no cache, and reading such data was not measured.
    let there_and_back = vec![copy_out(0, PAGEABLE, 20_000), copy_in(0, PAGEABLE, 20_000)];
    simulate(&tiny(there_and_back), &machine).expect_err("refused");
}

#[test]
fn a_pageable_copy_out_takes_longer_to_be_issued() {
    // The smallest copy takes 20000. Of these, the way to the device takes 5000, the copy 1000, and
    // the way back 6000.
    let mut machine = machine();
    for model in &mut machine.staging {
        model.until_complete = per_element_of_bytes(20_000.0, 2.0);
    }
    let timeline = run(vec![copy_out(0, PAGEABLE, 20_000)], &machine);
    assert_eq!(spans(&timeline, Lane::CopyOut), [(13_000, 60_000)]);
}

#[test]
fn set_up_is_the_sum_of_its_calls() {
    let mut plan = tiny(Vec::new());
    // Device memory costs 10000. Pinned memory costs 100000 and page-locking 50000, both with 1
    // more for each element. The team touches pageable memory, at 1 for each element.
    plan.setup = vec![
        Call::allocate(DEVICE),
        Call::allocate(PINNED),
        Call::allocate(PAGEABLE),
        Call::Pin(PAGEABLE),
    ];
    let time = hallway::cost::setup_time(&plan, &machine()).expect("known");
    let room = ROOM;
    let calls = 10_000 + (100_000 + room) + room + (50_000 + room);
    assert_eq!(time, Span::from_nanos(HANDLES + calls));
}

#[test]
fn an_empty_body_takes_no_time() {
    let timeline = run(Vec::new(), &machine());
    assert_eq!((makespan(&timeline), timeline.activities.len()), (0, 0));
}

#[test]
fn what_was_not_calibrated_is_an_error_that_names_it() {
    let mut machine = machine();
    machine.kernels.clear();
    machine.twins.clear();
    machine.copies.clear();
    machine.staging.retain(|model| model.direction == Direction::HostToDevice);
    let unknown = |call| simulate(&tiny(vec![call]), &machine).expect_err("unknown").to_string();
    assert!(unknown(launch(0, 10)).contains("kernel `scale` on the GPU"));
    assert!(unknown(compute(10)).contains("kernel `scale` on the CPU"));
    assert!(unknown(copy_in(0, PINNED, 10)).contains("H2D copies of pinned memory"));
    assert!(unknown(copy_out(0, PAGEABLE, 10)).contains("D2H copies of pageable memory"));
    simulate(&tiny(vec![copy_in(0, PAGEABLE, 10)]), &machine).expect("this one is known");
}

#[test]
fn launches_take_longer_while_data_is_on_the_link() {
    let mut machine = machine();
    machine.calls.launch_beside_copy_in = Some(exactly(500.0));
    machine.calls.launch_beside_copy_out = Some(exactly(200.0));
    let host = |first: Call| {
        let launches = (0..3).map(|_| launch(1, 10));
        let body = std::iter::once(first).chain(launches).chain([synchronize(0), launch(1, 10)]);
        let lasts = lasts(&run(body.collect(), &machine), Lane::Host);
        [1, 2, 3, 5].map(|call| lasts[call])
    };
    // The copy's call ends at 1000, and the copy begins at 4000. By then the first launch is over,
    // and half of the second is left. The copy takes 10000, and its data is on the link for 9000 of
    // that.
    assert_eq!(host(copy_in(0, PINNED, 9_000)), [2_000, 2_000 + 225, 2_000 + 450, 2_000]);
    // The copy from the device begins at 6500, in the middle of the third launch. Its data takes
    // 4000 of 5000.
    assert_eq!(host(copy_out(0, PINNED, 4_000)), [2_000, 2_000, 2_000 + 80, 2_000]);
    // Calls that wait for nobody and move nothing cost what they always cost.
    assert_eq!(host(record(0, 0)), [2_000; 4]);
    // Copies both ways cost a launch no more than the costlier direction alone.
    let body = vec![copy_in(0, PINNED, 99_000), copy_out(1, PINNED, 99_000)];
    let body = body.into_iter().chain((0..9).map(|_| launch(2, 10))).collect();
    assert_eq!(lasts(&run(body, &machine), Lane::Host)[10], 2_000 + 495);
}

#[test]
fn what_other_threads_used_before_takes_longer() {
    let mut machine = machine();
    let nothing = Some(vec![(4.0, 0.0), (1e9, 0.0)]);
    (machine.caches.own_misses, machine.caches.own_team_misses) = (nothing.clone(), nothing);
    let cost = |read_ns_per_byte, written_ns_per_byte| {
        Some(Handed { read_ns_per_byte, written_ns_per_byte })
    };
    machine.caches.handed_to_one = cost(0.25, 0.5);
    machine.caches.handed_to_team = cost(0.0, 0.0625);
    // The kernel works in place, so it reads nothing besides what it writes.
    let [few, many] = [100, ROOM];
    assert_eq!([few, many].map(|n| step(PAGEABLE, n).is_shared(Bytes::ZERO)), [false, true]);
    let times = |body: Vec<Call>| lasts(&run(body, &machine), Lane::Host);
    let own = times(vec![compute(few), compute(few)]);
    let handed = times(vec![compute(many), compute(few)]);
    assert_eq!(handed[1] - own[0], 2 * few);
    // The pass before ended with one thread, but that used little of what the first kernel works
    // on.
    assert_eq!(handed[0], times(vec![compute(many)])[0]);
    // What the device has written in between is in no cache.
    let body = vec![compute(many), copy_out(0, PAGEABLE, few), compute(few)];
    assert_eq!(times(body)[2], own[0]);
    // Arithmetic is shared out at smaller sizes, so with equally many elements the team finds all
    // of the data handed over.
    let mut arithmetic = step(PAGEABLE, few);
    (arithmetic.kernel, arithmetic.arguments.extent) = (Kernel::Polynomial, 100_000);
    assert!(arithmetic.is_shared(Bytes::ZERO));
    let arithmetic = Call::Compute { step: arithmetic.into() };
    let alone = times(vec![arithmetic.clone()]);
    let handed = times(vec![arithmetic, compute(few)]);
    assert_eq!([handed[0] - alone[0], handed[1] - own[0]], [few / 4, 2 * few]);
}

/// Threads help each other with arithmetic. A thread that then works on its own share finds parts
/// of it in other cores.
#[test]
fn what_helpers_used_before_takes_longer() {
    let mut machine = machine();
    let nothing = Some(vec![(4.0, 0.0), (1e9, 0.0)]);
    (machine.caches.own_misses, machine.caches.own_team_misses) = (nothing.clone(), nothing);
    machine.caches.handed_behind_helpers =
        Some(Handed { read_ns_per_byte: 0.5, written_ns_per_byte: 0.25 });
    let threads = machine.machine.cpu_threads;
    let mut arithmetic = step(PAGEABLE, ROOM);
    (arithmetic.kernel, arithmetic.arguments.extent) = (Kernel::Polynomial, 64);
    let own_shares = step(PAGEABLE, ROOM);
    assert!(arithmetic.is_shared(Bytes::ZERO) && !arithmetic.keeps_shares(threads));
    assert!(own_shares.is_shared(Bytes::ZERO) && own_shares.keeps_shares(threads));
    // This kernel writes elsewhere than it reads.
    let moved = step_between([PAGEABLE, PINNED], ROOM);
    let times = |steps: [&LibraryStep; 2]| {
        let body = steps.map(|step| Call::Compute { step: step.clone().into() }).to_vec();
        lasts(&run(body, &machine), Lane::Host)
    };
    let [helped, own] = [times([&arithmetic, &arithmetic]), times([&own_shares, &own_shares])];
    let bytes = 4 * ROOM;
    assert_eq!(times([&arithmetic, &own_shares]), [helped[0], own[0] + bytes / 4]);
    let apart = times([&moved, &moved]);
    assert_eq!(times([&arithmetic, &moved]), [helped[0], apart[0] + bytes / 2]);
}
