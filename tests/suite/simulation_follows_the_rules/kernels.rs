//! Kernels run side by side as far as the multiprocessors go.

use super::*;
use crate::machines::machine;

/// Kernels launched in quick succession: issued at 500 and 1000, they arrive at
/// 4500 and 5000, and their blocks are ready at 5500 and 6000.
fn ends(streams: [usize; 2], elements: [u64; 2]) -> Vec<u64> {
    let mut machine = machine();
    machine.calls.launch = exactly(500.0);
    let body = streams.into_iter().zip(elements).map(|(s, n)| launch(s, n)).collect();
    spans(&run(body, &machine), Lane::Kernels).iter().map(|span| span.1).collect()
}

#[test]
fn small_kernels_of_two_streams_overlap() {
    // 1000 elements last 2000 on half of the device: there is room for both.
    assert_eq!(ends([0, 1], [1_000, 1_000]), [7_500, 8_000]);
}

#[test]
fn full_kernels_of_two_streams_do_not() {
    // 2000 elements last 2000 on all of it: the second runs from 7500 on.
    assert_eq!(ends([0, 1], [2_000, 2_000]), [7_500, 9_500]);
    assert_eq!(ends([0, 1], [20_000, 2_000]), [25_500, 27_500]);
}

#[test]
fn a_kernel_takes_what_the_one_before_leaves_over() {
    // 1500 elements want three quarters. The second gets one, a third of its
    // speed, from 6000 to 7500: 500 of its 2000. The rest is done alone.
    assert_eq!(ends([0, 1], [1_500, 1_500]), [7_500, 9_000]);
}

#[test]
fn kernels_of_one_stream_never_overlap() {
    // The second begins its gap when the first has ended.
    assert_eq!(ends([0, 0], [1_000, 1_000]), [7_500, 7_500 + 1_000 + 2_000]);
}

#[test]
fn the_busy_time_of_the_lane_counts_side_by_side_once() {
    let mut machine = machine();
    machine.calls.launch = exactly(500.0);
    let timeline = run(vec![launch(0, 1_000), launch(1, 1_000)], &machine);
    assert_eq!(spans(&timeline, Lane::Kernels), [(5_500, 7_500), (6_000, 8_000)]);
    assert_eq!(timeline.busy(Lane::Kernels).nanos(), 2_500);
}
