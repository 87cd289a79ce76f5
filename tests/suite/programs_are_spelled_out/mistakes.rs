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
        ("{ }", "\"p\"", "does not say what it does", "`copy`, `launch`, `compute`"),
        ("{ to = \"d\" }", "\"d\"", "does not say what it does", "`copy`"),
        ("{ copy = \"x\" }", "\"x\"", "this `copy` has no `to`", "add `to"),
        (
            "{ copy = \"x\", to = \"d\", clear = \"d\" }",
            "\"d\"",
            "both `copy` and `clear`",
            "two calls",
        ),
        ("{ clear = \"d\", to = \"e\" }", "\"e\"", "`to` is no key of a `clear`", "`stream`"),
        ("{ synchronize = \"s\", stream = \"s\" }", "\"s\"", "`stream` is no key", "no other key"),
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
        ("{ copy = \"z\", to = \"d\" }", "\"z\"", "no memory `z`", "`x`, `y`, `d`, `e`"),
        ("{ copy = \"x\", to = \"D\" }", "\"D\"", "no memory `D`", "`d`"),
        ("{ synchronize = \"\" }", "\"\"", "a name is empty", "write one"),
        ("{ clear = \"d\", stream = \" \" }", "\" \"", "a name is empty", "write one"),
        (
            "{ synchronize = \"s\" }",
            "\"s\"",
            "no call before goes to a stream `s`",
            "there is none",
        ),
        ("{ wait = \"e1\", stream = \"s\" }", "\"e1\"", "records an event `e1`", "there is none"),
        ("{ allocate = \"q\" }", "\"q\"", "no memory `q`", "`d`, `e`"),
        (
            "{ launch = \"scal\", reads = [\"d\"], writes = \"e\" }",
            "\"scal\"",
            "no kernel `scal`",
            "scale",
        ),
        (
            "{ copy = \"d{i}\", to = \"x\" }",
            "\"d{i}\"",
            "`i` in `i` is no index",
            "repeat = 10, index",
        ),
        (
            "{ repeat = 2, index = \"i\", calls = [ { copy = \"d{i}\", to = \"x\" } ] }",
            "\"d{i}\"",
            "no memory `d0` (where i = 0)",
            "`d`",
        ),
    ] {
        refuses(&calls(call), marked, message, help);
    }
}

#[test]
fn ranges_lie_inside_their_memory() {
    for (range, message, help) in [
        ("x[0..17 MiB]", "bytes 0 to 17825792 are no range of `x`", "bytes that are there"),
        ("x[8 MiB..4 MiB]", "bytes 8388608 to 4194304", "bytes that are there"),
        ("x[4..4]", "bytes 4 to 4", "one at least"),
        ("x[0 - 4..4]", "bytes -4 to 4", "bytes that are there"),
        ("x[5]", "`[5]` is no range of bytes", "x[4 MiB..+4 MiB]"),
        ("x[0..4 MiX]", "`4 MiX` is no whole number of bytes", "32 MiB"),
        ("x[0..]]", "`]` is not expected", "parentheses"),
        ("x[a..8]", "`a` in `a` is no index", "name one"),
        ("x[(1..8]", "ends too early", "parentheses"),
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
            "copies 4 MiB to where 16 MiB have room",
            "ranges of one size",
        ),
        (
            "{ copy = \"d[0..8]\", to = \"d[4..12]\", stream = \"s\" }",
            "\"d[0..8]\"",
            "copies `d` onto bytes that it copies from",
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
            "1 inputs of `saxpy`, which takes 2",
            "correct the call",
        ),
        (
            "{ launch = \"scale\", reads = [\"x\"], writes = \"e\" }",
            "\"scale\"",
            "`x`, which is not on GPU 0",
            "correct the call",
        ),
        (
            "{ compute = \"scale\", reads = [\"d\"], writes = \"x\" }",
            "\"scale\"",
            "computes on the host with `d`",
            "correct the call",
        ),
        (
            "{ launch = \"scale\", reads = [\"d\"], writes = \"e\", arguments = { b = 1 } }",
            "1",
            "`b = 1` of kernel `scale`: it has no argument of this name",
            "leave it out",
        ),
        (
            "{ launch = \"polynomial\", reads = [\"d\"], writes = \"e\", \
               arguments = { degree = 0 } }",
            "0",
            "`degree = 0` of kernel `polynomial`: must be a whole number from 1",
            "correct it",
        ),
        (
            "{ launch = \"scale\", reads = [\"d\"], writes = \"e\", lead = -1 }",
            "-1",
            "`lead` is -1",
            "from 0 up",
        ),
        (
            "{ launch = \"sum\", reads = [\"d\"], writes = \"e\" }",
            "\"sum\"",
            "as output of `sum`, which wants 1",
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
            "more than 262144 calls",
            "repeat fewer times",
        ),
        (
            "{ repeat = 2, index = \"i\", calls = [ { repeat = 2, index = \"i\", calls = [] } ] }",
            "\"i\"",
            "the index of a `repeat` around this one",
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
        ("{ pin = \"x\" }", "\"x\"", "pins `x` in every pass, and none unpins it", "correct"),
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
    refuses(&text, "\"scale\"", "two calls use `d`", "wait for an event");
    let error = Workload::from_toml("test.toml", &text).expect_err("a race");
    let labels: Vec<_> = error.labels().expect("placed").collect();
    let first = &labels[1];
    assert!(text[first.offset()..].starts_with("\"y\""), "{labels:?}");
    // Nor does a pass end before its work does.
    let text = calls("{ copy = \"y\", to = \"d\", stream = \"in\" },");
    refuses(&text, "\"y\"", "a pass ends before this call is known to be done", "`synchronize`");
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
            "the name of other memory",
            "another name",
        ),
        (
            "{ name = \"\", kind = \"device\", size = \"4 B\" }",
            "\"\"",
            "`name` is empty",
            "visible characters",
        ),
        (
            "{ name = \"\\u001b[2J\", kind = \"device\", size = \"4 B\" }",
            "\"\\u001b",
            "U+001B",
            "visible characters",
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
            "is the host's",
            "kind = \"device\"",
        ),
        (
            "{ name = \"d\", kind = \"device\", size = \"4 B\", gpu = -1 }",
            "-1",
            "`gpu` is -1",
            "from 0",
        ),
    ] {
        refuses(&memory(one), marked, message, help);
    }
    let twice = calls("{ copy = \"x\", to = \"d\" },");
    let twice =
        twice.replace("calls = [", "streams = [ { name = \"s\" }, { name = \"s\" } ]\ncalls = [");
    refuses(&twice, "\"s\"", "two streams `s`", "each once");
    let program = "[[program]]\nname = \"p\"\ncalls = []\n";
    refuses(&scenario(&program.repeat(2)), "\"p\"", "two programs have the `name`", "of its own");
    refuses(&scenario(""), "\"demo\"", "no task and no program", "`[[program]]`");
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
    refuses(&text, "\"x\"", "buffer `x` lives nowhere", "give it a home");
}
