//! The tables of `hallway ledger`: what each rule of the simulator and each filter of the fit is
//! worth on recorded runs.

use super::table::{Column, Table};
use super::words::{fine_percent, folded, percent};
use crate::compare::{Effect, Ledger, LedgerMachine, Worth};

/// Below the tables.
const LEGEND: &str = "Plans: those whose prediction changes by more than 0.1% without the rule or \
                      filter. Errors over these plans, with it and without it. It pays if, \
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

/// What rules or filters are worth. Columns of single machines go first in a narrow terminal, the
/// last machine's first.
fn worths<'l>(what: &'static str, all: &'l [Worth], ledger: &'l Ledger) -> Table<'l, Worth> {
    let effect =
        |say: fn(&Effect) -> String| move |of: &Worth| of.all.as_ref().map(say).unwrap_or_default();
    let table = Table::of(all)
        .with(Column::words(what), |of| &of.name)
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

/// By how many points the median and the 95th percentile rise without a rule or a filter.
fn points(effect: &Effect) -> String {
    let Effect { with, without } = effect;
    let [median, p95] =
        [without.median - with.median, without.p95 - with.p95].map(|more| 100.0 * more);
    format!("{median:+.1}, {p95:+.1}")
}

impl Ledger {
    /// The tables of rules and filters that are not empty.
    fn tables(&self) -> impl Iterator<Item = Table<'_, Worth>> {
        let tables = [("rule", &self.rules), ("filter", &self.filters)].into_iter();
        let filled = tables.filter(|(_, all)| !all.is_empty());
        filled.map(|(what, all)| worths(what, all, self))
    }

    /// The machines, the rules and the filters, in lines of at most `width` columns if a width is
    /// given.
    pub fn text(&self, width: Option<usize>) -> String {
        let mut text = machines(&self.machines).text(width) + "\n";
        self.tables().for_each(|table| text += &(table.text(width) + "\n"));
        folded(&(text + LEGEND), width)
    }

    /// The tables of machines, rules and filters in Markdown, with all their columns.
    pub fn markdown(&self) -> String {
        let mut text = machines(&self.machines).markdown() + "\n";
        self.tables().for_each(|table| text += &(table.markdown() + "\n"));
        text + LEGEND
    }
}
