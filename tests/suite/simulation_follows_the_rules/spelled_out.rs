//! Calls that no family makes: what the host waits for, memory that a pass takes and gives back,
//! copies that stay on their side of the link, and copies of rows.

use super::*;
use crate::machines::{machine, per_element_of_bytes};
use hallway::machine::DeviceId;
use hallway::profile::{Profile, TransferModel};
use hallway::program::{Rows, Threads};
use hallway::samples::TransferPath;

#[test]
fn waiting_for_an_event_waits_for_nothing_behind_it() {
    // The first copy ends at 10000. The host wakes up 6000 later, while the second goes on.
    let event = EventId(0);
    let body = vec![
        copy_in(0, PINNED, 5_000),
        record(0, 0),
        copy_in(0, PINNED, 7_000),
        Call::SynchronizeEvent { event },
        synchronize(0),
    ];
    let host = spans(&run(body, &machine()), Lane::Host);
    assert_eq!(host[3..], [(2_100, 16_000), (16_000, 24_000)]);
    // What has happened, or was never recorded, is not waited for.
    let body = vec![
        copy_in(0, PINNED, 5_000),
        record(0, 0),
        synchronize(0),
        Call::SynchronizeEvent { event },
        Call::SynchronizeEvent { event: EventId(1) },
    ];
    let host = spans(&run(body, &machine()), Lane::Host);
    assert_eq!(host[3..], [(16_000, 16_300), (16_300, 16_600)]);
}

#[test]
fn waiting_for_a_device_waits_for_all_of_its_streams() {
    let body = vec![
        copy_in(0, PINNED, 5_000),
        copy_in(1, PINNED, 7_000),
        Call::SynchronizeDevice(DeviceId::FIRST),
    ];
    let host = spans(&run(body, &machine()), Lane::Host);
    assert_eq!(host, [(0, 1_000), (1_000, 2_000), (2_000, 24_000)]);
}

fn free(allocation: AllocationId) -> Call {
    Call::Free { allocation, stream: None }
}

#[test]
fn giving_device_memory_back_waits_for_the_device() {
    assert_eq!(spans(&run(vec![free(DEVICE)], &machine()), Lane::Host), [(0, 15_000)]);
    // The copy ends at 10000. The host wakes up 6000 later, and then frees.
    let beside = vec![copy_in(0, PINNED, 5_000), free(DEVICE)];
    let host = spans(&run(beside.clone(), &machine()), Lane::Host);
    assert_eq!(host, [(0, 1_000), (1_000, 31_000)]);
    // Where calibration has found that it does not wait, it does not.
    let mut machine = machine();
    machine.memory.waits_for_device = Some(Vec::new());
    assert_eq!(spans(&run(beside, &machine), Lane::Host), [(0, 1_000), (1_000, 16_000)]);
    // Nor does giving back memory that the device never sees.
    let pageable = vec![copy_in(0, PINNED, 5_000), free(PAGEABLE)];
    assert_eq!(spans(&run(pageable, &machine), Lane::Host), [(0, 1_000), (1_000, 8_000)]);
}

#[test]
fn what_a_pass_takes_and_pins_has_its_price() {
    let body = vec![
        Call::allocate(DEVICE),
        Call::allocate(PINNED),
        Call::Unpin(PINNED),
        free(PINNED),
        Call::allocate(PAGEABLE),
        free(PAGEABLE),
    ];
    let half = ROOM / 2;
    assert_eq!(
        lasts(&run(body, &machine()), Lane::Host),
        [10_000, 100_000 + ROOM, 40_000 + half, 80_000 + half, 3_000, 7_000]
    );
    let (stream, allocation) = (Some(StreamId(0)), DEVICE);
    let in_stream = vec![Call::Allocate { allocation, stream }, Call::Free { allocation, stream }];
    assert_eq!(spans(&run(in_stream, &machine()), Lane::Host), [(0, 600), (600, 1_000)]);
}

#[test]
fn a_copy_inside_the_device_holds_no_copy_engine() {
    let (from, to) = (part(DEVICE, 0, 5_000), part(DEVICE, 50_000, 5_000));
    let copy = Call::copy(CopyBy::Stream(StreamId(1), Route::OnDevice), from, to);
    let timeline = run(vec![copy_in(0, PINNED, 20_000), copy, synchronize(1)], &machine());
    // Issued at 2300, it starts 4000 later and takes 1000, and 2 for each element.
    assert_eq!(spans(&timeline, Lane::Kernels), [(6_300, 17_300)]);
    assert_eq!(spans(&timeline, Lane::CopyIn), [(4_000, 25_000)]);
}

#[test]
fn the_cpu_copies_from_its_caches_or_from_memory() {
    let copy = |threads| copy(CopyBy::Host(threads), [PINNED, PAGEABLE], 10_000);
    for (threads, near) in [(Threads::One, 20_000), (Threads::All, 5_000)] {
        assert_eq!(spans(&run(vec![copy(threads)], &machine()), Lane::Host), [(0, near)]);
        // A kernel on 4 MiB leaves nothing of it in the caches.
        let mut plan = tiny(vec![copy(threads), compute(1 << 20)]);
        plan.allocations[PAGEABLE.0].bytes = Bytes::mib(4);
        let timeline = simulate(&plan, &machine()).expect("known");
        assert_eq!(spans(&timeline, Lane::Host)[0], (0, 2 * near));
    }
}

#[test]
fn a_copy_by_the_cpu_reads_memory_and_writes_caches() {
    let mut machine = machine();
    for model in &mut machine.host_copies {
        let near = model.near.at(4.0);
        model.into_cache = Some(per_element_of_bytes(0.0, 1.25 * near));
    }
    // Two pieces of 4 KiB, of which the source is always new and the target always the same.
    let piece = |at| {
        let (from, to) = (part(PAGEABLE, at, 1_024), slice(PINNED, 1_024));
        Call::copy(CopyBy::Host(Threads::One), from, to)
    };
    let takes = |machine: &Profile| {
        let mut plan = tiny(vec![piece(0), piece(1_024), compute(1 << 20)]);
        plan.allocations[PAGEABLE.0].bytes = Bytes::mib(4);
        lasts(&simulate(&plan, machine).expect("known"), Lane::Host)[..2].to_vec()
    };
    // A kernel on 4 MiB follows, so the first piece finds nothing; the second finds its target.
    assert_eq!(takes(&machine), [4_096, 2_560]);
    machine.host_copies.iter_mut().for_each(|model| model.into_cache = None);
    assert_eq!(takes(&machine), [4_096, 4_096]);
}

#[test]
fn an_engine_waits_for_caches_that_hold_what_it_reads() {
    let path = |path, slope| TransferModel { path, time: per_element_of_bytes(0.0, slope) };
    let mut machine = machine();
    machine.transfers.retain(|model| !TransferPath::WRITTEN.contains(&model.path));
    let unmeasured = machine.clone();
    for (one, slope) in TransferPath::WRITTEN.into_iter().zip([3.0, 5.0, 1.0]) {
        machine.transfers.push(path(one, slope));
    }
    let copy = |threads| copy(CopyBy::Host(threads), [PAGEABLE, PINNED], 5_000);
    let lasts = |body: Vec<Call>, machine: &Profile| lasts(&run(body, machine), Lane::CopyIn);
    let read = || copy_in(0, PINNED, 5_000);
    let usual = lasts(vec![read(), synchronize(0)], &machine)[0];
    for (threads, later) in [(Threads::One, 2 * 5_000), (Threads::All, 4 * 5_000)] {
        // Once an engine has read it, memory has it, too.
        let body = || vec![copy(threads), read(), read(), synchronize(0)];
        assert_eq!(lasts(body(), &machine), [usual + later, usual]);
        assert_eq!(lasts(body(), &unmeasured), [usual, usual]);
        // The pass before has written it.
        let before = vec![read(), synchronize(0), copy(threads)];
        assert_eq!(lasts(before, &machine), [usual + later]);
        // An engine has overwritten it.
        let over = vec![copy(threads), copy_out(0, PINNED, 5_000), read(), synchronize(0)];
        assert_eq!(lasts(over, &machine), [usual]);
    }
}

#[test]
fn what_an_engine_reads_late_has_left_the_caches() {
    let mut machine = machine();
    machine.transfers.retain(|model| !TransferPath::WRITTEN.contains(&model.path));
    // Each of the last 5000 elements that the CPU has written takes a nanosecond longer.
    for (path, later) in TransferPath::WRITTEN.into_iter().zip([5_000.0, 5_000.0, 0.0]) {
        let mut time = per_element_of_bytes(0.0, 1.0);
        time.knots = [4.0, 20_000.0, 80_000.0]
            .map(|bytes: f64| (bytes, bytes / 4.0 + (bytes / 20_000.0).min(1.0) * later))
            .to_vec();
        machine.transfers.push(TransferModel { path, time });
    }
    let write = |to| Call::copy(CopyBy::Host(Threads::All), slice(PAGEABLE, 5_000), to);
    let second = |more: &[Call]| {
        // The engine is busy while the CPU writes.
        let by = CopyBy::crossing(StreamId(0), Direction::HostToDevice);
        let busy = Call::copy(by, part(PINNED, 20_000, 20_000), slice(DEVICE, 20_000));
        let mut body = vec![busy, write(slice(PINNED, 5_000)), copy_in(0, PINNED, 5_000)];
        body.extend_from_slice(more);
        body.push(synchronize(0));
        lasts(&run(body, &machine), Lane::CopyIn)[1]
    };
    let older = [write(part(PINNED, 10_000, 5_000))];
    assert_eq!(second(&[]) - second(&older), 5_000);
}

#[test]
fn rows_cost_time_besides_their_bytes() {
    // Ten rows of 500 elements: 900, and 100 and an element a nanosecond for each.
    let rows = Rows { row: Bytes::of_f32(500), pitch: [1_000, 500].map(Bytes::of_f32) };
    let by = CopyBy::crossing(StreamId(0), Direction::HostToDevice);
    let copy = |from| {
        let (from, to) = (slice(from, 9_500), slice(DEVICE, 5_000));
        Call::Copy { by, from, to, rows: Some(rows) }
    };
    let timeline = run(vec![copy(PINNED), synchronize(0)], &machine());
    assert_eq!(spans(&timeline, Lane::CopyIn), [(4_700, 11_600)]);
    assert_eq!(spans(&timeline, Lane::Host)[0], (0, 1_700));
    // The host stages those of pageable memory, and is held until they are there.
    let timeline = run(vec![copy(PAGEABLE), synchronize(0)], &machine());
    assert_eq!(spans(&timeline, Lane::CopyIn), [(4_000, 6_900)]);
    assert_eq!(spans(&timeline, Lane::Host)[0], (0, 6_900));
    let from = part(DEVICE, 20_000, 9_500);
    let (by, to) = (CopyBy::Stream(StreamId(0), Route::OnDevice), slice(DEVICE, 5_000));
    let on_device = Call::Copy { by, from, to, rows: Some(rows) };
    let timeline = run(vec![on_device, synchronize(0)], &machine());
    assert_eq!(spans(&timeline, Lane::Kernels), [(5_700, 12_600)]);
}

#[test]
fn graphs_of_copies_inside_a_device_are_refused_by_name() {
    let (from, to) = (part(DEVICE, 0, 5_000), part(DEVICE, 50_000, 5_000));
    let stream = StreamId(0);
    let copy = Call::copy(CopyBy::Stream(stream, Route::OnDevice), from, to);
    let mut plan = tiny(vec![Call::Replay { stream, calls: 1 }, copy, synchronize(0)]);
    plan.setup = vec![Call::allocate(DEVICE)];
    plan.check().expect("it can be captured");
    let refused = simulate(&plan, &machine()).expect_err("not measured").to_string();
    assert!(refused.contains("copies within a GPU, or of rows, in a graph"), "{refused}");
}

#[test]
fn what_was_not_measured_is_unknown_by_name() {
    let mut machine = machine();
    machine.calls.allocate_in_stream = None;
    machine.memory.device_free = None;
    machine.host_copies.clear();
    machine.rows.clear();
    let refused =
        |call: Call| simulate(&tiny(vec![call]), &machine).expect_err("unknown").to_string();
    let on_host = copy(CopyBy::Host(Threads::All), [PINNED, PAGEABLE], 100);
    let in_stream = Call::Allocate { stream: Some(StreamId(0)), allocation: DEVICE };
    let rows = Rows { row: Bytes::of_f32(10), pitch: [20, 10].map(Bytes::of_f32) };
    let by = CopyBy::crossing(StreamId(0), Direction::HostToDevice);
    let (far, near) = (slice(PINNED, 90), slice(DEVICE, 50));
    let row_copy = Call::Copy { by, from: far, to: near, rows: Some(rows) };
    for (call, what) in [
        (in_stream, "allocating memory in a stream"),
        (free(DEVICE), "freeing device memory"),
        (on_host, "copies by all threads on the CPU"),
        (row_copy, "H2D copies of rows"),
    ] {
        let found = refused(call);
        assert!(found.contains(what), "{found}");
    }
}
