//! What memory costs that is new, or that both sides use.

use super::*;
use crate::machines::{machine, per_element_of_bytes};
use hallway::machine::Residence;
use hallway::profile::TransferModel;
use hallway::program::Threads;
use hallway::samples::TransferPath;
use hallway::units::Span;

#[test]
fn fresh_memory_is_paid_for_by_whoever_touches_it_first() {
    // Renewing takes 20000. The first touch takes the team 1 for each element, and one thread 3. A
    // page has 1024 elements: these calls use the first ten, and the last one in part.
    let renew = || Call::Renew(PAGEABLE);
    let timeline = run(vec![renew(), compute(10_000)], &machine());
    let computed = 11_000 + 3 * 10_240;
    assert_eq!(spans(&timeline, Lane::Host), [(0, 20_000), (20_000, 20_000 + computed)]);
    let timeline = run(vec![renew(), compute(ROOM)], &machine());
    let again = run(vec![compute(ROOM)], &machine());
    assert_eq!(timeline.makespan - again.makespan, Span::from_nanos(20_000 + ROOM));
    let timeline = run(vec![renew(), copy_out(0, PAGEABLE, 10_000)], &machine());
    let staged = 12_000 + 3 * 10_000 + 3 * 10_240;
    assert_eq!(spans(&timeline, Lane::Host), [(0, 20_000), (20_000, 20_000 + staged)]);
    // This profile does not know what a copy from new pages costs beyond others.
    let timeline = run(vec![renew(), copy_in(0, PAGEABLE, 20_000)], &machine());
    assert_eq!(spans(&timeline, Lane::Host)[1], (20_000, 48_000));
}

#[test]
fn copies_pay_for_new_pages_as_they_were_measured() {
    let mut machine = machine();
    machine.memory.first_copy = Some(per_element_of_bytes(0.0, 5.0));
    machine.memory.first_read = Some(per_element_of_bytes(0.0, 2.0));
    let longer = |call: fn() -> Call| {
        let time = |body| run(body, &machine).makespan.nanos();
        time(vec![Call::Renew(PAGEABLE), call()]) - time(vec![call()]) - 20_000
    };
    assert_eq!(longer(|| copy_out(0, PAGEABLE, 20_480)), 5 * 20_480);
    assert_eq!(longer(|| copy_in(0, PAGEABLE, 20_480)), 2 * 20_480);
}

/// A page is new once: whoever uses it again, or another part of it, does not pay.
#[test]
fn each_new_page_is_paid_for_once() {
    let mut machine = machine();
    // From one page on, 5 for each element: 5120 for a page.
    let knots = vec![(4_096.0, 5_120.0), (4_096_000.0, 5_120_000.0)];
    machine.memory.first_copy = Some(Curve { knots, scatter: 0.0 });
    let piece = |from: u64, elements: u64| {
        let by = CopyBy::crossing(StreamId(0), Direction::DeviceToHost);
        Call::copy(by, slice(DEVICE, elements), part(PAGEABLE, from, elements))
    };
    let longer = |pieces: &[(u64, u64)]| {
        let calls = || pieces.iter().map(|&(from, elements)| piece(from, elements));
        let renewed = [Call::Renew(PAGEABLE)].into_iter().chain(calls()).collect();
        let time = |body| run(body, &machine).makespan.nanos();
        time(renewed) - time(calls().collect()) - 20_000
    };
    // Four bytes cost as much as the page that they are on.
    assert_eq!(longer(&[(0, 1)]), 5_120);
    assert_eq!(longer(&[(1_023, 2)]), 2 * 5_120);
    // Twice the same, and a piece that overlaps.
    assert_eq!(longer(&[(0, 2_048), (0, 2_048)]), 2 * 5_120);
    assert_eq!(longer(&[(0, 2_048), (1_024, 3_072)]), 4 * 5_120);
    assert_eq!(longer(&[(0, 1), (1, 1), (2, 1_022), (1_024, 1)]), 2 * 5_120);
    // The last page counts only as far as it belongs to the memory.
    assert_eq!(longer(&[(ROOM - 1, 1)]), 5_120);
    assert_eq!(longer(&[(0, ROOM)]), 5 * ROOM);
}

/// Memory that is renewed late in a pass was used by the calls before that, in each pass.
#[test]
fn pages_stay_used_until_the_next_renewal() {
    let before = vec![copy_out(0, PAGEABLE, 20_480), Call::Renew(PAGEABLE)];
    let time = |body| run(body, &machine()).makespan.nanos();
    let used = time(vec![copy_out(0, PAGEABLE, 20_480)]) + 20_000;
    // Nothing uses the new pages but the next pass.
    assert_eq!(time(before.clone()), used + 3 * 20_480);
    let both = [before, vec![copy_out(0, PAGEABLE, 20_480)]].concat();
    assert_eq!(time(both), time(vec![copy_out(0, PAGEABLE, 20_480); 2]) + 20_000 + 3 * 20_480);
}

/// The machine with a path of data that takes `start`, and `slope` for each element.
fn with_path(mut machine: Profile, path: TransferPath, start: f64, slope: f64) -> Profile {
    let time = per_element_of_bytes(start, slope);
    machine.transfers.retain(|model| model.path != path);
    machine.transfers.push(TransferModel { path, time });
    machine
}

/// A kernel that reads one place and writes another.
fn scale(stream: usize, from: AllocationId, to: AllocationId, elements: u64) -> Call {
    Call::Launch { stream: StreamId(stream), step: step_between([from, to], elements).into() }
}

fn time(program: &Program, machine: &Profile) -> u64 {
    simulate(program, machine).expect("known").makespan.nanos()
}

/// The tiny plan with the pinned memory of another kind, and one more piece of device memory.
fn tiny_of(memory: HostMemory, body: Vec<Call>) -> Program {
    let mut program = tiny(body);
    program.allocations[PINNED.0].place = Place::Host(memory);
    let there = program.allocations[DEVICE.0].clone();
    program.allocations.push(there);
    program
}

const OTHER: AllocationId = AllocationId(3);

#[test]
fn a_kernel_on_mapped_memory_takes_as_long_as_the_link() {
    let machine = with_path(machine(), TransferPath::MappedRead, 1_000.0, 8.0);
    let machine = with_path(machine, TransferPath::MappedWrite, 1_000.0, 6.0);
    let machine = with_path(machine, TransferPath::MappedBoth, 1_000.0, 10.0);
    let of = |from, to| {
        let body = vec![scale(0, from, to, 50_000), synchronize(0)];
        time(&tiny_of(HostMemory::Pinned, body), &machine)
    };
    let usual = of(DEVICE, OTHER);
    // Call, start and wake-up take 2000, 4000 and 6000.
    assert_eq!(of(PINNED, OTHER), 12_000 + 1_000 + 8 * 50_000);
    assert_eq!(of(DEVICE, PINNED), 12_000 + 1_000 + 6 * 50_000);
    assert!(usual < 12_000 + 6 * 50_000);
    let both = scale(0, PINNED, PINNED, 50_000);
    let both = time(&tiny_of(HostMemory::Pinned, vec![both, synchronize(0)]), &machine);
    assert_eq!(both, 12_000 + 1_000 + 10 * 50_000);
}

/// Its blocks wait for the link on their multiprocessors.
#[test]
fn a_kernel_on_mapped_memory_keeps_others_from_the_multiprocessors() {
    let machine = with_path(machine(), TransferPath::MappedRead, 1_000.0, 3.0);
    let elements = 1 << 23;
    let of = |body| {
        let mut program = tiny_of(HostMemory::Pinned, body);
        program.allocations.iter_mut().for_each(|one| one.bytes = Bytes::of_f32(elements));
        time(&program, &machine)
    };
    let (mapped, other) = (|| scale(0, PINNED, OTHER, elements), || launch(1, elements));
    let waits = [synchronize(0), synchronize(1)];
    let [of_mapped, of_other] =
        [mapped(), other()].map(|one| of([vec![one], waits.to_vec()].concat()));
    let both = of([vec![mapped(), other()], waits.to_vec()].concat());
    assert!(both > of_mapped + of_other / 2, "{both} for {of_mapped} and {of_other}");
    // A copy that the engine makes leaves them to the other kernel.
    let copies = of([vec![copy_in(0, PINNED, elements), other()], waits.to_vec()].concat());
    assert!(copies < of_other + of_other / 20, "{copies} for {of_other}");
}

#[test]
fn what_mapped_kernels_and_copies_take_from_each_other_is_not_known() {
    let body = |ordered: bool| {
        let mut body = vec![scale(0, PINNED, OTHER, 1_000)];
        body.extend(ordered.then(|| synchronize(0)));
        body.extend([copy_in(1, PINNED, 1_000), synchronize(0), synchronize(1)]);
        body
    };
    simulate(&tiny_of(HostMemory::Pinned, body(true)), &machine()).expect("one by one");
    let error = simulate(&tiny_of(HostMemory::Pinned, body(false)), &machine());
    let error = error.expect_err("side by side").to_string();
    assert!(error.contains("concurrent with copies or with another such kernel"), "{error}");
    // A profile may lack it altogether.
    let mut machine = machine();
    machine.transfers.clear();
    let error = simulate(&tiny_of(HostMemory::Pinned, body(true)), &machine).expect_err("unknown");
    assert!(error.to_string().contains("kernel reading mapped memory"), "{error}");
}

/// It is copied like pinned memory. The CPU takes as long to go through it as was measured, if that
/// is longer than its kernel.
#[test]
fn write_combined_memory_is_slow_to_read() {
    let both = |call: &Call| {
        [HostMemory::Pinned, HostMemory::WriteCombined]
            .map(|memory| time(&tiny_of(memory, vec![call.clone()]), &machine()))
    };
    let [usual, combined] = both(&copy_in(0, PINNED, 20_000));
    assert_eq!(usual, combined);
    let [usual, combined] = both(&compute_between([PINNED, PAGEABLE], 20_000));
    assert!(usual < combined, "{usual} {combined}");
    assert_eq!(combined, 20 * 20_000);
    let [usual, combined] = both(&compute_between([PAGEABLE, PINNED], 20_000));
    assert_eq!(usual, combined);
    let [usual, combined] = both(&copy(CopyBy::Host(Threads::One), [PINNED, PAGEABLE], 20_000));
    assert!(usual < combined, "{usual} {combined}");
    assert_eq!(combined, 20 * 20_000);
}

/// The CPU reads one place and writes another.
fn compute_between(way: [AllocationId; 2], elements: u64) -> Call {
    Call::Compute { step: step_between(way, elements).into() }
}

#[test]
fn pages_of_managed_memory_move_to_the_side_that_uses_them() {
    let machine = with_path(machine(), TransferPath::ManagedFault, 112_000.0, 9.0);
    let machine = with_path(machine, TransferPath::ManagedResident, 0.0, 2.0);
    let machine = with_path(machine, TransferPath::ManagedFaultOut, 50_000.0, 7.0);
    let machine = with_path(machine, TransferPath::ManagedOnHost, 0.0, 1.0);
    let machine = with_path(machine, TransferPath::ManagedPrefetchIn, 40_000.0, 3.0);
    let machine = with_path(machine, TransferPath::ManagedPrefetchInCall, 20_000.0, 0.0);
    let of = |body| time(&tiny_of(HostMemory::Managed, body), &machine);
    let (reads, waits) = (|| scale(0, PINNED, OTHER, 20_000), || synchronize(0));
    let uses = || compute_between([PINNED, PAGEABLE], 20_000);
    let there = scale(0, DEVICE, OTHER, 20_000);
    let resident = of(vec![there, waits()]);
    // Nothing but kernels uses it: its pages stay on the device.
    assert_eq!(of(vec![reads(), waits()]), resident);
    let at_home = of(vec![uses()]);
    // Beyond call, start and wake-up of 12000, faults take 100000 and 7 for each element; back,
    // they take 50000 and 6.
    let (faults, back) = (100_000 + 7 * 20_000, 50_000 + 6 * 20_000);
    let both = of(vec![uses(), reads(), waits()]);
    assert_eq!(both, at_home + back + resident + faults);
    let copies = || copy(CopyBy::Host(Threads::One), [PINNED, PAGEABLE], 20_000);
    let at_home = of(vec![copies()]);
    assert_eq!(of(vec![copies(), reads(), waits()]), at_home + back + resident + faults);
    // Half of it comes back.
    let half = vec![compute_between([PINNED, PAGEABLE], 10_000), reads(), waits()];
    assert!(of(half) < both - 6 * 10_000);
    // A prefetch's call takes 20000; then its pages are on the way.
    let prefetch = Call::Prefetch {
        stream: StreamId(0),
        target: slice(PINNED, 20_000),
        to: Residence::Device,
    };
    let prefetched = of(vec![uses(), prefetch, reads(), waits()]);
    assert!(prefetched < both - faults + 20_000 + 3 * 20_000 + 20_000, "{prefetched} {both}");
    assert!(prefetched > both - faults + 20_000 + 3 * 20_000 - 20_000, "{prefetched} {both}");
}
