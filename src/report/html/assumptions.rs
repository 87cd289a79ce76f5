//! What the answer takes for granted, and what it leaves out.

use super::style::{folded_table, rich};
use super::{Case, Review};
use crate::program::BufferId;
use crate::report::said::limits;
use crate::report::table::{Column, Table};
use crate::report::words::{count, joined, plural};
use crate::scenario::Home;
use maud::{Markup, html};

pub(super) fn section(case: &Case<'_>, of: &Review<'_>) -> Markup {
    let workload = case.subject.workload;
    let arrays = Table::of(&workload.buffers)
        .with(Column::words("array"), |buffer| &buffer.name)
        .with(Column::words("home"), |buffer| match buffer.home {
            Home::Host(memory) => format!("host, {memory}"),
            Home::Device => "device".to_owned(),
            Home::Scratch => "scratch".to_owned(),
        })
        .with(Column::number("elements per batch"), |buffer| count(buffer.elements))
        .with(Column::number("total bytes"), |buffer| buffer.bytes(workload.batches));
    let names = |ids: &[BufferId]| joined(ids.iter().map(|&id| &workload.buffer(id).name), ", ");
    let tasks = Table::of(&workload.tasks)
        .with(Column::words("task"), |task| &task.name)
        .with(Column::words("kernel"), |task| task.kernel.name())
        .with(Column::words("reads"), |task| names(&task.reads))
        .with(Column::words("writes"), |task| names(&task.writes))
        .with(Column::number("times"), |task| task.iterations);
    case.part(
        "assumptions",
        "Assumptions",
        &html! {
            ul { @for line in lines(case, of) { li { (rich(&line)) } } }
            @if !workload.buffers.is_empty() { (folded_table("The arrays", &arrays)) }
            @if !workload.tasks.is_empty() { (folded_table("The tasks", &tasks)) }
        },
    )
}

fn lines(case: &Case<'_>, of: &Review<'_>) -> Vec<String> {
    let workload = case.subject.workload;
    let runs = plural(case.assessment.runs, "run");
    let mut lines = vec![
        format!(
            "A run is in steady state: the GPU and memory have been used before. A program \
             consists of {runs} and also pays for set-up and first use."
        ),
        "Nothing else uses the GPU, the link, or the CPU's cores during a run.".to_owned(),
    ];
    if let Some(context) = of.evaluation.context_ns {
        lines.push(format!("A new process pays {context} for a CUDA context."));
    }
    let threads = of.profile.machine.cpu_threads;
    if case.subject.ranking.best_on_cpu().is_some() && threads > 0 {
        lines.push(format!(
            "CPU times are for {}, with hallway's own code for each kernel or the costs that the \
             scenario states.",
            plural(threads as u64, "thread")
        ));
    }
    if workload.batches > 1 {
        lines.push(format!("The {} batches are independent.", workload.batches));
    }
    lines.push(format!(
        "Only hallway's own kinds of plans were compared; {} could be predicted.",
        plural(case.assessment.plans.len() as u64, "plan")
    ));
    let said = limits(case.assessment).into_iter();
    lines.extend(said.map(|line| format!("{}: {}.", line.label, line.text)));
    lines
}
