//! What plans take once in a new process is kept with their runs, and scored from there.

use super::commands::{hallway, ran};
use super::machines::machine;
use super::predicted::{repository, run_of, scenario};
use hallway::gpu::Device;
use hallway::runs::{NewProcessTimes, RunSet};
use hallway::search::{Ranked, candidates};
use hallway::simulate::{Draws, Tally};
use hallway::study::{Predicted, predict};
use hallway::units::Span;
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

const NAME: &str = "small-scale";

fn predicted() -> Predicted {
    let workload = scenario(NAME);
    let plans = candidates(&workload);
    predict(workload, plans, &machine(), Draws::new(10, 1), &Tally::default())
}

fn micros(micros: u64) -> Span {
    Span::from_micros(micros)
}

/// Every plan on the GPU takes `once` in each of three processes, a hundredth of it in the module.
fn runs(all: &Predicted, once: impl Fn(&Ranked) -> Option<u64>) -> RunSet {
    let mut set = RunSet::new(NAME, machine().machine.unix_time);
    for ranked in &all.ranking.plans {
        let mut run = run_of(ranked, ranked.makespan());
        if let Some(once) = once(ranked).filter(|_| !ranked.is_cpu()) {
            let times = NewProcessTimes {
                context_ns: micros(once / 2),
                module_ns: micros(once / 100),
                setup_ns: micros(once / 4),
                first_pass_ns: micros(once - once / 2 - once / 100 - once / 4 + 7),
                later_pass_ns: micros(7),
            };
            run.new_processes = vec![times; 3];
        }
        set.add(run);
    }
    set
}

/// Scores the runs, without a GPU.
fn verified(set: &RunSet, format: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    machine().save(&folder.path().join("profile.toml")).expect("written");
    set.save(&folder.path().join(format!("runs/{NAME}.json"))).expect("written");
    let path = repository().join(format!("scenarios/{NAME}.toml"));
    let path = path.to_str().expect("UTF-8");
    let arguments = ["verify", "--recorded", path, "--profile", "profile.toml", "--draws", "10"];
    let output = ran(folder.path(), arguments.into_iter().chain(["--format", format]));
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn recorded_processes_are_scored() {
    let all = predicted();
    let set = runs(&all, |ranked| Some(ranked.before_first_pass()?.nanos() / 1_000 * 2));
    let table = verified(&set, "table");
    let told = "median error 50.0%, worst 50.0%";
    for words in ["Set-up in new processes: ", told, "context", "module", "set-up", "first run"] {
        assert!(table.contains(words), "{words}: {table}");
    }
    let markdown = verified(&set, "markdown");
    assert!(markdown.contains(told) && markdown.contains("| context | "), "{markdown}");
    let value: Value = serde_json::from_str(&verified(&set, "json")).expect("JSON");
    let set_up = &value["set_up"];
    let plans = set_up["plans"].as_array().expect("a list");
    let on_gpu = all.ranking.plans.iter().filter(|ranked| !ranked.is_cpu()).count();
    assert_eq!((plans.len(), &set_up["failed"]), (on_gpu, &json!([])));
    let errors = &set_up["errors"];
    assert_eq!(errors["plans"], on_gpu, "{errors}");
    assert!((errors["median"].as_f64().expect("known") - 0.5).abs() < 1e-3, "{errors}");
    for plan in plans {
        assert_eq!((&plan["scenario"], &plan["processes"]), (&json!(NAME), &json!(3)));
        assert!((plan["error"].as_f64().expect("known") + 0.5).abs() < 1e-3, "{plan}");
        let parts: Vec<&Value> = plan["parts"].as_array().expect("a list").iter().collect();
        let names: Vec<&Value> = parts.iter().map(|part| &part["part"]).collect();
        assert_eq!(names, ["context", "module", "set-up", "first-run"]);
        assert!(parts.iter().all(|part| part["predicted_ns"].is_u64()), "{plan}");
    }
}

/// The key is there all the same.
#[test]
fn without_processes_there_is_no_score() {
    let set = runs(&predicted(), |_| None);
    assert!(!verified(&set, "table").contains("Set-up"));
    let value: Value = serde_json::from_str(&verified(&set, "json")).expect("JSON");
    assert_eq!(value.get("set_up"), Some(&Value::Null));
}

#[test]
fn a_runs_file_has_them_only_where_they_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("runs.json");
    let all = predicted();
    let with = runs(&all, |_| Some(1_000));
    with.save(&path).expect("written");
    assert_eq!(RunSet::load(&path).expect("whole"), with);
    let text = std::fs::read_to_string(&path).expect("written");
    let times = "\"new_processes\":[{\"context_ns\":500000,\"module_ns\":10000,\"setup_ns\":250000,\
                 \"first_pass_ns\":247000,\"later_pass_ns\":7000},";
    assert!(text.contains(times), "{text}");
    std::fs::write(&path, text.replace("500000", "50000000000000000")).expect("written");
    let error = RunSet::load(&path).expect_err("a year").to_string();
    assert!(error.contains("`new_processes` of "), "{error}");
    runs(&all, |_| None).save(&path).expect("written");
    assert!(!std::fs::read_to_string(&path).expect("written").contains("new_processes"));
}

fn is_without_gpu() -> bool {
    let absent = matches!(Device::count(), Err(error) if error.is_absence());
    if !absent {
        // Not `println!`, which the harness would hide.
        let message = b"set_up_is_scored: skipped: there is a GPU\n";
        std::io::stderr().write_all(message).expect("standard error");
    }
    absent
}

/// What a new process answers to a request on its standard input.
fn answer(folder: &Path, request: &Value) -> (Option<i32>, String) {
    let mut command = hallway(folder, ["measure-new-process", "--set-up"]);
    let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = pipes.spawn().expect("the binary was built");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(request.to_string().as_bytes()).expect("it reads");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout) + &text(&output.stderr))
}

/// The request is understood, scenario and program included: what is missing is the GPU.
#[test]
fn a_new_process_says_why_it_cannot_set_a_plan_up() {
    if !is_without_gpu() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let all = predicted();
    let path = repository().join(format!("scenarios/{NAME}.toml"));
    let text = std::fs::read_to_string(&path).expect("committed");
    let by_path = json!({ "path": path, "text": null });
    let by_text = json!({ "path": "drawn.toml", "text": text });
    for scenario in [by_path, by_text] {
        for ranked in &all.ranking.plans {
            let program = serde_json::to_value(&ranked.plan.program).expect("plain data");
            let request = json!({
                "threads": 1, "contents": 1, "image": "", "scenario": scenario, "program": program,
            });
            let (code, said) = answer(folder.path(), &request);
            assert_eq!(code, Some(0), "{said}");
            let said: Value = serde_json::from_str(&said).expect("one line of JSON");
            let why = said["failed"].as_str().expect("a reason");
            assert!(why.contains("driver") || why.contains("GPU"), "{why}");
        }
    }
    let lost = json!({ "path": "lost.toml", "text": null });
    let request = json!({
        "threads": 1, "contents": 1, "image": "", "scenario": lost,
        "program": serde_json::to_value(&all.ranking.plans[0].plan.program).expect("plain data"),
    });
    let (code, said) = answer(folder.path(), &request);
    assert!(code == Some(2) && said.contains("lost.toml"), "{said}");
}
