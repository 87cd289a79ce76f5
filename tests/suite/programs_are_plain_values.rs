//! A program is a plain value: it is written and read back, it is known by what it does, and a text
//! that is no program is refused with the place of what is wrong.

mod broken;

use super::commands::hallway;
use super::predicted::{PROFILE, repository, scenarios};
use super::workloads::{ON_HOST, SCRATCH, SPLIT, floats, head, read, task};
use hallway::program::Program;
use hallway::scenario::{FamilyName, Workload};
use hallway::search::candidates_over;
use hallway::simulate::simulate;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn shipped() -> Vec<PathBuf> {
    let paths = scenarios(&["", "faq", "graphs", "memory", "programs"]);
    assert!(paths.len() >= 34, "{paths:?}");
    paths
}

/// The program that a text is of, if it is one that contradicts nothing.
pub(super) fn from_text(text: &str) -> Result<Program, String> {
    let program: Program = serde_json::from_str(text).map_err(|error| error.to_string())?;
    program.check().map_err(|problem| problem.to_string())?;
    Ok(program)
}

pub(super) fn read_back(program: &Program) -> Result<Program, String> {
    from_text(&serde_json::to_string(program).expect("plain data"))
}

#[test]
fn every_program_of_every_scenario_reads_back_equal() {
    let mut families = BTreeSet::new();
    for path in shipped() {
        let workload = Workload::load(&path).expect("valid");
        let mut identities = BTreeSet::new();
        for plan in candidates_over(&workload, &[2, 3]).plans {
            families.extend(plan.strategy.map(|strategy| strategy.family.name().to_string()));
            let (name, program) = (plan.name(), plan.program);
            let mut read = read_back(&program).expect("written");
            assert_eq!(read, program, "{name} of {path:?}");
            read.label = "another".to_owned();
            assert_ne!(read, program);
            assert_eq!(read.identity(), program.identity(), "{name} of {path:?}");
            assert!(identities.insert(program.identity()), "{name} of {path:?} is as another");
        }
    }
    let mut all = FamilyName::ALL.map(FamilyName::name).to_vec();
    // Plans by task need a profile: see `tasks_are_scheduled`.
    all.retain(|name| !["graph", "by-task"].contains(name));
    all.sort_unstable();
    assert_eq!(families.into_iter().collect::<Vec<_>>(), all);
}

/// The program of a plan, written as a scenario, is one that takes as long.
#[test]
fn plans_can_be_spelled_out() {
    for path in shipped().into_iter().step_by(2) {
        let workload = Workload::load(&path).expect("valid");
        for plan in candidates_over(&workload, &[2]).plans {
            let (name, program) = (plan.name(), plan.program);
            let text = workload.spelled_out(&program);
            let read = Workload::from_toml("s.toml", &text);
            let read = read.unwrap_or_else(|error| panic!("{name} of {path:?}: {error}"));
            assert_eq!(read.spelled_out(&read.programs[0]), text, "{name} of {path:?}");
            assert_eq!(read.programs[0].label, program.label);
            let time = |program: &Program| {
                simulate(program, &PROFILE)
                    .map(|timeline| timeline.makespan)
                    .map_err(|error| error.to_string())
            };
            assert_eq!(time(&read.programs[0]), time(&program), "{name} of {path:?}");
        }
    }
}

/// By way of a file, and of the command line.
#[test]
fn explain_writes_a_scenario_of_the_plan_that_it_explains() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("new/program.toml");
    let explain = |more: &[&str], file: &Path| {
        let mut command = hallway(repository(), ["explain", "scenarios/stencil-halo.toml"]);
        command.args(more).arg("--program").arg(file).output().expect("it was built")
    };
    let written = explain(&["--plan", "by-engine 4"], &path);
    assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
    let stdout = String::from_utf8(written.stdout).expect("text");
    assert!(stdout.starts_with("by-engine 4, pinned\n"), "{stdout}");
    let read = Workload::load(&path).expect("just written");
    assert_eq!(read.programs[0].label, "by-engine 4, pinned");
    // Without a name, it is the winner's.
    let again = folder.path().join("again.toml");
    let written = explain(&["--profile", "calibration/h200"], &again);
    assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
    assert!(Workload::load(&again).is_ok());
    let scenario = repository().join("scenarios/stencil-halo.toml");
    // It never overwrites what it reads.
    let refused = explain(&["--plan", "cpu"], &scenario);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("would overwrite an input"));
}

/// A workload whose programs have every sort of call.
fn workload() -> Workload {
    let convolve = format!("arguments = {{ taps = 5 }}\n{SPLIT}");
    let text = [
        head("all", "batches = 2"),
        floats(["x"], 240, ON_HOST),
        floats(["weights"], 5, ON_HOST),
        floats(["y"], 240, SCRATCH),
        floats(["out"], 1, ON_HOST),
        task("convolve", "convolution", &["x", "weights"], "y", &convolve),
        task("add", "sum", &["y"], "out", SPLIT),
    ];
    read(&text.concat())
}
