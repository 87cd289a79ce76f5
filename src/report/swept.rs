//! What a sweep found: the answer at each value of a number, and where it turns.

use super::Origin;
use crate::cost::Bottleneck;
use crate::families::Strategy;
use crate::findings::{Answer, InBrief};
use crate::search::{Setting, Swept, Turn, Wins, wins_of};
use crate::units::Span;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

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
    /// The parts of the values that are included, if several processes share a sweep. `null`: all
    /// values.
    pub parts: Option<Parts>,
    /// One sweep per scenario, in the order given.
    pub sweeps: Vec<Sweeping>,
}

/// A selection of the parts of a sweep.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Parts {
    /// Their numbers, counted from 1.
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
    /// Its name.
    pub scenario: String,
    /// Its question.
    pub question: String,
    /// Digest of the scenario's file.
    pub scenario_digest: String,
    /// The number that is swept.
    pub key: String,
    /// The unit of its values.
    pub unit: Unit,
    /// What the number counts, such as ``elements of `x` ``. `null`: as the key says.
    pub counted: Option<String>,
    /// Number of elements in a row, if elements are swept and tasks process whole rows.
    pub row: Option<u64>,
    /// The value in the scenario, if it has one.
    pub here: Option<Setting>,
    /// True if times are totals with first use and set-up; false if they are of a single run.
    pub of_programs: bool,
    /// All values, including those of other parts.
    pub values: Vec<Setting>,
    /// The answer at each value.
    pub points: Vec<SweptPoint>,
    /// The changes of the winner between two values.
    pub turns: Vec<Turn>,
    /// The values at which the GPU wins. Empty if it wins at none that was tried.
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
    /// Why a side, or both, cannot be predicted, if so.
    pub unknown: Option<String>,
}

/// A plan of one side, with the time that is compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SideTime {
    /// Name of the plan.
    pub plan: String,
    /// Its time.
    pub predicted_ns: Span,
    /// Lower end of the predicted range.
    pub low_ns: Span,
    /// Upper end of that range.
    pub high_ns: Span,
    /// What limits a run of the plan. `null` if that was not looked for.
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
        let mut unknown =
            ranking.unknown.iter().filter(|(plan, _)| is_meant(plan.program.computes_on_cpu()));
        let mut refused = ranking
            .refused
            .iter()
            .filter(|one| is_meant(one.strategy.is_some_and(Strategy::is_on_cpu)));
        let unknown = unknown.next().map(|(_, unknown)| unknown.to_string());
        let unknown = unknown.or_else(|| Some(refused.next()?.reason.clone()));
        Self {
            value: Setting(swept.value),
            brief: InBrief::of(ranking, swept.runs),
            unknown,
            cpu,
            gpu,
        }
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
            return Err("one of them is already a complete sweep".to_owned());
        };
        if let Some(twice) = mine.numbers.intersection(&theirs.numbers).next() {
            return Err(format!("both contain part {twice} of {}", mine.of));
        }
        let head = |report: &Self| {
            let bare = |sweep: &Sweeping| {
                let (points, turns, gpu_wins) = (Vec::new(), Vec::new(), Vec::new());
                Sweeping { points, turns, gpu_wins, ..sweep.clone() }
            };
            let sweeps = report.sweeps.iter().map(bare).collect();
            let parts = report.parts.as_ref().map(|parts| parts.of);
            // The digest tells which profile it is, wherever that lies.
            let profile = Origin { path: String::new(), ..report.profile.clone() };
            (Self { profile, parts: None, sweeps, ..report.clone() }, parts)
        };
        if head(self) != head(&other) {
            return Err("they are parts of different sweeps: the profile, scenario, seed, draws, \
                        values and number of parts must be the same"
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
}
