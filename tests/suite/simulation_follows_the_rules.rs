//! The simulator's rules, each on a plan that is small enough to work out by hand, on the machine
//! of round numbers in `machines.rs`. Times are in nanoseconds. Sizes are in elements, of which the
//! link carries one each nanosecond.
//!
//! The list names a test that fails when a rule is taken out of the engine. It was made by taking
//! each rule out and running all tests; where many fail, it names the plainest. What rules do to
//! each other is held by `naive_simulator`, on drawn programs: no further case is worked out here.
//!
//! - every call costs the host:
//!   `the_host::every_call_has_its_own_cost`
//! - an operation takes a while to start on an idle device:
//!   `copies::copies_of_one_direction_take_turns`
//! - a waiting host takes time to wake up:
//!   `the_host::a_synchronisation_waits_for_its_stream_and_wakes_up`
//! - a staged copy releases the host before its end:
//!   `the_host::a_pageable_copy_holds_the_host_until_its_last_piece_is_staged`
//! - a small staged copy travels along with the commands:
//!   `copies::a_small_pageable_copy_in_needs_no_engine`
//! - the first touch of fresh memory costs time:
//!   `memory::fresh_memory_is_paid_for_by_whoever_touches_it_first`,
//!   `memory::each_new_page_is_paid_for_once`
//! - a stream is a FIFO:
//!   `streams::a_stream_does_one_thing_after_another`
//! - an event orders streams:
//!   `streams::an_event_makes_another_stream_wait`
//! - going from engine to engine costs a hand-over:
//!   `streams::a_hand_over_is_paid_by_what_is_there_and_waits`
//! - an operation that came too early goes on at a clock edge, after whole periods:
//!   `polling::what_comes_too_early_goes_on_after_whole_periods`
//! - polling periods count from a while after the arrival:
//!   `polling::periods_may_begin_some_time_after_the_arrival`
//! - an operation that comes only a little too early does not wait:
//!   `polling::what_comes_a_little_too_early_does_not_wait`
//! - arriving work makes its engine poll:
//!   `polling::an_engine_polls_when_work_arrives_for_it`
//! - a poll that finds nothing restarts the period:
//!   `polling::a_poll_that_finds_nothing_restarts_the_period`
//! - a doorbell makes an engine poll, and may restart the period:
//!   `polling::what_is_ready_as_a_doorbell_rings_does_not_wait_for_the_commands`,
//!   `polling::a_doorbell_restarts_the_period_in_the_first_half_of_a_tick`
//! - the end of an operation restarts the period, but makes no engine poll:
//!   `polling::the_end_of_an_operation_restarts_the_period`,
//!   `polling::the_end_of_an_operation_makes_no_engine_poll`
//! - a busy engine already polls for the next operation of the stream:
//!   `polling::a_busy_engine_already_polls_for_the_next_operation_of_the_stream`
//! - an engine polls later beside copies, whose data delays commands:
//!   `polling::copies_under_way_delay_polls`
//! - nodes of a graph do not arrive one by one:
//!   `polling::nodes_of_a_graph_are_polled_for_at_times_of_their_own`
//! - a small copy into an empty stream needs no engine:
//!   `streams::a_small_copy_into_an_empty_stream_goes_along_with_its_command`
//! - the first of its kind in an empty stream pays more:
//!   `streams::only_the_first_of_its_kind_in_an_emptied_stream_pays_the_first_hand_over`
//! - where a hand-over has a price, a busy engine takes over for nothing:
//!   `streams::a_busy_engine_pays_no_hand_over`
//! - waiting streams cost streams that run kernels:
//!   `streams::a_kernel_behind_a_kernel_pays_for_streams_that_wait`
//! - the legacy default stream is a barrier:
//!   `streams::the_legacy_default_stream_is_a_barrier_for_blocking_streams`
//! - streams share channels:
//!   `streams::more_streams_than_channels_depend_on_each_other_falsely`
//! - an engine stays with a stream that has more work for it:
//!   `copies::an_engine_stays_with_a_stream_that_has_more_for_it`
//! - changing streams takes an engine time:
//!   `copies::going_to_another_stream_takes_an_engine_a_while`
//! - kernels that wait in several streams slow copies to the device:
//!   `copies::kernels_that_wait_in_several_streams_slow_copies_to_the_device`
//! - kernels that wait in branches of a graph do not slow copies:
//!   `graphs::kernels_that_wait_in_branches_slow_no_copy`
//! - both directions slow each other:
//!   `copies::directions_overlap_and_slow_each_other`
//! - a kernel has a gap before it:
//!   `kernels::kernels_of_one_stream_never_overlap`
//! - blocks hold a part of a multiprocessor:
//!   `kernels::full_kernels_of_two_streams_do_not_overlap`
//! - blocks come in waves, and the last leaves room:
//!   `kernels::a_kernel_runs_beside_the_tail_of_the_one_before`
//! - a kernel of higher priority goes first:
//!   `kernels::a_kernel_of_higher_priority_goes_before_blocks_that_wait`
//! - only the first kernel in the queue is dispatched:
//!   `kernels::a_kernel_that_finds_no_room_keeps_back_smaller_ones_behind_it`
//! - a graph costs the host one launch:
//!   `graphs::the_host_pays_a_launch_for_each_graph_and_a_little_for_each_node`
//! - each node of a graph costs the host a little:
//!   `graphs::the_host_pays_a_launch_for_each_graph_and_a_little_for_each_node`
//! - kernels of a graph right behind each other go to the device as one:
//!   `graphs::kernels_right_behind_each_other_are_launched_as_one`
//! - calls in a graph cost the host nothing:
//!   `graphs::nodes_of_a_chain_follow_each_other`
//! - a graph takes a while to start on an idle device:
//!   `graphs::nodes_of_a_chain_follow_each_other`
//! - nodes have hand-overs of their own, and kernels among them have gaps of their own:
//!   `graphs::kernels_of_a_chain_have_a_gap_of_their_own_in_a_graph`
//! - changing branches of a graph takes an engine a time of its own:
//!   `graphs::going_to_another_branch_takes_an_engine_a_while_of_its_own`
//! - nodes of a graph that do not depend on each other run at once:
//!   `graphs::nodes_that_do_not_depend_on_each_other_run_at_once`
//! - what follows a graph in its stream waits for the whole graph:
//!   `graphs::what_follows_in_the_stream_waits_for_the_whole_graph`
//! - a branch of a graph is not the stream that it was captured from:
//!   `graphs::a_synchronisation_of_a_captured_stream_waits_for_no_graph`
//! - graphs are captured and instantiated in the set-up:
//!   `graphs::capturing_and_instantiating_are_set_up`
//! - each device has engines of its own:
//!   `several_gpus::two_devices_copy_and_compute_at_once`
//! - devices share the root of their links:
//!   `several_gpus::a_shared_root_slows_both_devices_alike`
//! - copies between devices have engines and links of their own:
//!   `several_gpus::a_peer_copy_does_not_occupy_the_link_to_the_host`
//! - an event of another device takes longer to wait for:
//!   `several_gpus::waiting_for_an_event_of_another_device_takes_longer`
//! - an event of another device is not polled for in periods:
//!   `several_gpus::an_event_of_another_device_is_not_looked_for_in_periods`
//! - an event that the host waits for has nothing behind it:
//!   `spelled_out::waiting_for_an_event_waits_for_nothing_behind_it`
//! - a device that the host waits for has several streams:
//!   `spelled_out::waiting_for_a_device_waits_for_all_of_its_streams`
//! - calls that give memory back wait for the device without saying so:
//!   `spelled_out::giving_device_memory_back_waits_for_the_device`
//! - a copy inside a device holds no copy engine:
//!   `spelled_out::a_copy_inside_the_device_holds_no_copy_engine`
//! - rows cost a copy time besides their bytes:
//!   `spelled_out::rows_cost_time_besides_their_bytes`

mod copies;
mod graphs;
mod host_threads;
mod kernels;
pub mod laws;
mod memory;
mod polling;
mod reasons;
mod several_gpus;
mod spelled_out;
mod streams;
mod the_host;
mod whole_plans;

use hallway::families::{Family, Strategy};
use hallway::kernels::{Arguments, Kernel};
use hallway::machine::{Direction, HostMemory, StreamId};
use hallway::profile::{Curve, Estimate, InlineCopies, Profile, SemaphorePolling};
use hallway::program::{
    Allocation, AllocationId, Call, CopyBy, EventId, LibraryStep, Place, Program, Route, Slice,
    Step, StreamKind, StreamTraits,
};
use hallway::simulate::simulate;
use hallway::timeline::{Lane, Timeline};
use hallway::units::{Bytes, Instant};

const PINNED: AllocationId = AllocationId(0);
const PAGEABLE: AllocationId = AllocationId(1);
const DEVICE: AllocationId = AllocationId(2);

/// Room in each allocation: 400 kB, so that the host's two fit into its caches.
const ROOM: u64 = 100_000;

/// Creating the streams and events of [`tiny`] takes this long.
const HANDLES: u64 = 3 * 5_000 + 3 * 400;

/// A plan with one allocation of each kind, whose body is written call by call.
fn tiny(body: Vec<Call>) -> Program {
    let places =
        [Place::Host(HostMemory::Pinned), Place::Host(HostMemory::Pageable), Place::FIRST_DEVICE];
    let allocations = places.map(|place| Allocation {
        name: format!("{place:?}"),
        place,
        bytes: Bytes::of_f32(ROOM),
        holds: None,
    });
    let allocations = allocations.to_vec();
    Program {
        label: "of the test".to_owned(),
        allocations,
        streams: vec![StreamTraits::default(); 3],
        stream_names: Vec::new(),
        work_range: None,
        events: 3,
        kernels: Vec::new(),
        setup: Vec::new(),
        body,
        threads: Vec::new(),
    }
}

fn pinned(family: impl Into<Family>) -> Strategy {
    Strategy::plain(family, HostMemory::Pinned)
}

pub(super) fn slice(allocation: AllocationId, elements: u64) -> Slice {
    Slice { allocation, offset: Bytes::ZERO, length: Bytes::of_f32(elements) }
}

/// A part of an allocation that begins at an element.
fn part(allocation: AllocationId, from: u64, elements: u64) -> Slice {
    Slice { offset: Bytes::of_f32(from), ..slice(allocation, elements) }
}

fn copy(by: CopyBy, [from, to]: [AllocationId; 2], elements: u64) -> Call {
    Call::copy(by, slice(from, elements), slice(to, elements))
}

fn copy_in(stream: usize, from: AllocationId, elements: u64) -> Call {
    let by = CopyBy::crossing(StreamId(stream), Direction::HostToDevice);
    copy(by, [from, DEVICE], elements)
}

fn copy_out(stream: usize, to: AllocationId, elements: u64) -> Call {
    let by = CopyBy::crossing(StreamId(stream), Direction::DeviceToHost);
    copy(by, [DEVICE, to], elements)
}

/// A step that reads in one place and writes in another.
fn step_between([from, to]: [AllocationId; 2], elements: u64) -> LibraryStep {
    LibraryStep {
        kernel: Kernel::Scale,
        arguments: Arguments::default(),
        inputs: vec![slice(from, elements)],
        output: slice(to, elements),
        workspace: None,
        lead: 0,
    }
}

pub(super) fn step(on: AllocationId, elements: u64) -> LibraryStep {
    step_between([on, on], elements)
}

fn launch(stream: usize, elements: u64) -> Call {
    Call::Launch { stream: StreamId(stream), step: step(DEVICE, elements).into() }
}

fn compute(elements: u64) -> Call {
    Call::Compute { step: step(PAGEABLE, elements).into() }
}

fn record(stream: usize, event: usize) -> Call {
    Call::Record { stream: StreamId(stream), event: EventId(event) }
}

fn wait(stream: usize, event: usize) -> Call {
    Call::Wait { stream: StreamId(stream), event: EventId(event) }
}

fn synchronize(stream: usize) -> Call {
    Call::Synchronize { stream: StreamId(stream) }
}

/// These calls as a graph that stream 0 launches.
fn graph(calls: Vec<Call>) -> Vec<Call> {
    let replay = Call::Replay { stream: StreamId(0), calls: calls.len() };
    std::iter::once(replay).chain(calls).collect()
}

/// In, through a kernel and out again, in one stream.
fn there_and_back() -> Vec<Call> {
    vec![copy_in(0, PINNED, 5_000), launch(0, 4_000), copy_out(0, PINNED, 5_000), synchronize(0)]
}

/// A plan whose streams are of these kinds.
fn tiny_with(kinds: [StreamKind; 3], body: Vec<Call>) -> Program {
    let streams = kinds.map(|kind| StreamTraits { kind, ..StreamTraits::default() }).to_vec();
    Program { streams, ..tiny(body) }
}

fn run(body: Vec<Call>, machine: &Profile) -> Timeline {
    simulate(&tiny(body), machine).expect("the machine knows everything")
}

/// Start and end of everything that a lane did.
fn spans(timeline: &Timeline, lane: Lane) -> Vec<(u64, u64)> {
    let nanos = |instant: Instant| instant.since_start().nanos();
    timeline.lane(lane).map(|activity| (nanos(activity.start), nanos(activity.end))).collect()
}

/// How long each thing took that a lane did.
fn lasts(timeline: &Timeline, lane: Lane) -> Vec<u64> {
    spans(timeline, lane).into_iter().map(|(start, end)| end - start).collect()
}

/// When the kernel that a call launched began.
fn kernel_start(timeline: &Timeline, call: usize) -> u64 {
    let found = timeline.lane(Lane::Kernels).find(|activity| activity.call == call);
    found.expect("it ran").start.since_start().nanos()
}

fn makespan(timeline: &Timeline) -> u64 {
    timeline.makespan.nanos()
}

/// An exact figure in a profile.
fn exactly(ns: f64) -> Estimate {
    Estimate::new(ns, 0.0)
}

/// Polls after so long in the mean.
fn semaphore_polling(period: f64) -> SemaphorePolling {
    SemaphorePolling {
        period: exactly(period),
        arrival_tolerance: exactly(0.0),
        first_polls: Vec::new(),
        first_polls_in_graphs: Vec::new(),
    }
}

/// The machine, which sends copies to the device of up to 4 KiB along with their
/// commands: the call returns after 1500, and the data is there after 3000.
fn with_small_copies_inline(machine: Profile) -> Profile {
    let curve = |ns| Curve { knots: vec![(4_096.0, ns)], scatter: 0.0 };
    let inline = InlineCopies {
        most_bytes: Bytes::kib(4),
        most_bytes_behind_nodes: None,
        until_return: curve(1_500.0),
        until_complete: curve(3_000.0),
    };
    Profile { inline: Some(inline), ..machine }
}
