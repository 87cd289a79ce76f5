//! A scenario that is right becomes a workload whose tasks are in order, and no text makes hallway
//! panic. What is said of mistakes is in `mistakes`.

mod the_file;
mod the_task_graph;
mod what_is_right;

use super::mistakes::{mistakes, refuses, with};
use super::predicted::scenarios;
use hallway::kernels::Kernel;
use hallway::machine::HostMemory;
use hallway::program::{Process, ProcessState, StateReason};
use hallway::report::Drawn;
use hallway::scenario::{FamilyName, Home, ScenarioError, Task, Workload};
use hallway::units::{Bytes, Span};
use miette::Diagnostic;
use proptest::prelude::*;
use proptest::sample::Index;
use std::path::Path;
use std::sync::LazyLock;

/// Has every key of the format. Mistakes are made by replacing a piece of it.
static VALID: LazyLock<String> = LazyLock::new(|| mistakes("scenario.txt").0);

fn read(text: &str) -> Result<Workload, ScenarioError> {
    Workload::from_toml("demo.toml", text)
}

/// `VALID` with one piece of it replaced, which must be there just once.
fn valid_but(piece: &str, replacement: &str) -> String {
    with(&VALID, piece, replacement)
}

/// The error as a terminal shows it.
fn drawn(error: &ScenarioError) -> String {
    Drawn::new(error, false, str::to_owned).to_string()
}

#[test]
fn a_valid_scenario_becomes_a_workload() {
    let workload = read(&VALID).expect("valid");
    assert_eq!((workload.batches, workload.runs), (2, 10));
    let homes: Vec<Home> = workload.buffers.iter().map(|buffer| buffer.home).collect();
    let pageable = Home::Host(HostMemory::Pageable);
    assert_eq!(homes, [Home::Host(HostMemory::Pinned), Home::Scratch, pageable]);
    let fresh: Vec<bool> = workload.buffers.iter().map(|buffer| buffer.fresh).collect();
    assert_eq!(fresh, [false, false, true]);
    let [double, smooth] = &workload.tasks[..] else { panic!("two tasks") };
    let (_, arguments) = double.kernel.library().expect("of the library");
    assert_eq!((arguments.a, double.iterations, double.splittable), (2.0, 1, true));
    assert_eq!((smooth.iterations, smooth.halo(), smooth.splittable), (4, 4, true));
    assert_eq!(smooth.reads, double.writes);
    assert_eq!(workload.limits.device_memory, Some(Bytes::mib(8192)));
    assert_eq!(workload.limits.cpu_threads, Some(16));
    assert_eq!(workload.plans.families, [FamilyName::Cpu, FamilyName::ByEngine]);
    assert_eq!(workload.plans.chunks, [1, 4]);
    let Process { state, reason, start } = workload.process;
    assert_eq!((state, reason), (ProcessState::New, StateReason::Stated));
    assert_eq!(start, Span::from_millis(4_000));
}

#[test]
fn what_is_left_out_has_a_default() {
    let end = VALID.find("[limits]").expect("there");
    let text = VALID[..end].replace("batches = 2\nruns = 10\n", "");
    let text = text.replace("host = { state = \"fresh\" }\n", "");
    let workload = read(&text).expect("valid");
    assert_eq!((workload.batches, workload.runs), (1, 100));
    assert_eq!(workload.limits, Default::default());
    assert_eq!(workload.plans, Default::default());
    assert_eq!(workload.process, Process::default());
    assert_eq!(workload.buffers[2].home, Home::Host(HostMemory::Pageable));
    assert!(!workload.buffers[2].fresh);
}

#[test]
fn every_committed_scenario_loads() {
    let paths = scenarios(&[""]);
    assert!(paths.len() >= 12);
    for path in paths {
        let workload = Workload::load(&path).unwrap_or_else(|error| panic!("{}", drawn(&error)));
        assert_eq!(path.file_stem().and_then(|stem| stem.to_str()), Some(workload.name.as_str()));
        assert!(workload.question.ends_with('?'), "{} asks nothing", workload.name);
        let is_cut =
            |task: &Task| task.splittable == (task.kernel.name() != Kernel::Transpose.name());
        assert!(workload.tasks.iter().all(is_cut), "{}", workload.name);
        let on_host = workload.buffers.iter().filter(|buffer| matches!(buffer.home, Home::Host(_)));
        let bytes: Bytes =
            on_host.map(|buffer| Bytes::of_f32(buffer.elements) * workload.batches).sum();
        assert!(bytes < Bytes::mib(2048), "{} needs {bytes}", workload.name);
    }
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let missing = Workload::load(Path::new("no/such/file.toml")).expect_err("not there");
    assert!(missing.to_string().starts_with("cannot read the scenario no/such/file.toml: "));
    assert!(missing.help().is_some());
    let folder = tempfile::tempdir().expect("a folder");
    assert!(Workload::load(folder.path()).is_err(), "a folder is not a scenario");
    let path = folder.path().join("latin1.toml");
    std::fs::write(&path, b"name = \"\xe9t\xe9\"").expect("written");
    let error = Workload::load(&path).expect_err("not UTF-8");
    assert!(error.help().expect("a fix").to_string().contains("UTF-8"));
    let endless = Workload::load(Path::new("/dev/zero")).expect_err("it never ends");
    assert!(
        endless.to_string().contains("it is larger than 4 MiB, the limit for such files"),
        "{endless}"
    );
}

#[test]
fn an_error_loaded_from_a_file_names_its_path() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("wrong.toml");
    std::fs::write(&path, valid_but("batches = 2", "batches = 0")).expect("written");
    let error = Workload::load(&path).expect_err("no batches");
    assert!(error.to_string().starts_with(&format!("{}:4:11: ", path.display())), "{error}");
}

#[test]
fn a_drawn_error_shows_the_line_and_the_fix() {
    let text = valid_but("kernel = \"stencil\"", "kernel = \"stensil\"");
    let drawing = drawn(&read(&text).expect_err("unknown kernel"));
    for part in ["demo.toml:36:10", "kernel = \"stensil\"", "no such kernel", "did you mean"] {
        assert!(drawing.contains(part), "no `{part}` in\n{drawing}");
    }
}

/// Reads a text that may be anything: it is a workload, or an error that can be drawn.
fn read_and_draw(text: &str) {
    if let Err(error) = read(text) {
        assert!(error.to_string().starts_with("demo.toml:"));
        assert!(drawn(&error).contains("help"));
    }
}

/// Pieces that are more likely to get past the parser than random characters.
const PIECES: [&str; 18] = [
    "",
    "0",
    "-1",
    "9223372036854775807",
    "1e400",
    "nan",
    "\"x\"",
    "\"é\"",
    "[",
    "]",
    "{}",
    "\n",
    "[[task]]",
    "[[buffer]]",
    "name = \"x\"\n",
    "true",
    "\"scratch\"",
    "1979-05-27",
];

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in any::<String>()) {
        read_and_draw(&text);
    }

    #[test]
    fn no_mutation_of_a_valid_file_makes_it_panic(
        cuts in prop::collection::vec((any::<Index>(), 0..12usize, 0..PIECES.len()), 1..4),
        noise in any::<char>(),
    ) {
        let mut text: Vec<char> = VALID.chars().collect();
        for (place, length, piece) in cuts {
            let start = place.index(text.len() + 1);
            let end = (start + length).min(text.len());
            text.splice(start..end, PIECES[piece].chars());
        }
        read_and_draw(&text.iter().collect::<String>());
        text.push(noise);
        read_and_draw(&text.into_iter().collect::<String>());
    }

    #[test]
    fn no_exchange_of_two_words_makes_it_panic(
        one in any::<Index>(),
        other in any::<Index>(),
    ) {
        let mut words: Vec<&str> = VALID.split_inclusive([' ', '\n', ']']).collect();
        let count = words.len();
        words.swap(one.index(count), other.index(count));
        read_and_draw(&words.concat());
    }
}
