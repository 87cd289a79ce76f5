//! Files that are torn, packed, damaged or none of ours: imported as far as they go, or refused
//! with what to do.

use super::{of_events, packed, read_bytes, read_named, refusal, unpacked};
use hallway::trace::{Defect, Trace};
use proptest::prelude::*;

const LAUNCH: &str = r#"{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1,
    "tid": 1, "ts": 1, "dur": 1, "args": {"correlation": 5}}"#;

fn launch_named(name: &str) -> String {
    LAUNCH.replace("cudaLaunchKernel", name)
}

#[test]
fn a_trace_that_was_cut_off_is_read_as_far_as_it_goes() {
    let content = unpacked("repeated.json.gz");
    let whole = read_bytes(&content).expect("it is a trace");
    let mut before = 0;
    for step in 1..200 {
        let cut = &content[..content.len() * step / 200];
        match read_bytes(cut) {
            Ok(trace) => {
                let events = trace.calls.len() + trace.work.len();
                assert_eq!(trace.defects.get(&Defect::Cut), Some(&1), "{step}");
                assert!(before <= events, "{step}");
                before = events;
            }
            Err(error) => {
                assert_eq!(before, 0, "{step}: {error}");
                assert!(error.to_string().contains("before the point where it was cut off"));
            }
        }
    }
    assert_eq!(before, whole.calls.len() + whole.work.len());
}

#[test]
fn two_traces_in_one_file_are_refused() {
    let content = format!("{{\"traceEvents\": [{LAUNCH}]}}\n");
    let expected = format!(
        "byte {}: there is more data after the end of the trace: were two files concatenated?",
        content.len()
    );
    assert_eq!(refusal(content.repeat(2).as_bytes()), expected);
    let both = [packed(content.as_bytes()), packed(content.as_bytes())].concat();
    assert_eq!(refusal(&both), expected);
}

#[test]
fn a_list_without_an_object_around_it_is_a_trace() {
    let trace = read_bytes(format!("\u{feff} [{LAUNCH}, ]").as_bytes()).expect("a trace");
    assert_eq!(trace.calls.len(), 1);
    assert_eq!(trace.origin.version, None);
}

#[test]
fn deep_nesting_harms_nothing() {
    let deep = |depth| "[".repeat(depth) + &"]".repeat(depth);
    let event = LAUNCH.replace("\"correlation\": 5", &format!("\"deep\": {}", deep(10_000)));
    let skipped = format!(r#"{{"ph": "X", "cat": "kernel", "deep": {}}}"#, deep(100_000));
    let trace = of_events(&[&event, &skipped, LAUNCH, &deep(10_000)]);
    assert_eq!(trace.calls.len(), 2);
    let content = format!("{{\"deep\": {}, \"traceEvents\": [{LAUNCH}]}}", deep(3_000_000));
    assert_eq!(read_bytes(content.as_bytes()).expect("a trace").calls.len(), 1);
}

/// Names come from compilers and paths, and not every profiler escapes them.
#[test]
fn names_need_not_be_escaped() {
    let names = [
        ("oper\u{1}ator\n()", "oper ator ()"),
        (r#"operator""_km(int)"#, r#"operator""_km(int)"#),
        (r#"say "hi" to {lambda()#1}"#, r#"say "hi" to {lambda()#1}"#),
        (r"C:\Users\me", r"C:\Users\me"),
        (r"caf\u00e9 \n", "caf\u{e9} \n"),
    ];
    for (written, read) in names {
        let trace = of_events(&[&launch_named(written), LAUNCH]);
        let functions: Vec<&str> = trace.calls.iter().map(|call| &*call.function).collect();
        assert_eq!(functions, [read.trim(), "cudaLaunchKernel"], "{written}");
    }
    let mut content = format!("[{}, {LAUNCH}]", launch_named("caf?")).into_bytes();
    let place = content.iter().position(|&byte| byte == b'?').expect("it is there");
    content[place] = 0xe9;
    assert_eq!(&*read_bytes(&content).expect("a trace").calls[0].function, "caf\u{fffd}");
}

#[test]
fn what_is_no_trace_is_refused_with_what_to_do() {
    let empty = "the file is empty. The profiler writes it on exit: was the program still running?";
    let no_trace = "it is not a trace that hallway can read: PyTorch profiler JSON \
                    (export_chrome_trace), Nsight Systems SQLite (nsys export --type sqlite \
                    FILE) or a recording made by `hallway record`";
    let nothing = "it contains no CUDA calls and no GPU work. Record it with \
        ProfilerActivity.CUDA among the activities";
    let events = br#"{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::mul"}]}"#;
    let twice = packed(&packed(events));
    let cut = &packed(events)[..30];
    let mut damaged = packed(events);
    damaged[20] ^= 0xff;
    let cases: [(&[u8], &str); 14] = [
        (b"", empty),
        (&packed(b""), empty),
        (b"name,time\n", no_trace),
        (&packed(b"name,time\n"), no_trace),
        (b"PK\x03\x04rest", "it is a zip archive: unpack it (unzip)"),
        (b"\x28\xb5\x2f\xfdrest", "it is compressed with zstd: decompress it (zstd -d)"),
        (&twice, "it is gzipped more than once: decompress it once (gunzip)"),
        (events, nothing),
        (b"{}", "byte 0: it has no `traceEvents`, so it is not a PyTorch profiler trace"),
        (br#"{"traceEvents": 3}"#, "byte 16: `traceEvents` must be a list"),
        (br"{3: 4}", "byte 1: expected a property name"),
        (br#"{"a"}"#, "byte 4: expected `:`"),
        (br"[{} {}]", "byte 4: expected a comma or the end after event 1"),
        (br"[{}, }]", "byte 5: expected event 1"),
    ];
    for (content, expected) in cases {
        assert_eq!(refusal(content), expected);
    }
    assert!(refusal(cut).contains("its gzip data is truncated after "), "{}", refusal(cut));
    assert!(refusal(&damaged).contains("its gzip data is damaged after "), "{}", refusal(&damaged));
    let report = read_named("run.nsys-rep", b"\x01\x02").expect_err("it is no trace").to_string();
    let fix = "must be exported first: nsys export --type sqlite FILE";
    assert!(report.ends_with(fix), "{report}");
    assert!(hallway::trace::read(&std::env::temp_dir()).is_err(), "a folder");
}

/// A kilobyte of gzip may hold gigabytes: a long text is not kept.
#[test]
fn what_is_too_long_is_left_out() {
    let long = format!(r#"{{"ph": "X", "name": "{}"}}"#, "a".repeat(5 << 20));
    let trace = of_events(&[&long, LAUNCH]);
    assert_eq!(trace.defects.get(&Defect::Unreadable), Some(&1));
    assert_eq!(trace.calls.len(), 1);
}

#[test]
fn many_events_are_read_one_by_one() {
    let events: Vec<String> = (0..20_000)
        .map(|index| {
            let event = LAUNCH.replace("\"ts\": 1", &format!("\"ts\": {index}.5"));
            event.replace("\"correlation\": 5", &format!("\"correlation\": {index}"))
        })
        .collect();
    let content = packed(format!("[{}]", events.join(",")).as_bytes());
    let trace = read_bytes(&content).expect("a trace");
    assert_eq!(trace.calls.len(), 20_000);
    assert_eq!(trace.end().since_start().nanos(), 20_000_000);
}

/// Neither one id for everything nor one call for all work takes longer than other events do.
#[test]
fn equal_ids_do_not_take_longer() {
    let kernel = LAUNCH.replace("cuda_runtime", "kernel");
    let malloc = launch_named("cudaMalloc");
    for calls in [1, 30_000] {
        let mut events = vec![malloc.as_str(); calls];
        events.extend(vec![kernel.as_str(); 30_000]);
        let trace = of_events(&events);
        let owned = trace.work.iter().filter(|work| work.call.is_some()).count();
        assert_eq!(owned, if calls == 1 { 30_000 } else { 0 });
    }
}

fn changed(content: &[u8], changes: &[(usize, u8)]) -> Vec<u8> {
    let mut content = content.to_vec();
    for &(place, byte) in changes {
        let length = content.len();
        content[place % length] = byte;
    }
    content
}

/// What readers rely on, whatever the file was.
fn holds_together(trace: &Trace) -> bool {
    trace.calls.is_sorted_by_key(|call| call.begin)
        && trace.work.iter().all(|work| work.call.is_none_or(|call| call < trace.calls.len()))
        && trace.calls.iter().all(|call| call.thread < trace.threads.len())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn damaged_files_are_imported_or_refused(
        changes in prop::collection::vec((any::<usize>(), any::<u8>()), 1..40),
    ) {
        for name in ["back-and-forth.json.gz", "rocm.json.gz", "four-streams.sqlite.gz"] {
            let content = changed(&unpacked(name), &changes);
            if let Ok(trace) = read_bytes(&content) {
                prop_assert!(holds_together(&trace));
                let again = read_bytes(&content).expect("as before");
                prop_assert!(trace == again);
            }
        }
    }
}
