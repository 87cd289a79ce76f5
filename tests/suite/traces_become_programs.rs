//! What is read from a trace: its loop, where its time goes, and the program that it becomes.

mod loops;

use super::commands::hallway;
use super::predicted::{calibrated, repository};
use hallway::fit::Like;
use hallway::scenario::Workload;
use hallway::study::{own_prices, replay};
use hallway::trace::{
    CallKind, CopyPlaces, DeviceWork, HostCall, HostThread, MemoryKind, Origin, Reason, Spelling,
    StreamKey, Trace, WorkKind, is_trace, read,
};
use hallway::units::{Bytes, Instant, Span};
use std::collections::BTreeMap;
use std::path::PathBuf;

fn at(micros: u64) -> Instant {
    Instant::START + Span::from_micros(micros)
}

const DEFAULT: StreamKey = StreamKey { process: 1, device: 0, stream: 7 };
const OTHER: StreamKey = StreamKey { process: 1, device: 0, stream: 13 };

/// A trace of one thread in which nothing has happened yet.
pub fn blank() -> Trace {
    Trace {
        origin: Origin { tool: "a test", version: None, part: None },
        gpus: Vec::new(),
        threads: vec![HostThread { process: 1, id: 1, name: None }],
        calls: Vec::new(),
        work: Vec::new(),
        ranges: Vec::new(),
        empty_kernel: None,
        stated_uses: Vec::new(),
        defects: BTreeMap::new(),
    }
}

/// A trace that is put together call by call.
struct Story {
    trace: Trace,
    now: u64,
}

impl Story {
    fn new() -> Self {
        Self { trace: blank(), now: 0 }
    }

    /// A call of so many microseconds, which begins when the last one has ended.
    fn call(&mut self, function: &str, kind: CallKind, takes: u64) -> usize {
        let (begin, end) = (at(self.now), at(self.now + takes));
        self.now += takes;
        let (function, recorder) = (function.into(), Span::ZERO);
        self.trace.calls.push(HostCall { thread: 0, kind, function, begin, end, recorder });
        self.trace.calls.len() - 1
    }

    fn work(&mut self, call: usize, kind: WorkKind, stream: StreamKey, [start, end]: [u64; 2]) {
        let (start, end) = (at(start), at(end));
        let work = DeviceWork { kind, stream, start, end, call: Some(call), graph_node: None };
        self.trace.work.push(work);
    }

    /// An upload that the GPU makes from `start` to `end`.
    fn upload(&mut self, from: MemoryKind, stream: StreamKey, call_takes: u64, span: [u64; 2]) {
        let bytes = Some(Bytes::new(1 << 20));
        let places = CopyPlaces::default();
        let kind = CallKind::Copy { places, bytes, stream: Some(stream), blocking: false };
        let call = self.call("cudaMemcpyAsync", kind, call_takes);
        let kind = WorkKind::Copy { from, to: MemoryKind::Device, bytes };
        self.work(call, kind, stream, span);
    }

    fn kernel(&mut self, name: &str, stream: StreamKey, span: [u64; 2]) {
        let kind = CallKind::Launch { stream: Some(stream), pointers: Vec::new() };
        let call = self.call("cudaLaunchKernel", kind, 5);
        let (grid, block) = ([10, 1, 1], [256, 1, 1]);
        let shared = Bytes::ZERO;
        let kind = WorkKind::Kernel { name: name.into(), grid, block, registers: 32, shared };
        self.work(call, kind, stream, span);
    }

    fn wait(&mut self, stream: StreamKey, until: u64) {
        let kind = CallKind::Synchronize { stream: Some(stream) };
        let takes = until - self.now;
        self.call("cudaStreamSynchronize", kind, takes);
    }
}

/// A loop of an upload, two kernels and a wait.
fn steps(turns: u64) -> Story {
    let mut story = Story::new();
    for turn in 0..turns {
        let begin = turn * 1000;
        story.now = begin;
        story.upload(MemoryKind::Pinned, DEFAULT, 10, [begin + 5, begin + 105]);
        story.kernel("one", DEFAULT, [begin + 106, begin + 306]);
        story.kernel("two", DEFAULT, [begin + 307, begin + 607]);
        if turn % 60 == 59 {
            story.kernel("log", DEFAULT, [begin + 608, begin + 610]);
        }
        story.wait(DEFAULT, begin + 620);
    }
    story
}

#[test]
fn a_loop_is_found_with_its_turns() {
    let trace = steps(120).trace;
    let pass = trace.pass().expect("it is a loop");
    // Each turn begins with the upload. The one in the middle that logs is another one; the last
    // one, too, ends the loop.
    assert_eq!((pass.turns.len(), pass.others), (118, 1), "{pass:?}");
    for [from, to] in &pass.turns {
        assert!(matches!(trace.calls[*from].kind, CallKind::Copy { .. }));
        assert_eq!(to - from, 4);
    }
}

#[test]
fn what_does_not_recur_is_no_loop() {
    let mut story = Story::new();
    for (number, name) in ["a", "b", "c", "d"].into_iter().enumerate() {
        let begin = number as u64 * 100;
        story.now = begin;
        story.kernel(name, DEFAULT, [begin + 6, begin + 50]);
    }
    assert_eq!(story.trace.pass(), None);
}

/// The reason of the only kind of copy in a story.
fn reason(story: Story) -> (Option<Reason>, f64) {
    let account = story.trace.account(0..story.trace.calls.len());
    let [site] = &account.sites[..] else { panic!("{:?}", account.sites) };
    (site.reason, site.hidden.nanos_f64() / site.time.nanos_f64())
}

#[test]
fn copies_are_not_hidden_for_a_reason() {
    // The call of a pageable copy holds the host.
    let mut story = Story::new();
    story.upload(MemoryKind::Pageable, DEFAULT, 110, [5, 105]);
    story.kernel("k", DEFAULT, [116, 300]);
    assert_eq!(reason(story), (Some(Reason::Pageable), 0.0));

    // The host waits for the copy and launches the kernel then.
    let mut story = Story::new();
    story.upload(MemoryKind::Pinned, DEFAULT, 5, [6, 106]);
    story.wait(DEFAULT, 108);
    story.kernel("k", DEFAULT, [114, 300]);
    assert_eq!(reason(story), (Some(Reason::HostWaited), 0.0));

    // The kernel was launched in time, behind the copy.
    let mut story = Story::new();
    story.upload(MemoryKind::Pinned, DEFAULT, 5, [6, 106]);
    story.kernel("k", DEFAULT, [107, 300]);
    assert_eq!(reason(story), (Some(Reason::SameStream), 0.0));

    // The host does something else first.
    let mut story = Story::new();
    story.upload(MemoryKind::Pinned, DEFAULT, 5, [6, 106]);
    story.now = 200;
    story.kernel("k", DEFAULT, [206, 300]);
    assert_eq!(reason(story), (Some(Reason::HostLate), 0.0));

    // A kernel of another stream waited for an event behind the copy.
    let mut story = Story::new();
    story.upload(MemoryKind::Pinned, OTHER, 5, [6, 106]);
    let other = StreamKey { stream: 14, ..OTHER };
    story.kernel("k", other, [107, 300]);
    assert_eq!(reason(story), (Some(Reason::Event), 0.0));

    // The kernel of another stream is behind a copy of its own, which the engine makes next.
    let mut story = Story::new();
    story.upload(MemoryKind::Pinned, OTHER, 5, [6, 206]);
    let other = StreamKey { stream: 14, ..OTHER };
    story.upload(MemoryKind::Pinned, other, 5, [206, 226]);
    story.kernel("k", other, [227, 300]);
    assert_eq!(reason(story), (Some(Reason::OtherCopy), 0.0));

    // Half of the copy is hidden behind a kernel; then nothing comes.
    let mut story = Story::new();
    story.kernel("k", DEFAULT, [6, 156]);
    story.upload(MemoryKind::Pinned, OTHER, 5, [106, 206]);
    assert_eq!(reason(story), (Some(Reason::NothingBehind), 0.5));
}

/// What a recording knows of the first copy, and which addresses the last call was given.
fn recorded(mut story: Story, known: CopyPlaces, given: &[u64]) -> Story {
    if let CallKind::Copy { places, .. } = &mut story.trace.calls[0].kind {
        *places = known;
    }
    let last = story.trace.calls.last_mut().expect("a call");
    if let CallKind::Launch { pointers, .. } = &mut last.kind {
        pointers.extend(given);
    }
    story
}

#[test]
fn recordings_know_more_reasons() {
    // The pages of the target were new.
    let mut story = Story::new();
    story.upload(MemoryKind::Pageable, DEFAULT, 110, [5, 105]);
    story.kernel("k", DEFAULT, [116, 300]);
    let new = CopyPlaces { to_new: true, ..CopyPlaces::default() };
    assert_eq!(reason(recorded(story, new, &[])), (Some(Reason::NewMemory), 0.0));

    // The kernel was given the last byte of the target, or the first one behind it.
    for (given, expected) in
        [(4096 + (1 << 20) - 1, Reason::NeedsData), (4096 + (1 << 20), Reason::SameStream)]
    {
        let mut story = Story::new();
        story.upload(MemoryKind::Pinned, DEFAULT, 5, [6, 106]);
        story.kernel("k", DEFAULT, [107, 300]);
        let to = CopyPlaces { to: Some(4096), ..CopyPlaces::default() };
        assert_eq!(reason(recorded(story, to, &[given])), (Some(expected), 0.0));
    }
}

#[test]
fn an_engine_is_to_blame_for_what_it_kept_waiting() {
    let other = StreamKey { stream: 14, ..OTHER };
    let story = |second: [u64; 2], kernel: [u64; 2]| {
        let mut story = Story::new();
        story.kernel("k", DEFAULT, kernel);
        story.upload(MemoryKind::Pinned, OTHER, 5, [12, 200]);
        story.upload(MemoryKind::Pinned, other, 5, second);
        story.kernel("k", other, [second[1] + 1, second[1] + 50]);
        let account = story.trace.account(0..story.trace.calls.len());
        let [site] = &account.sites[..] else { panic!("{:?}", account.sites) };
        (site.reason, site.exposed)
    };
    // The second copy was asked for while a kernel ran, which ended before its turn came.
    assert_eq!(story([201, 301], [6, 206]), (Some(Reason::EngineBusy), 1));
    // No kernel ran while it waited: the first copy is exposed, too.
    assert_eq!(story([201, 301], [6, 12]), (Some(Reason::OtherCopy), 2));
}

#[test]
fn a_turn_begins_where_the_gpu_has_nothing_left() {
    let mut story = Story::new();
    for turn in 0..10 {
        let begin = turn * 1000;
        story.now = begin;
        story.upload(MemoryKind::Pinned, DEFAULT, 10, [begin + 5, begin + 105]);
        story.kernel("one", DEFAULT, [begin + 106, begin + 306]);
        story.upload(MemoryKind::Pinned, DEFAULT, 10, [begin + 307, begin + 407]);
        story.kernel("one", DEFAULT, [begin + 408, begin + 800]);
        story.wait(DEFAULT, begin + 900);
    }
    let trace = story.trace;
    let pass = trace.pass().expect("it is a loop");
    for &[from, to] in &pass.turns {
        assert!(from == 0 || trace.calls[from - 1].kind.only_waits(), "{pass:?}");
        assert!(trace.account(from..to).span <= Span::from_micros(1000), "{pass:?}");
    }
}

#[test]
fn a_spelled_trace_reads_back_as_what_it_was() {
    let story = steps(3);
    let trace = &story.trace;
    let how = Spelling { each_kernel: true, ..Spelling::default() };
    let spelled = trace.spelled("story", 0..trace.calls.len(), how);
    let workload = Workload::from_toml("story.toml", &spelled.text).expect("it can be read");
    let program = &workload.programs[0];
    let launches = program.body.iter().filter(|call| call.is_launch()).count();
    let copies = program.body.iter().filter(|call| call.route().is_some()).count();
    assert_eq!((launches, copies, spelled.asked.len()), (6, 3, 9));
    // What the host did between the turns is kept: 380 us, twice.
    let work: Span = program.body.iter().filter_map(|call| call.stated_time()).sum();
    assert!(work >= Span::from_micros(760), "{work}");
}

/// Every trace and recording that is committed.
fn committed() -> Vec<PathBuf> {
    let list = |folder: &str| {
        let folder = repository().join("tests").join(folder);
        let found = std::fs::read_dir(folder).expect("readable");
        found.map(|entry| entry.expect("readable").path()).filter(|path| {
            path.extension().is_some_and(|extension| extension == "gz" || extension == "hallway")
        })
    };
    let mut all: Vec<PathBuf> = list("traces").chain(list("recordings")).collect();
    all.sort();
    all
}

#[test]
fn replayed_traces_take_what_was_recorded() {
    let like = Like { from: "h200".to_owned(), profile: calibrated("h200") };
    let traces = committed();
    assert!(traces.len() >= 14, "{traces:?}");
    let (mut errors, mut closer) = (Vec::new(), Vec::new());
    let mut starts = Vec::new();
    for path in traces {
        let trace = read(&path).unwrap_or_else(|error| panic!("{error}"));
        let profile = own_prices(&trace, std::slice::from_ref(&like)).expect("it has times");
        let [usual, each] = [false, true].map(|each_kernel| {
            let how = Spelling { each_call: true, each_kernel, ..Spelling::default() };
            let replay = replay(&trace, 0..trace.calls.len(), how, &profile);
            replay.unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        });
        let percents = [&usual, &each].map(|replay| 100.0 * replay.error());
        println!("{}: {percents:+.1?}%, starts {:?}", path.display(), usual.starts);
        errors.push(usual.error().abs());
        closer.push(each.error().abs());
        starts.extend(usual.starts);
    }
    for all in [&mut errors, &mut closer, &mut starts] {
        all.sort_by(f64::total_cmp);
    }
    let (median, worst) = (errors[errors.len() / 2], errors[errors.len() - 1]);
    assert!(median <= 0.02 && worst <= 0.08, "{median} and {worst}");
    // With the time of each kernel instead of one for each kind.
    assert!(closer[closer.len() / 2] <= 0.003, "{closer:?}");
    assert!(starts[starts.len() / 2] <= 0.01, "{starts:?}");
}

#[test]
fn an_imported_trace_is_evaluated_with_pinned_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = repository().join("tests/traces/repeated.json.gz");
    let done = hallway(folder.path(), ["import"])
        .arg(trace)
        .args(["--output", "repeated.toml"])
        .output()
        .expect("it runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let done = hallway(folder.path(), ["evaluate", "repeated.toml", "--format", "json"])
        .args(["--what-if", "memory=pinned", "--profile"])
        .arg(repository().join("calibration/h200"))
        .output()
        .expect("it runs");
    let json: serde_json::Value = serde_json::from_slice(&done.stdout).expect("JSON");
    let scenario = &json["scenarios"][0];
    let today = scenario["today"]["predicted_ns"].as_f64().expect("a time");
    let pinned = scenario["what_if"][0]["predicted_ns"].as_f64().expect("a time");
    // Nine passes each without the profiler, on the trace's machine: 10.7 ms, and 1.88 ms with a
    // pinned source (walls.json of the public traces).
    assert!((today / 10.7e6 - 1.0).abs() < 0.15, "{today}");
    assert!((pinned / 1.88e6 - 1.0).abs() < 0.15, "{pinned}");
}

/// What was recorded on an H200 of `tests/device/races`: programs with a wait that is missing, and
/// the same with it.
#[test]
fn missing_waits_are_named_and_no_others() {
    let folder = repository().join("tests/recordings/races");
    let mut count = 0;
    let entries = std::fs::read_dir(folder).expect("readable");
    let paths = entries.map(|entry| entry.expect("readable").path());
    for path in paths.filter(|path| path.extension().is_some_and(|one| one == "hallway")) {
        let name = path.file_stem().expect("it has a name").to_string_lossy().into_owned();
        let trace = read(&path).unwrap_or_else(|error| panic!("{error}"));
        let (races, changes) = (trace.races(), trace.early_changes());
        let is_sure = races.iter().any(|race| race.is_sure) || !changes.is_empty();
        // What a kernel does to data that is copied out beside it is not known; and streams that
        // wait for the default one are there beside others.
        let only_possible = name.contains("results");
        let is_right = name.ends_with("right") || name.contains("blocking-streams");
        match (is_right, only_possible) {
            (true, _) => assert!(!is_sure, "{name}: {races:?}"),
            (false, true) => assert!(!is_sure && !races.is_empty(), "{name}: {races:?}"),
            (false, false) => assert!(is_sure, "{name}: {races:?}"),
        }
        count += 1;
    }
    assert_eq!(count, 26);
}

#[test]
fn scenarios_that_begin_with_a_table_are_no_traces() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = std::fs::read_to_string(repository().join("scenarios/stream-saxpy.toml"));
    let text = text.expect("it is committed");
    let is_comment = |line: &&str| !line.starts_with('#');
    let text: Vec<&str> = text.lines().filter(is_comment).collect();
    // Keys come before tables in TOML: so the first table here is an empty one.
    for first in ["[plans]", "[[kernel]]"] {
        let path = folder.path().join("scenario.toml");
        std::fs::write(&path, format!("{first}\n{}", text.join("\n"))).expect("written");
        assert!(!is_trace(&path), "{first}");
    }
    let path = folder.path().join("trace.json");
    for text in ["{\"traceEvents\": []}", " [\n{\"ph\": \"X\"}]", "[]"] {
        std::fs::write(&path, text).expect("written");
        assert!(is_trace(&path), "{text}");
    }
}

#[test]
fn names_in_traces_do_not_break_files() {
    let json = r#"[{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":1,
        "dur":5,"args":{"correlation":1}},{"ph":"X","cat":"kernel","name":"a\u001b[31m\nb","pid":0,
        "tid":7,"ts":7,"dur":40,"args":{"correlation":1,"device":0,"stream":7}}]"#;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("trace.json");
    std::fs::write(&path, json).expect("written");
    let trace = read(&path).expect("it is a trace");
    let spelled = trace.spelled("names", 0..trace.calls.len(), Spelling::default());
    assert!(!spelled.text.contains('\u{1b}'), "{}", spelled.text);
    Workload::from_toml("names.toml", &spelled.text).expect("it can be read");
}
