//! The tables of `hallway ledger`: what each rule of the simulator is worth on recorded runs.

use super::table::{Column, Table};
use super::words::{fine_percent, folded, percent};
use crate::compare::{Ledger, LedgerMachine, RuleEffect, RuleFigures};

/// Below the table.
const LEGEND: &str = "Plans: those whose prediction changes by more than 0.1% without the rule. \
                      Errors over these plans, with the rule and without it. A rule pays if, \
                      before rounding, its absence raises the median by 0.1 points or the 95th \
                      percentile by 0.5. Columns of machines: by how many points the median and \
                      the 95th percentile rise there.\n";

fn machines(machines: &[LedgerMachine]) -> Table<'_, LedgerMachine> {
    Table::of(machines)
        .with(Column::words("machine"), |machine| &machine.name)
        .with(Column::number("plans"), |machine| machine.errors.plans)
        .with(Column::number("median error"), |machine| fine_percent(machine.errors.median))
        .with(Column::number("95%"), |machine| fine_percent(machine.errors.p95))
        .with(Column::number("worst"), |machine| fine_percent(machine.errors.worst))
}

/// Columns of single machines go first in a narrow terminal, the last machine's first.
fn rules(ledger: &Ledger) -> Table<'_, RuleFigures> {
    let effect = |say: fn(&RuleEffect) -> String| {
        move |of: &RuleFigures| of.all.as_ref().map(say).unwrap_or_default()
    };
    let table = Table::of(&ledger.rules)
        .with(Column::words("rule"), |of| of.rule)
        .with(Column::number("plans"), |of| of.all.map_or(0, |all| all.with.plans))
        .with(
            Column::number("median error"),
            effect(|all| changed(all.with.median, all.without.median)),
        )
        .with(Column::number("95%"), effect(|all| changed(all.with.p95, all.without.p95)))
        .with(
            Column::number("in range"),
            effect(|all| {
                format!("{} → {}", percent(all.with.coverage), percent(all.without.coverage))
            }),
        )
        .with(Column::words("pays"), |of| match of.pays {
            Some(true) => "yes",
            Some(false) => "no",
            None => "-",
        });
    ledger.machines.iter().enumerate().fold(table, |table, (at, machine)| {
        let order = (ledger.machines.len() - at) as u8;
        table.with(Column::number(&machine.name).if_room(order), move |of| {
            of.machines[at].as_ref().map(points).unwrap_or_default()
        })
    })
}

fn changed(with: f64, without: f64) -> String {
    format!("{} → {}", fine_percent(with), fine_percent(without))
}

/// By how many points the median and the 95th percentile rise without the rule.
fn points(effect: &RuleEffect) -> String {
    let RuleEffect { with, without } = effect;
    let [median, p95] =
        [without.median - with.median, without.p95 - with.p95].map(|more| 100.0 * more);
    format!("{median:+.1}, {p95:+.1}")
}

impl Ledger {
    /// The machines and the rules, in lines of at most `width` columns if a width is given.
    pub fn text(&self, width: Option<usize>) -> String {
        let tables =
            format!("{}\n{}", machines(&self.machines).text(width), rules(self).text(width));
        folded(&format!("{tables}\n{LEGEND}"), width)
    }

    /// The tables of machines and rules in Markdown, with all their columns.
    pub fn markdown(&self) -> String {
        format!("{}\n{}\n{LEGEND}", machines(&self.machines).markdown(), rules(self).markdown())
    }
}
