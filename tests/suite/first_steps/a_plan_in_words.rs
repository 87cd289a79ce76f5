//! `hallway explain` says what a plan does, and does not take a thousand lines for it.

use super::*;
use hallway::program::Call;
use hallway::report::{Calls, Timed, explain};
use hallway::scenario::Workload;
use hallway::search::candidates;

fn explained(arguments: &[&str]) -> String {
    let output = hallway(repository(), &[&["explain"], arguments].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    stdout(&output).to_owned()
}

#[test]
fn of_each_plan_of_each_scenario_fits_on_a_few_pages() {
    for path in shipped_scenarios() {
        let workload = Workload::load(&path).expect("valid");
        for plan in candidates(&workload).plans {
            let text = explain(&workload, &plan, (Calls::Shortened, Timed::No), None);
            let name = format!("{} of {}", plan.name(), workload.name);
            assert!(text.lines().count() < 250, "{name}:\n{text}");
            for allocation in &plan.program.allocations {
                assert!(text.contains(&allocation.name), "{name}: no {}", allocation.name);
            }
            let narrow = explain(&workload, &plan, (Calls::Shortened, Timed::No), Some(60));
            let widest = narrow.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(60), "{name}:\n{narrow}");
            let all = explain(&workload, &plan, (Calls::All, Timed::No), None);
            let calls = plan.program.setup.len() + plan.program.body.len();
            assert!(all.lines().count() >= calls, "{name}: not all of {calls} calls");
            assert!(!all.contains("--all"), "{name}");
            let waits = |call: &&Call| matches!(call, Call::Wait { .. });
            let waits = plan.program.body.iter().filter(waits).count();
            assert_eq!(all.matches("{ wait = ").count(), waits, "{name}");
        }
    }
}

#[test]
fn has_its_calls_with_streams_ranges_and_events() {
    let text = explained(&["scenarios/stencil-halo.toml", "--plan", "by-engine 4, pinned"]);
    for words in [
        "Each batch is split into 4 chunks.",
        "The set-up pins 2 buffers",
        "By event: a kernel waits for a copy to the GPU, 4 times per run.",
        "The host waits only at the end of a run, for",
        // The last chunk begins four elements, the halo, before three quarters of 64 MiB.
        "copy = \"field[50331632 B..]\", to = \"gpu:field 4[..16777232 B]\"",
        "launch = \"stencil\"",
        "{ wait = \"e0\", stream = \"s1\" }  # recorded by call 2",
        "of host memory",
    ] {
        assert!(text.contains(words), "no `{words}` in\n{text}");
    }
}

#[test]
fn is_folded_and_hangs_behind_bullets() {
    let plan = ["explain", "scenarios/stencil-halo.toml", "--plan", "by-engine 4"];
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_hallway"));
    let output = command.args(plan).current_dir(repository()).env("COLUMNS", "60").output();
    let output = output.expect("the binary was built");
    let text = stdout(&output);
    let folded = "- There is one stream for copies in, one for kernels and one\n  for copies out.";
    assert!(text.contains(folded), "{text}");
}

#[test]
fn is_of_the_winner_unless_one_is_named() {
    let text = explained(&["scenarios/small-scale.toml", "--profile", "calibration/h200"]);
    assert!(text.starts_with("The chosen plan, predicted to take "), "{text}");
    assert!(text.contains("The CPU runs the tasks"), "{text}");
    // That is soon told, so there is one more to see.
    let (_, on_gpu) = text.split_once("The fastest plan on the GPU, predicted").expect("another");
    assert!(on_gpu.contains("{ launch = \"scale\""), "{on_gpu}");
}

#[test]
fn needs_no_profile_where_a_plan_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let scenario = repository().join("scenarios/small-scale.toml");
    let scenario = scenario.to_str().expect("a path in UTF-8");
    let output = hallway(folder.path(), &["explain", scenario, "--plan", "cpu"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let output = hallway(folder.path(), &["explain", scenario]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--profile"), "{}", stderr(&output));
}

#[test]
fn of_an_unknown_name_lists_the_nearest() {
    let named = ["explain", "scenarios/stencil-halo.toml", "--plan", "by-engin 4, pined"];
    let output = hallway(repository(), &named);
    assert_eq!((output.status.code(), stdout(&output)), (Some(2), ""));
    let told = stderr(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("has no plan `by-engin 4, pined`"), "{told}");
    assert!(told.contains("similar names: `by-engine 4, pinned`, `"), "{told}");
    // What comes after the comma may be left out where that is clear.
    let text = explained(&["scenarios/stencil-halo.toml", "--plan", "by-engine 4"]);
    assert!(text.starts_with("by-engine 4, pinned\n"), "{text}");
}
