//! A sweep gives at each value what `evaluate` says there, finds the values at which the winner
//! changes, says how sure that is, and may be shared by several processes.

use super::predicted::PROFILE;
use super::workloads::simple;
use hallway::kernels::Kernel;
use hallway::scenario::{Source, Workload};
use hallway::search::{Setting, Sweep, break_even, candidates_for, rank, scaled, values_between};
use hallway::simulate::{Draws, Tally};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn scenario(name: &str) -> PathBuf {
    root().join("scenarios").join(name)
}

fn hallway(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hallway"));
    command.current_dir(root()).env_remove("COLUMNS").args(arguments);
    command.output().expect("it starts")
}

fn said(arguments: &[&str]) -> String {
    let output = hallway(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn refused(arguments: &[&str]) -> String {
    let output = hallway(arguments);
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stdout));
    let text = String::from_utf8(output.stderr).expect("text");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

const H200: [&str; 2] = ["--profile", "calibration/h200"];

/// At each value, the best plans take as long as in a ranking of all plans.
#[test]
fn a_point_is_what_a_ranking_of_all_plans_says() {
    let workload = simple(Kernel::Stencil, 1 << 20, "");
    let (profile, draws) = (&*PROFILE, Draws::new(20, 1));
    let at = |elements: f64| scaled(&workload, elements as u64);
    let sweep = Sweep {
        workload: &at,
        values: vec![3e4, 3e6],
        is_whole: true,
        of_programs: false,
        profile,
        draws,
        done: &Tally::default(),
    };
    let (points, _) = sweep.run(0..2, &|| {});
    assert_eq!(points.len(), 2);
    for point in points {
        let here = at(point.value).expect("scales");
        let all = rank(candidates_for(&here, profile), profile, draws.count, draws.seed);
        for on_cpu in [true, false] {
            let best = all.choice(|plan| plan.is_cpu() == on_cpu).expect("a plan");
            let found = point.best(on_cpu).expect("a plan");
            assert_eq!(found.plan.name(), best.plan.name());
            assert_eq!(point.time(found).map(|times| times[0]), Some(best.makespan()));
        }
    }
}

/// A turn lies in its range, and ranges of neighbouring turns do not overlap.
#[test]
fn a_turn_has_a_range_that_holds_it() {
    let workload = Workload::load(&scenario("option-pricing.toml")).expect("committed");
    let found = break_even(&workload, &PROFILE).expect("both sides are known");
    let ranges = found.gpu_wins.iter().filter_map(|wins| wins.from_range.or(wins.until_range));
    assert!(ranges.count() > 0, "{found:?}");
    for wins in &found.gpu_wins {
        for (at, range) in [(wins.from, wins.from_range), (wins.until, wins.until_range)] {
            let (Some(Setting(at)), Some([low, high])) = (at, range) else { continue };
            assert!(low.is_none_or(|low| low.0 <= at), "{wins:?}");
            assert!(high.is_none_or(|high| at <= high.0), "{wins:?}");
        }
    }
}

#[test]
fn values_are_spread_by_equal_ratios_and_whole_where_they_must_be() {
    assert_eq!(values_between(1.0, 1000.0, 4, true), [1.0, 10.0, 100.0, 1000.0]);
    assert_eq!(values_between(1.0, 4.0, 9, true), [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(values_between(0.25, 4.0, 3, false), [0.25, 1.0, 4.0]);
    // Values in between are rounded to four digits; the ends are as asked for.
    assert_eq!(values_between(16_777_216.0, 33_554_432.0, 2, true), [16_777_216.0, 33_554_432.0]);
    assert_eq!(values_between(1.0, 65_536.0, 3, true), [1.0, 256.0, 65_536.0]);
    assert_eq!(values_between(99_999.0, 100_001.0, 3, true), [99_999.0, 100_000.0, 100_001.0]);
}

/// Each key of a scenario changes what it names, and nothing else.
#[test]
fn any_number_of_a_scenario_can_be_varied() {
    let (source, as_it_is) = Source::load(&scenario("three-task-graph.toml")).expect("committed");
    let task = as_it_is.tasks[0].name.clone();
    let with = |name: &str, value: f64| -> Workload {
        let is_meant = |key: &&hallway::scenario::Key| key.to_string() == name;
        let key = source.keys().iter().find(is_meant).unwrap_or_else(|| panic!("no {name}"));
        source.with_value(key, value).unwrap_or_else(|error| panic!("{error}"))
    };
    let mut expected = as_it_is.clone();
    expected.batches = 7;
    assert_eq!(with("batches", 7.0), expected);
    expected = as_it_is.clone();
    expected.plans.chunks = vec![8];
    assert_eq!(with("chunks", 8.0), expected);
    expected = as_it_is.clone();
    expected.limits.device_memory = Some("1 GiB".parse().expect("an amount"));
    assert_eq!(with("limits.device_memory", f64::from(1 << 30)), expected);
    expected = as_it_is.clone();
    expected.tasks[0].iterations = 3;
    assert_eq!(with(&format!("task.{task}.iterations"), 3.0), expected);
    let all: Vec<String> = source.keys().iter().map(ToString::to_string).collect();
    assert!(!all.iter().any(|key| key.contains("schema_version")), "{all:?}");
}

/// Numbers in programs and own kernels are found by the names of what they stand in.
#[test]
fn numbers_of_programs_and_kernels_have_paths() {
    for (file, keys) in [
        (
            "kernels/rectangular-product.toml",
            "kernel.product on the CPU.cpu.roofline.flops_per_element",
        ),
        ("kernels/rectangular-product.toml", "program.pageable.memory.da.size"),
        ("programs/ten-times.toml", "buffer.x.elements"),
    ] {
        let (source, _) = Source::load(&scenario(file)).expect("committed");
        let all: Vec<String> = source.keys().iter().map(ToString::to_string).collect();
        assert!(all.iter().any(|key| key == keys), "{file}: {all:?}");
    }
}

#[test]
fn bad_keys_and_values_are_refused_with_what_there_is() {
    let file = "scenarios/stencil-halo.toml";
    let sweep = |what: &str| refused(&[&["evaluate", file, "--sweep", what], &H200[..]].concat());
    let text = sweep("iteration=1..4");
    assert!(text.contains("has no number `iteration`"), "{text}");
    assert!(text.contains("`elements`, ") && text.contains("`task.smooth.iterations`"), "{text}");
    assert!(sweep("elements").contains("write a key and its values"));
    assert!(sweep("elements=10..1").contains("` must go from a smaller to a larger value"));
    assert!(sweep("elements=1..x").contains("`x` is not a positive number"));
    assert!(sweep("elements=1..9:1").contains("2 to 1000 points"));
    assert!(sweep("limits.cpu_threads=9..99999999").contains("with `limits.cpu_threads = "));
    let text = sweep("limits.cpu_threads=99999999");
    assert!(text.contains("with `limits.cpu_threads = 99999999`: "), "{text}");
    assert!(sweep("elements=1000.5").contains("cannot have 1000.5 elements"));
    assert!(sweep("elements=64KiB,1ms").contains("`elements` has no unit, but `64KiB` has one"));
    assert!(sweep("limits.device_memory=1us").contains("` is in bytes, but `1us` is a time"));
    assert!(sweep("elements=1e18,1e19").contains("together exceed any memory"));
    // Two buffers have elements.
    let text = sweep("field.elements=5,10");
    assert!(text.contains("with `buffer.field.elements = 5"), "{text}");
}

/// Where one side has no plan, the sentence is about the other values, and the reason is told.
#[test]
fn values_without_a_plan_on_one_side_do_not_count_as_compared() {
    let what = ["--sweep", "limits.device_memory=1MiB,64GiB", "--draws", "10"];
    let text = said(&[&["evaluate", "scenarios/stencil-halo.toml"], &what[..], &H200].concat());
    let sentence = "at the only value tried at which both sides have a plan, 64 GiB";
    assert!(text.contains(sentence), "{text}");
    assert!(text.contains("\nNo plan on the GPU at 1 MiB: "), "{text}");
    // A tie is no win of either side.
    let one = ["--sweep", "elements=5000", "--draws", "10"];
    let text = said(&[&["evaluate", "scenarios/small-scale.toml"], &one[..], &H200].concat());
    assert!(text.contains("The GPU is not faster in one run at the only value tried, "), "{text}");
}

/// The end of a path is enough where only one has it.
#[test]
fn a_key_goes_by_the_end_of_its_path() {
    let file = "scenarios/stencil-halo.toml";
    let arguments = ["evaluate", file, "--sweep", "iterations=2,8", "--format", "csv"];
    let csv = said(&[&arguments, &H200[..]].concat());
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 3, "{csv}");
    assert!(lines[0].starts_with("scenario,key,value,answer,plan,predicted_ns"), "{csv}");
    assert!(lines[2].starts_with("stencil-halo,task.smooth.iterations,8,gpu,"), "{csv}");
}

/// A sweep of the passes is about whole programs: from some number on, set-up has paid.
#[test]
fn passes_are_swept_as_programs() {
    let file = "scenarios/stencil-halo.toml";
    let arguments = ["evaluate", file, "--sweep", "runs=1..1000:4"];
    let text = said(&[&arguments, &H200[..]].concat());
    assert!(text.contains("The GPU is faster over a whole program above "), "{text}");
    assert!(text.contains(" runs. The scenario has 100."), "{text}");
    // What bounds a plan is said of the plan that is named.
    let csv = said(&[&arguments[..], &["--format", "csv"], &H200].concat());
    let mut rows = csv.lines().skip(1).filter(|row| row.contains(",cpu,cpu,"));
    assert!(rows.all(|row| row.contains(",CPU,cpu,")), "{csv}");
}

/// Parts that several processes computed are the whole, to the byte.
#[test]
fn parts_of_a_sweep_are_merged_into_the_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = |name: &str| folder.path().join(name).display().to_string();
    let sweep = |more: &[&str], output: &str| {
        let file = ["scenarios/small-scale.toml", "scenarios/three-task-graph.toml"];
        let what = ["--sweep", "elements=1e4..1e8:7", "--draws", "20", "--output", output];
        let start = ["evaluate", file[0], file[1]];
        said(&[&start, &what[..], &H200[..], more].concat());
    };
    let whole = place("whole.json");
    sweep(&["--format", "json"], &whole);
    let mut parts = Vec::new();
    for part in ["1/3", "2/3", "3/3"] {
        let output = place(&format!("{}.json", &part[..1]));
        sweep(&["--format", "json", "--shard", part], &output);
        parts.push(output);
    }
    let merged = place("merged.json");
    let order = [&parts[2], &parts[0], &parts[1]].map(String::as_str);
    said(&[&["merge"], &order[..], &["--output", &merged]].concat());
    let read = |path: &str| std::fs::read_to_string(path).expect("written");
    assert_eq!(read(&merged), read(&whole));
    let text = refused(&["merge", &parts[0], &parts[2], "--output", &merged]);
    assert!(text.contains("missing parts: 2"), "{text}");
    let text = refused(&["merge", &parts[0], &parts[0], "--output", &merged]);
    assert!(text.contains("both contain part 1 of 3"), "{text}");
    for parts_of in ["\"of\": 0", "\"of\": 1000000000000"] {
        let odd = place("odd.json");
        std::fs::write(&odd, read(&parts[0]).replacen("\"of\": 3", parts_of, 1)).expect("room");
        let text = refused(&["merge", &odd, "--output", &merged]);
        assert!(text.contains("`parts` does not list valid part numbers out of"), "{text}");
    }
    let older = place("older.json");
    let text = read(&parts[0]).replacen("\"schema_version\": 2", "\"schema_version\": 1", 1);
    std::fs::write(&older, text).expect("room");
    let text = refused(&["merge", &older, "--output", &merged]);
    assert!(text.contains("schema version 1, but this hallway reads version 2"), "{text}");
    let text = refused(&["merge", &parts[0], &place("none"), "--output", &merged]);
    assert!(text.contains("none does not exist"), "{text}");
    let (csv, other) = (place("merged.csv"), place("whole.csv"));
    said(&[&["merge"], &order[..], &["--output", &csv, "--format", "csv"]].concat());
    sweep(&["--format", "csv"], &other);
    assert_eq!(read(&csv), read(&other));
}
