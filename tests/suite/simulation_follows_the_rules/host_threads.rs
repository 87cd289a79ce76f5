//! Several host threads: each makes its calls on its own clock, and waits block it alone.

use super::super::any_program_is_read::drawn::drawn;
use super::*;
use crate::machines::machine;
use crate::predicted::PROFILE;
use hallway::cost::CompileError;
use hallway::program::ThreadId;
use hallway::timeline::{Activity, Reason};
use hallway::units::Span;

/// A plan whose calls are made by these threads.
fn tiny_by(calls: Vec<(u16, Call)>) -> Program {
    let (threads, body): (Vec<u16>, Vec<Call>) = calls.into_iter().unzip();
    Program { threads: threads.into_iter().map(ThreadId).collect(), ..tiny(body) }
}

fn run_by(calls: Vec<(u16, Call)>) -> Timeline {
    simulate(&tiny_by(calls), &machine()).expect("the machine knows everything")
}

/// Start and end of every call, in the order of the body.
fn host_spans(timeline: &Timeline) -> Vec<(u64, u64)> {
    let mut calls: Vec<&Activity> = timeline.lane(Lane::Host).collect();
    calls.sort_by_key(|activity| activity.call);
    let nanos = |instant: Instant| instant.since_start().nanos();
    calls.into_iter().map(|call| (nanos(call.start), nanos(call.end))).collect()
}

fn work(nanos: u64) -> Call {
    Call::Work { time: Span::from_nanos(nanos) }
}

const fn wait_for(thread: u16) -> Call {
    Call::SynchronizeThread(ThreadId(thread))
}

#[test]
fn each_thread_has_its_own_clock() {
    // One copy goes each way; a copy to the device of 5,000 elements ends at 10,000.
    let timeline = run_by(vec![
        (0, work(3_000)),
        (1, copy_in(0, PINNED, 5_000)),
        (0, work(4_000)),
        (1, synchronize(0)),
    ]);
    assert_eq!(host_spans(&timeline), [(0, 3_000), (0, 1_000), (3_000, 7_000), (1_000, 16_000)]);
    assert_eq!(timeline.makespan.nanos(), 16_000);
}

#[test]
fn a_thread_waits_for_another_until_that_has_made_its_calls_before() {
    let timeline = run_by(vec![
        (1, work(5_000)),
        (0, wait_for(1)),
        (1, work(20_000)),
        (0, work(1_000)),
        (0, wait_for(1)),
        (1, work(7_000)),
        (0, wait_for(1)),
    ]);
    let expected = [
        (0, 5_000),
        (0, 5_000),
        (5_000, 25_000),
        (5_000, 6_000),
        (6_000, 25_000),
        (25_000, 32_000),
        (25_000, 32_000),
    ];
    assert_eq!(host_spans(&timeline), expected);
    let path = timeline.critical_path();
    let calls: Vec<usize> = path.segments.iter().map(|segment| segment.activity.call).collect();
    assert_eq!(calls, [0, 2, 5, 6]);
    assert_eq!(path.segments[3].reason, Some(Reason::Thread));
    // Who comes late does not wait.
    let late = run_by(vec![(1, work(5_000)), (0, work(6_000)), (0, wait_for(1))]);
    assert_eq!(host_spans(&late)[2], (6_000, 6_000));
}

#[test]
fn a_staged_copy_holds_its_thread_alone() {
    let alone = host_spans(&run(vec![copy_in(0, PAGEABLE, 50_000), synchronize(0)], &machine()));
    let timeline = run_by(vec![
        (1, copy_in(0, PAGEABLE, 50_000)),
        (0, copy_out(1, PINNED, 5_000)),
        (0, synchronize(1)),
        (1, synchronize(0)),
    ]);
    let beside = host_spans(&timeline);
    assert_eq!([beside[0], beside[3]], alone[..]);
    assert!(beside[2].1 < beside[0].1, "{beside:?}");
}

#[test]
fn what_nobody_has_measured_of_threads_is_refused_by_name() {
    let refused = |calls: Vec<(u16, Call)>, expected: &str| {
        let error = simulate(&tiny_by(calls), &machine()).expect_err("not measured");
        assert!(error.to_string().contains(expected), "{error}");
    };
    let both = "copies of pageable memory, or CPU work, in several host threads at once";
    refused(vec![(0, compute(100)), (1, copy_in(0, PAGEABLE, 50_000)), (1, synchronize(0))], both);
    refused(vec![(0, compute(100)), (1, compute(100))], both);
    // One after the other, they are known.
    run_by(vec![(0, compute(100)), (1, wait_for(0)), (1, compute(100))]);
    let replay = Call::Replay { stream: StreamId(0), calls: 1 };
    let graph = vec![(0, replay), (0, launch(0, 10)), (1, work(1)), (0, synchronize(0))];
    refused(graph, "graphs in a program with several host threads");
    refused(
        vec![
            (1, copy_in(0, PAGEABLE, 50_000)),
            (0, copy_in(1, PINNED, 5_000)),
            (0, synchronize(1)),
            (1, synchronize(0)),
        ],
        "a copy of pageable memory concurrent with one of pinned memory",
    );
}

/// Whichever thread makes the calls, they take as long as on the main one.
#[test]
fn a_program_takes_as_long_on_another_thread() {
    let mut compared = 0;
    for seed in 0..300 {
        let program = drawn(seed);
        if program.has_graphs() || !program.threads.is_empty() {
            continue;
        }
        let threads = vec![ThreadId(1); program.body.len()];
        let moved = Program { threads, ..program.clone() };
        for machine in [&machine(), &*PROFILE] {
            let found = [&program, &moved].map(|program| simulate(program, machine));
            if let [Ok(here), Ok(there)] = &found {
                compared += 1;
                assert_eq!(here, there, "{} {:?}", program.label, program.body);
            } else {
                let [Err(CompileError::Unknown(here)), Err(CompileError::Unknown(there))] = &found
                else {
                    panic!("{}: {found:?}", program.label)
                };
                assert_eq!(here, there);
            }
        }
    }
    assert!(compared > 100, "{compared}");
}
