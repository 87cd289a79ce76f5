//! Why things happened when they did, and how much faster they could be at best.

use super::*;
use crate::machines::{machine, wide_machine};
use crate::predicted::reread;
use hallway::simulate::lower_bound;
use hallway::timeline::{Activity, Cause, Reason};
use hallway::units::Span;

/// The calls of the critical path, first to last, each with the reason why it did not start
/// earlier.
fn path(timeline: &Timeline) -> Vec<(Lane, usize, Option<Reason>)> {
    let path = timeline.critical_path();
    let step = |segment: &hallway::timeline::PathSegment<'_>| {
        (segment.activity.lane, segment.activity.call, segment.reason)
    };
    path.segments.iter().map(step).collect()
}

#[test]
fn the_path_of_one_stream_goes_through_all_of_it() {
    let timeline = run(there_and_back(), &machine());
    let expected = [
        (Lane::Host, 0, None),
        (Lane::CopyIn, 0, Some(Reason::Issue)),
        (Lane::Kernels, 1, Some(Reason::Stream)),
        (Lane::CopyOut, 2, Some(Reason::Stream)),
        (Lane::Host, 3, Some(Reason::Device)),
    ];
    assert_eq!(path(&timeline), expected);
    let path = timeline.critical_path();
    // The gaps are 3000 after the call, 300 and 1000 before the kernel, and 400 after it.
    assert_eq!(path.gaps().nanos(), 3_000 + 1_300 + 400);
    assert_eq!(path.on(Lane::Host).nanos(), 1_000 + 6_000);
    assert_eq!(path.on(Lane::CopyIn).nanos(), 6_000);
    assert_eq!(path.on(Lane::Kernels).nanos(), 4_000);
}

/// Whichever kernel holds the multiprocessors, a kernel that waits for room on them waits for
/// kernels.
#[test]
fn waiting_for_an_engine_is_no_gap() {
    let kernel = |call, from, to, cause| Activity {
        lane: Lane::Kernels,
        call,
        start: Instant::START + Span::from_micros(from),
        end: Instant::START + Span::from_micros(to),
        cause,
    };
    // The first two kernels begin at once; the third finds room when the second is over.
    let engine = Some(Cause { reason: Reason::Engine, after: 0 });
    let activities =
        vec![kernel(0, 0, 10, None), kernel(1, 0, 30, None), kernel(2, 30, 40, engine)];
    let timeline = Timeline { activities, makespan: Span::from_micros(40) };
    let path = timeline.critical_path();
    assert_eq!((path.gaps(), path.on(Lane::Kernels)), (Span::ZERO, Span::from_micros(40)));
}

#[test]
fn an_engine_that_is_busy_is_a_reason() {
    let timeline = run(vec![copy_in(0, PINNED, 5_000), copy_in(1, PINNED, 5_000)], &machine());
    let expected = [
        (Lane::Host, 0, None),
        (Lane::CopyIn, 0, Some(Reason::Issue)),
        (Lane::CopyIn, 1, Some(Reason::Engine)),
    ];
    assert_eq!(path(&timeline), expected);
}

#[test]
fn an_event_is_a_reason() {
    let body = vec![copy_in(0, PINNED, 5_000), record(0, 0), wait(1, 0), launch(1, 4_000)];
    let timeline = run(body, &machine());
    assert_eq!(path(&timeline)[2], (Lane::Kernels, 3, Some(Reason::Event)));
}

#[test]
fn calls_that_come_too_late_are_a_reason() {
    let timeline = run(vec![compute(50_000), launch(0, 4_000)], &machine());
    let expected = [
        (Lane::Host, 0, None),
        (Lane::Host, 1, Some(Reason::Issue)),
        (Lane::Kernels, 1, Some(Reason::Issue)),
    ];
    assert_eq!(path(&timeline), expected);
}

#[test]
fn no_schedule_beats_a_chain_or_an_engine() {
    let bound = |body| lower_bound(&tiny(body), &wide_machine()).expect("known").nanos();
    // A chain: the bound leaves out hand-overs, but not the call, the latency and the gap.
    // A block may be rounded down to whole nanoseconds.
    let body = vec![copy_in(0, PINNED, 5_000), launch(0, 4_000)];
    assert_eq!(bound(body), 4_000 + 6_000 + 1_000 + 3_999);
    // An engine: three copies run one after the other, whatever their streams.
    let body = (0..3).map(|stream| copy_in(stream, PINNED, 5_000)).collect();
    assert_eq!(bound(body), 4_000 + 3 * 6_000);
    // The host: calls take as long as they take.
    let body = vec![compute(50_000), compute(50_000)];
    let alone = bound(vec![compute(50_000)]);
    assert_eq!(bound(body), 2 * alone);
}

#[test]
fn times_below_nothing_are_no_profile() {
    let edit = |text: String| {
        let wrong = text.replacen("ns = 2000.0", "ns = -1.0", 1);
        assert_ne!(text, wrong);
        wrong
    };
    let error = reread(&machine(), edit).expect_err("a negative time");
    assert!(error.to_string().contains("must be a time in nanoseconds"), "{error}");
}
