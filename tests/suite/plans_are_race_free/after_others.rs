//! A task that is to run after another does so in every plan, also where no data says it.

use super::read;
use crate::workloads::{ON_HOST, floats, head, task};
use hallway::kernels::Kernel;
use hallway::program::{Call, Order, Passed, Program, Step};
use hallway::schedule::{Choice, schedule};
use hallway::search::candidates;

/// Four tasks on data of their own, the first of which is to be the last.
fn text() -> String {
    let mut text = head("after", "");
    for (at, kernel) in ["polynomial", "scale", "sum", "stencil"].into_iter().enumerate() {
        let elements = if at == 2 { 1 } else { 4096 };
        let after = if at == 0 { "after = [\"t2\", \"t1\"]" } else { "" };
        let [x, y, name] = ["x", "y", "t"].map(|kind| format!("{kind}{at}"));
        text += &(floats([&x], 4096, ON_HOST) + &floats([&y], elements, ON_HOST));
        text += &task(&name, kernel, &[&x], &y, after);
    }
    text
}

/// The calls that run a kernel, each with its place.
fn runs(plan: &Program, kernel: Kernel) -> Vec<usize> {
    let is_meant =
        |call: &Call| call.step().and_then(Step::library).is_some_and(|step| step.kernel == kernel);
    (0..plan.body.len()).filter(|&at| is_meant(&plan.body[at])).collect()
}

#[test]
fn in_every_plan() {
    let workload = read(&text());
    let profile = &super::super::predicted::PROFILE;
    let choice = Choice { chunks: vec![1], gpus: vec![1], with_cpu: true, budget: 2_000 };
    let scheduled = schedule(&workload, profile, &choice).plans.into_iter().map(|one| one.1);
    let plans: Vec<Program> =
        candidates(&workload).programs().into_iter().chain(scheduled).collect();
    assert!(plans.iter().any(|plan| plan.label.starts_with("by-task")));
    for plan in &plans {
        let (mut order, mut passed) = (Order::new(plan), Vec::new());
        while let Some((_, Passed { lane, number, known })) = order.pass() {
            passed.push((lane, number, known.clone()));
        }
        let last = runs(plan, Kernel::Polynomial)[0];
        for first in [Kernel::Scale, Kernel::Sum] {
            let (lane, number, _) = &passed[runs(plan, first)[0]];
            let is_known = passed[last].2[*lane] >= number.expect("a kernel");
            assert!(is_known, "{}: {first} may come later", plan.label);
        }
    }
}
