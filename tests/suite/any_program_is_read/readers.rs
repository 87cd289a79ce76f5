//! Everything that reads a program, called on one.

use super::order::{Order, does_something};
use hallway::cost::{CompileError, first_use, pinning, setup_time};
use hallway::profile::Profile;
use hallway::program::{Call, Process, Program, captured, check_hazards};
use hallway::report::{Calls, Timed, TracedPlan, explain, trace};
use hallway::scenario::Workload;
use hallway::search::Plan;
use hallway::simulate::{forecast, lower_bound, simulate};
use hallway::timeline::{Lane, Timeline};

/// What the simulator says of a program, after every other reader has read it. None may panic.
pub fn read(
    program: &Program,
    profile: &Profile,
    workload: &Workload,
) -> Result<Timeline, CompileError> {
    let _ = check_hazards(program);
    assert_eq!(program.lanes().iter().len(), program.body.len());
    if let Ok(graph) = captured(program.clone()) {
        assert!(check_hazards(&graph).is_ok() || check_hazards(program).is_err());
    }
    let plan = Plan { strategy: None, program: program.clone() };
    let text = explain(workload, &plan, (Calls::All, Timed::No), Some(80));
    let waits = |call: &&Call| matches!(call, Call::Wait { .. });
    let waits = program.setup.iter().chain(&program.body).filter(waits).count();
    assert!(text.split_whitespace().filter(|&word| word == "wait").count() >= waits);
    let new = Process::default();
    let _ = (setup_time(program, profile), first_use(program, &new, profile));
    let _ = pinning(program, profile);
    let bound = lower_bound(program, profile);
    let found = simulate(program, profile);
    let timeline = match (&found, bound) {
        (Ok(timeline), Ok(bound)) => {
            assert!(bound <= timeline.makespan, "{}: {bound} is no bound", program.label);
            timeline
        }
        (Err(one), Err(other)) => {
            assert_eq!(one, &other);
            return found;
        }
        (one, other) => panic!("{}: {one:?}, but {other:?}", program.label),
    };
    assert_eq!(found, simulate(program, profile), "the second time");
    // A stated time may have a range so wide that a draw of it is longer than can be counted.
    match forecast(program, profile, 3, 1) {
        Ok(forecast) => assert_eq!(forecast.draws.len(), 3),
        Err(error) => {
            assert!(error.to_string().contains("a run of more than 146 years"), "{error}")
        }
    }
    let path = timeline.critical_path();
    assert!(path.on(Lane::Host) <= timeline.makespan);
    let traced = TracedPlan {
        scenario: "of the test".to_owned(),
        program: program.clone(),
        predicted: timeline.clone(),
        measured: None,
    };
    assert!(trace(&profile.machine, &[traced]).contains("traceEvents"));
    found
}

/// Checks that a timeline has each operation once, and each after all that it has to follow.
pub fn check_timeline(program: &Program, timeline: &Timeline) {
    let order = Order::of(program);
    let on_device = |at: usize| match program.body[at] {
        Call::Replay { .. } => None,
        // They take effect in their stream, and take no time there.
        Call::Allocate { stream: Some(_), .. } | Call::Free { stream: Some(_), .. } => None,
        ref call if !does_something(call) => None,
        ref call => Some(call.stream().is_some()),
    };
    let of = |at: usize| {
        let wanted = on_device(at)?;
        let mut all = timeline
            .activities
            .iter()
            .filter(move |activity| activity.call == at && (activity.lane != Lane::Host) == wanted);
        let found = all.next().unwrap_or_else(|| panic!("{}: no {at}", program.label));
        assert!(all.next().is_none(), "{}: call {at} runs twice", program.label);
        Some(found)
    };
    let found: Vec<_> = (0..program.body.len()).map(of).collect();
    for (at, before) in order.before.iter().enumerate() {
        let Some(second) = found[at] else { continue };
        for first in before.iter().filter_map(|&first| found[first]) {
            assert!(
                first.end <= second.start,
                "{}: call {at} begins before call {} ends",
                program.label,
                first.call
            );
        }
    }
}
