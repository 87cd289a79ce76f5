//! Traces are whole: spans of a row nest, every arrow goes from a call to its operation, and
//! Holistic Trace Analysis reads them.

mod validator;

use super::commands::ran;
use super::predicted::{PROFILE, RANKED, calibrated, ranked, repository, runs, searched};
use hallway::families::{Family, Strategy};
use hallway::machine::HostMemory;
use hallway::report::{TracedPlan, trace};
use hallway::scenario::{FamilyName, Workload};
use hallway::search::{Ranked, Ranking, candidates_for, rank};
use hallway::timeline::{Lane, Timeline};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::Write;
use std::process::Command;
use validator::{check, problems};

fn traced(workload: &Workload, ranked: &Ranked, measured: Option<Timeline>) -> TracedPlan {
    TracedPlan {
        scenario: workload.name.clone(),
        program: ranked.plan.program.clone(),
        predicted: ranked.forecast.timeline.clone(),
        measured,
    }
}

/// The winner, and the best plan of every family, kind of memory and way of issuing.
fn notable(ranking: &Ranking) -> Vec<&Ranked> {
    let mut seen: BTreeSet<(FamilyName, bool, bool)> = BTreeSet::new();
    let new = |ranked: &&Ranked| {
        ranked.plan.strategy.is_some_and(|strategy| {
            let pinned = strategy.memory == HostMemory::Pinned;
            seen.insert((strategy.family_name(), strategy.graph, pinned))
        })
    };
    ranking.plans.iter().filter(new).collect()
}

#[test]
fn every_predicted_timeline_is_a_whole_trace() {
    for (workload, ranking) in &*RANKED {
        for ranked in notable(ranking) {
            let text = trace(&PROFILE.machine, &[traced(workload, ranked, None)]);
            let found = check(&text);
            let timeline = &ranked.forecast.timeline;
            let on_host = timeline.lane(Lane::Host).count();
            let on_device = timeline.activities.len() - on_host;
            assert_eq!(found.calls, on_host, "{}", ranked.plan.name());
            assert_eq!((found.operations, found.arrows), (on_device, on_device));
            assert_eq!(found.processes, 1);
        }
    }
}

#[test]
fn every_measured_timeline_is_a_whole_trace() {
    for (workload, _) in &*RANKED {
        // Some plans were found by an earlier search.
        let runs = runs(workload);
        let mut plans = candidates_for(workload, &PROFILE);
        let names = runs.runs.iter().map(|run| run.plan.as_str()).collect();
        plans.found_before(workload, names, |plan| runs.run_of(&plan.identity()).is_some());
        let ranking = rank(plans, &PROFILE, 10, 1);
        let timed = ranking.plans.iter().find_map(|ranked| {
            Some((ranked, runs.trace_of(&ranked.plan.identity())?.timeline.clone()))
        });
        let (ranked, measured) =
            timed.unwrap_or_else(|| panic!("{}: no call was timed", workload.name));
        let operations = measured.activities.iter().filter(|one| one.lane != Lane::Host).count();
        let text = trace(&PROFILE.machine, &[traced(workload, ranked, Some(measured))]);
        let found = check(&text);
        // Every operation is there twice, as predicted and as measured.
        assert_eq!(found.processes, 2);
        assert_eq!(found.operations, 2 * operations, "{}", ranked.plan.name());
    }
}

#[test]
fn several_scenarios_and_several_gpus_share_a_trace() {
    let profile = calibrated("others/two-h200");
    let mut all = Vec::new();
    for (workload, _) in RANKED.iter().filter(|(one, _)| one.name.starts_with('s')) {
        let ranking = ranked(workload, &profile);
        let over_two = ranking.plans.iter().find(|ranked| {
            matches!(ranked.plan.strategy, Some(Strategy { family: Family::MultiGpu(_), .. }))
        });
        all.extend(over_two.map(|ranked| traced(workload, ranked, None)));
        all.extend(ranking.best_on_gpu().map(|ranked| traced(workload, ranked, None)));
    }
    let text = trace(&profile.machine, &all);
    let found = check(&text);
    assert_eq!(found.processes, all.len());
    assert!(found.devices == 2 && text.contains("GPU 1 H2D copy engine"), "{found:?}");
}

#[test]
fn what_an_operation_works_on_is_told() {
    let (workload, ranking) =
        RANKED.iter().find(|(one, _)| one.name == "stencil-halo").expect("it is committed");
    let winner = ranking.winner().expect("a plan");
    let text = trace(&PROFILE.machine, &[traced(workload, winner, None)]);
    let trace: Value = serde_json::from_str(&text).expect("JSON");
    let of = |category: &str| {
        let events = trace["traceEvents"].as_array().expect("events");
        events.iter().find(|event| event["cat"] == category).cloned().expect("one at least")
    };
    let copy = of("gpu_memcpy");
    assert_eq!(copy["name"], "Memcpy HtoD (Pinned -> Device)");
    for key in ["bytes", "memory bandwidth (GB/s)", "stream", "device", "correlation"] {
        assert!(copy["args"][key].is_number(), "no `{key}`: {copy}");
    }
    assert!(copy["args"]["from"].is_string() && copy["args"]["to"].is_string(), "{copy}");
    let kernel = of("kernel");
    assert_eq!(
        (&kernel["name"], &kernel["args"]["kernel"]),
        (&json!("stencil"), &json!("stencil"))
    );
    assert!(kernel["args"]["reads"].is_array() && kernel["args"]["writes"].is_string());
    assert!(kernel["args"]["waited for"].is_string(), "{kernel}");
    assert_eq!(of("user_annotation")["dur"], winner.makespan().nanos_f64() / 1e3);
}

/// Each of these makes a whole trace into one that is not.
#[test]
fn the_validator_finds_what_is_wrong() {
    let (workload, ranking) =
        RANKED.iter().find(|(one, _)| one.name == "small-scale").expect("it is committed");
    let ranked = ranking.best_on_gpu().expect("a plan");
    let text = trace(&PROFILE.machine, &[traced(workload, ranked, None)]);
    let whole: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(problems(&whole), Vec::<String>::new());
    let broken = |is_it: fn(&Value) -> bool, damage: fn(&mut Value), words: &str| {
        let mut trace = whole.clone();
        let events = trace["traceEvents"].as_array_mut().expect("events");
        damage(events.iter_mut().find(|event| is_it(event)).expect("one at least"));
        let found = problems(&trace);
        assert!(found.iter().any(|problem| problem.contains(words)), "no `{words}`: {found:?}");
    };
    broken(|e| e["ph"] == "s", |e| e["id"] = json!(77_777), "no end");
    broken(
        |e| e["ph"] == "f",
        |e| e["ts"] = json!(e["ts"].as_f64().unwrap() + 0.5),
        "at no operation",
    );
    broken(|e| e["ph"] == "s", |e| e["ts"] = json!(1e9), "in no call");
    broken(|e| e["ph"] == "f", |e| e["bp"] = json!("s"), "binds");
    broken(|e| e["name"] == "cudaStreamSynchronize", |e| e["dur"] = json!(1e9), "overlaps");
    broken(|e| e["cat"] == "gpu_memcpy", |e| e["args"]["correlation"] = json!(0), "correlation");
    broken(|e| e["name"] == "thread_name", |e| e["tid"] = json!(5), "no name");
    broken(|e| e["cat"] == "engine", |e| e["ts"] = json!(0.25), "engine");
}

fn path_of(below: &str) -> String {
    repository().join(below).to_str().expect("a path in UTF-8").to_owned()
}

#[test]
fn evaluate_and_verify_write_traces() {
    let folder = tempfile::tempdir().expect("a folder");
    let profile = path_of("calibration/h200");
    let scenarios = ["scenarios/small-scale.toml", "scenarios/separable-blur.toml"].map(path_of);
    let [one, other] = &scenarios;
    let run = |command: &[&str], more: &[&str]| {
        let always = ["--profile", profile.as_str(), "--draws", "10"];
        let output = ran(folder.path(), [command, &always, more].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), said)
    };
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name));
    let (code, said) = run(&["evaluate", one, other], &["--trace", "both.json"]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(check(&read("both.json").expect("written")).processes, 2);
    let named = ["--trace", "named.json", "--plan", "round-trip, pageable"];
    assert_eq!(run(&["evaluate", one], &named).0, Some(0));
    let text = read("named.json").expect("written");
    assert!(check(&text).processes == 1 && text.contains("predicted: round-trip, pageable"));
    let (code, said) = run(&["verify", "--recorded", one], &["--trace", "runs.json"]);
    assert!(code.is_some_and(|code| code < 2), "{said}");
    let text = read("runs.json").expect("written");
    assert_eq!(check(&text).processes, 2);
    assert!(text.contains("small-scale, measured: graph of resident, pinned"), "{text}");
    // That plan's calls were not timed, which is said.
    let (_, said) = run(&["verify", "--recorded", one], &["--trace", "cpu.json", "--plan", "cpu"]);
    assert!(said.contains("`cpu` were not timed"), "{said}");
    assert_eq!(check(&read("cpu.json").expect("written")).processes, 1);
    for command in [&["evaluate"][..], &["verify", "--recorded"]] {
        let arguments = [command, &[one]].concat();
        let (code, said) = run(&arguments, &["--trace", "no.json", "--plan", "fastest"]);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains("`fastest`") && said.contains("--all"), "{said}");
        assert!(read("no.json").is_err(), "written all the same");
        let (code, said) = run(&arguments, &["--trace", one]);
        assert!(code == Some(2) && said.contains("would overwrite an input"), "{said}");
        let (code, _) = run(&arguments, &["--plan", "cpu"]);
        assert_eq!(code, Some(2), "a plan without a trace");
    }
}

/// A Python that has the package: of `HALLWAY_HTA_PYTHON`, or the one on the path.
fn python() -> Option<String> {
    let named = std::env::var("HALLWAY_HTA_PYTHON").ok();
    let python = named.unwrap_or_else(|| "python3".to_owned());
    let found = Command::new(&python).args(["-c", "import hta.trace_analysis"]).output();
    found.is_ok_and(|output| output.status.success()).then_some(python)
}

#[test]
fn holistic_trace_analysis_reads_them() {
    let Some(python) = python() else {
        // Not `println!`, which the harness would hide.
        let message = "holistic_trace_analysis_reads_them: skipped: no Python here has the package \
                       HolisticTraceAnalysis (name one that has with HALLWAY_HTA_PYTHON)\n";
        std::io::stderr().write_all(message.as_bytes()).expect("standard error");
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let (mut paths, mut expected) = (Vec::new(), Vec::new());
    for (workload, _) in &*RANKED {
        let ranking = searched(workload, &PROFILE);
        let runs = runs(workload);
        let ranked = ranking.best_on_gpu().expect("a plan");
        let measured = runs.trace_of(&ranked.plan.identity()).map(|trace| trace.timeline.clone());
        let traced = traced(workload, ranked, measured);
        let processes = 1 + usize::from(traced.measured.is_some());
        expected.push(processes * ranked.forecast.timeline.lane(Lane::Kernels).count());
        let path = folder.path().join(format!("{}.json", workload.name));
        std::fs::write(&path, trace(&PROFILE.machine, &[traced])).expect("written");
        paths.push(path);
    }
    let script = repository().join("tests/suite/traces_open_elsewhere/analyse.py");
    let output = Command::new(&python).arg(&script).args(&paths).output();
    let output = output.expect("it has just been found");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let found: Vec<Value> = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(found.len(), expected.len());
    for ((found, kernels), (workload, _)) in found.iter().zip(expected).zip(&*RANKED) {
        assert_eq!(found["kernels"], kernels, "{}: {found}", workload.name);
        assert!(found["busy_us"].as_f64() > Some(0.0), "{}: {found}", workload.name);
        // A kind may combine others, such as `COMPUTATION overlapping MEMORY`.
        let kinds: String = found["kinds"].as_object().expect("kinds").keys().cloned().collect();
        assert!(kinds.contains("MEMORY") && kinds.contains("COMPUTATION"), "{kinds}");
    }
}
