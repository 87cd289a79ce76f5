//! Tables of plans, as wide as the terminal lets them be.

use super::table::{Column, Table};
use super::words::{
    fine_percent, folded, if_known, joined, or_dash, or_unknown, percent, plural, range,
    signed_percent, times,
};
use crate::findings::{AssessedPlan, Assessment, Comparison, times_as_long};
use crate::machine::Side;

impl Assessment {
    /// The plan's place in one run, marked if the answer names it and not the first of its side.
    fn rank_of(&self, plan: &AssessedPlan) -> String {
        self.marked(plan, self.verdict.run.as_ref(), |one| Some(one.rank))
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
    fn legend(&self, shown: &[&AssessedPlan]) -> String {
        let marked = shown.iter().find(|plan| self.rank_of(plan).ends_with('*'));
        let ties = shown.iter().any(|plan| plan.ties_with_fastest);
        let marked = marked.map(|plan| {
            let whose = if plan.side == Side::Cpu { "CPU" } else { "GPU" };
            format!("*: the simplest of the {whose} plans that tie")
        });
        let ties = ties.then(|| "tie: too close to plan 1 to call".to_owned());
        let said = joined(marked.into_iter().chain(ties), "; ");
        if said.is_empty() { said } else { said + "\n" }
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
        let lost = starred.and_then(|plan| Some((plan.side, self.lost_over_runs(plan)?)));
        let star = if_known(lost, |(of, gain)| {
            let with = if of == Side::Cpu { "on the CPU" } else { "on the GPU" };
            let gain = match gain {
                ..0.001 => "less than 0.1%".to_owned(),
                gain => fine_percent(gain),
            };
            format!(
                "; * recommended as the simplest; the fastest plan {with} takes {gain} less time"
            )
        });
        format!("ranked by the time for {runs}{star}\n")
    }
}

/// The columns that every table of ranked plans begins with.
fn ranked<'p>(one: &Assessment, plans: &[&'p AssessedPlan]) -> Table<'p, AssessedPlan> {
    Table::of(plans.iter().copied())
        .with(Column::number("#"), |plan| one.rank_of(plan))
        .with(Column::words("plan"), |plan| &plan.plan)
        .with(Column::number("one run"), |plan| plan.predicted_ns)
        .with(Column::number("range").if_folded(3), |plan| range(plan.low_ns, plan.high_ns))
        .with(Column::number("vs fastest").if_folded(2), against_fastest)
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
    let table = ranked(one, plans);
    let table =
        table.with(Column::words("limited by").if_folded(1), |plan| or_dash(plan.bottleneck));
    table.text(width) + &folded(&one.legend(plans), width)
}

/// The table of the first screen where many runs have another answer than one: their range is what
/// matters, and the reasons say how much longer one run takes.
fn table_of_programs(one: &Assessment, plans: &[&AssessedPlan], width: Option<usize>) -> String {
    let mut plans = plans.to_vec();
    plans.sort_by_key(|plan| (plan.program_rank.is_none(), plan.program_rank));
    let table = Table::of(plans.iter().copied())
        .with(Column::number("#"), |plan| one.program_rank_of(plan))
        .with(Column::words("plan"), |plan| &plan.plan)
        .with(Column::number(&plural(one.runs, "run")), |plan| or_unknown(plan.program_ns))
        .with(Column::number("range").if_folded(1), |plan| {
            let ends = plan.program_low_ns.zip(plan.program_high_ns);
            or_dash(ends.map(|(low, high)| range(low, high)))
        })
        .with(Column::number("one run"), |plan| plan.predicted_ns);
    table.text(width) + &folded(&one.program_legend(&plans), width)
}

/// The plans of several parts, which have no order among them.
pub(super) fn table_of_parts(parts: &[Assessment], width: Option<usize>) -> String {
    let runs = parts.first().map_or(1, |one| one.runs);
    let all = format!("{} in all", plural(runs, "run"));
    Table::of(parts.iter().flat_map(|one| &one.plans))
        .with(Column::words("plan"), |plan| &plan.plan)
        .with(Column::number("one run"), |plan| plan.predicted_ns)
        .with(Column::number("range").if_folded(3), |plan| range(plan.low_ns, plan.high_ns))
        .with(Column::words("limited by").if_folded(2), |plan| or_dash(plan.bottleneck))
        .with(Column::number(&all).if_folded(1), |plan| or_unknown(plan.program_ns))
        .text(width)
}

/// The table of all that is known. If it is too wide, columns go in the order of their numbers: how
/// busy lanes are, set-up, the whole program; then, with names folded, what limits the plan, how it
/// compares with the fastest one, and its range. Rank, name and time always stay.
pub(super) fn full_table(
    one: &Assessment,
    plans: &[&AssessedPlan],
    width: Option<usize>,
) -> String {
    let all = format!("and {}", plural(one.runs, "run"));
    let table = ranked(one, plans)
        .with(Column::number("host").if_room(1), |plan| percent(plan.host_thread.held))
        .with(Column::number("H2D").if_room(1), |plan| percent(plan.busy.h2d))
        .with(Column::number("kern").if_room(1), |plan| percent(plan.busy.kernels))
        .with(Column::number("D2H").if_room(1), |plan| percent(plan.busy.d2h))
        .with(Column::words("limited by").if_folded(1), |plan| or_dash(plan.bottleneck))
        .with(Column::number("set-up").if_room(2), |plan| or_unknown(plan.setup_ns))
        .with(Column::number(&all).if_room(3), |plan| or_unknown(plan.program_ns));
    table.text(width) + &folded(&one.legend(plans), width)
}

/// How much longer a plan takes than the fastest: `3.2 x`, or `+12.3%` below twice as long.
pub(super) fn against_fastest(plan: &AssessedPlan) -> String {
    let more = signed_percent(plan.relative - 1.0);
    match plan.relative {
        _ if plan.rank == 1 => "fastest".to_owned(),
        ..1.995 if plan.ties_with_fastest => format!("tie {more}"),
        ..1.995 => more,
        relative => format!("{} x", times(relative)),
    }
}
