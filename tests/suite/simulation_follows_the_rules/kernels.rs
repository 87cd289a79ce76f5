//! Kernels run side by side as far as the multiprocessors go.

use super::*;
use crate::machines::machine;

/// Kernels launched in quick succession: issued at 500 and 1000, they arrive at
/// 4500 and 5000, and their blocks are ready at 5500 and 6000.
fn ends(streams: [usize; 2], elements: [u64; 2]) -> Vec<u64> {
    let mut machine = machine();
    machine.calls.launch = Some(exactly(500.0));
    let body = streams.into_iter().zip(elements).map(|(s, n)| launch(s, n)).collect();
    spans(&run(body, &machine), Lane::Kernels).iter().map(|span| span.1).collect()
}

#[test]
fn small_kernels_of_two_streams_overlap() {
    // 1000 elements last 2000 on half of the device: there is room for both.
    assert_eq!(ends([0, 1], [1_000, 1_000]), [7_500, 8_000]);
}

/// Elements of a kernel that fills the machine once: 100 multiprocessors hold
/// 8 blocks of 256 threads each, and a thread works on 4 elements.
const WAVE: u64 = 100 * 8 * 256 * 4;

#[test]
fn full_kernels_of_two_streams_do_not() {
    // A nanosecond an element: the second has no room before the first ends.
    let end = 5_500 + WAVE;
    assert_eq!(ends([0, 1], [WAVE, 2_000]), [end, end + 2_000]);
    assert_eq!(ends([0, 1], [WAVE, WAVE]), [end, end + WAVE]);
}

#[test]
fn a_kernel_runs_beside_the_tail_of_the_one_before() {
    // A wave and a half are two waves of three quarters of the time each. The
    // second leaves half of the machine to the other kernel.
    let wave = WAVE * 3 / 4;
    let (first, second) = (5_500 + 2 * wave, 5_500 + wave + 2_000);
    assert_eq!(ends([0, 1], [WAVE * 3 / 2, 2_000]), [first, second]);
    // Only half: what is a whole wave alone then takes two turns.
    let other = [5_500 + wave, 5_500 + 2 * wave].map(|start| start + WAVE);
    assert_eq!(ends([0, 1], [WAVE * 3 / 2, WAVE]), [first, other[1]]);
}

#[test]
fn only_the_first_kernel_in_the_queue_is_dispatched() {
    // The third would fit beside the first, but the second is before it.
    let mut machine = machine();
    machine.calls.launch = Some(exactly(500.0));
    let body = vec![launch(0, WAVE / 2), launch(1, WAVE * 2), launch(2, 2_000)];
    let spans = spans(&run(body, &machine), Lane::Kernels);
    // The second's blocks go in four halves of the machine: beside the first,
    // in its place, and each time after those before. The third comes when two
    // of them are left.
    assert_eq!(spans[0], (5_500, 5_500 + WAVE / 2));
    assert_eq!(spans[1], (6_000, 5_500 + WAVE / 2 + 2 * WAVE));
    assert_eq!(spans[2], (6_000 + 2 * WAVE, 8_000 + 2 * WAVE));
}

#[test]
fn a_kernel_that_finds_no_room_keeps_back_smaller_ones_behind_it() {
    let mut machine = machine();
    machine.calls.launch = Some(exactly(500.0));
    // The first leaves room for one of its own blocks, an eighth of a
    // multiprocessor. The second needs a quarter, of which the third would fit in
    // a half.
    let first = 799 * 1_024;
    let Call::Launch { stream, mut step } = launch(1, 4_096) else { panic!("a launch") };
    step.kernel = Kernel::Fft;
    step.arguments.extent = 16;
    let body = vec![launch(0, first), Call::Launch { stream, step }, launch(2, 1_000)];
    let timeline = run(body, &machine);
    let end = 5_500 + first;
    let expected = [(5_500, end), (end, end + 4_096), (end, end + 2_000)];
    assert_eq!(spans(&timeline, Lane::Kernels), expected);
}

#[test]
fn kernels_of_one_stream_never_overlap() {
    // The second begins its gap when the first has ended.
    assert_eq!(ends([0, 0], [1_000, 1_000]), [7_500, 7_500 + 1_000 + 2_000]);
}

#[test]
fn the_busy_time_of_the_lane_counts_side_by_side_once() {
    let mut machine = machine();
    machine.calls.launch = Some(exactly(500.0));
    let timeline = run(vec![launch(0, 1_000), launch(1, 1_000)], &machine);
    assert_eq!(spans(&timeline, Lane::Kernels), [(5_500, 7_500), (6_000, 8_000)]);
    assert_eq!(timeline.busy(Lane::Kernels).nanos(), 2_500);
}

#[test]
fn a_kernel_of_higher_priority_goes_before_blocks_that_wait() {
    let mut machine = machine();
    machine.calls.launch = Some(exactly(500.0));
    let third = |priority| {
        let body = vec![launch(0, 2 * WAVE), launch(1, WAVE), launch(2, 2_000)];
        let mut plan = tiny(body);
        plan.streams[2].priority = priority;
        let timeline = simulate(&plan, &machine).expect("known");
        spans(&timeline, Lane::Kernels).into_iter().find(|span| span.1 - span.0 == 2_000)
    };
    // Behind two waves and one more, or as soon as the first wave is over.
    assert_eq!(third(0), Some((5_500 + 3 * WAVE, 7_500 + 3 * WAVE)));
    assert_eq!(third(-1), Some((5_500 + WAVE, 7_500 + WAVE)));
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
