//! Which of two plans is faster is told by runs that did not choose between them.

use super::machines::machine;
use super::predicted::scenario;
use super::workloads::{ON_HOST, floats, head, read};
use hallway::execute::Effort;
use hallway::host::Team;
use hallway::runs::RunSet;
use hallway::scenario::Workload;
use hallway::search::candidates;
use hallway::simulate::{Draws, Tally};
use hallway::study::{Job, Predicted, Runner, Which, digest, predict, score};
use std::ops::ControlFlow;
use std::path::Path;

/// A workload with two programs that leave the same: one computes it once, the other three times.
fn workload() -> Workload {
    let program = |times: u64| {
        format!(
            "[[program]]\nname = \"{times}\"\ncalls = [{{ repeat = {times}, calls = [\
             {{ compute = \"scale\", reads = [\"x\"], writes = \"y\" }}] }}]\n"
        )
    };
    let buffers = floats(["x", "y"], 50_000, ON_HOST);
    read(&(head("w", "") + &buffers + &program(1) + &program(3)))
}

fn predicted() -> Predicted {
    let workload = workload();
    let plans = candidates(&workload);
    predict(workload, plans, &machine(), Draws::new(20, 1), &Tally::default())
}

fn jobs<'p>(all: &'p [Predicted], most: Option<usize>, folder: &Path) -> Vec<Job<'p>> {
    let path = |one: &Workload| folder.join(format!("{}.json", one.name));
    let which = Which { most, ..Which::default() };
    Job::all(all, (&machine(), &digest(&machine(), all)), which, path)
}

fn runs(all: &[Predicted], reruns: usize) -> RunSet {
    let (team, folder) = (Team::new(1).expect("a team"), tempfile::tempdir().expect("a folder"));
    let (contents, order, rounds, effort) = (1, 1, 3, Effort::BRIEF);
    let (team, traced) = (&team, None);
    let runner: Runner<'_> =
        Runner { device: None, team, contents, order, rounds, reruns, effort, traced };
    let mut jobs = jobs(all, None, folder.path());
    let mut sets = runner.run(&mut jobs, &mut |_| ControlFlow::Continue(())).expect("they run");
    let set = sets.pop().expect("one scenario");
    assert_eq!(RunSet::load(&folder.path().join("w.json")).expect("whole"), set);
    set
}

#[test]
fn the_plan_to_choose_runs_again_beside_the_fastest() {
    let mut all = [predicted()];
    // As if the longer one had been predicted to be faster.
    all[0].ranking.plans.reverse();
    let mut set = runs(&all, 3);
    assert_eq!(set.reruns.len(), 2, "{set:?}");
    let of = |set: &RunSet| score(&all[0].workload, &all[0].ranking, set);
    let scored = of(&set);
    assert_eq!(scored.predicted_winner().expect("one").scored.plan, "3");
    let [chosen, fastest] = scored.rerun.expect("they ran again");
    let by_reruns = chosen.nanos_f64() / fastest.nanos_f64() - 1.0;
    assert_eq!(scored.regret(), Some(by_reruns));
    assert!(by_reruns > 0.5, "three computations take longer than one: {by_reruns}");
    // A chosen plan that turns out to be the faster one costs nothing.
    let [one, other] = &mut set.reruns[..] else { panic!("two") };
    std::mem::swap(&mut one.passes_ns, &mut other.passes_ns);
    assert_eq!(of(&set).regret(), Some(0.0));
    // Without reruns, the runs tell.
    set.reruns.clear();
    assert_eq!(of(&set).rerun, None);
    assert!(of(&set).regret().expect("two plans ran") > 0.5);
}

#[test]
fn one_plan_needs_no_rerun() {
    let all = [predicted()];
    let set = runs(&all, 3);
    assert!(set.reruns.is_empty(), "{set:?}");
    assert_eq!(score(&all[0].workload, &all[0].ranking, &set).regret(), Some(0.0));
    let mut other = [predicted()];
    other[0].ranking.plans.reverse();
    assert!(runs(&other, 0).reruns.is_empty(), "nobody asked for it");
}

#[test]
fn a_few_plans_are_the_notable_ones_and_some_by_lot() {
    let workload = scenario("stencil-halo");
    let plans = candidates(&workload);
    let all = [predict(workload, plans, &machine(), Draws::new(20, 1), &Tally::default())];
    let folder = tempfile::tempdir().expect("a folder");
    let labels = |most| -> Vec<String> {
        let jobs = jobs(&all, most, folder.path());
        jobs[0].programs().map(|program| program.label.clone()).collect()
    };
    let ranking = &all[0].ranking;
    let winner = ranking.winner().expect("one").plan.name();
    assert_eq!(labels(Some(1)), [winner]);
    let few = labels(Some(13));
    assert_eq!(few.len(), 13);
    let families: Vec<&str> =
        ["cpu", "by-chunk", "by-engine", "buffered", "resident", "round-trip"]
            .into_iter()
            .filter(|family| !few.iter().any(|label| label.starts_with(family)))
            .collect();
    assert!(families.is_empty(), "{families:?} are not in {few:?}");
    assert_eq!(few, labels(Some(13)), "the same seed draws the same");
    assert!(labels(None).len() > 40);
}
