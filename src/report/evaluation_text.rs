//! An evaluation for the terminal: the answer first, then the ranking behind it.

use super::evaluation::{AssessedPlan, Assessment, Evaluation, LeftOut, Threshold};
use super::table::{Column, table};
use super::verdict::{Answer, CLEARLY};
use super::words::{columns, count, folded, percent, plural, quoted, range, signed_percent, times};
use crate::search::Sizes;
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

/// So many of the fastest plans are notable.
const FASTEST: usize = 10;
/// So many names stand for a group of plans before the rest is only counted.
const NAMED: usize = 3;

impl Evaluation {
    /// The report, as wide as it needs to be.
    pub fn text(&self, rows: Rows) -> String {
        self.text_within(rows, None)
    }

    /// The report in lines of at most so many columns, if a number is given.
    pub fn text_within(&self, rows: Rows, width: Option<usize>) -> String {
        let mut text = format!("{}\n", self.profile);
        let draws = plural(self.draws as u64, "draw");
        let trials = plural(self.trials as u64, "trial");
        let margins = if self.trials > 0 {
            format!(", with margins of {trials}")
        } else {
            " alone: no plans were tried on the machine, so they are too narrow".to_owned()
        };
        let _ = writeln!(text, "Ranges   90% of {draws} from the profile's scatter{margins}");
        if let Some(context) = self.context_ns {
            let once = "without what a process pays once to begin using the GPU";
            let _ = writeln!(text, "Set-up   {once}: {context}");
        }
        for assessment in &self.scenarios {
            text.push('\n');
            text.push_str(&assessment.text(rows, width));
        }
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
        let notes = [
            self.hidden(shown.len()),
            self.tie_note(),
            self.path_note(),
            self.program_note(),
            // Nobody wins where neither fits.
            self.break_even_note(),
            self.untried_note(),
            left_out("No such plan", &self.refused),
            left_out("Not predicted", &self.unknown),
            left_out("Set-up not predicted", &self.unknown_setup),
        ];
        for note in notes.into_iter().flatten() {
            let _ = writeln!(text, "{note}");
        }
        text
    }

    fn shown(&self, rows: Rows) -> Vec<&AssessedPlan> {
        let mut kinds = BTreeSet::new();
        let notable = |plan: &&AssessedPlan| {
            let first_of_kind = kinds.insert((plan.family.clone(), plan.host_memory));
            rows == Rows::All || plan.rank <= FASTEST || first_of_kind
        };
        self.plans.iter().filter(notable).collect()
    }

    fn hidden(&self, shown: usize) -> Option<String> {
        let hidden = self.plans.len().saturating_sub(shown);
        let plans = plural(hidden as u64, "plan");
        (hidden > 0).then(|| {
            format!("Not shown: {plans}, slower than others of their kind (`--all` shows them).")
        })
    }

    fn tie_note(&self) -> Option<String> {
        let ties = self.plans.iter().any(|plan| plan.ties_with_fastest);
        ties.then(|| "Tie: scatter leaves open whether plan 1 or this one is faster.".to_owned())
    }

    /// What the time of the fastest plan on the GPU consists of.
    fn path_note(&self) -> Option<String> {
        let plan = self.plans.iter().find(|plan| !plan.on_cpu)?;
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
        Some(format!(
            "Critical path of `{}`: {}. No schedule of its operations takes less than {}.",
            plan.plan,
            said.join(", "),
            plan.lower_bound_ns
        ))
    }

    fn untried_note(&self) -> Option<String> {
        let untried = self.untried.as_ref().filter(|names| !names.is_empty())?;
        let names = quoted(untried).join(" or ");
        Some(format!("No trial had {names} in it: ranges go by other kernels."))
    }

    fn break_even_note(&self) -> Option<String> {
        let found = self.break_even.as_ref().filter(|_| self.no_room.len() < 2)?;
        Some(found.sentence(self.verdict.answer == Answer::Tie))
    }

    /// Said only where set-up changes which plan to choose.
    fn program_note(&self) -> Option<String> {
        let winner = self.program_winner.as_ref()?;
        let best = self.plans.iter().find(|plan| plan.plan == *winner)?;
        let fastest = self.plans.first()?;
        let [least, of_fastest] = [best, fastest].map(|plan| plan.program_ns.map(Span::nanos_f64));
        // Of the other side, the verdict says so.
        let matters = best.on_cpu == fastest.on_cpu && least? < (1.0 - CLEARLY) * of_fastest?;
        (best.rank > 1 && matters).then(|| {
            format!(
                "Set-up and {} taken together, `{}` wins with {}; `{}` takes {}.",
                plural(self.runs, "run"),
                best.plan,
                time(best.program_ns),
                fastest.plan,
                time(fastest.program_ns)
            )
        })
    }
}

impl Threshold {
    fn sentence(&self, ties_here: bool) -> String {
        let Self { gpu_wins, buffer, elements, fixed } = self;
        let fixed = match &quoted(fixed)[..] {
            [] => String::new(),
            names => format!(" (Size kept: {}.)", names.join(", ")),
        };
        let open = if ties_here { " Here, scatter leaves it open." } else { "" };
        let sizes = |sizes: &Sizes| match (sizes.from.map(count), sizes.until.map(count)) {
            (None, None) => None,
            (Some(from), None) => Some(format!("about {from} and more")),
            (None, Some(until)) => Some(format!("up to about {until}")),
            (Some(from), Some(until)) => Some(format!("about {from} to {until}")),
        };
        let bounded: Option<Vec<String>> = gpu_wins.iter().map(sizes).collect();
        let found = match bounded.as_deref() {
            None => {
                format!("The GPU wins at every size of `{buffer}` that was tried, small ones too.")
            }
            Some([]) => {
                format!("The CPU wins at every size of `{buffer}` that was tried, large ones too.")
            }
            Some(sizes) => format!(
                "With plans as good as these the GPU wins where `{buffer}` has {} elements; \
                 here it has {}.",
                sizes.join(", or "),
                count(*elements)
            ),
        };
        found + open + &fixed
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
            percent(plan.busy.h2d),
            percent(plan.busy.kernels),
            percent(plan.busy.d2h),
            plan.bottleneck.to_string(),
            time(plan.setup_ns),
            time(plan.program_ns),
        ]
    };
    table(&header, &plans.iter().map(row).collect::<Vec<_>>(), width)
}

fn time(known: Option<Span>) -> String {
    known.map_or_else(|| "unknown".to_owned(), |time| time.to_string())
}

fn against_best(plan: &AssessedPlan) -> String {
    match plan.relative {
        _ if plan.rank == 1 => "best".to_owned(),
        ..1.995 if plan.ties_with_fastest => format!("tie {}", signed_percent(plan.relative - 1.0)),
        ..1.995 => signed_percent(plan.relative - 1.0),
        _ => format!("{} x", times(plan.relative)),
    }
}

/// One line for each reason, and after it the plans that it keeps out.
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
