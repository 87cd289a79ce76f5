//! Ranges of a program are recorded, and only some parts of it if that is asked for.

use super::{Recorded, record};
use crate::commands::hallway;
use hallway::trace::{Recording, Trace};

/// When each range began and ended, since the first call.
fn ranges(trace: &Trace) -> Vec<(&str, u64, u64)> {
    let times = trace.ranges.iter().map(|range| {
        let [begin, end] = [range.begin, range.end].map(|time| time.since_start().nanos());
        (&*range.name, begin, end)
    });
    times.collect()
}

/// The begins of all calls, since time 0 of the pretend program.
#[track_caller]
fn calls(recorded: &Recorded) -> Vec<u64> {
    assert!(recorded.output.status.success(), "{}", recorded.said());
    let trace = recorded.read().trace;
    assert!(trace.work.iter().all(|work| work.call.is_some()), "only work of calls that are there");
    let begins = trace.calls.iter().map(|call| call.begin.since_start().nanos());
    begins.collect()
}

fn ask(recorded: &Recorded, action: &str) -> (Option<i32>, String) {
    let file = recorded.path();
    let mut command = hallway(recorded.folder.path(), [action, file.to_str().expect("plain")]);
    let output = command.env("COLUMNS", "80").output().expect("the binary was built");
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(text).expect("text"))
}

#[test]
fn ranges_are_read_as_they_were() {
    let recorded = record(&[], &["ranges"], &[]);
    assert!(recorded.output.status.success(), "{}", recorded.said());
    let Recording { trace, processes } = recorded.read();
    let expected = [
        ("whole", 0, 740),
        ("step", 10, 260),
        ("inner", 110, 260),
        ("span", 460, 610),
        ("größer", 510, 710),
    ];
    assert_eq!(ranges(&trace), expected);
    let names: Vec<&str> = processes[0].ranges.iter().map(|name| &**name).collect();
    assert_eq!(names, ["whole", "step", "inner", "span", "größer"]);
    let profiling = ["cudaProfilerStart", "cudaProfilerStop"];
    let profiling =
        profiling.map(|name| trace.calls.iter().filter(|call| &*call.function == name).count());
    assert_eq!((profiling, trace.calls.len(), trace.work.len()), ([1, 1], 11, 9));
    let gpus: Vec<Option<&str>> = trace.gpus.iter().map(|gpu| gpu.name.as_deref()).collect();
    assert_eq!(gpus, [Some("Pretend GPU 70")]);
}

#[test]
fn only_what_happens_in_a_range_is_recorded() {
    assert_eq!(calls(&record(&["--range", "step"], &["ranges"], &[])), [0, 100, 150]);
    assert_eq!(calls(&record(&["--range", "inner"], &["ranges"], &[])), [0, 50]);
    assert_eq!(calls(&record(&["--range", "span"], &["ranges"], &[])), [0, 100]);
    // This range began before there was a recorder.
    assert_eq!(calls(&record(&["--range", "whole"], &["ranges"], &[])).len(), 11);
    // The call that ends profiling is not in it.
    assert_eq!(calls(&record(&["--range", "profiler"], &["ranges"], &[])), [0]);

    let inner = record(&["--range", "inner"], &["ranges"], &[]);
    let trace = inner.read().trace;
    assert_eq!(ranges(&trace), [("whole", 0, 90), ("step", 0, 60), ("inner", 0, 60)]);
    let (_, explained) = ask(&inner, "explain");
    assert!(explained.contains("Only ranges named `inner`"), "{explained}");
}

#[test]
fn a_range_that_never_came_is_said() {
    let never = record(&["--range", "Step"], &["ranges"], &[]);
    assert_eq!(never.output.status.code(), Some(1));
    assert!(never.said().contains("never entered a range named `Step`"), "{}", never.said());
    assert!(never.said().contains("`inner`, `span`, `step`"), "{}", never.said());
    assert!(!never.path().exists());
    let none = record(&["--range", "profiler"], &["everything"], &[]);
    assert_eq!(none.output.status.code(), Some(1));
    assert!(none.said().contains("cudaProfilerStart"), "{}", none.said());
    let taken = record(&["--range", "step"], &["ranges"], &[("PRETEND_SUBSCRIBE", "39")]);
    assert_eq!(taken.output.status.code(), Some(4));
    assert!(taken.said().contains("another tool is using CUPTI's callbacks"), "{}", taken.said());
    let empty = record(&["--range", ""], &["ranges"], &[]);
    assert_eq!(empty.output.status.code(), Some(2), "{}", empty.said());
    let both = record(&["--range", "step", "--device-only"], &["ranges"], &[]);
    assert_eq!(both.output.status.code(), Some(2), "{}", both.said());
}

#[test]
fn the_device_alone_is_recorded_where_that_is_asked_for() {
    // Whether another tool has the callbacks does not matter: they are not asked for.
    let recorded = record(&["--device-only"], &["everything"], &[("PRETEND_SUBSCRIBE", "39")]);
    assert!(recorded.output.status.success(), "{}", recorded.said());
    let said = recorded.said();
    assert!(said.contains("no calls, 2 copies (96 B), 4 kernels"), "{said}");
    let trace = recorded.read().trace;
    assert_eq!((trace.calls.len(), trace.work.len()), (0, 5));
    // Calls that nobody asked for are not missing. One record has no time.
    assert_eq!(trace.defects.len(), 1);

    let (code, explained) = ask(&recorded, "explain");
    assert_eq!(code, Some(0), "{explained}");
    assert!(explained.contains("on Pretend GPU 70"), "{explained}");
    assert!(explained.contains("has no host calls"), "{explained}");
    let (code, refused) = ask(&recorded, "import");
    assert_eq!(code, Some(2), "{refused}");
    assert!(refused.contains("has no host calls"), "{refused}");
    assert!(refused.contains("--device-only"), "{refused}");

    let forbidden = record(&["--device-only"], &["everything"], &[("PRETEND_SUBSCRIBE", "35")]);
    assert_eq!(forbidden.output.status.code(), Some(4), "{}", forbidden.said());
    let quiet = record(&["--device-only"], &["ranges"], &[]);
    assert_eq!(quiet.read().trace.ranges, []);
}

#[test]
fn explain_names_the_innermost_range_of_each_copy() {
    let (code, explained) = ask(&record(&[], &["ranges"], &[]), "explain");
    assert_eq!(code, Some(0), "{explained}");
    for name in ["whole", "step", "inner", "span", "größer"] {
        assert!(explained.contains(name), "{name}: {explained}");
    }
    assert!(explained.lines().all(|line| line.chars().count() <= 80), "{explained}");
}
