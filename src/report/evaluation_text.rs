//! An evaluation for the terminal: the answer first, then the ranking behind it.

use super::Origin;
use super::answer::Answer;
use super::assessed_plan::AssessedPlan;
use super::evaluation::{Assessment, Evaluation, LeftOut, Simplest, Threshold};
use super::host_thread::HeldBy;
use super::table::{Column, table};
use super::wins::stretch;
use super::words::{
    bound_by, columns, count, fine_count, folded, percent, plural, quoted, range, signed_percent,
    times,
};
use crate::machine::Side;
use crate::units::Span;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// How much of a ranking to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rows {
    /// The fastest plans, and the best of every family and kind of host memory.
    Notable,
    All,
}

/// How many of the fastest plans are notable.
const FASTEST: usize = 10;
/// How many plans of a group are named; the rest is counted.
const NAMED: usize = 3;

/// Where ranges come from.
pub(super) fn ranges(draws: usize, trials: usize, profile: &Origin) -> String {
    let draws = plural(draws as u64, "draw");
    let margins = match profile.model_error {
        _ if trials > 0 => format!(", with margins of {}", plural(trials as u64, "trial")),
        Some(error) => format!(
            ", with margins of {}: no plans were tried on this machine, and predictions are as \
             far off on others",
            percent(error)
        ),
        None => " alone: no plans were tried on the machine, so they are too narrow".to_owned(),
    };
    format!("Ranges   90% of {draws} from the profile's scatter{margins}")
}

/// Where the ranges of a profile without trials come from, as a sentence.
pub(super) fn without_trials(model_error: Option<f64>) -> String {
    let ranges = match model_error {
        Some(error) => format!(
            "ranges have margins of {}, as far as predictions are off on others.",
            percent(error)
        ),
        None => "ranges are of its scatter alone, and too narrow.".to_owned(),
    };
    format!("No plans were tried on this machine, so {ranges}")
}

impl Evaluation {
    /// The report, as wide as it needs to be.
    pub fn text(&self, rows: Rows) -> String {
        self.text_within(rows, None)
    }

    /// The report in lines of at most so many columns, if a number is given.
    pub fn text_within(&self, rows: Rows, width: Option<usize>) -> String {
        let mut text = format!("{}\n", self.profile);
        let _ = writeln!(text, "{}", ranges(self.draws, self.trials, &self.profile));
        if let Some(context) = self.context_ns {
            let pays = "that has not used the GPU before pays for a context";
            let _ = writeln!(text, "Process  one {pays}, {context}: programs below include it");
        }
        for assessment in &self.scenarios {
            text.push('\n');
            text.push_str(&assessment.text(rows, width));
        }
        text.extend(self.gate.iter().map(|gate| gate.text(width)));
        folded(&text, width)
    }
}

impl Assessment {
    fn text(&self, rows: Rows, width: Option<usize>) -> String {
        let mut text = heading(&self.scenario, &self.question, width);
        let _ = writeln!(text, "\n{}\n", self.verdict.sentence);
        let shown = self.shown(rows);
        if !shown.is_empty() {
            let _ = writeln!(text, "{}", ranking(&shown, self.runs, width));
        }
        text.extend(self.what_if_table(width));
        let notes = [
            self.hidden(shown.len()),
            self.tie_note(),
            self.simplest_note(),
            self.host_note(),
            self.path_note(),
        ];
        let notes = notes.into_iter().flatten().chain(self.setup_notes());
        for note in notes.chain(self.break_even_note()).chain(self.limit_notes()) {
            let _ = writeln!(text, "{note}");
        }
        text
    }

    /// What limits what the answer says.
    pub(super) fn limit_notes(&self) -> Vec<String> {
        let left_out = [
            left_out("No such plan", &self.refused),
            left_out("Not predicted", &self.unknown),
            left_out("Set-up not predicted", &self.unknown_setup),
        ];
        let lines = left_out.iter().flatten().flat_map(|text| text.lines().map(str::to_owned));
        [self.untried_note(), self.on_request_note()].into_iter().flatten().chain(lines).collect()
    }

    pub(super) fn shown(&self, rows: Rows) -> Vec<&AssessedPlan> {
        let mut kinds = BTreeSet::new();
        let notable = |plan: &&AssessedPlan| {
            let first_of_kind = kinds.insert((plan.family.clone(), plan.host_memory));
            rows == Rows::All || plan.rank <= FASTEST || first_of_kind
        };
        self.plans.iter().filter(notable).collect()
    }

    fn hidden(&self, shown: usize) -> Option<String> {
        let hidden = self.plans.len().saturating_sub(shown);
        let plans = if hidden == 1 { "plan" } else { "plans" };
        (hidden > 0).then(|| format!("{hidden} slower {plans} hidden; `--all` shows them."))
    }

    fn tie_note(&self) -> Option<String> {
        let ties = self.plans.iter().any(|plan| plan.ties_with_fastest);
        ties.then(|| "`tie`: scatter leaves open whether this plan or plan 1 is faster.".to_owned())
    }

    /// Said only where giving up a little time saves streams, events or pinned memory.
    fn simplest_note(&self) -> Option<String> {
        let Simplest { within, plan, streams, events, pinned_bytes } = self.simplest.as_ref()?;
        let is_it = |one: &&AssessedPlan| one.plan == *plan;
        let time = self.plans.iter().find(is_it)?.predicted_ns;
        let of = |number: usize, one: &str| plural(number as u64, one);
        let is_other = self.winner.as_ref() != Some(plan);
        is_other.then(|| {
            format!(
                "Simplest within {} of the fastest: `{plan}`, {time}, with {}, {} and {} of pinned \
                 memory.",
                percent(*within),
                of(*streams, "stream"),
                of(*events, "event"),
                pinned_bytes,
            )
        })
    }

    /// The plan on the GPU that the verdict names.
    pub(super) fn best_on_gpu(&self) -> Option<&AssessedPlan> {
        let name = self.verdict.gpu_plan.as_ref()?;
        self.plans.iter().find(|plan| plan.plan == *name)
    }

    /// For how long the best plan on the GPU holds the host thread, and the best one with pageable
    /// memory, whose copies are asynchronous by name only.
    pub(super) fn host_note(&self) -> Option<String> {
        let best = self.best_on_gpu()?;
        let is_pageable = |plan: &&AssessedPlan| {
            plan.side != Side::Cpu
                && matches!(plan.host_thread.held_by, HeldBy::Staging | HeldBy::WaitingCopies)
        };
        let pageable = self.plans.iter().find(is_pageable).filter(|plan| plan.plan != best.plan);
        let said = std::iter::once(best).chain(pageable);
        let said = said.map(|plan| plan.host_thread.sentence(&plan.plan, plan.predicted_ns));
        Some(said.collect::<Vec<_>>().join(" "))
    }

    /// What the time of the best plan on the GPU consists of.
    fn path_note(&self) -> Option<String> {
        let plan = self.best_on_gpu()?;
        let path = &plan.critical_path;
        let mut parts = [
            (path.host, "host"),
            (path.h2d, "H2D"),
            (path.kernels, "kernels"),
            (path.d2h, "D2H"),
            (path.p2p, "P2P"),
            (path.gaps, "hand-overs and latencies"),
        ];
        parts.sort_by(|one, other| other.0.total_cmp(&one.0));
        let part = |(share, what): &(f64, &str)| format!("{} {what}", percent(*share));
        let said: Vec<String> = parts.iter().filter(|part| part.0 >= 0.005).map(part).collect();
        let others = match self.least_ns {
            Some(least) => format!("no schedule of these tasks takes less than {least}"),
            None => "other plans may take less".to_owned(),
        };
        Some(format!(
            "Critical path of `{}`: {}. In its own order, its calls take at least {}; {others}.",
            plan.plan,
            said.join(", "),
            plan.lower_bound_ns
        ))
    }

    fn untried_note(&self) -> Option<String> {
        let untried = self.untried.as_ref().filter(|names| !names.is_empty())?;
        let names = quoted(untried).join(" or ");
        Some(format!("No trial had {names} in it: its ranges are as wide as other kernels'."))
    }

    fn on_request_note(&self) -> Option<String> {
        let names = quoted(&self.on_request).join(", ");
        (!names.is_empty()).then(|| {
            format!(
                "Not tried unasked, since few measured runs were scored against their predictions: \
                 {names}; `families` in [plans] asks for them."
            )
        })
    }

    pub(super) fn break_even_note(&self) -> Option<String> {
        let found = self.break_even.as_ref().filter(|_| self.no_room.len() < 2)?;
        Some(found.sentence(self.verdict.pass_answer == Answer::Tie))
    }
}

impl Threshold {
    fn sentence(&self, ties_here: bool) -> String {
        let Self { gpu_wins, buffer, elements, .. } = self;
        let [from, to] = self.tried.map(count);
        let bounded: Option<Vec<String>> =
            gpu_wins.iter().map(|wins| stretch(wins, &fine_count)).collect();
        let mut said = vec![match bounded.as_deref() {
            None => format!(
                "The best of the plans tried on the GPU beats the CPU in a pass at every size of \
                 `{buffer}` from {from} to {to} elements."
            ),
            Some([]) => format!(
                "None of the plans tried on the GPU beats the CPU in a pass at any size of \
                 `{buffer}` from {from} to {to} elements."
            ),
            Some(sizes) => format!(
                "Of the plans tried, one on the GPU wins a pass where `{buffer}` has {} elements; \
                 here it has {}.",
                sizes.join(", or "),
                fine_count(*elements as f64)
            ),
        }];
        if ties_here {
            said.push("Here, scatter leaves it open.".to_owned());
        }
        for (side, too_large) in [("GPU", self.too_large_for_gpu), ("CPU", self.too_large_for_cpu)]
        {
            said.extend(too_large.map(|from| {
                let from = count(from);
                format!("From about {from} on, none of those on the {side} fits into memory.")
            }));
        }
        if !self.fixed.is_empty() {
            said.push(format!("(Size kept: {}.)", quoted(&self.fixed).join(", ")));
        }
        said.join(" ")
    }
}

/// A scenario's name, underlined, and its question.
pub(super) fn heading(scenario: &str, question: &str, width: Option<usize>) -> String {
    let line = "─".repeat(columns(scenario).min(width.unwrap_or(usize::MAX)));
    let question = if question.is_empty() { String::new() } else { format!("{question}\n") };
    format!("{scenario}\n{line}\n{question}")
}

/// The table of plans. Where it is too wide, columns go in the order of their numbers: how busy
/// lanes are, set-up, the whole program; then, with names folded, what bounds the plan, how it
/// compares with the best one, and its range. Rank, name and time always stay.
fn ranking(plans: &[&AssessedPlan], runs: u64, width: Option<usize>) -> String {
    let header = [
        Column::number("#"),
        Column::words("plan"),
        Column::number("one run"),
        Column::number("90% range").if_folded(3),
        Column::number("vs best").if_folded(2),
        Column::number("host").if_room(1),
        Column::number("H2D").if_room(1),
        Column::number("kern").if_room(1),
        Column::number("D2H").if_room(1),
        Column::words("bound by").if_folded(1),
        Column::number("set-up").if_room(2),
        Column::number(&format!("and {}", plural(runs, "run"))).if_room(3),
    ];
    let row = |plan: &&AssessedPlan| {
        vec![
            plan.rank.to_string(),
            plan.plan.clone(),
            plan.predicted_ns.to_string(),
            range(plan.low_ns, plan.high_ns),
            against_best(plan),
            percent(plan.host_thread.held),
            percent(plan.busy.h2d),
            percent(plan.busy.kernels),
            percent(plan.busy.d2h),
            bound_by(plan.bottleneck),
            time(plan.setup_ns),
            time(plan.program_ns),
        ]
    };
    table(&header, &plans.iter().map(row).collect::<Vec<_>>(), width)
}

pub(super) fn time(known: Option<Span>) -> String {
    known.map_or_else(|| "unknown".to_owned(), |time| time.to_string())
}

pub(super) fn against_best(plan: &AssessedPlan) -> String {
    match plan.relative {
        _ if plan.rank == 1 => "best".to_owned(),
        ..1.995 if plan.ties_with_fastest => format!("tie {}", signed_percent(plan.relative - 1.0)),
        ..1.995 => signed_percent(plan.relative - 1.0),
        _ => format!("{} x", times(plan.relative)),
    }
}

/// One line for each reason, with the plans that it rules out.
fn left_out(what: &str, missing: &[LeftOut]) -> Option<String> {
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for LeftOut { plan, reason } in missing {
        groups.entry(reason).or_default().push(plan);
    }
    let line = |(reason, plans): (&str, Vec<&str>)| {
        let named = quoted(plans.iter().take(NAMED));
        let more = match plans.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("{what}: {}{more}: {reason}", named.join("; "))
    };
    let lines: Vec<String> = groups.into_iter().map(line).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}
