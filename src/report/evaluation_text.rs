//! An evaluation for the terminal: a first screen with the answer, how sure it is, the plans that
//! matter and why; all the rest on request.

use super::evaluation::Evaluation;
use super::plans_table::{full_table, short_table, table_of_parts};
use super::said::{
    BREAK_EVEN, Line, WITH_THE_GPU, about_plans, about_sizes, answer, how_sure, limits, once,
    ranges_held, reasons, with_the_gpu,
};
use super::words::{folded, percent, plural, wrapped};
use crate::findings::{AssessedPlan, Assessment, Comparison};
use crate::machine::Side;
use std::collections::BTreeSet;

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
    /// The report, as wide as it needs to be.
    pub fn text(&self, rows: Rows) -> String {
        self.text_within(rows, None)
    }

    /// The report in lines of at most this many columns, if a number is given.
    pub fn text_within(&self, rows: Rows, width: Option<usize>) -> String {
        let same = |one: &Assessment, next: &Assessment| one.scenario == next.scenario;
        let scenarios = self.scenarios.chunk_by(same).map(|parts| match (parts, rows) {
            ([one], Rows::Screen) => self.screen(one, width),
            (_, Rows::Screen) => self.screen_of_parts(parts, width),
            (_, Rows::Notable | Rows::All) => {
                let overview = if parts.len() > 1 {
                    self.overview(parts, width) + "\n"
                } else {
                    String::new()
                };
                let parts = parts.iter().map(|one| self.details(one, rows, width));
                overview + &parts.collect::<Vec<_>>().join("\n")
            }
        });
        let mut text = scenarios.collect::<Vec<_>>().join("\n");
        text += &match rows {
            Rows::Screen => folded(&self.footer(), width),
            Rows::Notable | Rows::All => format!("\n{}", folded(&self.basis(), width)),
        };
        text.extend(self.gate.iter().map(|gate| folded(&gate.text(width), width)));
        text
    }

    /// The title, the answer and how sure it is.
    fn head(&self, one: &Assessment, width: Option<usize>) -> String {
        let title = match &one.part {
            Some(_) => folded(&format!("{}\n", one.title()), width),
            None => title(one, width),
        };
        let ways = with_the_gpu(one).map(|line| format!("{}: {}.\n", line.label, line.text));
        let said = format!("{}\n{}{}\n", answer(one), ways.unwrap_or_default(), how_sure(one));
        format!("{title}\n{}", folded(&said, width))
    }

    /// What fits on one screen.
    fn screen(&self, one: &Assessment, width: Option<usize>) -> String {
        let head = self.head(one, width);
        // Sizes at which the answer turns back and forth are no reason for it.
        let turns_often = one.threshold().is_some_and(|found| found.gpu_wins.len() > 1);
        let reasons = below_the_head(one);
        let reasons = reasons.filter(|line| !turns_often || line.label != BREAK_EVEN);
        let reasons: Vec<Vec<String>> = reasons.map(|reason| labelled(&reason, width)).collect();
        // A blank line follows the head.
        let room = SCREEN
            .saturating_sub(head.lines().count() + 1 + columns_of(&self.footer(), width) + PROMPT);
        let table = table_beside_reasons(one, &reasons, room, width);
        // The reasons that come last give way if the plans leave no room for them.
        let room = room.saturating_sub(table.lines().count());
        let below = within(&reasons, room.min(MOST_REASONS));
        let below = below.iter().map(|line| format!("{line}\n"));
        let mut text = format!("{head}\n{table}{}", below.collect::<String>());
        text.extend(one.what_if_table(width).map(|table| format!("\n{table}")));
        text
    }

    /// The answers to all parts of a scenario on one screen, and the plans of all of them.
    fn screen_of_parts(&self, parts: &[Assessment], width: Option<usize>) -> String {
        let plans: Vec<(&Assessment, &AssessedPlan)> =
            parts.iter().flat_map(|one| one.plans.iter().map(move |plan| (one, plan))).collect();
        let table = if plans.is_empty() { String::new() } else { table_of_parts(&plans, width) };
        let unknown = parts.iter().flat_map(reasons).filter(|line| line.label == "Unknown");
        let unknown = unknown.flat_map(|line| labelled(&line, width));
        let unknown: String = unknown.map(|line| format!("{line}\n")).collect();
        let gap = if unknown.is_empty() { "" } else { "\n" };
        format!("{}\n{table}{gap}{unknown}", self.overview(parts, width))
    }

    fn unsteady_line(&self) -> Option<Line> {
        self.unsteady_link.map(|link| Line { label: "Link", text: link.sentence() })
    }

    /// The answers to all parts of a scenario that compare something, or lack something, and how
    /// sure each is.
    fn overview(&self, parts: &[Assessment], width: Option<usize>) -> String {
        let says_more = |one: &&Assessment| one.plans.len() != 1 || !one.missing_times.is_empty();
        let answers = parts.iter().filter(says_more).map(|one| {
            let part = one.part.as_deref().unwrap_or_default();
            let said = format!("{part}: {}\n{}\n", answer(one), how_sure(one));
            let why = reasons(one).into_iter().find(|line| line.label == "Why");
            let why = why.map_or_else(String::new, |line| format!("Why: {}.\n", line.text));
            folded(&(said + &why), width)
        });
        let names: Vec<&str> = parts.iter().filter_map(|one| one.part.as_deref()).collect();
        let why = match names[..] {
            [one, other] => format!("{one} and {other} compute different results:"),
            _ => format!("The programs compute {} different results:", parts.len()),
        };
        let why = why + " each has its own answer.\n";
        let answers: Vec<String> = answers.collect();
        format!("{}\n{}{}", title(&parts[0], width), folded(&why, width), answers.join("\n"))
    }

    /// All that is known.
    fn details(&self, one: &Assessment, rows: Rows, width: Option<usize>) -> String {
        let mut text = self.head(one, width) + "\n";
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
        let lines =
            lines.chain(self.unsteady_line()).chain(about_sizes(one)).chain(about_plans(one));
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
        let day = origin.calibrated.as_ref().map(|day| format!(", calibrated {day}"));
        let is_of_run = |one: &Assessment| one.verdict.answer == one.verdict.run_answer;
        let left_out = match self.scenarios.iter().any(is_of_run) {
            true => "; a run excludes first use and set-up",
            false => "",
        };
        let rest = match &self.scenarios[..] {
            [one] if one.plans.len() > 1 => plural(one.plans.len() as u64, "plan"),
            _ => "More".to_owned(),
        };
        let day = day.unwrap_or_default();
        let (gpu, held) = (&origin.gpu, ranges_held(self));
        format!("\n{gpu}{day}{left_out}. {held}. {rest}: `--details`.\n")
    }

    /// What the answers rest on.
    fn basis(&self) -> String {
        let context = self.context_ns.map(|time| {
            let how = match self.context_in_new_process {
                true => "measured in new processes",
                false => "measured next to another context, which is faster than in a new process",
            };
            format!("Process  a new one pays {time} for a CUDA context ({how})\n")
        });
        format!("{}\n{}\n{}", self.profile, self.how_ranges(), context.unwrap_or_default())
    }

    /// How ranges were made.
    fn how_ranges(&self) -> String {
        let trials = self.ranges.map_or(0, |ranges| ranges.trials);
        let how = ranges(self.draws, trials, self.profile.model_error);
        match trials > 0 || self.profile.scored.is_some() {
            true => format!("{how}. {}.", ranges_held(self)),
            false => how,
        }
    }
}

/// How ranges were made.
pub(super) fn ranges(draws: usize, trials: usize, model_error: Option<f64>) -> String {
    let widened = match model_error {
        _ if trials > 0 => format!(", widened by {}", plural(trials as u64, "calibration trial")),
        Some(error) => {
            format!(", widened by {}: no plan was tried on this machine", percent(error))
        }
        None => ": no plan was tried on this machine, so they are too narrow".to_owned(),
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
    let question =
        if one.question.is_empty() { String::new() } else { format!(": {}", one.question) };
    folded(&format!("{}{question}\n", one.scenario), width)
}

/// The reasons that the head does not say.
fn below_the_head(one: &Assessment) -> impl Iterator<Item = Line> {
    reasons(one).into_iter().filter(|line| line.label != WITH_THE_GPU)
}

fn columns_of(text: &str, width: Option<usize>) -> usize {
    folded(text, width).lines().count()
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
        let order = in_answer.chain(self.plans.first()).chain(alone).chain(simpler).chain(unpinned);
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
