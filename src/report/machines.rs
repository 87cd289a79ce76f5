//! Several machines, asked the same question.

use super::Origin;
use super::table::{Column, Table};
use super::words::{cells, folded, heading, joined, or_dash, plural, quoted};
use crate::findings::InBrief;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// A comparison of several machines.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Machines {
    /// The machines, in the order given.
    pub machines: Vec<Machine>,
    /// Seed for the random draws behind the ranges.
    pub seed: u64,
    /// Number of random draws behind the ranges.
    pub draws: usize,
    /// The scenarios, in the order given.
    pub scenarios: Vec<SideBySide>,
}

/// A machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Machine {
    /// Name of its profile's folder.
    pub name: String,
    /// Its profile.
    pub profile: Origin,
    /// Hourly price, in the currency of `--price`.
    pub price_per_hour: Option<f64>,
}

/// One scenario on all machines.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SideBySide {
    /// Name of the scenario.
    pub scenario: String,
    /// Its question.
    pub question: String,
    /// Number of runs that share one set-up.
    pub runs: u64,
    /// One answer per machine, in the same order.
    pub answers: Vec<OnMachine>,
    /// The machine with the shortest total time; if a total is unknown, the machine with the
    /// fastest single run.
    pub fastest: Option<String>,
    /// The machine on which all runs together cost the least. `null` without prices.
    pub cheapest: Option<String>,
}

/// The answer for one machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OnMachine {
    /// Name of the machine.
    pub machine: String,
    #[serde(flatten)]
    pub answer: InBrief,
    /// Cost of all `runs` with their set-up. `null` if the machine has no price or the total time
    /// is unknown.
    pub cost: Option<f64>,
}

const NANOS_IN_HOUR: f64 = 3600.0 * 1e9;

impl SideBySide {
    /// Draws up what each machine says; `answers` are in the order of the machines.
    pub fn new(
        (scenario, question): (&str, &str),
        runs: u64,
        machines: &[Machine],
        answers: Vec<InBrief>,
    ) -> Self {
        let of = |(machine, answer): (&Machine, InBrief)| {
            let hours = answer.program_ns.map(|time| time.nanos_f64() / NANOS_IN_HOUR);
            let cost = hours.zip(machine.price_per_hour).map(|(hours, price)| hours * price);
            OnMachine { machine: machine.name.clone(), answer, cost }
        };
        let answers: Vec<OnMachine> = machines.iter().zip(answers).map(of).collect();
        let mut answered = answers.iter().filter(|one| one.answer.predicted_ns.is_some());
        let all_programs = answered.all(|one| one.answer.program_ns.is_some());
        let time = |one: &OnMachine| match all_programs {
            true => one.answer.program_ns,
            false => one.answer.predicted_ns,
        };
        let timed = answers.iter().filter_map(|one| Some((time(one)?, one)));
        let fastest = timed.min_by_key(|(time, _)| *time).map(|(_, one)| one.machine.clone());
        let priced = answers.iter().filter_map(|one| Some((one.cost?, one)));
        let cheapest = priced.min_by(|one, other| one.0.total_cmp(&other.0));
        let cheapest = cheapest.map(|(_, one)| one.machine.clone());
        let (scenario, question) = (scenario.to_owned(), question.to_owned());
        Self { scenario, question, runs, answers, fastest, cheapest }
    }

    /// The machines that are not among those of which one is the cheapest.
    fn left_out(&self) -> Option<String> {
        self.cheapest.as_ref()?;
        let without = self.answers.iter().filter(|one| one.cost.is_none());
        let names = quoted(without.map(|one| &one.machine)).join(", ");
        let what = "no price or no predicted time";
        (!names.is_empty()).then(|| format!("Not compared by cost ({what}): {names}."))
    }

    fn text(&self, width: Option<usize>) -> String {
        let set_up = format!("set-up and {}", plural(self.runs, "run"));
        let [verdict, winner, time, range, bound] =
            [0, 1, 2, 3, 4].map(|cell| move |one: &OnMachine| cells(&one.answer)[cell].clone());
        let mut table = Table::of(&self.answers)
            .with(Column::words("machine"), |one| &one.machine)
            .with(Column::words("verdict"), verdict)
            .with(Column::words("winner"), winner)
            .with(Column::number("one run"), time)
            .with(Column::number("range").if_folded(2), range)
            .with(Column::words("limited by").if_folded(1), bound)
            .with(Column::number("CPU").if_room(1), |one| or_dash(one.answer.cpu_ns))
            .with(Column::number("GPU").if_room(1), |one| or_dash(one.answer.gpu_ns))
            .with(Column::number(&set_up), |one| or_dash(one.answer.program_ns));
        if self.answers.iter().any(|one| one.cost.is_some()) {
            table = table.with(Column::number("costs"), |one| or_dash(one.cost.map(money)));
        }
        let mut text = heading(&self.scenario, &self.question, width);
        let _ = writeln!(text, "\n{}", table.text(width));
        let said = [
            self.fastest.as_ref().map(|name| format!("Fastest: `{name}`.")),
            self.cheapest.as_ref().map(|name| format!("Cheapest: `{name}`.")),
            self.left_out(),
        ];
        text + &joined(said.into_iter().flatten(), " ") + "\n"
    }
}

/// Three significant digits.
fn money(amount: f64) -> String {
    if amount <= 0.0 {
        return "0".to_owned();
    }
    let decimals = (2 - amount.log10().floor() as i32).clamp(0, 12) as usize;
    format!("{amount:.decimals$}")
}

impl Machines {
    /// The report in lines of at most so many columns, if a number is given.
    pub fn text_within(&self, width: Option<usize>) -> String {
        let mut text = String::new();
        for Machine { name, profile, price_per_hour } in &self.machines {
            let _ = write!(text, "{name}\n{profile}\n");
            if let Some(price) = price_per_hour {
                let _ = writeln!(text, "Price    {price} per hour");
            }
            text.push('\n');
        }
        text += &joined(self.scenarios.iter().map(|one| one.text(width)), "\n");
        folded(&text, width)
    }

    /// The scenarios of which a machine could predict nothing, each with that machine.
    pub fn unanswered(&self) -> impl Iterator<Item = (&str, &str)> {
        self.scenarios.iter().flat_map(|one| {
            let nothing = one.answers.iter().filter(|on| on.answer.winner.is_none());
            nothing.map(|on| (one.scenario.as_str(), on.machine.as_str()))
        })
    }
}
