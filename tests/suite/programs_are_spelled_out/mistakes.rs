//! Programs that are wrong: each mistake has its place and its fix.

mod memory_and_copies;

use super::{calls, scenario};
use hallway::scenario::{ScenarioError, Workload};
use miette::Diagnostic;

/// Asserts that the scenario is refused: `marked` is the text at the mistake, and message and help
/// say what is wrong and how to mend it.
#[track_caller]
pub(super) fn refuses(text: &str, marked: &str, message: &str, help: &str) {
    refuses_in("test.toml", text, marked, message, help);
}

/// Asserts that for a scenario of this path, from which the paths in it go out.
#[track_caller]
pub(crate) fn refuses_in(file: &str, text: &str, marked: &str, message: &str, help: &str) {
    let error = Workload::from_toml(file, text).expect_err(text);
    let ScenarioError::Invalid { message: found, labels, .. } = &error else { panic!("{error}") };
    assert!(found.contains(message), "{found}\nis not: {message}");
    let place = &text[labels[0].offset()..][..labels[0].len()];
    assert!(place.starts_with(marked), "marks {place}, not {marked}: {found}");
    let found = error.help().expect("every mistake has a fix").to_string();
    assert!(found.contains(help), "{found}\nis not: {help}");
}

#[test]
fn a_call_says_what_it_does_once_and_with_its_keys() {
    for (call, marked, message, help) in [
        (
            "{ }",
            "\"p\"",
            "this call has no key that says what it does",
            "`copy`, `launch`, `compute`",
        ),
        ("{ to = \"d\" }", "\"d\"", "this call has no key that says what it does", "`copy`"),
        ("{ copy = \"x\" }", "\"x\"", "this `copy` has no `to`", "add `to"),
        (
            "{ copy = \"x\", to = \"d\", clear = \"d\" }",
            "\"d\"",
            "this call is both a `copy` and a `clear`",
            "two calls",
        ),
        ("{ clear = \"d\", to = \"e\" }", "\"e\"", "`clear` has no key `to`", "`stream`"),
        (
            "{ synchronize = \"s\", stream = \"s\" }",
            "\"s\"",
            "` has no key `stream`",
            "`synchronize` takes `thread`",
        ),
        ("{ launch = \"scale\", reads = [\"d\"] }", "\"scale\"", "has no `writes`", "add `writes"),
        ("{ launch = \"scale\", writes = \"d\" }", "\"scale\"", "has no `reads`", "add `reads"),
        ("{ repeat = 3 }", "3", "this `repeat` has no `calls`", "add `calls"),
        ("{ copy = \"x\", too = \"d\" }", "too", "`too`", "`to`"),
        ("{ copy = 5, to = \"d\" }", "5", "invalid type", "string"),
    ] {
        refuses(&calls(call), marked, message, help);
    }
}

#[test]
fn names_stand_for_what_is_there() {
    for (call, marked, message, help) in [
        ("{ copy = \"z\", to = \"d\" }", "\"z\"", "no memory is named `z`", "`x`, `y`, `d`, `e`"),
        ("{ copy = \"x\", to = \"D\" }", "\"D\"", "no memory is named `D`", "`d`"),
        ("{ synchronize = \"\" }", "\"\"", "a name is empty", "write a name such as `d`"),
        (
            "{ clear = \"d\", stream = \" \" }",
            "\" \"",
            "a name is empty",
            "write a name such as `d`",
        ),
        ("{ synchronize = \"s\" }", "\"s\"", "no earlier call uses a stream `s`", "there are none"),
        (
            "{ wait = \"e1\", stream = \"s\" }",
            "\"e1\"",
            "no earlier call records an event `e1`",
            "there are none",
        ),
        ("{ allocate = \"q\" }", "\"q\"", "no memory is named `q`", "`d`, `e`"),
        (
            "{ launch = \"scal\", reads = [\"d\"], writes = \"e\" }",
            "\"scal\"",
            "no kernel `scal`",
            "scale",
        ),
        (
            "{ copy = \"d{i}\", to = \"x\" }",
            "\"d{i}\"",
            "`i` in `i` is not an index",
            "repeat = 10, index",
        ),
        (
            "{ repeat = 2, index = \"i\", calls = [ { copy = \"d{i}\", to = \"x\" } ] }",
            "\"d{i}\"",
            "no memory is named `d0` (with i = 0)",
            "`d`",
        ),
    ] {
        refuses(&calls(call), marked, message, help);
    }
}

#[test]
fn ranges_lie_inside_their_memory() {
    for (range, message, help) in [
        (
            "x[0..17 MiB]",
            "bytes 0 to 17825792 are not a range within `x`, which has",
            "use a non-empty range within the memory",
        ),
        (
            "x[8 MiB..4 MiB]",
            "bytes 8388608 to 4194304 are not a range within `",
            "use a non-empty range within the memory",
        ),
        (
            "x[4..4]",
            "bytes 4 to 4 are not a range within `",
            "use a non-empty range within the memory",
        ),
        (
            "x[0 - 4..4]",
            "bytes -4 to 4 are not a range within `",
            "use a non-empty range within the memory",
        ),
        ("x[5]", "`[5]` is not a range of bytes", "x[4 MiB..+4 MiB]"),
        ("x[0..4 MiX]", "`4 MiX` is not a whole number of bytes", "32 MiB"),
        ("x[0..]]", "unexpected `]` in `", "parentheses"),
        ("x[a..8]", "`a` in `a` is not an index", "define one"),
        ("x[(1..8]", "`(1` is incomplete", "parentheses"),
    ] {
        let call = format!("{{ copy = \"{range}\", to = \"d\" }}");
        refuses(&calls(&call), &format!("\"{range}\""), message, help);
    }
}

#[test]
fn copies_fit_and_go_somewhere() {
    for (call, marked, message, help) in [
        (
            "{ copy = \"x[0..4 MiB]\", to = \"d\" }",
            "\"x[0..4 MiB]\"",
            "copies 4 MiB to a range of 16 MiB",
            "use ranges of the same size, such as `x[0..4 MiB]`",
        ),
        (
            "{ copy = \"d[0..8]\", to = \"d[4..12]\", stream = \"s\" }",
            "\"d[0..8]\"",
            "copies `d` onto itself: source and target overlap",
            "correct the call",
        ),
        (
            "{ launch = \"scale\", reads = [\"d[1..5]\"], writes = \"e[0..4]\" }",
            "\"scale\"",
            "whole elements of 4 bytes",
            "correct the call",
        ),
    ] {
        refuses(&calls(call), marked, message, help);
    }
}

#[test]
fn kernels_get_what_they_take() {
    for (call, marked, message, help) in [
        (
            "{ launch = \"saxpy\", reads = [\"d\"], writes = \"e\" }",
            "\"saxpy\"",
            "1 inputs for `saxpy`, which takes 2",
            "correct the call",
        ),
        (
            "{ launch = \"scale\", reads = [\"x\"], writes = \"e\" }",
            "\"scale\"",
            ", but it is not on GPU 0",
            "correct the call",
        ),
        (
            "{ compute = \"scale\", reads = [\"d\"], writes = \"x\" }",
            "\"scale\"",
            "uses `d` on the host, but it is GPU memory",
            "correct the call",
        ),
        (
            "{ launch = \"scale\", reads = [\"d\"], writes = \"e\", arguments = { b = 1 } }",
            "1",
            "`b = 1` of kernel `scale`: it has no argument of this name",
            "correct it or remove it",
        ),
        (
            "{ launch = \"polynomial\", reads = [\"d\"], writes = \"e\", arguments = { degree = \
             0 } }",
            "0",
            "`degree = 0` of kernel `polynomial`: must be a whole number from 1",
            "correct it",
        ),
        (
            "{ launch = \"scale\", reads = [\"d\"], writes = \"e\", lead = -1 }",
            "-1",
            "`lead` is -1, but must be a number of elements",
            "write a number of at least 0",
        ),
        (
            "{ launch = \"sum\", reads = [\"d\"], writes = \"e\" }",
            "\"sum\"",
            "elements as output of `sum`, which needs 1",
            "correct the call",
        ),
    ] {
        refuses(&calls(call), marked, message, help);
    }
}

#[test]
fn loops_and_graphs_can_be_played() {
    for (call, marked, message, help) in [
        ("{ repeat = 0, calls = [] }", "0", "`repeat` is 0", "from 1 to"),
        ("{ repeat = -3, calls = [] }", "-3", "`repeat` is -3", "from 1 to"),
        (
            "{ repeat = 200000, calls = [ { copy = \"x\", to = \"d\" } ] }",
            "\"x\"",
            "the program has more than 262144 calls",
            "repeat fewer times",
        ),
        (
            "{ repeat = 2, index = \"i\", calls = [ { repeat = 2, index = \"i\", calls = [] } ] }",
            "\"i\"",
            "` is already the index of an enclosing `repeat`",
            "another name",
        ),
        ("{ graph = [] }", "[]", "the legacy default stream", "stream = \"s\""),
        ("{ graph = [], stream = \"s\" }", "[]", "a graph without calls", "correct the call"),
        (
            "{ graph = [ { copy = \"y\", to = \"d\" } ], stream = \"s\" }",
            "\"y\"",
            "cannot be captured",
            "correct the call",
        ),
        ("{ work = \"soon\" }", "\"soon\"", "`soon` is not a time", "3.5 ms"),
        ("{ work = \"3.5\" }", "\"3.5\"", "`3.5` is not a time", "3.5 ms"),
        ("{ renew = \"y\" }", "\"y\"", "`y` is not pageable memory", "renew pageable"),
        ("{ pin = \"x\" }", "\"x\"", "pins `x` in every run without unpinning it", "correct"),
    ] {
        refuses(&calls(call), marked, message, help);
    }
}

#[test]
fn a_missing_wait_names_both_calls() {
    let text = calls(
        "{ copy = \"y\", to = \"d\", stream = \"in\" },\n\
         { launch = \"scale\", reads = [\"d\"], writes = \"e\", stream = \"run\" },\n\
         { synchronize = \"in\" },\n{ synchronize = \"run\" },",
    );
    refuses(
        &text,
        "\"scale\"",
        "two calls use `d` and one of them writes it, but nothing orders",
        "wait for an event",
    );
    let error = Workload::from_toml("test.toml", &text).expect_err("a race");
    let labels: Vec<_> = error.labels().expect("placed").collect();
    let first = &labels[1];
    assert!(text[first.offset()..].starts_with("\"y\""), "{labels:?}");
    // Nor does a pass end before its work does.
    let text = calls("{ copy = \"y\", to = \"d\", stream = \"in\" },");
    refuses(&text, "\"y\"", "a run may end before this call is done", "`synchronize`");
}

#[test]
fn memory_streams_and_programs_are_declared_once_and_well() {
    let memory = |one: &str| {
        scenario(&format!("[[program]]\nname = \"p\"\nmemory = [ {one} ]\ncalls = []\n"))
    };
    for (one, marked, message, help) in [
        (
            "{ name = \"x\", kind = \"device\", size = \"4 B\" }",
            "\"x\"",
            "` already belongs to other memory or to a buffer",
            "another name",
        ),
        (
            "{ name = \"\", kind = \"device\", size = \"4 B\" }",
            "\"\"",
            "`name` is empty",
            "printable characters",
        ),
        (
            "{ name = \"\\u001b[2J\", kind = \"device\", size = \"4 B\" }",
            "\"\\u001b",
            "U+001B",
            "printable characters",
        ),
        (
            "{ name = \"d\", kind = \"device\", size = \"0\" }",
            "\"0\"",
            "`size` of memory `d` is `0`",
            "64 MiB",
        ),
        ("{ name = \"d\", kind = \"device\", size = \"much\" }", "\"much\"", "is `much`", "64 MiB"),
        ("{ name = \"d\", kind = \"vram\", size = \"4 B\" }", "\"vram\"", "vram", "device"),
        (
            "{ name = \"d\", kind = \"pinned\", size = \"4 B\", gpu = 0 }",
            "0",
            "` is host memory, but has a `gpu`",
            "kind = \"device\"",
        ),
        (
            "{ name = \"d\", kind = \"device\", size = \"4 B\", gpu = -1 }",
            "-1",
            "`gpu` cannot be -1",
            "from 0",
        ),
    ] {
        refuses(&memory(one), marked, message, help);
    }
    let twice = calls("{ copy = \"x\", to = \"d\" },");
    let twice =
        twice.replace("calls = [", "streams = [ { name = \"s\" }, { name = \"s\" } ]\ncalls = [");
    refuses(&twice, "\"s\"", "two streams are named `s`", "a distinct name");
    let program = "[[program]]\nname = \"p\"\ncalls = []\n";
    refuses(
        &scenario(&program.repeat(2)),
        "\"p\"",
        "two programs have the same `name`, `",
        "give each program a distinct name",
    );
    refuses(&scenario(""), "\"demo\"", "` has no tasks and no programs", "`[[program]]`");
    refuses(
        &scenario("[[program]]\nname = \"p\"\n"),
        "[[program]]",
        "has no `calls`",
        "add `calls",
    );
}

#[test]
fn a_buffer_without_a_home_cannot_be_named() {
    let text =
        calls("{ copy = \"x\", to = \"d\" },").replacen("home = \"host\"", "home = \"scratch\"", 1);
    refuses(
        &text,
        "\"x\"",
        "buffer `x` has no memory, so no call can use it",
        "give it another `home`, or declare memory in the program instead",
    );
}
