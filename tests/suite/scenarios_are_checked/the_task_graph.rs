//! Tasks are put in an order that respects their dependencies.

use super::*;
use crate::workloads::{ON_HOST, floats, head, task};
use hallway::scenario::TaskId;
use std::collections::BTreeSet;

/// A scenario of `scale` tasks, each given as name, what it reads and what it writes.
fn chain(tasks: &[(&str, &str, &str)]) -> String {
    let names: BTreeSet<&str> = tasks.iter().flat_map(|(_, from, to)| [*from, *to]).collect();
    let buffers = names.into_iter().map(|name| floats([name], 8, ON_HOST));
    let tasks = tasks.iter().map(|(name, from, to)| task(name, "scale", &[from], to, ""));
    head("chain", "") + &buffers.chain(tasks).collect::<String>()
}

fn order(tasks: &[(&str, &str, &str)]) -> Vec<String> {
    let workload = read(&chain(tasks)).expect("valid");
    workload.tasks.into_iter().map(|task| task.name).collect()
}

#[test]
fn puts_writers_before_readers_and_keeps_the_order_of_the_file_otherwise() {
    let tasks = [("last", "b", "c"), ("free", "x", "y"), ("first", "a", "b")];
    assert_eq!(order(&tasks), ["free", "first", "last"]);
    let tasks = [("one", "x", "a"), ("two", "x", "b"), ("three", "x", "c")];
    assert_eq!(order(&tasks), ["one", "two", "three"]);
}

#[test]
fn lets_a_task_work_in_place_before_others_read() {
    assert_eq!(order(&[("reader", "x", "y"), ("in place", "x", "x")]), ["in place", "reader"]);
    let workload = read(&chain(&[("in place", "x", "x")])).expect("valid");
    let x = workload.tasks[0].output();
    assert!(workload.is_input(x) && workload.is_output(x));
}

#[test]
fn has_no_circle() {
    let tasks = [
        ("start", "x", "y"),
        ("after", "c", "z"),
        ("a", "c", "b"),
        ("b", "b", "d"),
        ("c", "d", "c"),
    ];
    let text = chain(&tasks);
    let error = read(&text).expect_err("wait for each other in a cycle").to_string();
    let circle = ["`a`, `c`, `b`", "`c`, `b`, `a`", "`b`, `a`, `c`"];
    assert!(circle.iter().any(|names| error.contains(names)), "{error}");
    assert!(!error.contains("`after`") && !error.contains("`start`"), "{error}");
    let two = chain(&[("a", "c", "b"), ("b", "b", "c")]);
    let message = "tasks depend on each other's results in a cycle: `a`, `b`";
    refuses(&two, "[\"c\"]\nwrites", message, "read a buffer that none of them writes");
}

/// A chain in which some tasks are to run after others.
fn after(tasks: &[(&str, &str, &str)], rules: &[(&str, &str)]) -> String {
    rules.iter().fold(chain(tasks), |text, (name, after)| {
        let key = format!("name = \"{name}\"\nkernel");
        with(&text, &key, &format!("name = \"{name}\"\nafter = [{after}]\nkernel"))
    })
}

#[test]
fn may_say_that_a_task_runs_after_others_without_their_data() {
    let tasks = [("one", "x", "a"), ("two", "y", "b"), ("three", "z", "c")];
    let text = after(&tasks, &[("one", "\"three\", \"two\""), ("two", "\"three\"")]);
    let workload = read(&text).expect("valid");
    let names: Vec<&str> = workload.tasks.iter().map(|task| task.name.as_str()).collect();
    assert_eq!(names, ["three", "two", "one"]);
    let after: Vec<_> = workload.tasks.iter().map(|task| task.after.clone()).collect();
    let places = |all: &[usize]| all.iter().copied().map(TaskId).collect::<Vec<_>>();
    assert_eq!(after, [places(&[]), places(&[0]), places(&[0, 1])]);
}

#[test]
fn has_no_circle_of_rules_either() {
    let tasks = [("one", "x", "a"), ("two", "a", "b"), ("three", "z", "c")];
    let text = after(&tasks, &[("one", "\"two\"")]);
    let message = "tasks wait for each other in a cycle: `one`, `two`";
    refuses(&text, "\"two\"]", message, "remove this `after`");
    let text = after(&tasks, &[("three", "\"three\"")]);
    refuses(&text, "\"three\"]", "task `three` cannot run `after` itself", "remove it");
    let text = after(&tasks, &[("three", "\"tow\"")]);
    refuses(&text, "\"tow\"", "unknown task `tow`", "`one`, `three`, `two`");
}

#[test]
fn leaves_alone_what_all_batches_share() {
    let text = chain(&[("one", "x", "a")]);
    let shared = |name: &str| {
        let key = format!("name = \"{name}\"\ntype = \"f32\"\n");
        with(&text, &key, &format!("{key}shared = true\n"))
    };
    let workload = read(&shared("x").replace("question", "batches = 3\nquestion")).expect("valid");
    let bytes: Vec<u64> = workload.buffers.iter().map(|one| one.bytes(3).get()).collect();
    assert_eq!(bytes, [3 * 32, 32], "`a` and `x`");
    let message = "task `one` writes `a`, which is shared by all batches";
    refuses(
        &shared("a"),
        "true",
        message,
        "remove `shared` so that each batch has its own, or write to",
    );
}
