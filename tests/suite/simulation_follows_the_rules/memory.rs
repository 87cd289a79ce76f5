//! What memory costs that is new, or that both sides use.

use super::*;
use crate::machines::{machine, per_element_of_bytes};
use hallway::units::Span;

#[test]
fn fresh_memory_is_paid_for_by_whoever_touches_it_first() {
    // Renewing takes 20000. The first touch takes the team 1 for each element, and one thread 3. A
    // page has 1024 elements: these calls use the first ten, and the last one in part.
    let renew = || Call::Renew(PAGEABLE);
    let timeline = run(vec![renew(), compute(10_000)], &machine());
    let computed = 11_000 + 10_000 + 3 * 10_240;
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
        let [offset, length] = [from, elements].map(Bytes::of_f32);
        let to = Slice { allocation: PAGEABLE, offset, length };
        let from = slice(DEVICE, elements);
        Call::Copy { stream: StreamId(0), direction: Direction::DeviceToHost, from, to }
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
    // Of the last page, only as much as belongs to the memory.
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
