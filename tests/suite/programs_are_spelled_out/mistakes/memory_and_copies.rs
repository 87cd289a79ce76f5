//! Mistakes in calls that take memory, give it back and pin it, in copies of rows and on the host,
//! and in waiting for events and devices.

use super::super::{calls, scenario};
use super::refuses;
use hallway::scenario::Workload;
use miette::Diagnostic;

/// Each: the calls, the text at the mistake, what is said, and the fix.
type Mistake = (&'static str, &'static str, &'static str, &'static str);

#[track_caller]
fn all_refused(mistakes: &[Mistake]) {
    for (text, marked, message, help) in mistakes {
        refuses(&calls(text), marked, message, help);
    }
}

#[test]
fn the_host_waits_for_what_can_happen() {
    all_refused(&[
        ("{ synchronize_event = \"e\" }", "\"e\"", "no earlier call records an event `e`", "none"),
        (
            "{ synchronize_device = 0 }",
            "0",
            "no earlier call uses GPU 0",
            "wait for a GPU that has work; GPUs are counted from 0",
        ),
        (
            "{ copy = \"x\", to = \"d\" }, { synchronize_device = 3 }",
            "3",
            "no earlier call uses GPU 3",
            "counted from 0",
        ),
        (
            "{ synchronize_device = -1 }",
            "-1",
            "`gpu` cannot be -1",
            "write a GPU's number, from 0 to",
        ),
        (
            "{ synchronize_device = 0, stream = \"s\" }",
            "\"s\"",
            "`synchronize_device` has no key `stream`",
            "takes `thread`",
        ),
        (
            "{ clear = \"d\", stream = \"s\" }",
            "\"d\"",
            "a run may end before this call is done",
            "`synchronize_device`",
        ),
    ]);
}

#[test]
fn a_pass_gives_back_what_it_takes() {
    const D: &str = "{ allocate = \"d\" }, ";
    all_refused(&[
        ("{ allocate = \"d\" }", "\"d\"", "allocates `d` in every run", "correct the call"),
        ("{ free = \"d\" }", "\"d\"", "frees `d`, so the next run does not have it", "correct"),
        (
            "{ free = \"d\" }, { allocate = \"d\" }",
            "\"d\"",
            "`, which no earlier call has allocated",
            "correct",
        ),
        ("{ free = \"x\" }", "\"x\"", "a buffer of the scenario", "correct the call"),
        (
            "{ allocate = \"x\" }",
            "\"x\"",
            "allocates `x`, which is already allocated",
            "correct the call",
        ),
        (
            "{ allocate = \"x\", stream = \"s\" }",
            "\"x\"",
            "`x` is host memory, which cannot be allocated or freed in a stream",
            "remove `stream`",
        ),
        (
            "{ allocate = \"d\", stream = \"s\" }, { free = \"d\" }, { synchronize = \"s\" }",
            "\"d\"",
            "`d` is allocated in a stream but freed outside one",
            "correct the call",
        ),
        (
            "{ allocate = \"d\" }, { copy = \"x\", to = \"d\" }, { free = \"d\", stream = \"s\" }",
            "\"d\"",
            "`d` is allocated outside a stream but freed in one",
            "correct the call",
        ),
        (
            "{ graph = [ { allocate = \"d\", stream = \"s\" }, { free = \"d\", stream = \"s\" } ], \
             stream = \"s\" }",
            "\"d\"",
            "taking memory cannot be captured",
            "correct",
        ),
        (
            "{ allocate = \"d\" }, { graph = [ { clear = \"d\", stream = \"s\" } ], \
             stream = \"s\" }, { synchronize = \"s\" }, { free = \"d\" }",
            "\"d\"",
            "`d` cannot be captured, because every run allocates or pins it again",
            "correct",
        ),
    ]);
    let twice = calls(&(D.to_owned() + "{ free = \"d\" },\n{ free = \"d\" }"));
    refuses(&twice, "\"d\"", "frees `d`, which is already freed", "correct the call");
    names_both(&twice, "freed", "{ free = \"d\" },");
    let used = D.to_owned() + "{ free = \"d\" }, { copy = \"x\", to = \"d\" }";
    refuses(&calls(&used), "\"x\"", "uses `d` after it was freed", "correct the call");
    names_both(&calls(&used), "freed", "{ free = \"d\" },");
    let again = D.to_owned() + "{ allocate = \"d\" }, { free = \"d\" }";
    names_both(&calls(&again), "allocated", "{ allocate = \"d\" }, {");
    let setup = calls("{ copy = \"x\", to = \"d\" }")
        .replace("calls = [", "setup = [ { allocate = \"e\" }, { free = \"e\" } ]\ncalls = [");
    refuses(
        &setup,
        "\"e\"",
        "frees or unpins memory in the setup; memory from the setup",
        "correct the call",
    );
}

/// Asserts that the error also points at a call with this label.
#[track_caller]
fn names_both(text: &str, label: &str, call: &str) {
    let error = Workload::from_toml("test.toml", text).expect_err(text);
    let labels: Vec<_> = error.labels().expect("placed").collect();
    let second = labels.get(1).unwrap_or_else(|| panic!("{error} names one call"));
    assert_eq!(second.label(), Some(label), "{error}");
    let at = text.find(call).expect("it is there");
    assert!((at..at + call.len()).contains(&second.offset()), "{error}: {labels:?}");
}

#[test]
fn memory_is_free_when_it_is_given_back() {
    all_refused(&[
        (
            "{ allocate = \"d\" }, { copy = \"y\", to = \"d\", stream = \"s\" }, { free = \"d\" }, \
             { synchronize = \"s\" }",
            "\"d\"",
            "two calls use `d` and one of them writes it, but nothing orders",
            "wait for an event",
        ),
        (
            "{ allocate = \"d\", stream = \"s\" }, { clear = \"d\", stream = \"t\" }, \
             { free = \"d\", stream = \"t\" }, { synchronize = \"t\" }",
            "\"d\"",
            "two calls use `d` and one of them writes it, but nothing orders",
            "wait for an event",
        ),
        (
            "{ allocate = \"d\", stream = \"s\" }, { clear = \"d\", stream = \"s\" }, \
             { free = \"d\", stream = \"t\" }",
            "\"d\"",
            "two calls use `d` and one of them writes it, but nothing orders",
            "wait for an event",
        ),
    ]);
}

#[test]
fn what_is_pinned_in_a_pass_is_unpinned_there() {
    all_refused(&[
        ("{ unpin = \"x\" }", "\"x\"", "unpins `x`, but it is not pinned", "correct the call"),
        ("{ unpin = \"y\" }", "\"y\"", "unpins `y`, which no earlier call has pinned", "correct"),
        ("{ pin = \"d\" }", "\"d\"", "`d` is not pageable memory", "pin pageable memory"),
        (
            "{ pin = \"x\" }, { pin = \"x\" }, { unpin = \"x\" }",
            "\"x\"",
            "pins `x`, which is already pinned",
            "correct the call",
        ),
        (
            "{ copy = \"x\", to = \"d\" }, { pin = \"x\" }, { unpin = \"x\" }",
            "\"x\"",
            "uses `x` while it is not pinned",
            "correct the call",
        ),
    ]);
    let setup =
        calls("{ unpin = \"x\" }").replace("calls = [", "setup = [ { pin = \"x\" } ]\ncalls = [");
    refuses(&setup, "\"x\"", "unpins `x`, but the next run needs it pinned", "correct");
    let own = "[[program]]\nname = \"p\"\nmemory = [\n\
               { name = \"h\", kind = \"pageable\", size = \"4 KiB\" } ]\ncalls = [\n\
               { allocate = \"h\" }, { pin = \"h\" }, { free = \"h\" } ]\n";
    refuses(&scenario(own), "\"h\"", "frees `h` while it is pinned", "correct the call");
}

#[test]
fn the_cpu_copies_with_one_thread_or_with_all() {
    all_refused(&[
        (
            "{ copy = \"x\", to = \"d\", threads = 1 }",
            "1",
            "`threads` on a copy that the GPU's copy engines make",
            "remove it: only copies within host memory",
        ),
        ("{ copy = \"x\", to = \"y\", threads = 0 }", "0", "`threads` is 0", "1 or \"all\""),
        ("{ copy = \"x\", to = \"y\", threads = 8 }", "8", "`threads` is 8", "1 or \"all\""),
        (
            "{ copy = \"x\", to = \"y\", threads = \"some\" }",
            "\"some\"",
            "`threads` is \"some\"",
            "1 or \"all\"",
        ),
        (
            "{ copy = \"x\", to = \"y\", stream = \"s\" }",
            "\"s\"",
            "the CPU copies `x`, so the copy cannot be in a stream",
            "remove `stream`",
        ),
        (
            "{ copy = \"x[0..8]\", to = \"x[4..12]\" }",
            "\"x[0..8]\"",
            "copies `x` onto itself: source and target overlap",
            "correct the call",
        ),
        ("{ clear = \"d\", threads = 1 }", "1", "`clear` has no key `threads`", "remove it"),
    ]);
}

#[test]
fn rows_fit_and_do_not_overlap() {
    let rows = |rest: &str| calls(&format!("{{ copy = \"x\", to = \"d\", {rest} }}"));
    for (rest, marked, message, help) in [
        ("rows = 0, row = \"1 KiB\"", "0", "`rows` is 0", "write a whole number of at least 1"),
        ("rows = -4, row = \"1 KiB\"", "-4", "`rows` is -4", "write a whole number of at least 1"),
        ("rows = 4", "4", "this `copy` has `rows` but no `row`", "add `row"),
        ("row = \"1 KiB\"", "\"1 KiB\"", "this `copy` has `row` but no `rows`", "add `rows"),
        ("pitch = \"1 KiB\"", "\"1 KiB\"", "this `copy` has `pitch` but no `rows`", "add `rows"),
        ("rows = 4, row = \"0\"", "\"0\"", "a row cannot have 0 bytes", "2 KiB"),
        ("rows = 4, row = \"wide\"", "\"wide\"", "`wide` in `wide` is not an index", "define one"),
        (
            "rows = 4, row = \"2 KiB\", pitch = \"1 KiB\"",
            "\"1 KiB\"",
            "a row of 2 KiB is wider than its `pitch` of 1 KiB",
            "as large as a row",
        ),
        (
            "rows = 4, row = \"2 KiB\", to_pitch = \"1 KiB\"",
            "\"1 KiB\"",
            "wider than its `to_pitch`",
            "as large as a row",
        ),
        (
            "rows = 4097, row = \"2 KiB\", pitch = \"4 KiB\"",
            "\"x\"",
            "4097 rows of 2 KiB at a pitch of 4 KiB do not fit into 16 MiB",
            "fewer rows",
        ),
        (
            "rows = 4096, row = \"2 KiB\", to_pitch = \"8 KiB\"",
            "\"d\"",
            "do not fit into 16 MiB",
            "fewer rows",
        ),
    ] {
        refuses(&rows(rest), marked, message, help);
    }
    all_refused(&[
        (
            "{ copy = \"x\", to = \"y\", rows = 4, row = \"1 KiB\", pitch = \"2 KiB\" }",
            "\"x\"",
            "rows cannot be copied by the CPU",
            "copy each row in a `repeat`: `x[i * 8 KiB..+2 KiB]`",
        ),
        (
            "{ copy = \"d\", to = \"d[1 KiB..]\", rows = 4, row = \"2 KiB\", pitch = \"4 KiB\", \
             to_pitch = \"4 KiB\", stream = \"s\" }",
            "\"d\"",
            "` onto itself: source and target overlap",
            "correct the call",
        ),
    ]);
    // Two blocks of columns do not meet, however they are ordered; blocks that overlap do.
    let columns = |second: u64| {
        calls(&format!(
            "{{ copy = \"d\", to = \"e\", rows = 64, row = \"2 KiB\", pitch = \"8 KiB\", \
             to_pitch = \"8 KiB\", stream = \"s\" }}, {{ copy = \"d\", to = \"e[{second} KiB..]\", \
             rows = 64, row = \"2 KiB\", pitch = \"8 KiB\", to_pitch = \"8 KiB\", \
             stream = \"t\" }}, {{ synchronize = \"s\" }}, {{ synchronize = \"t\" }}"
        ))
    };
    for (second, meet) in [(0, true), (1, true), (2, false), (6, false), (7, true), (14, false)] {
        let found = Workload::from_toml("test.toml", &columns(second)).expect_err("unused buffers");
        let meets = found
            .to_string()
            .contains("two calls use `e` and one of them writes it, but nothing orders");
        assert_eq!(meets, meet, "{second} KiB: {found}");
    }
}

#[test]
fn what_a_framework_adds_is_a_time() {
    let text = calls("{ copy = \"x\", to = \"d\" }");
    let text = text.replace("name = \"p\"\n", "name = \"p\"\noverhead = \"much\"\n");
    refuses(&text, "\"much\"", "`much` is not a time", "3.5 ms");
}
