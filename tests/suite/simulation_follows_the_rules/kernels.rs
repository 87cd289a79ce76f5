//! Kernels run side by side as far as the multiprocessors go.

use super::*;
use crate::machines::machine;

/// Elements of a kernel that fills the machine once: 100 multiprocessors hold
/// 8 blocks of 256 threads each, and a thread works on 4 elements.
const WAVE: u64 = 100 * 8 * 256 * 4;

/// Blocks last 2000, and wait for nothing that others have to wait for.
fn waves() -> Profile {
    let mut machine = machine();
    machine.calls.launch = Some(exactly(500.0));
    let last = |waves: u64| 1_000.0 + 2_000.0 * waves as f64;
    let wave = |number: u64| {
        let first = (WAVE * (number - 1) + 1).max(2);
        [first, WAVE * number].map(|elements| (elements as f64, last(number)))
    };
    let mut knots = vec![(1.0, 1_000.0)];
    knots.extend((1..=3).flat_map(wave));
    knots.push(((1_000_000 * WAVE) as f64, last(1_000_000)));
    for model in &mut machine.kernels {
        model.time.knots.clone_from(&knots);
    }
    machine
}

/// Kernels launched in quick succession: issued at 500 and 1000, they arrive at
/// 4500 and 5000, and their blocks are ready at 5500 and 6000.
fn ends(streams: [usize; 2], elements: [u64; 2]) -> Vec<u64> {
    let body = streams.into_iter().zip(elements).map(|(s, n)| launch(s, n)).collect();
    spans(&run(body, &waves()), Lane::Kernels).iter().map(|span| span.1).collect()
}

#[test]
fn small_kernels_of_two_streams_overlap() {
    assert_eq!(ends([0, 1], [1_000, 1_000]), [7_500, 8_000]);
}

#[test]
fn full_kernels_of_two_streams_do_not() {
    // The second has no room before the first ends.
    assert_eq!(ends([0, 1], [WAVE, 2_000]), [7_500, 9_500]);
    assert_eq!(ends([0, 1], [WAVE, WAVE]), [7_500, 9_500]);
}

#[test]
fn a_kernel_runs_beside_the_tail_of_the_one_before() {
    // The second wave, from 7500 on, leaves half of the machine to the other kernel.
    assert_eq!(ends([0, 1], [WAVE * 3 / 2, 2_000]), [9_500, 9_500]);
    // Only half: what is a whole wave alone then takes two turns.
    assert_eq!(ends([0, 1], [WAVE * 3 / 2, WAVE]), [9_500, 11_500]);
}

#[test]
fn only_the_first_kernel_in_the_queue_is_dispatched() {
    // The third would fit beside the first, but the second is before it, whose blocks go in four
    // halves of the machine: beside the first, in its place, and each time after those before.
    // The third comes when two of them are left.
    let body = vec![launch(0, WAVE / 2), launch(1, WAVE * 2), launch(2, 2_000)];
    let spans = spans(&run(body, &waves()), Lane::Kernels);
    assert_eq!(spans, [(5_500, 7_500), (6_000, 11_500), (10_000, 12_000)]);
}

#[test]
fn a_kernel_that_finds_no_room_keeps_back_smaller_ones_behind_it() {
    // The first leaves room for one of its own blocks, an eighth of a
    // multiprocessor. The second needs a quarter, of which the third would fit in
    // a half.
    let Call::Launch { stream, mut step } = launch(1, 4_096) else { panic!("a launch") };
    step.kernel = Kernel::Fft;
    step.arguments.extent = 16;
    let body = vec![launch(0, 799 * 1_024), Call::Launch { stream, step }, launch(2, 1_000)];
    let spans = spans(&run(body, &waves()), Lane::Kernels);
    assert_eq!(spans, [(5_500, 7_500), (7_500, 9_500), (7_500, 9_500)]);
}

#[test]
fn kernels_of_one_stream_never_overlap() {
    // The second begins its gap when the first has ended.
    assert_eq!(ends([0, 0], [1_000, 1_000]), [7_500, 7_500 + 1_000 + 2_000]);
}

#[test]
fn the_busy_time_of_the_lane_counts_side_by_side_once() {
    let timeline = run(vec![launch(0, 1_000), launch(1, 1_000)], &waves());
    assert_eq!(spans(&timeline, Lane::Kernels), [(5_500, 7_500), (6_000, 8_000)]);
    assert_eq!(timeline.busy(Lane::Kernels).nanos(), 2_500);
}

#[test]
fn a_kernel_of_higher_priority_goes_before_blocks_that_wait() {
    let third = |priority| {
        let body = vec![launch(0, 2 * WAVE), launch(1, 2 * WAVE), launch(2, 2_000)];
        let mut plan = tiny(body);
        plan.streams[2].priority = priority;
        let timeline = simulate(&plan, &waves()).expect("known");
        spans(&timeline, Lane::Kernels).into_iter().find(|span| span.1 - span.0 == 2_000)
    };
    // Behind four waves, or as soon as the first one is over.
    assert_eq!(third(0), Some((13_500, 15_500)));
    assert_eq!(third(-1), Some((7_500, 9_500)));
}

/// Memory is all that 20000 elements wait for, but for the 3000 until their first loads come: for
/// these, others have it.
#[test]
fn what_a_kernel_waits_for_first_it_waits_for_beside_others() {
    let mut machine = machine();
    machine.calls.launch = Some(exactly(500.0));
    for model in &mut machine.kernels {
        model.time.knots = vec![(1.0, 4_000.0), (1e9, 1e9 + 4_000.0)];
    }
    let ends = |streams: [usize; 2]| {
        let body = streams.map(|stream| launch(stream, 20_000)).to_vec();
        spans(&run(body, &machine), Lane::Kernels).iter().map(|span| span.1).collect::<Vec<_>>()
    };
    let first = 5_500 + 23_000;
    for (streams, second) in [([0, 0], 24_000), ([0, 1], 20_000)] {
        let ends = ends(streams);
        let off = [ends[0].abs_diff(first), ends[1].abs_diff(first + second)];
        assert!(off.iter().all(|&off| off < 10), "{ends:?}");
    }
}

#[test]
fn the_first_to_read_what_was_copied_takes_longer() {
    let mut machine = machine();
    for model in &mut machine.kernels {
        let knots = vec![(1.0, 300.0), (50_000.0, 300.0)];
        model.just_copied = Some(Curve { knots, scatter: 0.0 });
    }
    let times = |body| {
        let spans = spans(&run(body, &machine), Lane::Kernels);
        spans.iter().map(|(start, end)| end - start).collect::<Vec<_>>()
    };
    // The second finds it where the first has left it, and so does one that nothing was copied
    // for, or only out of the device.
    let copied = vec![copy_in(0, PINNED, 4_000), launch(0, 4_000), launch(0, 4_000)];
    assert_eq!(times(copied.clone()), [4_300, 4_000]);
    assert_eq!(times([copied.clone(), copied].concat()), [4_300, 4_000, 4_300, 4_000]);
    assert_eq!(times(vec![copy_out(0, PINNED, 4_000), launch(0, 4_000)]), [4_000]);
    // Nor is more than was measured found anywhere near.
    assert_eq!(times(vec![copy_in(0, PINNED, 4_000), launch(0, 2_000_000)]), [2_000_000]);
}
