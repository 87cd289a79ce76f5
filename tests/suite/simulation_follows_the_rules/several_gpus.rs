//! Each device has engines and multiprocessors of its own; what devices share slows them.

use super::*;
use crate::machines::machine_of_two;
use hallway::machine::DeviceId;
use hallway::profile::OperationKind;
use hallway::simulate::lower_bound;

/// The rates of a root that limits nobody.
const WIDE: [f64; 3] = [8.0, 8.0, 16.0];

const OTHER: AllocationId = AllocationId(3);

/// A plan over two devices: streams 0 and 2 belong to the first, and stream 1 to the second.
fn over_two(body: Vec<Call>) -> Program {
    let mut plan = tiny(body);
    plan.streams[1].device = DeviceId(1);
    let other = Allocation {
        name: "other".to_owned(),
        place: Place::Device(DeviceId(1)),
        ..plan.allocations[DEVICE.0].clone()
    };
    plan.allocations.push(other);
    plan
}

fn run_over_two(body: Vec<Call>, machine: &Profile) -> Timeline {
    let plan = over_two(body);
    let timeline = simulate(&plan, machine).expect("the machine knows everything");
    assert!(lower_bound(&plan, machine).expect("known") <= timeline.makespan);
    timeline
}

/// A copy to the second device.
fn copy_in_there(elements: u64) -> Call {
    copy(CopyBy::crossing(StreamId(1), Direction::HostToDevice), [PINNED, OTHER], elements)
}

fn copy_out_there(elements: u64) -> Call {
    copy(CopyBy::crossing(StreamId(1), Direction::DeviceToHost), [OTHER, PINNED], elements)
}

fn peer_copy(stream: usize, way: [AllocationId; 2], elements: u64) -> Call {
    copy(CopyBy::Stream(StreamId(stream), Route::ToPeer), way, elements)
}

const THERE: [AllocationId; 2] = [DEVICE, OTHER];
const BACK: [AllocationId; 2] = [OTHER, DEVICE];

#[test]
fn two_devices_copy_and_compute_at_once() {
    let machine = machine_of_two(WIDE);
    // The copies arrive at 4000 and 5000. Each takes 1000 + 5000.
    let timeline = run_over_two(vec![copy_in(0, PINNED, 5_000), copy_in_there(5_000)], &machine);
    assert_eq!(spans(&timeline, Lane::CopyIn), [(4_000, 10_000), (5_000, 11_000)]);
    // Each kernel fills its device. After the gap of 1000, they run at once.
    let timeline = run_over_two(vec![launch(0, 4_000), launch(1, 4_000)], &machine);
    assert_eq!(spans(&timeline, Lane::Kernels), [(7_000, 11_000), (9_000, 13_000)]);
    // Copies in opposite directions slow each other only on one device.
    let timeline = run_over_two(vec![copy_in(0, PINNED, 8_000), copy_out_there(4_000)], &machine);
    assert_eq!(spans(&timeline, Lane::CopyIn), [(4_000, 13_000)]);
    assert_eq!(spans(&timeline, Lane::CopyOut), [(7_500, 12_500)]);
}

#[test]
fn a_shared_root_slows_both_devices_alike() {
    // Alone, each copies 20000 bytes in 6000, at 10/3 bytes a nanosecond. The root carries 5 down,
    // so two copies get 2.5 each, which is three quarters of their speed.
    let down = machine_of_two([5.0, 8.0, 16.0]);
    let body = vec![copy_in(0, PINNED, 5_000), copy_in_there(5_000)];
    // At 5000, the first has 5000 left, which take 6666.7 from there. Meanwhile the second does
    // three quarters of as much, and the rest alone.
    let expected = [(4_000, 11_667), (5_000, 12_667)];
    assert_eq!(spans(&run_over_two(body.clone(), &down), Lane::CopyIn), expected);
    // A narrow root upwards does not slow copies down.
    let up = machine_of_two([8.0, 5.0, 16.0]);
    let unhindered = [(4_000, 10_000), (5_000, 11_000)];
    assert_eq!(spans(&run_over_two(body.clone(), &up), Lane::CopyIn), unhindered);
    let both = machine_of_two([8.0, 8.0, 5.0]);
    assert_eq!(spans(&run_over_two(body, &both), Lane::CopyIn), expected);
    // At 7500, the copy in has 2500 left, which take 3333.3; meanwhile the copy out does 2500.5.
    let timeline = run_over_two(vec![copy_in(0, PINNED, 5_000), copy_out_there(5_000)], &both);
    assert_eq!(spans(&timeline, Lane::CopyIn), [(4_000, 10_834)]);
    assert_eq!(spans(&timeline, Lane::CopyOut), [(7_500, 14_334)]);
}

#[test]
fn a_peer_copy_does_not_occupy_the_link_to_the_host() {
    let machine = machine_of_two(WIDE);
    // The peer copy is issued at 2200, arrives at 5700, and takes 1000 + 8000 / 4.
    let body = vec![copy_in(0, PINNED, 5_000), peer_copy(2, THERE, 8_000)];
    let timeline = run_over_two(body, &machine);
    assert_eq!(spans(&timeline, Lane::CopyIn), [(4_000, 10_000)]);
    assert_eq!(spans(&timeline, Lane::PeerCopy), [(5_700, 8_700)]);
    // A device makes one peer copy at a time. The second arrives at 5900.
    let body = vec![peer_copy(0, THERE, 8_000), peer_copy(0, THERE, 4_000)];
    let timeline = run_over_two(body, &machine);
    assert_eq!(spans(&timeline, Lane::PeerCopy), [(4_700, 7_700), (7_700, 9_700)]);
}

#[test]
fn peer_copies_both_ways_share_what_lies_between() {
    // Alone, each copies 32000 bytes in 3000. The link carries 16 bytes a nanosecond both ways
    // together, so two copies get three quarters of their speed. At 5900, the first has 1800 left,
    // which take 2400; by then, the second has 1200 left.
    let body = vec![peer_copy(0, THERE, 8_000), peer_copy(1, BACK, 8_000)];
    let timeline = run_over_two(body, &machine_of_two(WIDE));
    assert_eq!(spans(&timeline, Lane::PeerCopy), [(4_700, 8_300), (5_900, 9_500)]);
}

#[test]
fn waiting_for_an_event_of_another_device_takes_longer() {
    let machine = machine_of_two(WIDE);
    let second = |stream| {
        let body = vec![launch(0, 4_000), record(0, 0), wait(stream, 0), launch(stream, 4_000)];
        spans(&run_over_two(body, &machine), Lane::Kernels)[1]
    };
    // The first kernel ends at 11000; the second has a gap of 1000.
    assert_eq!(second(2), (12_000, 16_000));
    assert_eq!(second(1), (14_000, 18_000));
}

/// A device polls only for what it does itself.
#[test]
fn an_event_of_another_device_is_not_looked_for_in_periods() {
    let mut machine = machine_of_two(WIDE);
    machine.latency.semaphore_polling = Some(semaphore_polling(1_600.0));
    let dispatched = |stream| {
        let body =
            vec![copy_in(0, PINNED, 5_000), record(0, 0), wait(stream, 0), launch(stream, 4_000)];
        spans(&run_over_two(body, &machine), Lane::Kernels)[0].0
    };
    // The copy ends at 10000. The kernel arrives at 7300. Its engine polls at the eighth edge after
    // 7400, which is at 8900, and again at 10500; then comes the gap.
    assert_eq!(dispatched(2), 11_500);
    // Here come a hand-over of 700 and the crossing of 2000.
    assert_eq!(dispatched(1), 13_700);
}

#[test]
fn small_copies_go_along_with_their_commands_on_each_device() {
    let machine = with_small_copies_inline(machine_of_two(WIDE));
    // The last copy finds the one before it unfinished, so its engine starts it 3000 after its
    // return.
    let body = vec![copy_in(0, PINNED, 1_000), copy_in_there(1_000), copy_in_there(1_000)];
    let timeline = run_over_two(body, &machine);
    assert_eq!(spans(&timeline, Lane::CopyIn), [(1_500, 3_000), (3_000, 4_500), (7_000, 9_000)]);
    // What follows an inline copy is handed over from where kernels are launched.
    let passed_on = [copy_in(0, PINNED, 1_000), peer_copy(0, THERE, 10)];
    let mut less = machine.clone();
    let kernel_to_peer = (OperationKind::Kernel, OperationKind::PeerCopy);
    less.hand_overs.retain(|one| (one.from, one.to) != kernel_to_peer);
    let error = simulate(&over_two(passed_on.to_vec()), &less).expect_err("not known").to_string();
    assert!(error.contains("from a kernel to a copy between GPUs"), "{error}");
    // Only plans with copies between GPUs need prices for them.
    less.hand_overs.retain(|one| ![one.from, one.to].contains(&OperationKind::PeerCopy));
    simulate(&over_two(vec![copy_in(0, PINNED, 1_000), copy_in_there(1_000)]), &less)
        .expect("there are none");
}

#[test]
fn going_to_another_context_is_a_call() {
    let body = vec![Call::Use(DeviceId(1)), copy_in_there(5_000)];
    let timeline = run_over_two(body, &machine_of_two(WIDE));
    assert_eq!(spans(&timeline, Lane::Host), [(0, 50), (50, 1_050)]);
    assert_eq!(spans(&timeline, Lane::CopyIn), [(4_050, 10_050)]);
}

#[test]
fn what_is_not_known_of_several_devices_is_refused() {
    let refused = |body: &[Call], change: &dyn Fn(&mut Profile)| {
        let mut machine = machine_of_two(WIDE);
        change(&mut machine);
        simulate(&over_two(body.to_vec()), &machine).expect_err("not known").to_string()
    };
    let says = |text: String, words: &str| assert!(text.contains(words), "{text}");
    let both_copy = [copy_in(0, PINNED, 10), copy_in_there(10)];
    says(refused(&both_copy, &|m| m.multi_gpu.others.clear()), "GPU 1");
    let slow = |m: &mut Profile| m.multi_gpu.others[0].kernel = 1.2;
    says(refused(&both_copy, &slow), "kernels on GPU 1 take 1.20 times as long");
    let three = |m: &mut Profile| m.multi_gpu.roots[0].devices = 3;
    says(refused(&both_copy, &three), "H2D copies on 2 GPUs at once");
    let no_both = |m: &mut Profile| m.multi_gpu.roots[0].both_bytes_per_second = None;
    says(refused(&both_copy, &no_both), "copies in both directions on 2 GPUs at once");
    let there = [peer_copy(0, THERE, 10)];
    says(refused(&there, &|m| m.multi_gpu.peers.clear()), "copies from GPU 0 to GPU 1");
    let round = |m: &mut Profile| m.multi_gpu.peers[0].direct = false;
    says(refused(&there, &round), "with other copies: these GPUs cannot access each other's");
    let both_ways = [peer_copy(0, THERE, 10), peer_copy(1, BACK, 10)];
    let one_way = |m: &mut Profile| {
        m.multi_gpu.peers.iter_mut().for_each(|peer| peer.both_bytes_per_second = None);
    };
    says(refused(&both_ways, &one_way), "copies between GPUs 0 and 1 in both directions at once");
    says(
        refused(&[peer_copy(1, THERE, 10)], &|_| ()),
        "copies between GPUs in a stream of the receiving GPU",
    );
    let two_streams = [peer_copy(0, THERE, 10), peer_copy(2, THERE, 10)];
    says(refused(&two_streams, &|_| ()), "in several streams");
    let crossing = [launch(0, 10), record(0, 0), wait(1, 0), launch(1, 10)];
    says(
        refused(&crossing, &|m| m.multi_gpu.crossing = None),
        "the cost of waiting for another GPU's event",
    );
    let passed_on = [copy_in(0, PINNED, 10), peer_copy(0, THERE, 10)];
    let no_price = |m: &mut Profile| m.hand_overs.retain(|one| one.to != OperationKind::PeerCopy);
    says(refused(&passed_on, &no_price), "from an H2D copy to a copy between GPUs");
}
