//! `hallway ledger`: what each rule of the simulator and each filter of the fit is worth on
//! recorded runs.

use super::outputs::check_outputs;
use super::profiles::{
    CALIBRATIONS, LoadedProfile, RANDOM_RUNS, deliver, in_folder, load, runs_in,
};
use super::progress::Progress;
use super::terminal::width;
use super::{Failure, Outcome, filter, rule};
use crate::compare::{ErrorFigures, Ledger, LedgerMachine, Score, Worth};
use crate::fit::Filter;
use crate::profile::{Profile, Rule};
use crate::report::json;
use crate::samples::Samples;
use crate::search::candidates;
use crate::simulate::{DRAWS, Draws, Tally};
use crate::study::{Calibration, RecordedRuns, refitted};
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};

/// Shown below the arguments.
const NAMES: &str = "docs/simulator.md describes each rule and each filter under its name.";

#[derive(Debug, Args)]
#[command(after_help = NAMES)]
pub(super) struct LedgerArguments {
    /// Profiles, or their folders, with runs of `hallway verify --random` [default: those in
    /// calibration/]
    profiles: Vec<PathBuf>,
    /// Score this rule of the simulator; repeatable. If rules or filters are named, only these are
    /// scored [default: all]
    #[arg(long, value_name = "RULE", value_parser = rule)]
    rule: Vec<Rule>,
    /// Score this filter of the fit; repeatable. Profiles are fitted to the samples next to them,
    /// with the filter and without it
    #[arg(long, value_name = "FILTER", value_parser = filter)]
    filter: Vec<Filter>,
    /// Seed for the simulated draws that the predicted ranges are computed from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[arg(long, value_enum, default_value = "table")]
    format: LedgerFormat,
    /// Write to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Format of the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LedgerFormat {
    Table,
    Markdown,
    Json,
}

/// A machine with its recorded runs.
struct Recorded {
    name: String,
    found: LoadedProfile,
    samples: Option<Samples>,
    runs: Vec<RecordedRuns>,
}

pub(super) fn run(arguments: &LedgerArguments) -> Result<Outcome, Failure> {
    let machines = machines(&arguments.profiles)?;
    let output = arguments.output.as_deref();
    let profiles = machines.iter().map(|machine| machine.found.path.as_path());
    check_outputs(profiles, output)?;
    let is_whole = arguments.rule.is_empty() && arguments.filter.is_empty();
    let is_rule_asked = |rule: &Rule| is_whole || arguments.rule.contains(rule);
    let rules: Vec<Rule> = Rule::ALL.into_iter().filter(is_rule_asked).collect();
    let is_filter_asked = |filter: &Filter| is_whole || arguments.filter.contains(filter);
    let filters: Vec<Filter> = Filter::ALL.into_iter().filter(is_filter_asked).collect();
    for machine in machines.iter().filter(|_| !filters.is_empty()) {
        if let Some(why) = machine.cannot_be_refitted() {
            eprintln!("skipped for filters: {}: {why}", machine.name);
        }
    }
    let draws = Draws::new(DRAWS, arguments.seed);
    let effort = machines.iter().flat_map(|machine| &machine.runs).map(|runs| runs.effort(draws));
    let effort: u64 = effort.sum();
    let progress =
        Progress::over_stages(rules.len() + filters.len() + 1 + usize::from(!filters.is_empty()));
    let scores = |words: &str, of: &dyn Fn(&Recorded) -> Option<Profile>| -> Vec<Vec<Score>> {
        progress.begin(words, effort);
        machines.iter().map(|machine| machine.scores(of, draws, progress.tally())).collect()
    };
    let with = scores("with all rules", &|machine| Some(machine.found.profile.clone()));
    let of_rule = |&rule: &Rule| {
        let without = scores(rule.name(), &|machine| Some(machine.found.profile.without(rule)));
        Worth::new(rule.name(), &with, &without)
    };
    let rules = rules.iter().map(of_rule).collect();
    // A profile may have been fitted by another version.
    let refitted = match filters.is_empty() {
        true => Vec::new(),
        false => scores("with all filters", &|machine| machine.refitted(&[])),
    };
    let of_filter = |&filter: &Filter| {
        let without = scores(filter.name(), &|machine| machine.refitted(&[filter]));
        Worth::new(filter.name(), &refitted, &without)
    };
    let filters = filters.iter().map(of_filter).collect();
    drop(progress);
    let ledger = Ledger { machines: named(&machines, &with), rules, filters };
    let text = match arguments.format {
        LedgerFormat::Table => ledger.text(width(None, output)),
        LedgerFormat::Markdown => ledger.markdown(),
        LedgerFormat::Json => json(&ledger),
    };
    deliver(&text, output).map(|()| Outcome::Done)
}

impl Recorded {
    /// A machine with the random plans that were run on it: those that its calibration tried, and
    /// those of `verify --random`. There may be none.
    fn load(path: &Path) -> Result<Self, Failure> {
        let path = in_folder(path);
        let found = LoadedProfile { profile: Profile::load(&path)?, path, has_other_gpu: false };
        let samples = match found.samples().exists() {
            true => Some(found.own_samples()?),
            false => None,
        };
        let mut runs = samples.as_ref().map(RecordedRuns::of_trials).unwrap_or_default();
        for folder in random_runs(&found.path) {
            let scenarios = sorted(&folder).into_iter().filter(|path| is_scenario(path));
            // A session that was stopped has scenarios without runs.
            for text in scenarios.filter(|path| path.with_extension("json").exists()) {
                let kept = load(&text).and_then(|workload| {
                    let kept = found.saved_runs_at(&workload, &runs_in(&folder, &workload))?;
                    Ok(RecordedRuns::new(workload.clone(), candidates(&workload), kept))
                });
                match kept {
                    Ok(kept) => runs.push(kept),
                    Err(why) => eprintln!("skipped: {}: {}", text.display(), why.report),
                }
            }
        }
        runs.retain(|runs| runs.plans() > 0);
        let folder = found.path.parent().and_then(Path::file_name);
        let name = folder.unwrap_or(found.path.as_os_str()).to_string_lossy().into_owned();
        Ok(Self { name, found, samples, runs })
    }

    /// Why the profile cannot be fitted anew, if it cannot.
    fn cannot_be_refitted(&self) -> Option<&'static str> {
        match self.samples {
            None => Some("no samples next to the profile"),
            _ if !self.found.profile.borrowed.is_empty() => Some("the profile borrows costs"),
            Some(_) => None,
        }
    }

    /// The profile, fitted anew without some filters.
    fn refitted(&self, off: &[Filter]) -> Option<Profile> {
        let samples = self.samples.as_ref().filter(|_| self.cannot_be_refitted().is_none());
        refitted(&self.found.profile, samples?, off).ok()
    }

    /// The scores of all runs, predicted with a profile. There are none without one.
    fn scores(
        &self,
        of: &dyn Fn(&Self) -> Option<Profile>,
        draws: Draws,
        done: &Tally,
    ) -> Vec<Score> {
        let Some(profile) = of(self) else { return Vec::new() };
        self.runs.iter().map(|runs| runs.scored(&profile, draws, done)).collect()
    }
}

/// The machines that were named, or those whose folders are found.
fn machines(named: &[PathBuf]) -> Result<Vec<Recorded>, Failure> {
    const HOW: &str = "run `hallway verify --random PLANS` on the profile's machine";
    let paths = if named.is_empty() { profiles(Path::new(CALIBRATIONS)) } else { named.to_vec() };
    let mut all: Vec<Recorded> =
        paths.iter().map(|path| Recorded::load(path)).collect::<Result<_, _>>()?;
    let none = |one: &&Recorded| one.runs.is_empty();
    if let Some(none) = all.iter().find(none).filter(|_| !named.is_empty()) {
        let what = format!("no runs of random plans next to {}", none.found.path.display());
        return Err(Failure::refused(what, HOW));
    }
    all.retain(|machine| !machine.runs.is_empty());
    if all.is_empty() {
        let what = format!("no profile in {CALIBRATIONS}/ has runs of random plans next to it");
        return Err(Failure::refused(what, HOW));
    }
    Ok(all)
}

fn named(machines: &[Recorded], scores: &[Vec<Score>]) -> Vec<LedgerMachine> {
    let of = |(machine, scores): (&Recorded, &Vec<Score>)| {
        let errors = ErrorFigures::of(scores.iter().flat_map(|score| &score.cells))?;
        Some(LedgerMachine { name: machine.name.clone(), errors })
    };
    machines.iter().zip(scores).filter_map(of).collect()
}

/// Profiles in a folder and in its folders.
fn profiles(folder: &Path) -> Vec<PathBuf> {
    let profile = folder.join(Calibration::PROFILE);
    let own = profile.is_file().then_some(profile);
    let is_folder = |path: &PathBuf| path.is_dir() && !path.ends_with("runs");
    let below = sorted(folder).into_iter().filter(is_folder);
    own.into_iter().chain(below.flat_map(|folder| profiles(&folder))).collect()
}

/// The folders with runs of random workloads next to a profile.
fn random_runs(profile: &Path) -> Vec<PathBuf> {
    let is_random = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        path.is_dir() && name.is_some_and(|name| name.starts_with(RANDOM_RUNS))
    };
    sorted(&profile.with_file_name("runs")).into_iter().filter(is_random).collect()
}

fn is_scenario(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "toml")
}

/// What a folder holds; nothing if it cannot be read.
fn sorted(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}
