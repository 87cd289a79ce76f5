//! Calls say which host thread makes them.

use super::{calls, program};
use crate::programs_are_plain_values::{from_text, read_back};
use crate::workloads::read;
use hallway::execute::{Effort, ExecuteError, Executor, check_orders};
use hallway::host::Team;
use hallway::program::{Call, Program, ThreadId};
use hallway::report::{Calls, Timed, explain};
use hallway::search::Plan;

/// A loader copies pieces on its own; the main thread waits for it and uses them.
const LOADER: &str = "{ repeat = 2, index = \"i\", thread = \"loader\", calls = [\n{ copy = \
                      \"y[i * 8 MiB..+8 MiB]\", to = \"d[i * 8 MiB..+8 MiB]\", stream = \"in\" \
                      },\n{ record = \"there {i}\", stream = \"in\" },\n] },\n{ work = \"10 \
                      us\" },\n{ synchronize_thread = \"loader\" },\n{ repeat = 2, index = \
                      \"i\", calls = [\n{ wait = \"there {i}\", stream = \"run\" },\n{ launch = \
                      \"scale\", reads = [\"d[i * 8 MiB..+8 MiB]\"], writes = \"e[i * 8 MiB..+8 \
                      MiB]\", stream = \"run\" },\n] },\n{ synchronize = \"run\" },";

fn makes(program: &Program) -> Vec<u16> {
    program.threads.iter().map(|thread| thread.0).collect()
}

#[test]
fn a_call_or_a_loop_says_who_makes_it() {
    let found = program(&calls(LOADER));
    assert_eq!(makes(&found), [1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(found.body[5], Call::SynchronizeThread(ThreadId(1)));
    assert_eq!(read_back(&found).as_ref(), Ok(&found));
    // The thread is part of what a program does.
    let all_on_main = Program { threads: Vec::new(), ..found.clone() };
    assert_ne!(found.identity(), all_on_main.identity());
    // One inside a loop is the loop's, or the call's own.
    let found = program(&calls(
        "{ repeat = 2, index = \"i\", thread = \"a\", calls = [\n{ work = \"1 us\" },\n\
         { work = \"2 us\", thread = \"b{i}\" },\n{ work = \"3 us\", thread = \"main\" },\n] },\n\
         { copy = \"x\", to = \"d\" },",
    ));
    assert_eq!(makes(&found), [1, 2, 0, 1, 3, 0, 0, 0]);
    // Where the main thread makes all, nothing is said.
    let found = program(&calls("{ copy = \"x\", to = \"d\", thread = \"main\" },"));
    assert!(found.threads.is_empty());
}

#[test]
fn a_written_program_has_its_threads() {
    let text = calls(LOADER);
    let rest = "[[program]]\nname = \"rest\"\ncalls = [ { copy = \"x\", to = \"y\" } ]\n";
    let workload = read(&(text + rest));
    let written = workload.spelled_out(&workload.programs[0]);
    assert!(written.contains("stream = \"in\", thread = \"t1\" }"), "{written}");
    assert!(written.contains("{ synchronize_thread = \"t1\" }"), "{written}");
    let again = read(&written);
    assert_eq!(again.programs[0].threads, workload.programs[0].threads);
    assert_eq!(again.spelled_out(&again.programs[0]), written);
    let plan = Plan { strategy: None, program: workload.programs[0].clone() };
    let explained = explain(&workload, &plan, (Calls::All, Timed::No), None);
    let who = "2 host threads make calls, each in order: main makes 7 calls, t1 makes 4";
    assert!(explained.contains(who), "{explained}");
}

#[test]
fn any_order_of_the_threads_computes_the_same_and_the_executor_refuses_several() {
    let small = calls(LOADER).replace("MiB", "KiB").replace("= 4194304", "= 4096");
    let small = small + "[[program]]\nname = \"r\"\ncalls = [ { copy = \"x\", to = \"y\" } ]\n";
    let workload = read(&small);
    let found = workload.programs[0].clone();
    let team = Team::new(1).expect("a thread");
    for seed in 0..20 {
        check_orders(&found, &team, seed).expect("ordered");
    }
    // Without the wait for the loader, some order shows it.
    let mut broken = found;
    broken.body.remove(5);
    broken.threads.remove(5);
    assert!((0..40).any(|seed| check_orders(&broken, &team, seed).is_err()));
    let executor: Executor<'_> = Executor::new(None, &team, &workload, 1);
    let error = executor.run(&workload.programs[0], Effort::SHORT).expect_err("refused");
    assert!(matches!(error, ExecuteError::OnlyPredicted { .. }), "{error}");
    assert!(
        error.to_string().contains("uses 2 host threads, but hallway only runs programs with one"),
        "{error}"
    );
}

#[test]
fn a_value_with_wrong_threads_is_refused() {
    let found = program(&calls(LOADER));
    let refused = |change: &dyn Fn(&mut Program), expected: &str| {
        let mut other = found.clone();
        change(&mut other);
        let error = from_text(&serde_json::to_string(&other).expect("plain data"));
        let error = error.expect_err("it is wrong");
        assert!(error.contains(expected), "{error}");
    };
    refused(&|one| one.threads.truncate(10), "threads: 10 entries for 11 calls");
    refused(&|one| one.threads[2] = ThreadId(3), "threads: 3 appears before 2 does");
    let wait = |one: &mut Program| one.body[5] = Call::SynchronizeThread(ThreadId(2));
    refused(&wait, "body[5] waits for host thread 2, which makes no calls");
    let own = |one: &mut Program| one.body[5] = Call::SynchronizeThread(ThreadId::MAIN);
    refused(&own, "body[5] is made by the thread it waits for");
    let early = |one: &mut Program| one.setup.push(Call::SynchronizeThread(ThreadId(1)));
    refused(&early, "waits for a thread in the set-up, which only the main thread runs");
}
