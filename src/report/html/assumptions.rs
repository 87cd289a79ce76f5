//! What the answer takes for granted, and what it leaves out.

use super::style::{folded_table, rich};
use super::{Case, Review};
use crate::program::BufferId;
use crate::report::said::limits;
use crate::report::words::{count, plural};
use crate::scenario::{Home, Task};
use maud::{Markup, html};

pub(super) fn section(case: &Case<'_>, of: &Review<'_>) -> Markup {
    let workload = case.subject.workload;
    let buffers: Vec<Vec<String>> = workload
        .buffers
        .iter()
        .map(|buffer| {
            let home = match buffer.home {
                Home::Host(memory) => format!("host, {memory}"),
                Home::Device => "device".to_owned(),
                Home::Scratch => "scratch".to_owned(),
            };
            let bytes = buffer.bytes(workload.batches).to_string();
            vec![buffer.name.clone(), home, count(buffer.elements), bytes]
        })
        .collect();
    let tasks: Vec<Vec<String>> = workload.tasks.iter().map(|task| task_row(case, task)).collect();
    case.part("assumptions", "Assumptions", &html! {
        ul { @for line in lines(case, of) { li { (rich(&line)) } } }
        @if !buffers.is_empty() {
            (folded_table("The arrays", &["array", "home", "elements of a batch", "bytes in all"],
                &buffers, 2))
        }
        @if !tasks.is_empty() {
            (folded_table("The tasks", &["task", "kernel", "reads", "writes", "times"], &tasks, 4))
        }
    })
}

fn task_row(case: &Case<'_>, task: &Task) -> Vec<String> {
    let workload = case.subject.workload;
    let names = |ids: &[BufferId]| {
        let names: Vec<&str> = ids.iter().map(|&id| workload.buffer(id).name.as_str()).collect();
        names.join(", ")
    };
    vec![
        task.name.clone(),
        task.kernel.name().to_owned(),
        names(&task.reads),
        names(&task.writes),
        task.iterations.to_string(),
    ]
}

fn lines(case: &Case<'_>, of: &Review<'_>) -> Vec<String> {
    let workload = case.subject.workload;
    let runs = plural(case.assessment.runs, "run");
    let mut lines = vec![
        format!(
            "A run is in steady state: the GPU and memory have been used before. A program makes \
             {runs} and also pays for set-up and first use."
        ),
        "Nothing else uses the GPU, the link, or the CPU's cores meanwhile.".to_owned(),
    ];
    if let Some(context) = of.evaluation.context_ns {
        lines.push(format!("A process that has not used the GPU pays {context} for a context."));
    }
    let threads = of.profile.machine.cpu_threads;
    if case.subject.ranking.best_on_cpu().is_some() && threads > 0 {
        lines.push(format!(
            "The CPU's side runs on {}, by hallway's own code for each kernel or by what the \
             scenario says that it costs.",
            plural(threads as u64, "thread")
        ));
    }
    if workload.batches > 1 {
        lines.push(format!("The {} batches are independent.", workload.batches));
    }
    lines.push(format!(
        "Only plans that hallway knows were compared: {} could be predicted.",
        plural(case.assessment.plans.len() as u64, "plan")
    ));
    let said = limits(case.assessment).into_iter();
    lines.extend(said.map(|line| format!("{}: {}.", line.label, line.text)));
    lines
}
