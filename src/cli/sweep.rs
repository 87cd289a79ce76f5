//! `hallway evaluate --sweep`: the answer for many values of one number.

use super::profiles::{LoadedProfile, Predictor, deliver};
use super::progress::Progress;
use super::terminal::width;
use super::{Failure, Outcome, Predicting};
use crate::files;
use crate::report::{Parts, SweepReport, Sweeping, SweptPoint, Unit, json};
use crate::scenario::{Key, Measure, Source, Workload};
use crate::search::{Compared, Scale, Setting, Sweep, scaled, values_between};
use crate::study::Shard;
use crate::units::{Bytes, Span};
use clap::ValueEnum;
use std::collections::BTreeSet;
use std::path::Path;
use std::str::FromStr;

/// Points of a range whose number is not said.
const POINTS: usize = 20;
const MOST_POINTS: usize = 1_000;

/// Format of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum AnswerFormat {
    Table,
    Json,
    /// One line per value; only for sweeps
    Csv,
}

/// What to vary, and over which values, as it is written.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    key: String,
    values: Values,
}

#[derive(Debug, Clone)]
enum Values {
    Range { ends: [Written; 2], points: usize },
    List(Vec<Written>),
}

/// A value as it is written.
#[derive(Debug, Clone)]
struct Written {
    text: String,
    /// A number, bytes, or nanoseconds.
    value: f64,
    /// What its unit measures, if it has one.
    unit: Option<Measure>,
}

impl FromStr for Asked {
    type Err = String;

    /// Reads `elements=1e4..1e9`, `elements=1e4..1e9:30` and `batches=1,2,4`.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            "write a key and its values, such as `elements=1e4..1e9`, `elements=1e4..1e9:30` or \
             `batches=1,2,4`"
                .to_owned()
        };
        let (key, values) = text.split_once('=').ok_or_else(wrong)?;
        let values = if let Some((from, rest)) = values.split_once("..") {
            let (to, points) = rest.split_once(':').unwrap_or((rest, ""));
            let points = match points {
                "" => POINTS,
                points => points.trim().parse().map_err(|_| wrong())?,
            };
            if !(2..=MOST_POINTS).contains(&points) {
                return Err(format!("a range can have 2 to {MOST_POINTS} points"));
            }
            let ends: [Written; 2] = [from.parse()?, to.parse()?];
            if ends[0].value >= ends[1].value {
                return Err(format!("`{values}` must go from a smaller to a larger value"));
            }
            Values::Range { ends, points }
        } else {
            let list = values.split(',').map(str::parse);
            let mut list = list.collect::<Result<Vec<Written>, _>>()?;
            list.sort_by(|one, other| one.value.total_cmp(&other.value));
            list.dedup_by_key(|one| one.value);
            if list.len() > MOST_POINTS {
                return Err(format!("a list can have at most {MOST_POINTS} values"));
            }
            Values::List(list)
        };
        Ok(Self { key: key.trim().to_owned(), values })
    }
}

impl FromStr for Written {
    type Err = String;

    /// Reads a number, bytes with their unit, or a time with its own.
    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let number = text.replace('_', "").parse().ok().map(|number| (number, None));
        let bytes = || Some((text.parse::<Bytes>().ok()?.as_f64(), Some(Measure::Bytes)));
        let time = || Some((Span::nanos_in(text).ok()?, Some(Measure::Time)));
        let found = number.or_else(bytes).or_else(time);
        let found = found.filter(|(value, _)| value.is_finite() && *value > 0.0);
        let (value, unit) = found.ok_or_else(|| format!("`{text}` is not a positive number"))?;
        Ok(Self { text: text.to_owned(), value, unit })
    }
}

impl Written {
    /// The value of a key that measures bytes or a time, or else counts.
    fn as_measured(&self, key: &str, measure: Option<Measure>) -> Result<f64, Failure> {
        if self.unit.is_none() || self.unit == measure {
            return Ok(self.value);
        }
        let (wants, has, help) = match measure {
            Some(Measure::Bytes) => {
                ("is in bytes", "is a time", "give a number of bytes, such as `64 KiB`")
            }
            Some(Measure::Time) => ("is a time", "is in bytes", "write a time, such as `10 us`"),
            _ => ("has no unit", "has one", "write a number without a unit"),
        };
        Err(Failure::refused(format!("`{key}` {wants}, but `{}` {has}", self.text), help))
    }
}

/// A scenario whose sweep has been checked.
pub(super) struct Subject {
    source: Source,
    workload: Workload,
    /// What is varied; `None` for all buffers together, by the elements of the largest.
    key: Option<Key>,
    values: Vec<f64>,
}

/// The key that stands for the elements of all buffers.
const ELEMENTS: &str = "elements";

impl Subject {
    /// Reads a scenario, and checks that it has every value.
    pub fn new(source: Source, workload: Workload, asked: &Asked) -> Result<Self, Failure> {
        let key = match asked.key.as_str() {
            ELEMENTS => None,
            key => Some(found(&source, &workload, key)?),
        };
        let mut subject = Self { source, workload, key, values: Vec::new() };
        let measure = subject.key.as_ref().map(|key| key.measure);
        let value = |written: &Written| written.as_measured(&asked.key, measure);
        subject.values = match &asked.values {
            Values::Range { ends: [from, to], points } => {
                values_between(value(from)?, value(to)?, *points, subject.is_whole())
            }
            Values::List(list) => list.iter().map(value).collect::<Result<_, _>>()?,
        };
        for &value in &subject.values {
            subject.workload_at(value)?;
        }
        Ok(subject)
    }

    fn is_whole(&self) -> bool {
        self.key.as_ref().is_none_or(Key::is_whole)
    }

    fn workload_at(&self, value: f64) -> Result<Workload, Failure> {
        if let Some(key) = &self.key {
            let workload = self.source.with_value(key, value);
            return workload.map_err(|error| Failure::input(error.into()));
        }
        let name = &self.workload.name;
        if value.fract() != 0.0 {
            let what = format!("`{name}` cannot have {value} elements");
            return Err(Failure::refused(what, "use a whole number of elements"));
        }
        scaled(&self.workload, value as u64).ok_or_else(|| match scaled(&self.workload, 1) {
            Some(_) => Failure::refused(
                format!(
                    "with {value} elements, all batches of all buffers of `{name}` need more \
                     memory than any machine has"
                ),
                "use fewer elements",
            ),
            None => Failure::refused(
                format!(
                    "the buffers of `{name}` cannot be scaled together: the scenario has no tasks, \
                     a task iterates over a buffer of fixed size, or one of your own kernels \
                     cannot be split"
                ),
                "sweep the `elements` of a single buffer (give its path), or sweep another number",
            ),
        })
    }

    /// Predicts the values of a part, or all.
    pub fn sweep(&self, predictor: Predictor<'_>, shard: Option<Shard>) -> Sweeping {
        let Predictor { found, draws, progress } = predictor;
        let workload_at = |value: f64| self.workload_at(value).ok();
        let key = self.key.as_ref().map_or(ELEMENTS.to_owned(), Key::to_string);
        let of_programs = key == "runs";
        let sweep = Sweep {
            workload: &workload_at,
            values: self.values.clone(),
            here: None,
            scale: Scale { is_whole: self.is_whole(), is_coarse: false },
            compared: if of_programs { Compared::Programs } else { Compared::Runs },
            profile: &found.profile,
            draws,
            done: &crate::simulate::Tally::default(),
        };
        let all = self.values.len();
        let own = shard.map_or(0..all, |shard| shard.range(all));
        let name = &self.workload.name;
        progress.begin(name, own.len() as u64 + 1);
        let (points, turns) = sweep.run(own, &|| progress.tally().add(1));
        let points = points.iter().map(SweptPoint::new).collect();
        let largest = self.workload.largest_scaled();
        let (unit, counted, here, row) = match &self.key {
            None => (
                Unit::Number,
                largest.map(|buffer| format!("elements of `{}`", buffer.name)),
                largest.map(|buffer| buffer.elements as f64),
                Some(self.workload.grain()).filter(|grain| *grain > 1),
            ),
            Some(key) => {
                let unit = match key.measure {
                    Measure::Bytes => Unit::Bytes,
                    Measure::Time => Unit::Nanoseconds,
                    Measure::Whole | Measure::Real | Measure::List => Unit::Number,
                };
                let is_counted = key.is_whole() && unit == Unit::Number;
                let counted = Some(key.name().replace('_', " "));
                let counted = counted.filter(|name| is_counted && name.ends_with('s'));
                (unit, counted, self.here(key), None)
            }
        };
        let sweeping = Sweeping {
            scenario: name.clone(),
            question: self.workload.question.clone(),
            scenario_digest: self.source.digest(),
            key,
            unit,
            counted,
            row,
            here: here.map(Setting),
            of_programs,
            values: self.values.iter().copied().map(Setting).collect(),
            points,
            turns,
            gpu_wins: Vec::new(),
        };
        sweeping.concluded()
    }

    /// The scenario's own value.
    fn here(&self, key: &Key) -> Option<f64> {
        match key.to_string().as_str() {
            "batches" => Some(self.workload.batches as f64),
            "runs" => Some(self.workload.runs as f64),
            _ => key.here,
        }
    }
}

/// The number of a scenario with this path, or with this last part of one if only one has it.
fn found(source: &Source, workload: &Workload, asked: &str) -> Result<Key, Failure> {
    let keys = source.keys();
    let called: Vec<&Key> = keys.iter().filter(|key| key.is_called(asked)).collect();
    let exact = keys.iter().find(|key| key.to_string() == asked);
    let found = exact.or(if let [only] = called[..] { Some(only) } else { None });
    found.cloned().ok_or_else(|| {
        let name = &workload.name;
        if called.is_empty() {
            let all = std::iter::once(ELEMENTS.to_owned()).chain(keys.iter().map(Key::to_string));
            return Failure::refused(
                format!("the scenario `{name}` has no number `{asked}` to sweep"),
                format!("available numbers: {}", files::in_backquotes(all)),
            );
        }
        let called = files::in_backquotes(called);
        Failure::refused(
            format!("`{asked}` is ambiguous in the scenario `{name}`: it matches {called}"),
            "give more of its path",
        )
    })
}

/// Sweeps all scenarios.
pub(super) fn sweep(
    predicting: &Predicting,
    found: &LoadedProfile,
    asked: &Asked,
    shard: Option<Shard>,
) -> Result<SweepReport, Failure> {
    let sources = predicting.sources()?.into_iter();
    let subjects = sources.map(|(source, workload)| Subject::new(source, workload, asked));
    let subjects = subjects.collect::<Result<Vec<_>, _>>()?;
    let progress = Progress::over_stages(subjects.len());
    let predictor = predicting.predictor(found, &progress);
    let sweeps = subjects.iter().map(|one| one.sweep(predictor, shard)).collect();
    let parts =
        shard.map(|shard| Parts { numbers: BTreeSet::from([shard.number()]), of: shard.parts() });
    let profile = serde_json::to_value(&found.profile).expect("a profile is plain data");
    Ok(SweepReport {
        profile: found.origin(),
        profile_digest: files::digest(profile.to_string().as_bytes()),
        seed: predicting.seed,
        draws: predicting.draws.into(),
        trials: found.profile.trials(),
        parts,
        sweeps,
    })
}

/// Delivers a sweep in the format that was asked for.
pub(super) fn show(
    report: &SweepReport,
    format: AnswerFormat,
    columns: Option<u16>,
    output: Option<&Path>,
) -> Result<Outcome, Failure> {
    let text = match format {
        AnswerFormat::Table => report.text_within(width(columns, output)),
        AnswerFormat::Json => json(report),
        AnswerFormat::Csv => report.csv(),
    };
    deliver(&text, output)?;
    Ok(Outcome::unless_unanswered(report.unanswered(), " at any value"))
}
