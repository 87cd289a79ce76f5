//! What a sweep found: the answer at each value of a number, and where it turns. For the terminal,
//! as JSON, and as a table of comma-separated values.

use super::Origin;
use super::evaluation::ranges;
use super::table::{Column, Table};
use super::words::{
    fine_count, folded, heading, in_a_word, joined, or_dash, plural, range, stretch, times,
};
use crate::cost::Bottleneck;
use crate::families::Strategy;
use crate::findings::{Answer, InBrief, times_as_long};
use crate::search::{Setting, Swept, Turn, Wins, wins_of};
use crate::units::{Bytes, Span};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Sweeps of one number in one or more scenarios, on one machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SweepReport {
    /// The profile behind the predictions.
    pub profile: Origin,
    /// Digest of the profile.
    pub profile_digest: String,
    /// Seed for the random draws behind the ranges.
    pub seed: u64,
    /// Number of random draws behind the ranges.
    pub draws: usize,
    /// Number of calibration trials that set the width of the ranges.
    pub trials: usize,
    /// The parts of the sweep that are included, if several processes share it. `null` if all
    /// values are included.
    pub parts: Option<Parts>,
    /// One sweep per scenario, in the order given.
    pub sweeps: Vec<Sweeping>,
}

/// Some of the parts of a sweep.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Parts {
    /// Numbers of these parts, counted from 1.
    pub numbers: BTreeSet<usize>,
    /// Total number of parts.
    pub of: usize,
}

/// The unit of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// A count, or a number without a unit.
    Number,
    Bytes,
    Nanoseconds,
}

/// The sweep of one scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sweeping {
    /// Name of the scenario.
    pub scenario: String,
    /// Its question.
    pub question: String,
    /// Digest of the scenario's file.
    pub scenario_digest: String,
    /// The number that is swept.
    pub key: String,
    /// The unit of its values.
    pub unit: Unit,
    /// What the number counts, such as ``elements of `x` ``. `null` if the key already says so.
    pub counted: Option<String>,
    /// Number of elements in a row, if elements are swept and tasks process whole rows.
    pub row: Option<u64>,
    /// The value in the scenario, if it has one.
    pub here: Option<Setting>,
    /// True if times are totals, including first use and set-up; false if they are for a single
    /// run.
    pub of_programs: bool,
    /// All values, including those of other parts.
    pub values: Vec<Setting>,
    /// The answer at each value.
    pub points: Vec<SweptPoint>,
    /// The places between two values where the winner changes.
    pub turns: Vec<Turn>,
    /// The ranges of values in which the GPU wins. Empty if it wins at no value that was tried.
    pub gpu_wins: Vec<Wins>,
}

/// The answer at one value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SweptPoint {
    /// The value.
    pub value: Setting,
    #[serde(flatten)]
    pub brief: InBrief,
    /// The chosen plan on the CPU.
    pub cpu: Option<SideTime>,
    /// The chosen plan among those that use a GPU.
    pub gpu: Option<SideTime>,
    /// Why one or both sides cannot be predicted. `null` if both can.
    pub unknown: Option<String>,
}

/// A plan on one side, and the time that is compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SideTime {
    /// Name of the plan.
    pub plan: String,
    /// Predicted time.
    pub predicted_ns: Span,
    /// Lower end of the predicted range.
    pub low_ns: Span,
    /// Upper end of that range.
    pub high_ns: Span,
    /// What limits a run of the plan. `null` if this was not determined.
    pub bottleneck: Option<Bottleneck>,
}

impl SweptPoint {
    /// What was found at a value.
    pub fn new(swept: &Swept) -> Self {
        let ranking = &swept.ranking;
        let side = |on_cpu| {
            let best = swept.best(on_cpu)?;
            let [predicted_ns, low_ns, high_ns] = swept.time(best)?;
            let bottleneck = best.bottleneck();
            Some(SideTime { plan: best.plan.name(), predicted_ns, low_ns, high_ns, bottleneck })
        };
        let (cpu, gpu) = (side(true), side(false));
        // A side that has a plan hides what else could not be predicted of it.
        let is_meant = |on_cpu: bool| if on_cpu { cpu.is_none() } else { gpu.is_none() };
        let mut unknown = ranking.unknown.iter();
        let unknown = unknown.find(|(plan, _)| is_meant(plan.program.computes_on_cpu()));
        let unknown = unknown.map(|(_, unknown)| unknown.to_string()).or_else(|| {
            let mut refused = ranking.refused.iter();
            let one = refused.find(|one| is_meant(one.strategy.is_some_and(Strategy::is_on_cpu)));
            Some(one?.reason.clone())
        });
        let (value, brief) = (Setting(swept.value), InBrief::of(ranking, swept.runs));
        Self { value, brief, unknown, cpu, gpu }
    }

    /// The answer to what is asked: about a pass, or a program.
    pub fn answer(&self, of_programs: bool) -> Answer {
        if of_programs { self.brief.answer } else { self.brief.run_answer }
    }

    /// The plan to choose, by the time that is compared.
    pub fn winner(&self, of_programs: bool) -> Option<&SideTime> {
        let name = if of_programs { &self.brief.program_winner } else { &self.brief.winner };
        let sides = [&self.cpu, &self.gpu].into_iter().flatten();
        let named = sides.clone().find(|side| Some(&side.plan) == name.as_ref());
        named.or(sides.min_by_key(|side| side.predicted_ns))
    }
}

impl Sweeping {
    /// Says where the GPU wins, by the points and the turns.
    #[must_use]
    pub fn concluded(mut self) -> Self {
        self.points.sort_by(|one, other| one.value.0.total_cmp(&other.value.0));
        self.turns.sort_by(|one, other| one.after.0.total_cmp(&other.after.0));
        let times = self.points.iter().filter_map(|point| {
            let (cpu, gpu) = (point.cpu.as_ref()?, point.gpu.as_ref()?);
            Some((point.value.0, [cpu.predicted_ns, gpu.predicted_ns]))
        });
        self.gpu_wins = wins_of(&times.collect::<Vec<_>>(), &self.turns);
        self
    }

    /// What a value is, behind its number: ``elements of `x` ``.
    fn noun(&self) -> String {
        match (&self.counted, self.unit) {
            (Some(counted), _) => format!(" {counted}"),
            (None, Unit::Number) => format!(" (`{}`)", self.key),
            (None, _) => format!(" of `{}`", self.key),
        }
    }

    /// Where the GPU wins, in a sentence.
    pub fn sentence(&self) -> String {
        let noun = self.noun();
        let what = if self.of_programs { "over a whole program" } else { "in one run" };
        let known: Vec<&SweptPoint> =
            self.points.iter().filter(|point| point.cpu.is_some() && point.gpu.is_some()).collect();
        let (Some(first), Some(last)) = (known.first(), known.last()) else {
            return "There is nothing to compare: no value has a plan on both sides.".to_owned();
        };
        let [from, to] = [first, last].map(|point| self.unit.say(point.value.0));
        let say = |value: f64| self.unit.say(value);
        let stretches: Option<Vec<String>> =
            self.gpu_wins.iter().map(|wins| stretch(wins, &say)).collect();
        let is_all = known.len() == self.points.len();
        let both = if is_all { "" } else { " for which both sides have a plan" };
        let tried = match known.len() {
            1 => format!("the only value tried{both}, {from}{noun}"),
            _ => format!("value tried{both}, from {from} to {to}{noun}"),
        };
        let mut said = match stretches.as_deref() {
            None if known.len() == 1 => format!("The GPU is faster {what} at {tried}."),
            None => format!("The GPU is faster {what} at every {tried}."),
            Some([]) if known.len() == 1 => format!("The GPU is not faster {what} at {tried}."),
            Some([]) => format!("The GPU is not faster {what} at any {tried}."),
            Some(all) => format!("The GPU is faster {what} {}{noun}.", all.join(" and ")),
        };
        if let Some(row) = self.row {
            let turns = self.gpu_wins.iter().flat_map(|wins| [wins.from, wins.until]).flatten();
            let rows = turns.map(|at| plural((at.0 / row as f64).round() as u64, "row"));
            let rows = joined(rows, " and ");
            if !rows.is_empty() {
                let _ = write!(said, " That corresponds to {rows} of {row}.");
            }
        }
        if let Some(Setting(here)) = self.here {
            let _ = write!(said, " The scenario has {}.", self.unit.say(here));
        }
        said
    }

    fn text(&self, width: Option<usize>) -> String {
        let mut text = heading(&self.scenario, &self.question, width);
        let _ = writeln!(text, "\n{}\n", self.sentence());
        let time = if self.of_programs { "program" } else { "one run" };
        let of_programs = self.of_programs;
        text += &Table::of(&self.points)
            .with(Column::number(&self.key), |point| self.unit.say(point.value.0))
            .with(Column::words("faster"), |point| in_a_word(point.answer(self.of_programs)))
            .with(Column::words("plan"), |point| {
                or_dash(point.winner(of_programs).map(|one| &one.plan))
            })
            .with(Column::number(time), |point| time_of(point.winner(of_programs)))
            .with(Column::number("range").if_folded(2), |point| {
                or_dash(point.winner(of_programs).map(|one| range(one.low_ns, one.high_ns)))
            })
            .with(Column::number("CPU").if_room(2), |point| time_of(point.cpu.as_ref()))
            .with(Column::number("GPU").if_room(2), |point| time_of(point.gpu.as_ref()))
            .with(Column::words("GPU is").if_room(1), |point| or_dash(compared(point)))
            .with(Column::words("limited by").if_folded(1), |point| {
                or_dash(point.winner(of_programs).and_then(|one| one.bottleneck))
            })
            .text(width);
        // Neighbours often lack a plan for one and the same reason.
        let mut before = None;
        for SweptPoint { unknown, cpu, gpu, value, .. } in &self.points {
            if let Some(reason) = unknown.as_ref().filter(|reason| before != Some(*reason)) {
                let which = match (cpu, gpu) {
                    (None, None) => "No plan",
                    (None, _) => "No plan on the CPU",
                    _ => "No plan on the GPU",
                };
                let _ = writeln!(text, "{which} at {}: {reason}", self.unit.say(value.0));
            }
            before = unknown.as_ref();
        }
        text
    }
}

impl SweepReport {
    /// Reads what [`json`](super::json) wrote.
    ///
    /// # Errors
    /// If it is something else, with the reason in words.
    pub fn read(text: &str) -> Result<Self, String> {
        super::read_json(text, "a sweep")
    }

    /// The scenarios of which nothing could be predicted at any value.
    pub fn unanswered(&self) -> impl Iterator<Item = &str> {
        let has_none = |sweep: &&Sweeping| {
            let is_known = |point: &SweptPoint| point.cpu.is_some() || point.gpu.is_some();
            !sweep.points.is_empty() && !sweep.points.iter().any(is_known)
        };
        self.sweeps.iter().filter(has_none).map(|sweep| sweep.scenario.as_str())
    }

    /// Adds the points of another part of the same sweeps.
    ///
    /// # Errors
    /// If it is of other sweeps, or a part that is here already.
    pub fn merge(&mut self, other: Self) -> Result<(), String> {
        let (Some(mine), Some(theirs)) = (&self.parts, &other.parts) else {
            return Err("this file, or an earlier one, is already a complete sweep".to_owned());
        };
        if let Some(twice) = mine.numbers.intersection(&theirs.numbers).next() {
            return Err(format!("an earlier file also contains part {twice} of {}", mine.of));
        }
        let head = |report: &Self| {
            let mut head = report.clone();
            // The digest tells which profile it is, wherever that lies.
            head.profile.path.clear();
            head.parts.iter_mut().for_each(|parts| parts.numbers.clear());
            for sweep in &mut head.sweeps {
                (sweep.points, sweep.turns, sweep.gpu_wins) = Default::default();
            }
            head
        };
        if head(self) != head(&other) {
            return Err("it is not part of the same sweep as the files before it: the profile, \
                        scenario, seed, draws, values and number of parts must be the same"
                .to_owned());
        }
        for (mine, theirs) in self.sweeps.iter_mut().zip(other.sweeps) {
            mine.points.extend(theirs.points);
            mine.turns.extend(theirs.turns);
        }
        self.parts.iter_mut().zip(other.parts).for_each(|(mine, theirs)| {
            mine.numbers.extend(theirs.numbers);
        });
        Ok(())
    }

    /// The whole, if no part is missing.
    ///
    /// # Errors
    /// The numbers of the parts that are missing.
    pub fn whole(mut self) -> Result<Self, Vec<usize>> {
        if let Some(Parts { numbers, of }) = self.parts.take() {
            let missing: Vec<usize> = (1..=of).filter(|part| !numbers.contains(part)).collect();
            if !missing.is_empty() {
                return Err(missing);
            }
        }
        self.sweeps = self.sweeps.into_iter().map(Sweeping::concluded).collect();
        Ok(self)
    }

    /// The report in lines of at most so many columns, if a number is given.
    pub fn text_within(&self, width: Option<usize>) -> String {
        let mut text = format!("{}\n", self.profile);
        let _ = writeln!(text, "{}", ranges(self.draws, self.trials, self.profile.model_error));
        if let Some(parts) = &self.parts {
            let _ = writeln!(text, "Parts    {} of {}", joined(&parts.numbers, ", "), parts.of);
        }
        for sweep in &self.sweeps {
            text.push('\n');
            text += &sweep.text(width);
        }
        folded(&text, width)
    }

    /// The points as a table of comma-separated values (RFC 4180). Times are in nanoseconds.
    pub fn csv(&self) -> String {
        let mut writer = csv::WriterBuilder::new().has_headers(false).from_writer(Vec::new());
        for sweep in &self.sweeps {
            for point in &sweep.points {
                let winner = point.winner(sweep.of_programs);
                let row = (
                    (&sweep.scenario, &sweep.key, point.value, point.answer(sweep.of_programs)),
                    (in_csv(winner), winner.map(|side| or_dash(side.bottleneck))),
                    [in_csv(point.cpu.as_ref()), in_csv(point.gpu.as_ref())],
                );
                writer.serialize(row).expect("rows are plain data");
            }
        }
        let bytes = writer.into_inner().expect("nothing fails that writes into memory");
        let rows = String::from_utf8(bytes).expect("all fields are text");
        if rows.is_empty() { rows } else { CSV_TITLES.to_owned() + &rows }
    }
}

impl Unit {
    /// A value in words.
    pub fn say(self, value: f64) -> String {
        match self {
            Self::Number => fine_count(value),
            Self::Bytes => Bytes::new(value as u64).to_string(),
            Self::Nanoseconds => Span::from_nanos_f64(value).to_string(),
        }
    }
}

fn time_of(side: Option<&SideTime>) -> String {
    or_dash(side.map(|side| side.predicted_ns))
}

/// How much faster the GPU is than the CPU, or slower.
fn compared(point: &SweptPoint) -> Option<String> {
    let (cpu, gpu) = (point.cpu.as_ref()?.predicted_ns, point.gpu.as_ref()?.predicted_ns);
    Some(if gpu > cpu {
        format!("{} x slower", times(times_as_long(gpu, cpu)))
    } else {
        format!("{} x faster", times(times_as_long(cpu, gpu)))
    })
}

const CSV_TITLES: &str = "scenario,key,value,answer,plan,predicted_ns,low_ns,high_ns,bottleneck,\
                          cpu_plan,cpu_ns,cpu_low_ns,cpu_high_ns,\
                          gpu_plan,gpu_ns,gpu_low_ns,gpu_high_ns\n";

/// A plan's name, its time and the ends of its range.
fn in_csv(side: Option<&SideTime>) -> (Option<&str>, [Option<Span>; 3]) {
    let of = |time: fn(&SideTime) -> Span| side.map(time);
    let times = [of(|side| side.predicted_ns), of(|side| side.low_ns), of(|side| side.high_ns)];
    (side.map(|side| side.plan.as_str()), times)
}
