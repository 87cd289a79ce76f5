//! A verification for the terminal and for a README.

use super::error_figures::ErrorFigures;
use super::heading::heading;
use super::table::{Column, markdown_table, table};
use super::verification::{ScoredPlan, ScoredScenario, Verification};
use super::words::{fine_percent, folded, percent, range, signed_percent};
use crate::machine::Side;
use crate::stats::median;
use std::fmt::Write;

/// Columns of the summary, in the order in which a narrow terminal loses them: how many plans
/// there are, how many lie in range, the worst error; then, with names folded, both winners.
fn summary_columns() -> [Column; 10] {
    [
        Column::words("scenario"),
        Column::number("plans").if_room(1),
        Column::number("median error"),
        Column::number("95%"),
        Column::number("worst").if_room(3),
        Column::number("in range").if_room(2),
        Column::words("predicted winner").if_folded(1),
        Column::words("measured winner").if_folded(1),
        Column::number("regret"),
        Column::words("verdict"),
    ]
}

impl Verification {
    /// Every plan of every scenario, then the summary and what was checked, as wide as they are.
    pub fn text(&self) -> String {
        self.text_within(None)
    }

    /// The report in lines of at most so many columns, if a number is given.
    pub fn text_within(&self, width: Option<usize>) -> String {
        let mut text = format!("{}\n", self.profile);
        for scenario in &self.scenarios {
            let _ = write!(text, "\n{}\n", heading(&scenario.scenario, "", width));
            text.push_str(&cells(&scenario.plans, width));
        }
        let _ = write!(text, "\n{}\n", table(&summary_columns(), &self.summary(), width));
        text.push_str(&self.passes_beside());
        text.push_str(&self.on_cpu(""));
        text.push_str(&self.check_lines(""));
        folded(&text, width)
    }

    /// How many passes do not count; empty if all do.
    pub(super) fn passes_beside(&self) -> String {
        let plans = || self.scenarios.iter().flat_map(|scenario| &scenario.plans);
        let beside: usize = plans().map(|plan| plan.passes_beside).sum();
        let all = beside + plans().map(|plan| plan.passes).sum::<usize>();
        if beside == 0 {
            return String::new();
        }
        let share = percent(beside as f64 / all as f64);
        format!(
            "Not counted: {beside} of {all} timed runs ({share}), during which something else \
             used the core of the calling thread.\n"
        )
    }

    /// How far off the CPU's plans are. They are few, but each decides a verdict.
    fn on_cpu(&self, bullet: &str) -> String {
        let plans = self.scenarios.iter().flat_map(|scenario| &scenario.plans);
        let mut errors: Vec<f64> =
            plans.filter(|plan| plan.side == Side::Cpu).map(|plan| plan.error).collect();
        errors.sort_unstable_by(f64::total_cmp);
        let sizes: Vec<f64> = errors.iter().map(|error| error.abs()).collect();
        let middle = fine_percent(median(&sizes).unwrap_or_default());
        match errors[..] {
            [] => String::new(),
            [only] => {
                let only = signed_percent(only);
                format!("{bullet}error of the plan on the CPU: {only}\n")
            }
            [low, .., high] => {
                let [low, high] = [low, high].map(signed_percent);
                let most = format!("{low} to {high}, median {middle}");
                format!("{bullet}errors of plans on the CPU: {most}\n")
            }
        }
    }

    /// The summary and the checks in Markdown.
    pub fn markdown(&self) -> String {
        let mut text = markdown_table(&summary_columns(), &self.summary());
        text.push('\n');
        text.push_str(&self.on_cpu("- "));
        text.push_str(&self.check_lines("- "));
        text
    }

    fn check_lines(&self, bullet: &str) -> String {
        let line = |passed, what: &str| {
            format!("{bullet}{}  {what}\n", if passed { "pass" } else { "FAIL" })
        };
        self.checks.iter().map(|check| line(check.passed, &check.what)).collect()
    }

    fn summary(&self) -> Vec<Vec<String>> {
        let mut rows: Vec<Vec<String>> = self.scenarios.iter().map(scenario_row).collect();
        if self.scenarios.len() > 1 {
            let mut row = vec!["all".to_owned()];
            row.extend(figures(self.overall.as_ref()));
            row.resize(summary_columns().len(), String::new());
            rows.push(row);
        }
        rows
    }
}

fn scenario_row(scenario: &ScoredScenario) -> Vec<String> {
    let name = |name: &Option<String>| name.clone().unwrap_or_default();
    let verdict = match scenario.verdict_right {
        Some(true) => "right",
        Some(false) => "WRONG",
        None => "-",
    };
    let mut row = vec![scenario.scenario.clone()];
    row.extend(figures(scenario.errors.as_ref()));
    row.push(name(&scenario.predicted_winner));
    let is_same = scenario.predicted_winner == scenario.measured_winner;
    row.push(match &scenario.measured_winner {
        Some(_) if is_same => "same".to_owned(),
        winner => name(winner),
    });
    row.push(scenario.regret.map(fine_percent).unwrap_or_default());
    row.push(verdict.to_owned());
    row
}

fn figures(errors: Option<&ErrorFigures>) -> Vec<String> {
    let Some(errors) = errors else { return vec![String::new(); 5] };
    vec![
        errors.plans.to_string(),
        fine_percent(errors.median),
        fine_percent(errors.p95),
        fine_percent(errors.worst),
        percent(errors.coverage),
    ]
}

/// The table of runs. Where it is too wide, the spread of the passes goes first, then whether
/// the time lies in the range; with names folded, the range itself.
fn cells(plans: &[ScoredPlan], width: Option<usize>) -> String {
    let header = [
        Column::words("plan"),
        Column::number("predicted"),
        Column::number("range").if_folded(1),
        Column::number("measured"),
        Column::number("spread").if_room(1),
        Column::number("error"),
        Column::number("in range").if_room(2),
    ];
    let row = |plan: &ScoredPlan| {
        vec![
            plan.plan.clone(),
            plan.predicted_ns.to_string(),
            range(plan.low_ns, plan.high_ns),
            plan.measured_ns.to_string(),
            plan.spread.map_or("unknown".to_owned(), fine_percent),
            signed_percent(plan.error),
            if plan.is_covered() { "yes" } else { "no" }.to_owned(),
        ]
    };
    table(&header, &plans.iter().map(row).collect::<Vec<_>>(), width)
}
