//! Laws about the bytes that copies carry.

use super::*;

/// Checks that each lane carries the bytes that the calls of its direction ask for, and that each
/// copy has moved all of its bytes exactly when it ends, given the rate that it has alone or beside
/// the other direction.
pub fn check_bytes(plan: &Program, timeline: &Timeline) -> Result<(), TestCaseError> {
    let copy = |call: usize| {
        plan.body[call].crossing().map(|(_, direction, from, to)| (direction, from, to))
    };
    let is_pinned = |call: usize| {
        let place = |slice: &Slice| plan.allocation(slice.allocation).place;
        let (_, from, to) = copy(call).expect("a copy");
        [place(from), place(to)].contains(&Place::Host(HostMemory::Pinned))
    };
    let crossing = Direction::BOTH.map(|direction| {
        let lane = timeline.lane(Lane::of(direction));
        lane.map(|activity| (activity.call, activity)).collect::<Vec<_>>()
    });
    for direction in Direction::BOTH {
        let bytes = |(way, from, _): (Direction, &Slice, &Slice)| {
            if way == direction { from.length } else { Bytes::ZERO }
        };
        let asked: Bytes = (0..plan.body.len()).filter_map(copy).map(bytes).sum();
        let crossing = crossing[direction as usize].iter();
        let carried: Bytes = crossing.filter_map(|&(call, _)| copy(call)).map(bytes).sum();
        prop_assert_eq!(asked, carried, "{}", direction);
    }
    for direction in Direction::BOTH {
        let others = &crossing[1 - direction as usize];
        for &(call, activity) in &crossing[direction as usize] {
            if is_pinned(call) {
                check_fluid(plan, (call, activity), others)?;
            }
        }
    }
    Ok(())
}

/// Checks that a copy's rate, summed over its time, gives its bytes, within a nanosecond of
/// rounding. Beside the other direction, a copy has its share of the link (see `machines.rs`),
/// which is the slowdown that calibration found.
fn check_fluid(
    plan: &Program,
    (call, copy): (usize, &Activity),
    others: &[(usize, &Activity)],
) -> Result<(), TestCaseError> {
    let machine = machine();
    let (_, direction, from, _) = plan.body[call].crossing().expect("a copy");
    let bytes = from.length.as_f64();
    let alone = machine.copy(direction, from.length).expect("known").nanos_f64();
    let shared = machine.shared(direction).expect("known");
    let slowdown = 1.0 + shared.of_bytes(from.length) / alone;
    let rate = bytes / alone;
    let nanos = |instant: Instant| instant.since_start().nanos_f64();
    let beside = |other: &Activity| {
        let (start, end) = (copy.start.max(other.start), copy.end.min(other.end));
        (nanos(end) - nanos(start)).max(0.0)
    };
    let both: f64 = others.iter().map(|(_, other)| beside(other)).sum();
    let all = nanos(copy.end) - nanos(copy.start);
    // A copy that finds the other direction busy starts later, and during that wait counts at the
    // full rate. It is certain to if the other has far more data left, and may if the other has
    // any.
    let late = |more: f64| {
        let goes_on = |other: &Activity| nanos(other.end) > nanos(copy.start) + more;
        let is_met = others.iter().any(|(_, other)| other.start <= copy.start && goes_on(other));
        if is_met { shared.per_copy_ns / slowdown } else { 0.0 }
    };
    let moved = |late: f64| rate * (all - both - late) + rate / slowdown * both;
    let far_more = 2.0 * (shared.per_copy_ns + 1_000.0);
    let (least, most) = (moved(late(0.0)), moved(late(far_more)));
    prop_assert!(
        least - rate <= bytes && bytes <= most + rate,
        "call {call}: {least} to {most} of {bytes}: {copy:?}"
    );
    Ok(())
}
