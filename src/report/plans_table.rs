//! Tables of plans, as wide as the terminal lets them be.

use super::table::{Column, table};
use super::words::{bound_by, fine_percent, folded, more, percent, plural, range, signed_percent};
use crate::findings::{AssessedPlan, Assessment, Comparison, times_as_long};
use crate::machine::Side;
use crate::units::Span;

impl Assessment {
    /// The plan's place in one run, marked if the answer names it and not the first of its side.
    fn rank_of(&self, plan: &AssessedPlan) -> String {
        let place = |one: &AssessedPlan| Some(one.rank);
        self.marked(plan, self.verdict.run.as_ref(), place)
    }

    /// A plan's place, marked if a comparison names it and not the first of its side.
    fn marked(
        &self,
        plan: &AssessedPlan,
        compared: Option<&Comparison>,
        place: impl Fn(&AssessedPlan) -> Option<usize>,
    ) -> String {
        let Some(rank) = place(plan) else { return "-".to_owned() };
        let is_first = !self.plans.iter().any(|other| {
            (other.side == Side::Cpu) == (plan.side == Side::Cpu)
                && place(other).is_some_and(|before| before < rank)
        });
        // The rival of a plan on its own side is the fastest that is slower.
        let is_named = compared.is_some_and(|compared| {
            let named = if compared.is_between_sides() { 2 } else { 1 };
            compared.contenders().take(named).any(|one| one.plan == plan.plan)
        });
        format!("{rank}{}", if is_named && !is_first { "*" } else { "" })
    }

    /// The plan's place in the whole program, marked if the answer names it and not the first of
    /// its side.
    fn program_rank_of(&self, plan: &AssessedPlan) -> String {
        self.marked(plan, self.verdict.program.as_ref(), |one| one.program_rank)
    }

    /// What the mark in front of a plan means, and a tie.
    fn legend(&self, shown: &[&AssessedPlan]) -> Option<String> {
        let marked = shown.iter().any(|plan| self.rank_of(plan).ends_with('*'));
        let ties = shown.iter().any(|plan| plan.ties_with_fastest);
        let marked = marked.then_some("* the simplest of those that tie on its side");
        let ties = ties.then_some("tie: too close to call");
        let said: Vec<&str> = marked.into_iter().chain(ties).collect();
        (!said.is_empty()).then(|| format!("{}\n", said.join("; ")))
    }

    /// Which share of a whole program the fastest plan of the same side would gain.
    fn lost_over_runs(&self, plan: &AssessedPlan) -> Option<f64> {
        let is_cpu = plan.side == Side::Cpu;
        let same_side = self.plans.iter().filter(|one| (one.side == Side::Cpu) == is_cpu);
        let fastest = same_side.filter_map(|one| one.program_ns).min()?;
        Some(1.0 - 1.0 / times_as_long(plan.program_ns?, fastest))
    }

    /// What the places in a table of whole programs mean.
    fn program_legend(&self, shown: &[&AssessedPlan]) -> String {
        let runs = plural(self.runs, "run");
        let starred = shown.iter().find(|plan| self.program_rank_of(plan).ends_with('*'));
        let gain = starred.and_then(|plan| self.lost_over_runs(plan));
        let star = gain.map(|gain| {
            let gain = fine_percent(gain);
            format!("; * the simplest; the fastest on its side takes {gain} less")
        });
        format!("ranked by the time of {runs}{}\n", star.unwrap_or_default())
    }
}

/// The columns that every table of ranked plans begins with.
fn leading_columns() -> Vec<Column> {
    vec![
        Column::number("#"),
        Column::words("plan"),
        Column::number("one run"),
        Column::number("range").if_folded(3),
        Column::number("vs fastest").if_folded(2),
    ]
}

/// A plan's cells in the columns of [`leading_columns`].
fn leading_cells(one: &Assessment, plan: &AssessedPlan) -> Vec<String> {
    vec![
        one.rank_of(plan),
        plan.plan.clone(),
        plan.predicted_ns.to_string(),
        range(plan.low_ns, plan.high_ns),
        against_fastest(plan),
    ]
}

/// The table of the first screen.
pub(super) fn short_table(
    one: &Assessment,
    plans: &[&AssessedPlan],
    width: Option<usize>,
) -> String {
    if one.verdict.answer != one.verdict.run_answer {
        return table_of_programs(one, plans, width);
    }
    let mut header = leading_columns();
    header.push(Column::words("limited by").if_folded(1));
    let row = |plan: &&AssessedPlan| {
        let mut cells = leading_cells(one, plan);
        cells.push(bound_by(plan.bottleneck));
        cells
    };
    let rows: Vec<Vec<String>> = plans.iter().map(row).collect();
    table(&header, &rows, width) + &folded(&one.legend(plans).unwrap_or_default(), width)
}

/// The table of the first screen where many runs have another answer than one: their range is what
/// matters, and the reasons say how much longer one run takes.
fn table_of_programs(one: &Assessment, plans: &[&AssessedPlan], width: Option<usize>) -> String {
    let header = [
        Column::number("#"),
        Column::words("plan"),
        Column::number(&plural(one.runs, "run")),
        Column::number("their range").if_folded(1),
        Column::number("one run"),
    ];
    let mut plans = plans.to_vec();
    plans.sort_by_key(|plan| (plan.program_rank.is_none(), plan.program_rank));
    let row = |plan: &&AssessedPlan| {
        let ends = plan.program_low_ns.zip(plan.program_high_ns);
        let their_range = ends.map_or_else(|| "-".to_owned(), |(low, high)| range(low, high));
        let (time, all) = (plan.predicted_ns.to_string(), time_or_unknown(plan.program_ns));
        vec![one.program_rank_of(plan), plan.plan.clone(), all, their_range, time]
    };
    let rows: Vec<Vec<String>> = plans.iter().map(row).collect();
    table(&header, &rows, width) + &folded(&one.program_legend(&plans), width)
}

/// The plans of several parts, which have no order among them.
pub(super) fn table_of_parts(
    plans: &[(&Assessment, &AssessedPlan)],
    width: Option<usize>,
) -> String {
    let runs = plans.first().map_or(1, |(one, _)| one.runs);
    let header = [
        Column::words("plan"),
        Column::number("one run"),
        Column::number("range").if_folded(3),
        Column::words("limited by").if_folded(2),
        Column::number(&format!("{} in all", plural(runs, "run"))).if_folded(1),
    ];
    let row = |(_, plan): &(&Assessment, &AssessedPlan)| {
        vec![
            plan.plan.clone(),
            plan.predicted_ns.to_string(),
            range(plan.low_ns, plan.high_ns),
            bound_by(plan.bottleneck),
            time_or_unknown(plan.program_ns),
        ]
    };
    table(&header, &plans.iter().map(row).collect::<Vec<_>>(), width)
}

/// The table of all that is known. If it is too wide, columns go in the order of their numbers: how
/// busy lanes are, set-up, the whole program; then, with names folded, what limits the plan, how it
/// compares with the fastest one, and its range. Rank, name and time always stay.
pub(super) fn full_table(
    one: &Assessment,
    plans: &[&AssessedPlan],
    width: Option<usize>,
) -> String {
    let mut header = leading_columns();
    header.extend([
        Column::number("host").if_room(1),
        Column::number("H2D").if_room(1),
        Column::number("kern").if_room(1),
        Column::number("D2H").if_room(1),
        Column::words("limited by").if_folded(1),
        Column::number("set-up").if_room(2),
        Column::number(&format!("and {}", plural(one.runs, "run"))).if_room(3),
    ]);
    let row = |plan: &&AssessedPlan| {
        let mut cells = leading_cells(one, plan);
        cells.extend([
            percent(plan.host_thread.held),
            percent(plan.busy.h2d),
            percent(plan.busy.kernels),
            percent(plan.busy.d2h),
            bound_by(plan.bottleneck),
            time_or_unknown(plan.setup_ns),
            time_or_unknown(plan.program_ns),
        ]);
        cells
    };
    let rows: Vec<Vec<String>> = plans.iter().map(row).collect();
    table(&header, &rows, width) + &folded(&one.legend(plans).unwrap_or_default(), width)
}

fn time_or_unknown(known: Option<Span>) -> String {
    known.map_or_else(|| "unknown".to_owned(), |time| time.to_string())
}

/// How much longer a plan takes than the fastest.
pub(super) fn against_fastest(plan: &AssessedPlan) -> String {
    match plan.relative {
        _ if plan.rank == 1 => "fastest".to_owned(),
        ..1.995 if plan.ties_with_fastest => format!("tie {}", signed_percent(plan.relative - 1.0)),
        relative => more(relative),
    }
}
