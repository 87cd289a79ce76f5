//! What `hallway evaluate` found: the text and the JSON show the same.
//!
//! The text is a first screen with the answer, how sure it is, the plans that matter and why; all
//! the rest on request.

use super::Origin;
use super::gate::Gate;
use super::plans_table::{full_table, short_table, table_of_parts};
use super::said::{
    self, BREAK_EVEN, Line, WITH_THE_GPU, about_plans, about_sizes, answer, how_sure, limits, once,
    reasons, with_the_gpu,
};
use super::sureness::{RangesHeld, UnsteadyLink, ranges_held};
use super::words::{folded, if_known, joined, percent, plural, wrapped};
use crate::findings::{AssessedPlan, Assessment, Comparison};
use crate::machine::Side;
use crate::profile::Profile;
use crate::simulate::Draws;
use crate::units::Span;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The evaluation of one or more scenarios on one machine.
///
/// The keys are stable. Times are whole nanoseconds, and their keys end in `_ns`; shares are
/// between 0 and 1. Values that are unknown or do not apply are `null`, never a number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evaluation {
    /// The profile behind the predictions.
    pub profile: Origin,
    /// Seed for the simulated draws behind the ranges.
    pub seed: u64,
    /// Number of simulated draws behind the ranges.
    pub draws: usize,
    /// Accuracy of the predictions in the trials of the calibration. `null` if there were no
    /// trials.
    pub ranges: Option<RangesTried>,
    /// How many measured times were within their ranges. `null` if no plan was run on this machine.
    pub ranges_held: Option<RangesHeld>,
    /// How much the rates of large copies differed between the two passes of the calibration,
    /// because something else used the link. `null` if the two passes agreed.
    pub unsteady_link: Option<UnsteadyLink>,
    /// Time that a new process takes to create a context on the GPU. It is included in
    /// `first_use_ns` of every plan that uses the GPU in a new process.
    pub context_ns: Option<Span>,
    /// Whether `context_ns` was measured in new processes. Otherwise, it is the time of creating a
    /// second context in the calibrating process, which is shorter.
    pub context_in_new_process: bool,
    /// The scenarios, in the order given. A scenario can have several parts.
    pub scenarios: Vec<Assessment>,
    /// The comparison with an earlier evaluation. `null` if none was given.
    pub gate: Option<Gate>,
}

/// Accuracy of the predictions and ranges in the trials of the calibration: small random plans that
/// were predicted and run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RangesTried {
    /// Number of trials.
    pub trials: usize,
    /// Median error of the predictions, as a share of the measured time.
    pub median_error: f64,
    /// 95th percentile of the errors, as a share of the measured time.
    pub p95_error: f64,
    /// Share of trials whose measured time was within the predicted range.
    pub in_range: f64,
}

/// How much of an evaluation to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rows {
    /// One screen for each scenario: the answer, the plans that matter and the main reasons.
    Screen,
    /// All that is known, with the fastest plans and the best of every family and kind of memory.
    Notable,
    /// All that is known, with every plan.
    All,
}

/// Lines of a terminal, and how many of them a first screen leaves for the prompt.
const SCREEN: usize = 24;
const PROMPT: usize = 1;
/// Plans in the table of a first screen: the most, those that come before all reasons but two,
/// those that come before all but the first, and those that are shown even if there is no room for
/// a reason.
const MOST_ROWS: usize = 8;
const SOME_ROWS: usize = 5;
const FEW_ROWS: usize = 3;
const FEWEST_ROWS: usize = 2;
/// Lines of reasons on a first screen.
const MOST_REASONS: usize = 6;
/// How many of the fastest plans are notable.
const FASTEST: usize = 10;
/// Columns that a label takes, with the gap behind it.
const LABEL: usize = 17;

impl Evaluation {
    /// Puts together what was found about scenarios.
    pub fn new(
        (origin, profile): (Origin, &Profile),
        Draws { count: draws, seed, .. }: Draws,
        scenarios: Vec<Assessment>,
    ) -> Self {
        Self {
            ranges_held: ranges_held(&origin, profile),
            profile: origin,
            seed,
            draws,
            ranges: profile.accuracy.as_ref().map(|found| RangesTried {
                trials: found.trials,
                median_error: found.median_error,
                p95_error: found.p95_error,
                in_range: found.coverage,
            }),
            unsteady_link: UnsteadyLink::of(profile),
            context_ns: profile.first_context().map(|context| context.span()),
            context_in_new_process: profile.setup.new_context.is_some(),
            scenarios,
            gate: None,
        }
    }

    /// What ranges did where they were tried.
    pub(super) fn how_ranges_did(&self) -> String {
        said::ranges_held(self.ranges_held, self.profile.model_error)
    }

    /// The scenarios of which nothing could be predicted.
    pub fn unanswered(&self) -> impl Iterator<Item = &str> {
        let nothing = self.scenarios.iter().filter(|one| one.plans.is_empty());
        nothing.map(|one| one.scenario.as_str())
    }

    /// The report in lines of at most this many columns, if a number is given.
    pub fn text_within(&self, rows: Rows, width: Option<usize>) -> String {
        let same = |one: &Assessment, next: &Assessment| one.scenario == next.scenario;
        let scenarios = self.scenarios.chunk_by(same).map(|parts| match (parts, rows) {
            ([one], Rows::Screen) => self.screen(one, width),
            (_, Rows::Screen) => screen_of_parts(parts, width),
            (_, Rows::Notable | Rows::All) => {
                let overview = (parts.len() > 1).then(|| overview(parts, width));
                let parts = parts.iter().map(|one| self.details(one, rows, width));
                joined(overview.into_iter().chain(parts), "\n")
            }
        });
        let mut text = joined(scenarios, "\n");
        text += &match rows {
            Rows::Screen => folded(&self.footer(), width),
            Rows::Notable | Rows::All => format!("\n{}", folded(&self.basis(), width)),
        };
        text.extend(self.gate.iter().map(|gate| folded(&gate.text(width), width)));
        text
    }

    /// What fits on one screen.
    fn screen(&self, one: &Assessment, width: Option<usize>) -> String {
        let head = head(one, width) + &self.whose_cpu(one, width);
        // Sizes at which the answer turns back and forth are no reason for it.
        let turns_often = one.threshold().is_some_and(|found| found.gpu_wins.len() > 1);
        let reasons = below_the_head(one);
        let reasons = reasons.filter(|line| !turns_often || line.label != BREAK_EVEN);
        let reasons: Vec<Vec<String>> = reasons.map(|reason| labelled(&reason, width)).collect();
        let footer = folded(&self.footer(), width);
        // A blank line follows the head.
        let room =
            SCREEN.saturating_sub(head.lines().count() + 1 + footer.lines().count() + PROMPT);
        let table = table_beside_reasons(one, &reasons, room, width);
        // The reasons that come last give way if the plans leave no room for them.
        let room = room.saturating_sub(table.lines().count());
        let below = within(&reasons, room.min(MOST_REASONS));
        let below: String = below.iter().map(|line| format!("{line}\n")).collect();
        let what_if = if_known(one.what_if_table(width), |table| format!("\n{table}"));
        format!("{head}\n{table}{below}{what_if}")
    }

    /// All that is known.
    fn details(&self, one: &Assessment, rows: Rows, width: Option<usize>) -> String {
        let mut text = head(one, width) + &self.whose_cpu(one, width) + "\n";
        let shown = one.shown(rows);
        if !shown.is_empty() {
            text += &full_table(one, &shown, width);
            let hidden = one.plans.len() - shown.len();
            if hidden > 0 {
                let plans = plural(hidden as u64, "slower plan");
                text += &format!("{plans} hidden; `--all` shows them.\n");
            }
            text.push('\n');
        }
        text.extend(one.what_if_table(width).map(|table| table + "\n"));
        // What the whole program takes is said with all that is paid once.
        let lines = below_the_head(one).filter(|line| line.label != "Program");
        let link = self.unsteady_link.map(|link| Line { label: "Link", text: link.sentence() });
        let lines = lines.chain(link).chain(about_sizes(one)).chain(about_plans(one));
        let lines = lines.chain(once(one)).chain(limits(one));
        let mut said = BTreeSet::new();
        for line in lines {
            if said.insert((line.label, line.text.clone())) {
                text += &labelled(&line, width).join("\n");
                text.push('\n');
            }
        }
        text
    }

    /// Where the answer comes from, in a line.
    fn footer(&self) -> String {
        let origin = &self.profile;
        let day = if_known(origin.calibrated.as_ref(), |day| format!(", calibrated {day}"));
        let is_of_run = |one: &Assessment| one.verdict.answer == one.verdict.run_answer;
        let is_any = self.scenarios.iter().any(is_of_run);
        let left_out = if is_any { "; a run excludes first use and set-up" } else { "" };
        let rest = match &self.scenarios[..] {
            [one] if one.plans.len() > 1 => plural(one.plans.len() as u64, "plan"),
            _ => "More".to_owned(),
        };
        let (gpu, held) = (&origin.gpu, self.how_ranges_did());
        let cpu = if_known(self.whose_code(), |does| format!("The CPU {does}. "));
        let without = if_known(origin.left_out(), |rules| format!("Left out: {rules}. "));
        format!("\n{gpu}{day}{left_out}. {without}{cpu}{held}. {rest}: `--details`.\n")
    }

    /// What the answers rest on.
    fn basis(&self) -> String {
        let context = if_known(self.context_ns, |time| {
            let how = match self.context_in_new_process {
                true => "measured in new processes",
                false => "measured while another context existed; in a new process it takes longer",
            };
            format!("Process  a new one pays {time} for a CUDA context ({how})\n")
        });
        let trials = self.ranges.map_or(0, |ranges| ranges.trials);
        let mut ranges = ranges(self.draws, trials, self.profile.model_error);
        if trials > 0 || self.profile.scored.is_some() {
            ranges += &format!(". {}.", self.how_ranges_did());
        }
        let cpu = if_known(self.whose_code(), |does| format!("CPU      {does}\n"));
        format!("{}\n{ranges}\n{cpu}{context}", self.profile)
    }
}

/// The title, the answer and how sure it is.
fn head(one: &Assessment, width: Option<usize>) -> String {
    let title = match &one.part {
        Some(_) => folded(&format!("{}\n", one.title()), width),
        None => title(one, width),
    };
    let ways = if_known(with_the_gpu(one), |line| format!("{}: {}.\n", line.label, line.text));
    let said = format!("{}\n{ways}{}\n", answer(one), how_sure(one));
    format!("{title}\n{}", folded(&said, width))
}

/// The answers to all parts of a scenario on one screen, and the plans of all of them.
fn screen_of_parts(parts: &[Assessment], width: Option<usize>) -> String {
    let has_plans = parts.iter().any(|one| !one.plans.is_empty());
    let table = if has_plans { table_of_parts(parts, width) } else { String::new() };
    let unknown = parts.iter().flat_map(reasons).filter(|line| line.label == "Unknown");
    let unknown = unknown.flat_map(|line| labelled(&line, width));
    let unknown: String = unknown.map(|line| format!("{line}\n")).collect();
    let gap = if unknown.is_empty() { "" } else { "\n" };
    format!("{}\n{table}{gap}{unknown}", overview(parts, width))
}

/// The answers to all parts of a scenario that compare something, or lack something, and how sure
/// each is.
fn overview(parts: &[Assessment], width: Option<usize>) -> String {
    let says_more = |one: &&Assessment| one.plans.len() != 1 || !one.missing_times.is_empty();
    let answers = parts.iter().filter(says_more).map(|one| {
        let part = one.part.as_deref().unwrap_or_default();
        let why = reasons(one).into_iter().find(|line| line.label == "Why");
        let why = if_known(why, |line| format!("Why: {}.\n", line.text));
        folded(&format!("`{part}`: {}\n{}\n{why}", answer(one), how_sure(one)), width)
    });
    let names: Vec<&str> = parts.iter().filter_map(|one| one.part.as_deref()).collect();
    let why = match names[..] {
        [one, other] => format!("`{one}` and `{other}` compute different results:"),
        _ => format!("The programs compute {} different results:", parts.len()),
    };
    let why = why + " each gets its own answer.\n";
    format!("{}\n{}{}", title(&parts[0], width), folded(&why, width), joined(answers, "\n"))
}

/// How ranges were made.
pub(super) fn ranges(draws: usize, trials: usize, model_error: Option<f64>) -> String {
    let widened = match model_error {
        _ if trials > 0 => format!(", widened by {}", plural(trials as u64, "calibration trial")),
        Some(error) => {
            format!(", widened by {}: no plan has been run on this machine", percent(error))
        }
        None => "; no plan has been run on this machine, so they are too narrow".to_owned(),
    };
    format!("Ranges   the middle 90% of {}{widened}", plural(draws as u64, "simulated draw"))
}

/// The plans that matter, as many as leave room for the reasons: some plans matter more than all
/// reasons but the first.
fn table_beside_reasons(
    one: &Assessment,
    reasons: &[Vec<String>],
    room: usize,
    width: Option<usize>,
) -> String {
    let table = |rows: usize| match one.to_show(rows) {
        shown if shown.is_empty() => String::new(),
        shown => short_table(one, &shown, width) + "\n",
    };
    let fits = |table: &String, reasons: usize| table.lines().count() + reasons <= room;
    let lines = |most: usize| within(&reasons[..reasons.len().min(most)], MOST_REASONS).len();
    let tables = |fewest: usize, most: usize| (fewest..=most).rev().map(table);
    tables(SOME_ROWS, MOST_ROWS)
        .find(|table| fits(table, lines(MOST_REASONS)))
        .or_else(|| tables(FEW_ROWS, SOME_ROWS).find(|table| fits(table, lines(2))))
        .or_else(|| tables(FEWEST_ROWS, FEW_ROWS).find(|table| fits(table, lines(1))))
        .unwrap_or_else(|| table(FEWEST_ROWS))
}

/// The scenario's name and question.
fn title(one: &Assessment, width: Option<usize>) -> String {
    let between = if one.question.is_empty() { "" } else { ": " };
    folded(&format!("{}{between}{}\n", one.scenario, one.question), width)
}

/// The reasons that the head does not say.
fn below_the_head(one: &Assessment) -> impl Iterator<Item = Line> {
    reasons(one).into_iter().filter(|line| line.label != WITH_THE_GPU)
}

/// The lines of the reasons that fit whole into so many lines, the first before later ones. The
/// first stays even if it does not fit: no answer goes without its reason.
fn within(reasons: &[Vec<String>], most: usize) -> Vec<&String> {
    let mut lines = Vec::new();
    for reason in reasons {
        if lines.is_empty() || lines.len() + reason.len() <= most {
            lines.extend(reason);
        }
    }
    lines
}

/// A labelled sentence in lines that fit.
fn labelled(line: &Line, width: Option<usize>) -> Vec<String> {
    let most = width.map_or(usize::MAX, |width| width.saturating_sub(LABEL).max(1));
    let pieces = wrapped(&line.text, most);
    let labels = std::iter::once(line.label).chain(std::iter::repeat(""));
    labels.zip(pieces).map(|(label, piece)| format!("{label:<LABEL$}{piece}")).collect()
}

impl Assessment {
    /// The plans that an answer names, and the fastest ones, up to a number of them.
    fn to_show(&self, most: usize) -> Vec<&AssessedPlan> {
        let verdict = &self.verdict;
        let plans_of = |one: &Option<Comparison>| -> Vec<&AssessedPlan> {
            let contenders = one.iter().flat_map(Comparison::contenders);
            contenders.filter_map(|one| self.plan(&one.plan)).collect()
        };
        let in_answer = [&verdict.run, &verdict.program].into_iter().flat_map(plans_of);
        // What the answer is measured against: the GPU alone, simpler plans, no pinning.
        let alone = plans_of(&self.gpu_alone);
        let simpler = self.simpler_on_gpu.iter();
        let simpler = simpler.filter_map(|one| self.plan(&one.other.as_ref()?.plan));
        let unpinned = |plan: &&AssessedPlan| !plan.pins && plan.side != Side::Cpu;
        let unpinned = self.plans.iter().find(unpinned);
        // Who asks for some families wants to see each of them.
        let asked = |family: &String| self.plans.iter().find(|plan| plan.family == *family);
        let asked = self.families.iter().filter_map(asked);
        let order = in_answer.chain(self.plans.first()).chain(alone).chain(simpler);
        let order = order.chain(asked).chain(unpinned);
        let order = order.chain(plans_of(&self.without_pinning));
        let mut shown: Vec<&AssessedPlan> = Vec::new();
        for plan in order.chain(&self.plans) {
            if shown.len() < most && shown.iter().all(|other| other.plan != plan.plan) {
                shown.push(plan);
            }
        }
        shown.sort_by_key(|plan| plan.rank);
        shown
    }

    pub(super) fn shown(&self, rows: Rows) -> Vec<&AssessedPlan> {
        let mut kinds = BTreeSet::new();
        let notable = |plan: &&AssessedPlan| {
            let first_of_kind = kinds.insert((plan.family.clone(), plan.host_memory));
            rows == Rows::All || plan.rank <= FASTEST || first_of_kind
        };
        self.plans.iter().filter(notable).collect()
    }
}
