//! Machines side by side.

use super::EvaluateArguments;
use crate::cli::outputs::check_outputs;
use crate::cli::profiles::{LoadedProfile, check_runs_count, deliver};
use crate::cli::progress::Progress;
use crate::cli::sweep::AnswerFormat;
use crate::cli::terminal::width;
use crate::cli::{Failure, Outcome};
use crate::findings::{InBrief, titled};
use crate::report::{Machine, Machines, SideBySide, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::str::FromStr;

/// What an hour on a machine costs.
#[derive(Debug, Clone)]
pub(super) struct Price {
    machine: String,
    per_hour: f64,
}

impl FromStr for Price {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = || {
            let (machine, price) = text.rsplit_once('=')?;
            let per_hour = price.trim().parse::<f64>().ok()?;
            let is_price = (0.0..1e9).contains(&per_hour) && !machine.trim().is_empty();
            is_price.then(|| Self { machine: machine.trim().to_owned(), per_hour })
        };
        parsed().ok_or_else(|| "write a machine and its price per hour, such as `h200=2.50`".into())
    }
}

/// Asks every machine.
pub(super) fn run(arguments: &EvaluateArguments) -> Result<Outcome, Failure> {
    refuse_the_rest(arguments)?;
    let predicting = &arguments.predicting;
    let found = predicting.profiles()?;
    let workloads = predicting.contests()?;
    let output = arguments.output.as_deref();
    check_outputs(predicting.inputs(&found, &workloads), output)?;
    let machines = machines(&found, &arguments.price)?;
    let progress = Progress::over_stages(workloads.len() * found.len());
    let side_by_side = |workload: &crate::scenario::Workload| {
        let runs = arguments.runs.unwrap_or(workload.runs);
        let answers = found.iter().map(|machine| {
            let ranking = predicting.predictor(machine, &progress).ranking(workload);
            check_runs_count(workload, &ranking, runs).map(|()| InBrief::of(&ranking, runs))
        });
        let title = titled(&workload.name, workload.part.as_deref());
        let of = (title.as_str(), workload.question.as_str());
        Ok::<_, Failure>(SideBySide::new(of, runs, &machines, answers.collect::<Result<_, _>>()?))
    };
    let scenarios = workloads.iter().map(side_by_side).collect::<Result<_, _>>()?;
    drop(progress);
    let (seed, draws) = (predicting.seed, predicting.draws.into());
    let report = Machines { machines, seed, draws, scenarios };
    let text = match arguments.format {
        AnswerFormat::Table => report.text_within(width(arguments.width, output)),
        AnswerFormat::Json | AnswerFormat::Csv => json(&report),
    };
    deliver(&text, output)?;
    let mut has_answers = true;
    for (scenario, machine) in report.unanswered() {
        eprintln!("{scenario}: no plan could be predicted on `{machine}`");
        has_answers = false;
    }
    Ok(if has_answers { Outcome::Done } else { Outcome::NoAnswer })
}

/// Options that are about one machine.
fn refuse_the_rest(arguments: &EvaluateArguments) -> Result<(), Failure> {
    let given = [
        ("--what-if", !arguments.what_if.is_empty()),
        ("--baseline", arguments.baseline.is_some()),
        ("--trace", arguments.trace.is_some()),
        ("--all", arguments.all),
        ("--within", arguments.within.is_some()),
    ];
    match given.into_iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) => Err(Failure::refused(
            format!("{option} works with a single machine, not when comparing machines"),
            "pass a single profile and no --price, or drop the option",
        )),
        None => Ok(()),
    }
}

fn machines(found: &[LoadedProfile], prices: &[Price]) -> Result<Vec<Machine>, Failure> {
    let mut places: BTreeMap<String, &Path> = BTreeMap::new();
    for one in found {
        if let Some(other) = places.insert(name(&one.path), &one.path) {
            let (name, one, other) = (name(&one.path), one.path.display(), other.display());
            return Err(Failure::refused(
                format!("two machines are named `{name}`: {other} and {one}"),
                "give each profile a folder with a distinct name",
            ));
        }
    }
    for (place, Price { machine, .. }) in prices.iter().enumerate() {
        if prices[..place].iter().any(|before| before.machine == *machine) {
            let what = format!("--price: `{machine}` has two prices");
            return Err(Failure::refused(what, "give each machine one price"));
        }
        if !found.iter().any(|one| is_it(machine, one)) {
            let names = crate::files::in_backquotes(places.keys());
            return Err(Failure::refused(
                format!("--price: no machine is named `{machine}`; the machines are {names}"),
                "name a machine by its profile's folder or by its GPU",
            ));
        }
    }
    let machine = |one: &LoadedProfile| {
        let price = prices.iter().rev().find(|price| is_it(&price.machine, one));
        Machine {
            name: name(&one.path),
            profile: one.origin(),
            price_per_hour: price.map(|price| price.per_hour),
        }
    };
    Ok(found.iter().map(machine).collect())
}

/// What a machine is called: after the folder of its profile, or after a file that is not named as
/// a calibration names it.
fn name(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default();
    let folder = path.parent().and_then(Path::file_name);
    let name = folder.filter(|_| stem == "profile").unwrap_or(stem);
    name.to_string_lossy().into_owned()
}

fn is_it(machine: &str, one: &LoadedProfile) -> bool {
    machine == name(&one.path) || machine == one.profile.machine.gpu
}
