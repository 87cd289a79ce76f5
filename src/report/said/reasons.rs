//! Why the answer is what it is.

use super::answer::runs_in;
use super::costs::set_up;
use super::limits::{borrowed, most_refused, no_answer};
use super::line::{Line, side_name, subject};
use super::sizes::sizes;
use super::time_goes_to::{Added, added, parts, time_goes_to};
use super::with_the_gpu::with_the_gpu;
use crate::cost::Bottleneck;
use crate::findings::{
    AboveLeast, Answer, AssessedPlan, Assessment, Comparison, Contender, HeldBy, HostThread,
    Simplest,
};
use crate::machine::Side;
use crate::report::words::{if_known, joined, percent, plural};
use crate::units::Span;

/// The reasons, the most important first.
pub(in crate::report) fn reasons(assessment: &Assessment) -> Vec<Line> {
    // What is paid before the first run is the reason where a whole program has another answer.
    let (why, breakdown) = match first_use(assessment) {
        Some(why) => (Some(why), time_goes_to("Breakdown", assessment)),
        None => (time_goes_to("Why", assessment), None),
    };
    let lines = no_answer(assessment).into_iter();
    lines
        .chain(why)
        .chain(with_the_gpu(assessment))
        .chain(one_run(assessment))
        .chain(most_refused(assessment))
        .chain(sizes(assessment))
        .chain(without_pinning(assessment))
        .chain(limit(assessment))
        .chain(breakdown)
        .chain(set_up(assessment))
        .chain(cpu_copies(assessment))
        .chain(borrowed(assessment))
        .chain(program(assessment))
        .collect()
}

/// Which side is faster in one run, if a whole program has another answer.
fn one_run(assessment: &Assessment) -> Option<Line> {
    let verdict = &assessment.verdict;
    let run = verdict.run.as_ref().filter(|_| verdict.answer != verdict.run_answer)?;
    run.other.as_ref().map(|_| Line::new("One run", format!("after set-up, {}", faster(run))))
}

/// What a whole program takes, if its answer is that of one run.
fn program(assessment: &Assessment) -> Option<Line> {
    let verdict = &assessment.verdict;
    let program = verdict.program.as_ref().filter(|_| verdict.answer == verdict.run_answer)?;
    let other = program.other.as_ref()?;
    let [chosen, other] = [&program.chosen, other].map(|one| match program.is_between_sides() {
        true => format!("{} {}", side_name(one.side), one.time_ns),
        false => format!("`{}` {}", one.plan, one.time_ns),
    });
    let runs = runs_in(assessment.runs, verdict.process);
    Some(Line::new("Program", format!("{runs}: {chosen}, {other}")))
}

/// Who is faster, with both times.
fn faster(of: &Comparison) -> String {
    let Comparison { answer, chosen, other, .. } = of;
    let with = |one: &Contender| format!("{} with `{}`", one.time_ns, one.plan);
    let Some(other) = other else { return with(chosen) };
    match (of.is_between_sides(), answer) {
        (true, Answer::Tie) => {
            let [one, two] =
                [chosen, other].map(|one| format!("{} {}", side_name(one.side), one.time_ns));
            format!("too close to call: {one}, {two}")
        }
        (true, _) => {
            let [one, two] = [chosen, other].map(|one| match one.side {
                Side::Cpu => format!("CPU {}", one.time_ns),
                _ => format!("{} {} (`{}`)", side_name(one.side), one.time_ns, one.plan),
            });
            format!("{} faster: {one}, {two}", side_name(chosen.side))
        }
        (false, Answer::Tie) => format!("too close to call: {}, {}", with(chosen), with(other)),
        (false, _) => format!("{}, {}", with(chosen), with(other)),
    }
}

/// What limits the plan to choose on the GPU, or the plan to choose if it is on the CPU.
fn limit(assessment: &Assessment) -> Option<Line> {
    let plan = assessment
        .best_on_gpu()
        .or_else(|| assessment.plan(&assessment.verdict.run.as_ref()?.chosen.plan))?;
    let limit = plan.bottleneck?;
    let gain = percent(plan.gains.first().map_or(0.0, |gain| gain.share));
    // Among programs, the line says which one it is about.
    let is_family = plan.chunks.is_some();
    let is_chosen = assessment.verdict.deciding().is_some_and(|one| one.chosen.plan == plan.plan);
    let what = if is_chosen && is_family { "a run".to_owned() } else { format!("`{}`", plan.plan) };
    let text = match cure(limit) {
        Some(cure) => format!("{limit}: {cure} would shorten {what} by {gain}"),
        None => "no single cost limits the plan".to_owned(),
    };
    Some(Line::new("Limit", text))
}

/// What is paid before the first run, if that is why a whole program has another answer, and how
/// much of it each run wins back.
fn first_use(assessment: &Assessment) -> Option<Line> {
    let verdict = &assessment.verdict;
    let program = verdict.program.as_ref().filter(|_| verdict.answer != verdict.run_answer)?;
    let other = program.other.as_ref()?;
    let before = |one: &Contender| Some(one.first_use_ns? + one.setup_ns?);
    let [late, early] = [other, &program.chosen].map(|one| Some((subject(one.side), before(one)?)));
    let ((late, late_takes), (early, early_takes)) = late.zip(early)?;
    let a_run = |one: &Contender| Some(assessment.plan(&one.plan)?.predicted_ns);
    let saved = a_run(&program.chosen)?.saturating_sub(a_run(other)?);
    let runs = plural(assessment.runs, "run");
    let saves = match saved {
        Span::ZERO => String::new(),
        _ => format!("; then {late} saves {saved} a run, {} over {runs}", saved * assessment.runs),
    };
    let [late_takes, early_takes] = [late_takes, early_takes].map(|takes| match takes {
        Span::ZERO => "none".to_owned(),
        _ => takes.to_string(),
    });
    let text =
        format!("first use and set-up: {late_takes} for {late}, {early_takes} for {early}{saves}");
    program.is_between_sides().then(|| Line::new("Why", text))
}

/// What half of a group of prices means.
const fn cure(limit: Bottleneck) -> Option<&'static str> {
    match limit {
        Bottleneck::CopyIn => Some("halving the H2D bytes"),
        Bottleneck::CopyOut => Some("halving the D2H bytes"),
        Bottleneck::Link | Bottleneck::PeerCopy | Bottleneck::Staging => Some("halving the bytes"),
        Bottleneck::Kernels | Bottleneck::Cpu => Some("doubling the speed"),
        Bottleneck::Calls | Bottleneck::Copies | Bottleneck::PageFaults => {
            Some("halving their number")
        }
        Bottleneck::Waits => Some("halving their time"),
        Bottleneck::Allocation => Some("halving its time"),
        Bottleneck::Balanced => None,
    }
}

/// What changes for somebody who cannot pin memory.
fn without_pinning(assessment: &Assessment) -> Option<Line> {
    let without = assessment.without_pinning.as_ref()?;
    let verdict = &assessment.verdict;
    let scope = if verdict.answer == verdict.run_answer { "" } else { "in one run, " };
    // Nothing else on the screen says what pinning changes in a program.
    let chosen = verdict.run.as_ref().and_then(|run| assessment.plan(&run.chosen.plan));
    let is_alone = without.other.is_none();
    let pinned = chosen.filter(|plan| is_alone && plan.chunks.is_none() && plan.pins);
    let pageable = assessment.plan(&without.chosen.plan);
    let why = pinned.zip(pageable).and_then(|(pinned, pageable)| added(pinned, pageable));
    let why = if_known(why, |Added { what, to, .. }| format!(", where {to} goes to {what}"));
    Some(Line::new("Without pinning", format!("{scope}{}{why}", faster(without))))
}

/// The CPU has to fetch its data, or take it back, if buffers are at home on the device.
fn cpu_copies(assessment: &Assessment) -> Option<Line> {
    let copies = assessment.cpu_copies_ns?;
    let cpu = assessment.verdict.run.as_ref()?.on(true)?;
    let text = format!(
        "{copies} of the CPU's {} is copying to and from the GPU, where the data lives",
        cpu.time_ns
    );
    Some(Line::new("Copies", text))
}

/// What else is known about the plans.
pub(in crate::report) fn about_plans(assessment: &Assessment) -> Vec<Line> {
    let lines = choice(assessment).into_iter().chain(needs(assessment));
    let lines = lines.chain(simplest(assessment)).chain(host_threads(assessment));
    lines.chain(critical_path(assessment)).chain(least_time(assessment)).collect()
}

/// Why plans to choose are not the fastest ones: that of all plans, and that of the other side.
pub(in crate::report) fn choice(assessment: &Assessment) -> Vec<Line> {
    let line = |chosen: &AssessedPlan, fastest: &AssessedPlan, ties: &str, of: &str| {
        let text = format!(
            "`{}` ({}) is the simplest of {ties} plans that tie with the fastest{of}, `{}` ({})",
            chosen.plan, chosen.predicted_ns, fastest.plan, fastest.predicted_ns
        );
        (fastest.plan != chosen.plan).then(|| Line::new("Choice", text))
    };
    let winner = assessment.winner.as_deref();
    let of_all = winner.and_then(|winner| {
        let ties = 1 + assessment.plans.iter().filter(|plan| plan.ties_with_fastest).count();
        line(assessment.plan(winner)?, assessment.plans.first()?, &ties.to_string(), "")
    });
    let of_side =
        [(false, " plan that uses the GPU"), (true, " plan on the CPU")].map(|(on_cpu, of)| {
            let named =
                assessment.verdict.plan_on(on_cpu).filter(|named| Some(*named) != winner)?;
            let fastest = assessment.plans.iter().find(|one| (one.side == Side::Cpu) == on_cpu)?;
            line(assessment.plan(named)?, fastest, "the", of)
        });
    let for_all_runs = for_all_runs(assessment);
    of_all.into_iter().chain(of_side.into_iter().flatten()).chain(for_all_runs).collect()
}

/// Why the side of the answer is not that of the fastest run: it is the answer for all runs.
fn for_all_runs(assessment: &Assessment) -> Option<Line> {
    let on_cpu = match assessment.verdict.answer {
        Answer::Cpu => true,
        Answer::Gpu | Answer::Both => false,
        _ => return None,
    };
    let recommended = assessment.plan(assessment.verdict.plan_on(on_cpu)?)?;
    let fastest = assessment.plans.first()?;
    let is_other = (fastest.side == Side::Cpu) != on_cpu && !recommended.ties_with_fastest;
    let runs = plural(assessment.runs, "run");
    is_other.then(|| {
        let text = format!(
            "`{}` is faster over {runs}, including first use and set-up; a run by \
             itself is faster with `{}` ({} instead of {})",
            recommended.plan, fastest.plan, fastest.predicted_ns, recommended.predicted_ns
        );
        Line::new("Recommended", text)
    })
}

/// What the best plan on the GPU takes besides time.
fn needs(assessment: &Assessment) -> Option<Line> {
    let best = assessment.best_on_gpu()?;
    let text = format!(
        "`{}`: {}, {} of pinned memory, {} of memory on each GPU",
        best.plan,
        plural(best.streams as u64, "stream"),
        best.pinned_bytes,
        best.device_bytes
    );
    Some(Line::new("Needs", text))
}

/// Said only if giving up a little time saves streams, events or pinned memory.
fn simplest(assessment: &Assessment) -> Option<Line> {
    let Simplest { within, plan, streams, events, pinned_bytes } = assessment.simplest.as_ref()?;
    let time = assessment.plan(plan)?.predicted_ns;
    let of = |number: usize, one: &str| plural(number as u64, one);
    (assessment.winner.as_ref() != Some(plan)).then(|| {
        let text = format!(
            "within {} of the fastest: `{plan}`, {time}, with {}, {} and {pinned_bytes} of pinned \
             memory",
            percent(*within),
            of(*streams, "stream"),
            of(*events, "event"),
        );
        Line::new("Simplest", text)
    })
}

/// For how long the best plan on the GPU holds the host thread, and the best one with pageable
/// memory, whose copies are asynchronous in name only.
pub(in crate::report) fn host_threads(assessment: &Assessment) -> Option<Line> {
    let best = assessment.best_on_gpu()?;
    let is_pageable = |plan: &&AssessedPlan| {
        plan.side != Side::Cpu
            && matches!(plan.host_thread.held_by, HeldBy::Staging | HeldBy::WaitingCopies)
    };
    let pageable = assessment.plans.iter().find(is_pageable);
    let pageable = pageable.filter(|plan| plan.plan != best.plan);
    let said = std::iter::once(best).chain(pageable);
    Some(Line::new("Host thread", joined(said.map(host_thread), "; ")))
}

/// A host thread that is free after less than this share of the run is free for most of it.
const FREE: f64 = 0.5;
/// A host thread that is held for more than this share of the run is held for most of it.
const HELD: f64 = 0.5;

/// When a plan leaves the host thread free.
fn host_thread(AssessedPlan { plan, host_thread, predicted_ns, .. }: &AssessedPlan) -> String {
    let HostThread { held, held_by, free_after_ns } = *host_thread;
    if free_after_ns.nanos_f64() / predicted_ns.nanos_f64().max(1.0) < FREE {
        return format!("free {free_after_ns} into a run of `{plan}`");
    }
    if held < HELD {
        return format!(
            "in calls for {} of a run of `{plan}`, but free only after {free_after_ns}: between \
             calls, it waits for the GPU",
            percent(held)
        );
    }
    let why = match held_by {
        HeldBy::Compute => "it computes",
        HeldBy::Calls => "it issues calls",
        HeldBy::Staging => "it stages copies of pageable memory",
        HeldBy::WaitingCopies => {
            "copies of pageable memory block it until the work ahead of them is done"
        }
    };
    format!("occupied for {} of a run of `{plan}`: {why}", percent(held))
}

/// What the time of the best plan on the GPU consists of.
fn critical_path(assessment: &Assessment) -> Option<Line> {
    let plan = assessment.best_on_gpu()?;
    let said = parts(&plan.critical_path).into_iter();
    let said = joined(said.map(|(share, what)| format!("{} {what}", percent(share))), ", ");
    let text = format!(
        "of `{}`: {said}. In this order, its calls take at least {}",
        plan.plan, plan.lower_bound_ns
    );
    Some(Line::new("Critical path", text))
}

/// The time that no schedule goes below, and how far the fastest plan is above it.
fn least_time(assessment: &Assessment) -> Option<Line> {
    let least = assessment.least_ns?;
    let above = if_known(assessment.above_least.as_ref(), above_least);
    let text = format!("no schedule of these tasks takes less than {least}");
    Some(Line::new("Lower bound", text + &above))
}

/// Why a plan takes longer than the least time, as the end of a sentence.
pub(in crate::report) fn above_least(above: &AboveLeast) -> String {
    let AboveLeast { plan, share, calls_and_waits_ns, mostly_calls_and_waits } = above;
    let why = match mostly_calls_and_waits {
        true => format!(
            "mostly in calls and waits ({calls_and_waits_ns}), which the bound leaves out: the \
             bound is probably unreachable"
        ),
        false => "and calls and waits explain little of that: a faster schedule may exist, or the \
                  bound is unreachable"
            .to_owned(),
    };
    format!("; `{plan}` takes {} longer, {why}", percent(*share))
}
