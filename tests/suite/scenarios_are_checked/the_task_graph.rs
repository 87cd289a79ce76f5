//! Tasks are put in an order that respects their dependencies.

use super::*;

/// A scenario of `scale` tasks, each given as name, what it reads and what it writes.
fn chain(tasks: &[(&str, &str, &str)]) -> String {
    let mut text = "schema_version = 1\nname = \"chain\"\nquestion = \"?\"\n".to_owned();
    let mut buffers: Vec<&str> = tasks.iter().flat_map(|(_, from, to)| [*from, *to]).collect();
    buffers.sort_unstable();
    buffers.dedup();
    for name in buffers {
        text += &format!("[[buffer]]\nname = \"{name}\"\ntype = \"f32\"\n");
        text += "elements = 8\nhome = \"host\"\n";
    }
    for (name, from, to) in tasks {
        text += &format!("[[task]]\nname = \"{name}\"\nkernel = \"scale\"\n");
        text += &format!("reads = [\"{from}\"]\nwrites = [\"{to}\"]\n");
    }
    text
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
    let error = read(&text).expect_err("a circle").to_string();
    let circle = ["`a`, `c`, `b`", "`c`, `b`, `a`", "`b`, `a`, `c`"];
    assert!(circle.iter().any(|names| error.contains(names)), "{error}");
    assert!(!error.contains("`after`") && !error.contains("`start`"), "{error}");
    let two = chain(&[("a", "c", "b"), ("b", "b", "c")]);
    let message = "tasks `a`, `b` each read what the next one writes, in a circle";
    refuses(&two, "[\"c\"]\nwrites", message, "read a buffer that none of them writes");
}
