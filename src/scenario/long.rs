//! Whether the times that a scenario states can be simulated and counted.

use super::raw::RawScenario;
use super::{Task, Workload};
use crate::files::{Fault, Spanned};
use crate::kernels::OwnCost;
use crate::program::{Call, Program};
use crate::units::{Instant, Span};

/// Refuses tasks whose stated times make a pass that is too long to simulate, and stated times that
/// are too long to count over all runs. Programs are checked call by call as they are spelled out.
pub(super) fn check_length(raw: &RawScenario, workload: &Workload) -> Result<(), Fault> {
    let tasks = raw.tasks.iter().filter_map(|raw| {
        let task = workload.tasks.iter().find(|task| task.name == *raw.name.get_ref())?;
        Some((raw.kernel.span(), stated(task, workload)))
    });
    let programs = raw.programs.iter().zip(&workload.programs);
    let programs = programs.map(|(raw, program)| (raw.name.span(), worked(program)));
    let Some((place, time)) = tasks.chain(programs).max_by_key(|(_, time)| *time) else {
        return Ok(());
    };
    let most = Instant::HORIZON.since_start();
    if time > most {
        let message = format!("the stated time of a run is {}", time.in_years());
        let help = format!(
            "state a shorter time, or use fewer `iterations` or `batches`: a run can take up to \
             {}",
            most.in_years()
        );
        return Err(Fault::new(message, place, "takes too long", help));
    }
    if time * workload.runs < Span::LONGEST {
        return Ok(());
    }
    let (runs, most) = (workload.runs, Span::LONGEST.in_years());
    let message = format!("{runs} runs of a stated {time} take more than {most}");
    let help = format!("use fewer `runs` or state a shorter time: the limit is {most}");
    let at = raw.runs.as_ref().map_or_else(|| raw.name.span(), Spanned::span);
    Err(Fault::new(message, at, "too many runs", help).and(place, "stated here"))
}

/// What a task takes at least in a pass, on the side where that is more, by what is stated.
fn stated(task: &Task, workload: &Workload) -> Span {
    let Some(work) = task.kernel.own_work() else { return Span::ZERO };
    let elements = work.elements.unwrap_or(workload.buffer(task.output()).elements);
    let time = |cost: &OwnCost| match cost {
        OwnCost::Stated { fixed, per_element, .. } => {
            Span::from_nanos_f64(fixed + per_element * elements as f64)
        }
        OwnCost::Points(points) => {
            let reached = points.iter().rfind(|(size, _)| *size <= elements);
            reached.map_or(Span::ZERO, |(_, time)| *time)
        }
        OwnCost::Roofline { .. } => Span::ZERO,
    };
    let longest = work.declared.kernel.costs().map(time).max().unwrap_or_default();
    longest * task.iterations * workload.batches
}

/// The stated time of the CPU in a pass over a program.
fn worked(program: &Program) -> Span {
    program.body.iter().filter_map(Call::stated_time).sum()
}
