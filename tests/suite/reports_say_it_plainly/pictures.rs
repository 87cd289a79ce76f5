//! Pictures are whole, say what they show and are the same each time.

use super::{cell, predicted, scaling, score};
use crate::commands::{hallway, printed};
use crate::machines::{machine, machine_of_two};
use crate::predicted::{PROFILE, repository, run_of, scenario, searched};
use crate::workloads::simple;
use hallway::kernels::Kernel;
use hallway::machine::Direction;
use hallway::report::{
    Origin, Pictured, bandwidth, chunks, gantt, plans, predicted_against_measured,
};
use hallway::runs::{RunSet, Trace};
use hallway::samples::{Measurement, Quantity, Recorder, Samples, Stop, TransferPath};
use hallway::scenario::Workload;
use hallway::search::{Ranking, candidates_for, rank};
use hallway::units::{Bytes, Span};
use std::path::Path;

/// A picture is one whole SVG element, and no mark of it is lost to a number
/// that is none.
#[track_caller]
fn is_whole(picture: &str) {
    assert!(picture.starts_with("<svg "), "{picture}");
    assert!(picture.trim_end().ends_with("</svg>"), "{picture}");
    assert!(!picture.contains("NaN") && !picture.contains("inf"), "{picture}");
    assert!(!picture.contains("width=\"-") && !picture.contains("width=\"0\""), "{picture}");
}

fn origin() -> Origin {
    Origin::new("profile.toml", &machine())
}

/// A workload of one run under another name.
fn named(name: &str, workload: Workload) -> Workload {
    Workload { name: name.to_owned(), question: "Is it?".to_owned(), runs: 1, ..workload }
}

fn drawn(ranking: &Ranking, runs: Option<&RunSet>) -> String {
    let (workload, origin) = (named("demo <&>", scaling()), origin());
    let of = Pictured { workload: &workload, ranking, runs, origin: &origin };
    gantt(&of, ranking.best_on_gpu().expect("a plan"))
}

#[test]
fn a_gantt_chart_shows_every_lane() {
    let ranking = predicted(&scaling());
    let picture = drawn(&ranking, None);
    is_whole(&picture);
    for words in ["demo &lt;&amp;&gt;", "predicted: ", "host", "H2D", "kernels", "D2H", "busy"] {
        assert!(picture.contains(words), "no `{words}`");
    }
    assert!(!picture.contains("measured"));
    assert_eq!(picture, drawn(&ranking, None));
}

/// The text of a picture, in one line and without its marks.
fn words_of(picture: &str) -> String {
    let texts = picture.split('<').filter_map(|part| part.strip_prefix("text ")?.split('>').nth(1));
    let words = texts.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ");
    words.replace("&quot;", "\"").replace("&apos;", "'").replace("&#39;", "'")
}

/// The CPU wins a program of 100 runs, but not a pass: a picture of a pass must not look like
/// another answer.
#[test]
fn a_picture_gives_the_verdict_of_the_report() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |arguments: &[&str]| {
        let always = ["scenarios/stencil-halo.toml", "--profile", "calibration/h200"];
        printed(hallway(repository(), arguments).args(always))
    };
    let report = run(&["evaluate", "--format", "json"]);
    let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    let verdict = &report["scenarios"][0]["verdict"];
    assert_eq!((&verdict["answer"], &verdict["run_answer"]), (&"cpu".into(), &"gpu".into()));
    let text = run(&["evaluate", "--details"]);
    let answer: Vec<&str> = text.split_whitespace().collect();
    let answer = answer.join(" ");
    let (_, answer) = answer.split_once("Stay on the CPU for 100 runs").expect("the answer");
    let (answer, _) = answer.split_once(" With the GPU:").expect("ways to use the GPU follow");
    run(&["plot", "--output", folder.path().to_str().expect("a path in UTF-8")]);
    let picture = std::fs::read_to_string(folder.path().join("stencil-halo-gantt.svg"));
    let words = words_of(&picture.expect("written"));
    let (title, _) = words.split_once(" per run ").expect("the title says what takes so long");
    assert!(title.starts_with("stencil-halo: "), "{title}");
    assert!(words.contains(&answer.replace('`', "\"")), "{answer}\n{words}");
}

#[test]
fn a_measured_pass_is_said_to_be_slowed_by_its_clocks() {
    let ranking = predicted(&scaling());
    let best = ranking.best_on_gpu().expect("a plan");
    let mut runs = RunSet::new("demo", 0);
    runs.runs.push(run_of(best, best.makespan()));
    let timeline = best.forecast.timeline.clone();
    runs.traces.push(Trace { identity: best.plan.identity(), timeline });
    let picture = drawn(&ranking, Some(&runs));
    is_whole(&picture);
    assert!(picture.contains("while each call was timed"));
    assert!(picture.contains("median of 3 runs"));
}

#[test]
fn every_plan_can_be_drawn() {
    let (workload, origin) = (named("all", scaling()), origin());
    let ranking = predicted(&workload);
    let of = Pictured { workload: &workload, ranking: &ranking, runs: None, origin: &origin };
    for ranked in &ranking.plans {
        is_whole(&gantt(&of, ranked));
    }
}

/// A picture names its question, its machine and the day, in words and in tips.
#[test]
fn a_picture_says_what_it_is_about() {
    let workload = named("a name", simple(Kernel::Stencil, 1 << 22, ""));
    let profile = &*PROFILE;
    let ranking = rank(candidates_for(&workload, profile), profile, 20, 1);
    let origin = Origin::new("profile.toml", profile);
    let of = Pictured { workload: &workload, ranking: &ranking, runs: None, origin: &origin };
    let gantt = gantt(&of, ranking.best_on_gpu().expect("a plan"));
    let (plans, cut) = (plans(&of), chunks(&of).expect("several numbers"));
    for picture in [&gantt, &plans, &cut] {
        is_whole(picture);
        let words = words_of(picture);
        assert!(words.starts_with("a name: "), "{words}");
        for said in ["Is it?", "NVIDIA H200", "calibrated 2026-"] {
            assert!(words.contains(said), "no `{said}`: {words}");
        }
        assert!(picture.contains("<title>"), "{picture}");
    }
    assert!(words_of(&cut).contains("chunks per batch"));
    assert!(gantt.contains("<title>H2D, from "), "{gantt}");
    // The plan that the verdict names is among the bars, with its time.
    let winner = ranking.winner().expect("a plan");
    let (words, time) = (words_of(&plans), winner.makespan().to_string());
    assert!(words.contains(&winner.plan.name()) && words.contains(&time), "{words}");
}

/// Every GPU has lanes of its own.
#[test]
fn lanes_of_several_gpus_are_told_apart() {
    let profile = machine_of_two([100.0; 3]);
    let workload = simple(Kernel::Scale, 1 << 24, "[plans]\nfamilies = [\"multi-gpu\"]");
    let workload = named("two", workload);
    let ranking = searched(&workload, &profile);
    let on_two = ranking.plans.iter().find(|plan| plan.plan.program.devices() == 2);
    let origin = origin();
    let of = Pictured { workload: &workload, ranking: &ranking, runs: None, origin: &origin };
    let picture = gantt(&of, on_two.expect("a plan on two GPUs"));
    let words = words_of(&picture);
    for lane in ["GPU 0 H2D", "GPU 1 H2D", "GPU 0 kernels", "GPU 1 kernels"] {
        assert!(words.contains(lane), "{words}");
    }
}

#[test]
fn a_scatter_shows_every_plan_twice() {
    let scores = [
        score(vec![cell("cpu", 2_000, 2_010), cell("resident, pinned", 1_000, 1_010)]),
        score(vec![cell("cpu", 20, 25)]),
    ];
    let picture = predicted_against_measured(&scores);
    is_whole(&picture);
    assert!(picture.contains("3 plans of 2 scenarios"), "{picture}");
    // Once among the times, once among the errors; and each scenario in the legend.
    assert_eq!(picture.matches("<circle").count(), 2 * 2 + 1);
    assert_eq!(picture.matches("<polygon").count(), 2 + 1);
    assert_eq!(picture, predicted_against_measured(&scores));
}

#[test]
fn many_scenarios_stay_apart_by_shape() {
    let scores: Vec<_> = (1..=9).map(|n| score(vec![cell("cpu", n, n + 1)])).collect();
    let picture = predicted_against_measured(&scores);
    is_whole(&picture);
    // Every fourth has the same shape, and another colour.
    assert_eq!(picture.matches("<circle").count(), 3 * 3);
    assert_eq!(picture.matches("<polygon").count(), 2 * 3);
}

#[test]
fn nothing_to_show_is_a_picture_too() {
    is_whole(&predicted_against_measured(&[]));
    is_whole(&predicted_against_measured(&[score(Vec::new())]));
    is_whole(&bandwidth(&machine(), &Samples::none(machine().machine)));
}

/// Copies that take 1000 ns and a nanosecond for every 50 bytes, and 9 us more
/// for each measurement as a whole.
fn samples() -> Samples {
    let mut measurements = Vec::new();
    for direction in Direction::BOTH {
        for power in [10, 20, 28] {
            let bytes = Bytes::new(1 << power);
            let one = 1_000 + bytes.get() / 50;
            let quantity = Quantity::Copy { direction, bytes };
            for count in [2, 10] {
                let times = vec![Span::from_nanos(9_000 + count * one); 3];
                let quantity = quantity.clone();
                measurements.push(Measurement::new(quantity, count, times, Stop::Settled));
            }
        }
    }
    Samples { measurements, ..Samples::none(machine().machine) }
}

#[test]
fn bandwidth_shows_other_paths_where_they_were_measured() {
    let paths = [TransferPath::MappedRead, TransferPath::MappedWrite, TransferPath::WriteCombined];
    let mut samples = samples();
    for (path, bytes) in paths.into_iter().flat_map(|path| [12, 22].map(|power| (path, power))) {
        let quantity = Quantity::Transfer { path, bytes: Bytes::new(1 << bytes) };
        let times = vec![Span::from_micros(500)];
        samples.measurements.push(Measurement::new(quantity, 1, times, Stop::Settled));
    }
    let picture = bandwidth(&machine(), &samples);
    is_whole(&picture);
    for name in ["H2D mapped, kernel access", "D2H mapped, kernel access", "H2D write-combined"] {
        assert_eq!(picture.matches(name).count(), 1, "{name}");
    }
    let plain = bandwidth(&machine(), &self::samples());
    // Two sizes of each path, and the legend. Triangles are write-combined memory, squares mapped.
    let more = |mark: &str| picture.matches(mark).count() - plain.matches(mark).count();
    assert_eq!(more("<polygon"), 2 + 1);
    assert_eq!(more("<rect"), 2 * 2 + 2);
    assert!(!plain.contains("mapped"));
}

#[test]
fn bandwidth_stands_beside_what_the_link_could_carry() {
    let picture = bandwidth(&machine(), &samples());
    is_whole(&picture);
    // 32 GT/s on 16 lanes, 128 bits of each 130 being data.
    assert!(picture.contains("32.0 GT/s PCIe x16: 63.0 GB/s in theory"), "{picture}");
    // Three sizes each way, and the legend: pinned in and out, and two rings.
    assert_eq!(picture.matches("<circle").count(), 2 * 3 + 2 + 2);
    assert_eq!(picture, bandwidth(&machine(), &samples()));
    let mut unknown = machine();
    unknown.machine.link = "not reported by the system".to_owned();
    let picture = bandwidth(&unknown, &samples());
    is_whole(&picture);
    assert!(!picture.contains("in theory"));
}

/// A calibration of the round machine with runs that are as predicted.
fn calibrate(folder: &Path, workload: &Workload) {
    machine().save(&folder.join("profile.toml")).expect("written");
    let file = std::fs::File::create(folder.join("samples.jsonl")).expect("created");
    Recorder::new(file, &samples()).and_then(Recorder::end).expect("written");
    let ranking = predicted(workload);
    let mut runs = RunSet::new(&workload.name, machine().machine.unix_time);
    runs.runs = ranking.plans.iter().map(|one| run_of(one, one.makespan())).collect();
    let best = ranking.best_on_gpu().expect("a plan");
    let timeline = best.forecast.timeline.clone();
    runs.traces.push(Trace { identity: best.plan.identity(), timeline });
    runs.save(&folder.join("runs").join(format!("{}.json", workload.name))).expect("written");
}

#[test]
fn plot_writes_every_picture_and_names_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = repository().join("scenarios/small-scale.toml");
    calibrate(folder.path(), &scenario("small-scale"));
    let plot = |output: &str| {
        let arguments = ["plot", "--profile", "profile.toml", "--output", output];
        let mut command = hallway(folder.path(), arguments);
        printed(command.args(["--sweep", "elements=1e4,1e5,1e6,1e7"]).arg(&path))
    };
    let names = [
        "bandwidth.svg",
        "predicted-against-measured.svg",
        "small-scale-chunks.svg",
        "small-scale-gantt.svg",
        "small-scale-plans.svg",
        "small-scale-sweep-elements.svg",
    ];
    assert_eq!(plot("one"), names.map(|name| format!("one/{name}\n")).concat());
    plot("two");
    for name in names {
        let read = |output| std::fs::read_to_string(folder.path().join(output).join(name));
        let picture = read("one").expect("written");
        is_whole(&picture);
        assert_eq!(picture, read("two").expect("written"));
    }
    let gantt = std::fs::read_to_string(folder.path().join("one/small-scale-gantt.svg"));
    assert!(gantt.expect("written").contains("measured: "));
}

#[test]
fn verify_scores_recorded_runs_by_its_exit_code() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = repository().join("scenarios/small-scale.toml");
    calibrate(folder.path(), &scenario("small-scale"));
    let verify = || {
        let how = ["verify", "--recorded", "--profile", "profile.toml", "--format", "markdown"];
        let output = hallway(folder.path(), how).arg(&path).output().expect("it was built");
        (output.status.code(), String::from_utf8(output.stdout).expect("text"))
    };
    let (code, text) = verify();
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("| small-scale |"), "{text}");
    let runs = folder.path().join("runs/small-scale.json");
    let mut slower = RunSet::load(&runs).expect("runs");
    for run in &mut slower.runs {
        run.passes_ns = vec![run.makespan() * 2; 3];
    }
    slower.save(&runs).expect("written");
    let (code, text) = verify();
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("FAIL  median error: 50."), "{text}");
}
