//! Plans are set up and run for the first time on the pretend device, as new processes would do it,
//! and what they take is set beside the prediction.

use super::device::PretendDevice;
use super::{CHUNK, ROUND_NUMBERS, families, strategy};
use crate::machines::wide_machine;
use crate::workloads::simple;
use hallway::compare::{ScoredSetUp, SetUpFigures};
use hallway::execute::{Effort, Executor, FirstPass};
use hallway::families::build;
use hallway::host::Team;
use hallway::kernels::Kernel;
use hallway::program::Program;
use hallway::runs::{NewProcessTimes, PartialRuns, RunSet};
use hallway::scenario::Workload;
use hallway::search::{Plan, candidates};
use hallway::simulate::{Draws, Tally};
use hallway::study::{Event, Job, NewProcesses, Predicted, Runner, Which, predict, score_set_up};
use hallway::units::Span;
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::path::Path;

/// Plans on the GPU, and maybe one on the CPU alone. (Its passes take no time on the pretend clock,
/// so it would never have run for long enough.)
fn predicted(on_cpu: bool) -> Predicted {
    let workload = simple(Kernel::Scale, 4 * CHUNK, "");
    let mut plans = candidates(&workload);
    plans.plans.retain(|plan| on_cpu && !plan.program.needs_device());
    plans.plans.extend(families(4).map(|family| {
        let strategy = strategy(family, false);
        let program = build(&workload, strategy).expect("it can be made");
        Plan { strategy: Some(strategy), program }
    }));
    predict(workload, plans, &wide_machine(), Draws::new(10, 1), &Tally::default())
}

fn jobs<'p>(all: &'p [Predicted], folder: &Path) -> Vec<Job<'p>> {
    let path = |one: &Workload| folder.join(format!("{}.json", one.name));
    Job::all(all, (&wide_machine(), "digest"), Which::default(), path)
}

/// What a new process would do. Its context and its module take what the profile says.
fn set_up(workload: &Workload, program: &Program) -> Result<NewProcessTimes, String> {
    let (device, team) = (PretendDevice::new(&ROUND_NUMBERS), Team::new(1).expect("a thread"));
    let executor = Executor::new(Some(&device), &team, workload, 1);
    let first = executor.first_pass(program).map_err(|error| error.to_string())?;
    let FirstPass { setup, first, later } = first;
    Ok(NewProcessTimes {
        context_ns: Span::from_millis(100),
        module_ns: Span::from_millis(2),
        setup_ns: setup,
        first_pass_ns: first,
        later_pass_ns: later,
    })
}

/// Times all plans in rounds, runs them, and returns what was kept, with the plans that failed.
fn kept(
    all: &[Predicted],
    start: &dyn Fn(&Workload, &Program) -> Result<NewProcessTimes, String>,
) -> (RunSet, Vec<String>) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut jobs = jobs(all, folder.path());
    let processes = NewProcesses { repeats: 3, start };
    let failed = processes.time(&mut jobs, &mut |_| ControlFlow::Continue(()));
    let failed = failed.expect("it is written").into_iter().map(|one| one.plan + ": " + &one.why);
    let (device, team) = (PretendDevice::new(&ROUND_NUMBERS), Team::new(1).expect("a thread"));
    let runner = Runner {
        device: Some(&device),
        team: &team,
        contents: 1,
        order: 1,
        rounds: 1,
        reruns: 0,
        effort: Effort::BRIEF,
        traced: None,
    };
    let set =
        runner.run(&mut jobs, &mut |_| ControlFlow::Continue(())).expect("they run").remove(0);
    let path = folder.path().join(format!("{}.json", set.scenario));
    assert_eq!(RunSet::load(&path).expect("whole"), set);
    (set, failed.collect())
}

fn scored(all: &[Predicted], set: &RunSet) -> Vec<ScoredSetUp> {
    score_set_up(&all[0].workload, &all[0].ranking, set, &wide_machine())
}

#[test]
fn what_is_predicted_of_set_up_is_measured() {
    let all = [predicted(false)];
    let (set, failed) = kept(&all, &set_up);
    assert_eq!(failed, [""; 0]);
    let plans = scored(&all, &set);
    assert_eq!((set.runs.len(), plans.len()), (4, 4));
    for plan in &plans {
        let [context, module, setup, _] = &plan.parts[..] else { panic!("four parts") };
        for part in [context, module] {
            assert_eq!(part.predicted_ns, Some(part.measured_ns), "{plan:?}");
        }
        let of_setup = setup.predicted_ns.expect("known").nanos_f64();
        let error = of_setup / setup.measured_ns.nanos_f64() - 1.0;
        assert!(error.abs() < 0.02, "{error}: {plan:?}");
        assert_eq!(plan.processes, 3);
        assert!(plan.error.expect("known").abs() < 0.02, "{plan:?}");
    }
    let figures = SetUpFigures::of(&plans).expect("plans");
    assert!(figures.plans == 4 && figures.worst < 0.02, "{figures:?}");
}

/// A process that fails takes its plan along, and no other.
#[test]
fn a_plan_that_fails_is_told_and_left_out() {
    let all = [predicted(false)];
    let started = RefCell::new(Vec::new());
    let start = |workload: &Workload, program: &Program| {
        started.borrow_mut().push(program.label.clone());
        if program.label.starts_with("resident") {
            return Err("failed with signal: 9".to_owned());
        }
        set_up(workload, program)
    };
    let (set, failed) = kept(&all, &start);
    assert_eq!(failed.len(), 1);
    assert!(failed[0].starts_with("resident") && failed[0].ends_with(": failed with signal: 9"));
    assert_eq!(scored(&all, &set).len(), 3);
    // In rounds, and not again.
    let started = started.into_inner();
    assert_eq!(started.len(), 4 + 3 + 3);
    assert_eq!(started.iter().filter(|name| name.starts_with("resident")).count(), 1);
    assert_eq!(started[4..7], started[7..]);
}

#[test]
fn processes_that_were_timed_are_not_started_again() {
    let (all, folder) = ([predicted(true)], tempfile::tempdir().expect("a folder"));
    let processes = NewProcesses { repeats: 2, start: &set_up };
    let mut here = jobs(&all, folder.path());
    let mut count = 0;
    let stopped = processes.time(&mut here, &mut |event| {
        count += usize::from(matches!(event, Event::Kept));
        if count == 5 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert!(stopped.is_err());
    let mut next = jobs(&all, folder.path());
    // Not of the plan on the CPU.
    assert_eq!((next[0].programs().count(), processes.left(&next)), (5, 8));
    assert_eq!(next[0].resume().expect("ours"), 0);
    assert_eq!(processes.left(&next), 3);
    let more = processes.time(&mut next, &mut |_| ControlFlow::Continue(()));
    assert!(more.expect("they run").is_empty() && processes.left(&next) == 0);
    let path = hallway::files::partial(&next[0].path);
    let kept = PartialRuns::load(&path).expect("whole").new_processes;
    assert!(kept.len() == 4 && kept.values().all(|times| times.len() == 2), "{kept:?}");
}
