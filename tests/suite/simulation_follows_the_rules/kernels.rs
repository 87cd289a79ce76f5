//! Kernels run side by side as far as there are multiprocessors for them.

use super::*;
use crate::machines::machine;

/// Elements of a kernel that fills the machine once: 100 multiprocessors hold 8 blocks of 256
/// threads each, and a thread works on 4 elements.
const WAVE: u64 = 100 * 8 * 256 * 4;

/// A machine whose blocks last 2000 and do not wait for anything that kernels share, such as memory
/// bandwidth.
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

/// When two kernels end that are launched in quick succession. They are issued at 500 and 1000 and
/// arrive at 4500 and 5000; their blocks are ready at 5500 and 6000.
fn ends(streams: [usize; 2], elements: [u64; 2]) -> Vec<u64> {
    let body = streams.into_iter().zip(elements).map(|(s, n)| launch(s, n)).collect();
    spans(&run(body, &waves()), Lane::Kernels).iter().map(|span| span.1).collect()
}

#[test]
fn full_kernels_of_two_streams_do_not_overlap() {
    // The second kernel has no room before the first ends.
    assert_eq!(ends([0, 1], [WAVE, 2_000]), [7_500, 9_500]);
    assert_eq!(ends([0, 1], [WAVE, WAVE]), [7_500, 9_500]);
}

#[test]
fn a_kernel_runs_beside_the_tail_of_the_one_before() {
    // The second wave of the first kernel, from 7500 on, leaves half of the machine to the other
    // kernel.
    assert_eq!(ends([0, 1], [WAVE * 3 / 2, 2_000]), [9_500, 9_500]);
    // Half of the machine is too little for a full wave, which takes two turns there.
    assert_eq!(ends([0, 1], [WAVE * 3 / 2, WAVE]), [9_500, 11_500]);
}

#[test]
fn a_kernel_that_finds_no_room_keeps_back_smaller_ones_behind_it() {
    // The first kernel leaves room for one of its own blocks, which is an eighth of a
    // multiprocessor. The second needs a quarter. The third needs only an
    // eighth, and would fit.
    let Call::Launch { stream, step: Step::Library(mut step) } = launch(1, 4_096) else {
        panic!("a launch of a library kernel")
    };
    step.kernel = Kernel::Fft;
    step.arguments.extent = 16;
    let body =
        vec![launch(0, 799 * 1_024), Call::Launch { stream, step: step.into() }, launch(2, 1_000)];
    let spans = spans(&run(body, &waves()), Lane::Kernels);
    assert_eq!(spans, [(5_500, 7_500), (7_500, 9_500), (7_500, 9_500)]);
}

#[test]
fn kernels_of_many_streams_use_the_whole_machine_all_the_time() {
    // Each begins in what room the one before leaves, so ends of blocks come nearer and nearer to
    // each other.
    const KERNELS: usize = 400;
    let elements = WAVE * 137 / 100;
    let body = (0..KERNELS).map(|number| launch(number % 4, elements)).collect();
    let mut program = tiny(body);
    program.streams = vec![program.streams[0]; 4];
    let timeline = simulate(&program, &waves()).expect("known");
    let last = spans(&timeline, Lane::Kernels).iter().map(|span| span.1).max().expect("kernels");
    let busy = (KERNELS * 2_000 * 137 / 100) as u64;
    let took = last - 5_500;
    assert!((busy..busy + busy / 100).contains(&took), "{took} of {busy}");
}

#[test]
fn kernels_of_one_stream_never_overlap() {
    // The gap of the second begins when the first has ended.
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
    // It starts after the four waves of both other kernels, or as soon as the first wave is over.
    assert_eq!(third(0), Some((13_500, 15_500)));
    assert_eq!(third(-1), Some((7_500, 9_500)));
}

/// A kernel of 20000 elements waits 3000 for its first loads, and otherwise for memory alone.
/// During the 3000, other kernels have the memory.
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
    let times = |body| lasts(&run(body, &machine), Lane::Kernels);
    // The second kernel finds the data where the first has left it. So does a kernel whose data was
    // not copied, or only copied out of the device.
    let copied = vec![copy_in(0, PINNED, 4_000), launch(0, 4_000), launch(0, 4_000)];
    assert_eq!(times(copied.clone()), [4_300, 4_000]);
    assert_eq!(times([copied.clone(), copied].concat()), [4_300, 4_000, 4_300, 4_000]);
    assert_eq!(times(vec![copy_out(0, PINNED, 4_000), launch(0, 4_000)]), [4_000]);
    // Beyond the largest measured size, just-copied data makes no difference.
    assert_eq!(times(vec![copy_in(0, PINNED, 4_000), launch(0, 2_000_000)]), [2_000_000]);
}
