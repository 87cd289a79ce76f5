//! The command: one screen, equal bytes each time, and refusals that say what to do.

use super::super::commands::{hallway, printed, ran};
use super::super::predicted::repository;
use serde_json::Value;

const TRACE: &str = "tests/traces/repeated.json.gz";

fn advised(more: &[&str]) -> String {
    let mut command = hallway(repository(), ["advise", TRACE]);
    printed(command.args(more).env_remove("COLUMNS"))
}

#[test]
fn pageable_copies_are_told_to_be_pinned_on_one_screen() {
    let text = advised(&[]);
    assert_eq!(text, advised(&[]));
    assert!(text.contains("pin `pageable-s7` (95.4 MiB)"), "{text}");
    assert!(text.contains("Only if:\n- copy to `device-s7`"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.lines().count() <= 40, "{text}");
    let details = advised(&["--details"]);
    for said in ["- PyTorch: ", "- CuPy: ", "- CUDA C: ", "- where: ", "- only if "] {
        assert!(details.contains(said), "no {said:?} in {details}");
    }
}

#[test]
fn the_json_form_has_what_the_text_says() {
    let json: Value = serde_json::from_str(&advised(&["--format", "json"])).expect("JSON");
    let advice = &json["advice"];
    let first = &advice["changes"][0];
    assert_eq!(first["remedy"], "pin");
    let number = |value: &Value| value.as_f64().expect("a number");
    let [today, then] = [&advice["today"], &first["time"]].map(|one| number(&one["predicted_ns"]));
    assert!((number(&first["factor"]) - today / then).abs() < 1e-6, "{advice:#}");
    assert_eq!(advice["only_if"][0]["conditions"][0], "unchanged");
}

#[test]
fn the_changed_programs_are_a_scenario_that_predicts_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("programs.toml");
    let path = file.to_str().expect("a name");
    let json = advised(&["--format", "json", "--programs", path, "--draws", "20"]);
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let arguments = ["evaluate", path, "--format", "json", "--draws", "20", "--all"];
    let evaluated = printed(&mut hallway(repository(), arguments));
    let evaluated: Value = serde_json::from_str(&evaluated).expect("JSON");
    let plans = evaluated["scenarios"].as_array().expect("a list").iter();
    let plans: Vec<&Value> =
        plans.flat_map(|one| one["plans"].as_array().expect("a list")).collect();
    let of = |name: &str| plans.iter().find(|plan| plan["plan"] == name).expect("it is there");
    let today = &json["advice"]["today"]["predicted_ns"];
    assert_eq!(&of("as recorded")["predicted_ns"], today, "{plans:#?}");
    let pinned = &json["advice"]["changes"][0]["time"]["predicted_ns"];
    assert_eq!(&of("pin")["predicted_ns"], pinned);
}

/// The loop of one recording sends from pageable memory, that of the other from pinned memory.
#[test]
fn a_changed_program_is_held_against_the_prediction() {
    let against = |new: &str, more: &[&str]| {
        let old = "tests/recordings/pageable.hallway";
        let mut command = hallway(repository(), ["advise", old, "--against", new]);
        printed(command.args(more))
    };
    let json = against("tests/recordings/pinned.hallway", &["--format", "json"]);
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let found = &json["against"];
    assert_eq!(found["applied"]["remedy"], "pin");
    assert_eq!(found["recorded_traits"]["pageable_in"], 0);
    // The other loop sends some more bytes.
    assert!(found["recorded_traits"]["pinned_in"].as_u64() > Some(1_000_000), "{found:#}");
    let text = against("tests/recordings/pinned.hallway", &[]);
    assert!(text.contains("this change was made: pin `pageable-1`"), "{text}");
    let text = against("tests/recordings/pageable.hallway", &[]);
    assert!(text.contains("none of the predicted changes was made"), "{text}");
}

/// Cases that people brought to public places, and scenarios whose second program is the remedy.
#[test]
fn the_remedy_that_people_found_comes_first() {
    for (file, remedy) in [
        ("tests/cases/05-copies-of-256-bytes/blocks.toml", "pack"),
        ("tests/cases/10-both-directions-unequal/apart.toml", "download-stream"),
        ("tests/cases/07-register-for-one-upload/upload.toml", "pin"),
        ("tests/cases/41-small-products-in-streams/one-stream.toml", "more-streams"),
        ("scenarios/programs/ten-times.toml", "drop-copies"),
        ("scenarios/programs/number-each-iteration.toml", "gather"),
        ("scenarios/programs/taken-each-time.toml", "keep-memory"),
        ("scenarios/programs/managed-memory.toml", "prefetch-managed"),
        ("scenarios/programs/part-of-a-cube.toml", "narrow"),
    ] {
        let arguments = ["advise", file, "--format", "json", "--draws", "10"];
        let found: Value =
            serde_json::from_str(&printed(&mut hallway(repository(), arguments))).expect("JSON");
        assert_eq!(found["advice"]["changes"][0]["remedy"], remedy, "{file}");
    }
}

#[test]
fn a_kernel_without_a_grid_is_said_to_fill_the_gpu() {
    let file = "tests/cases/41-small-products-in-streams/one-stream.toml";
    let with = std::fs::read_to_string(repository().join(file)).expect("a case");
    let without = with.replace("grid = [6]\n", "").replace("block = [128]\n", "");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("without.toml");
    std::fs::write(&path, without).expect("a file");
    let text = printed(&mut hallway(repository(), ["advise", path.to_str().expect("a name")]));
    let said = "Without a `grid`, a kernel is assumed to fill the GPU";
    assert!(text.contains(said) && text.contains("`product`"), "{text}");
    let text = printed(&mut hallway(repository(), ["advise", file]));
    assert!(!text.contains(said), "{text}");
}

#[test]
fn tasks_are_advised_on_from_the_plain_plan_on() {
    let arguments = ["advise", "scenarios/stencil-halo.toml", "--format", "json", "--draws", "10"];
    let found: Value =
        serde_json::from_str(&printed(&mut hallway(repository(), arguments))).expect("JSON");
    assert_eq!(found["program"], "resident, pageable");
    let changes = found["advice"]["changes"].as_array().expect("changes");
    let time = |remedy: &str| {
        let one = changes.iter().find(|one| one["remedy"] == remedy).expect(remedy);
        one["time"]["predicted_ns"].as_u64().expect("a time")
    };
    // What other commands say of the same plans.
    let evaluate = ["evaluate", "scenarios/stencil-halo.toml", "--format", "json", "--draws", "10"];
    let evaluated: Value =
        serde_json::from_str(&printed(&mut hallway(repository(), evaluate))).expect("JSON");
    let plans = evaluated["scenarios"][0]["plans"].as_array().expect("plans");
    let fastest = |is: &dyn Fn(&Value) -> bool| {
        let times = plans.iter().filter(|plan| is(plan));
        times.filter_map(|plan| plan["predicted_ns"].as_u64()).min().expect("a plan")
    };
    assert_eq!(time("cpu"), fastest(&|plan| plan["side"] == "cpu"));
    let is_scheduled = |plan: &Value| plan["family"] == "by-task" && plan["side"] == "gpu";
    assert_eq!(time("schedule"), fastest(&is_scheduled));
    let refused = found["advice"]["no_gain"].as_array().expect("others");
    let gpus = refused.iter().find(|one| one["remedy"] == "several-gpus").expect("it has one GPU");
    assert_eq!(gpus["refusal"], "no-such-plan");
}

#[test]
fn plans_are_advised_where_a_scenario_and_a_machine_have_them() {
    let has = |arguments: &[&str]| {
        let arguments = [&["advise", "--format", "json", "--draws", "10"], arguments].concat();
        let found: Value =
            serde_json::from_str(&printed(&mut hallway(repository(), arguments))).expect("JSON");
        let lists = ["changes", "no_gain"].map(|key| found["advice"][key].clone());
        let all = lists.iter().flat_map(|list| list.as_array().expect("a list").clone());
        let applies = all.filter(|one| one["refusal"].is_null());
        applies.map(|one| one["remedy"].as_str().expect("a name").to_owned()).collect::<Vec<_>>()
    };
    let two = has(&["scenarios/option-pricing.toml", "--profile", "calibration/others/two-h200"]);
    assert!(two.iter().any(|one| one == "several-gpus"), "{two:?}");
    let both = has(&["scenarios/memory/both-options.toml"]);
    assert!(both.iter().any(|one| one == "share"), "{both:?}");
    // Calls alone do not say what the CPU would have to compute.
    let calls = has(&["scenarios/programs/loader.toml"]);
    let plans = ["cpu", "share", "several-gpus", "schedule"];
    assert!(!calls.iter().any(|one| plans.contains(&one.as_str())), "{calls:?}");
}

#[test]
fn what_cannot_be_advised_on_is_refused() {
    for (arguments, said) in [
        (vec!["scenarios/stencil-halo.toml", "--program", "x"], "no plan `x` that can be"),
        (vec!["scenarios/stencil-halo.toml", "--writes", "k=0"], "are for recordings"),
        (vec!["tests/recordings/pageable.hallway", "--writes", "nobody="], "kernels here: `"),
        (
            vec!["tests/recordings/pageable.hallway", "--reads", "kernel=99"],
            "there is no pointer 99",
        ),
        (vec![TRACE, "--writes", "k=0"], "does not contain the kernels' pointers"),
        (vec!["scenarios/programs/loader.toml", "--program", "x"], "use one of these: `pageable`"),
        (vec![TRACE, "--program", "x"], "leave out --program"),
        (vec!["README.md"], "not valid TOML"),
        (
            vec!["scenarios/programs/loader.toml", "--against", TRACE],
            "the first file is a scenario",
        ),
    ] {
        let output = ran(repository(), [vec!["advise"], arguments].concat());
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(said) && output.stdout.is_empty(), "{error}");
    }
}
