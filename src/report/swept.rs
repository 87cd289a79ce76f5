//! What a sweep found: the answer at each value of a number, and where it turns.

use super::Origin;
use super::answer::Answer;
use super::in_brief::InBrief;
use super::lanes::{Bottleneck, bottleneck};
use crate::families::Strategy;
use crate::search::{Setting, Swept, Turn, Wins, wins_of};
use crate::units::Span;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Everything that is said about sweeps on one machine: of one number, in each of some scenarios.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct SweepReport {
    /// The profile that predictions are made from.
    pub profile: Origin,
    /// Digest of the profile.
    pub profile_digest: String,
    /// Seed of the draws behind every range.
    pub seed: u64,
    /// Number of draws behind every range.
    pub draws: usize,
    /// Trials that decided how wide ranges are.
    pub trials: usize,
    /// Which of the values are here, where several processes share them. `null`: all.
    pub parts: Option<Parts>,
    /// One for each scenario, in the order in which they were named.
    pub sweeps: Vec<Sweeping>,
}

/// Some of several parts of a sweep.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Parts {
    /// Their numbers, counted from 1.
    pub numbers: BTreeSet<usize>,
    /// How many there are in all.
    pub of: usize,
}

/// What a number counts, and so how it is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Things that are counted, or a plain number.
    Number,
    Bytes,
    Nanoseconds,
}

/// The sweep of one scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Sweeping {
    /// Its name.
    pub scenario: String,
    /// What it asks.
    pub question: String,
    /// Digest of the scenario's file.
    pub scenario_digest: String,
    /// The number that is varied.
    pub key: String,
    /// What its values are.
    pub unit: Unit,
    /// What is counted, such as ``elements of `x` ``. `null`: the key says it.
    pub counted: Option<String>,
    /// How many elements make a row, where tasks take whole rows and elements are varied.
    pub row: Option<u64>,
    /// The scenario's own value, if it has one.
    pub here: Option<Setting>,
    /// Whether times are of whole programs, with first use and set-up, rather than of one pass.
    pub of_programs: bool,
    /// All values, also those of other parts.
    pub values: Vec<Setting>,
    /// What is said at each value.
    pub points: Vec<SweptPoint>,
    /// The changes of the winner between two values.
    pub turns: Vec<Turn>,
    /// Where the GPU wins. Empty if it does so at no value that was tried.
    pub gpu_wins: Vec<Wins>,
}

/// The answer at one value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct SweptPoint {
    /// The value.
    pub value: Setting,
    #[serde(flatten)]
    pub brief: InBrief,
    /// The plan to choose on the CPU.
    pub cpu: Option<SideTime>,
    /// The plan to choose that is not the CPU's alone.
    pub gpu: Option<SideTime>,
    /// Why nothing can be predicted of a side, or of both, where it cannot.
    pub unknown: Option<String>,
}

/// A plan of one side with the time that is compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct SideTime {
    /// Name of the plan.
    pub plan: String,
    /// Its time.
    pub predicted_ns: Span,
    /// Lower end of the range that holds the true time nine times out of ten.
    pub low_ns: Span,
    /// Upper end of that range.
    pub high_ns: Span,
    /// What bounds it in a pass.
    pub bottleneck: Bottleneck,
}

impl SweptPoint {
    /// What was found at a value.
    pub fn new(swept: &Swept) -> Self {
        let ranking = &swept.ranking;
        let side = |on_cpu| {
            let best = swept.best(on_cpu)?;
            let [predicted_ns, low_ns, high_ns] = swept.time(best)?;
            let bottleneck = bottleneck(&best.plan.program, &best.forecast.timeline);
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
        if of_programs { self.brief.answer } else { self.brief.pass_answer }
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
    /// Reads what [`SweepReport::json`] wrote.
    ///
    /// # Errors
    /// If it is something else, with the reason in words.
    pub fn read(text: &str) -> Result<Self, String> {
        super::read_json(text, "a sweep")
    }

    /// The JSON form, with a newline at its end.
    pub fn json(&self) -> String {
        super::json(self)
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
