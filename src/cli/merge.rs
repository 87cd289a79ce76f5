//! `hallway merge`: runs of several processes in one folder, or a sweep in one file.

use super::outputs::check_outputs;
use super::sweep::{AnswerFormat, show};
use super::{Failure, Outcome, print};
use crate::files;
use crate::report::{Parts, SweepReport, Sweeping};
use crate::runs::RunSet;
use crate::study::Shard;
use clap::{Args, ValueHint};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub(super) struct MergeArguments {
    /// Folders of runs written by `verify --shard`, such as runs/shard-3-of-16, or JSON files
    /// written by `evaluate --sweep --shard`
    #[arg(required = true, value_name = "PART", value_hint = ValueHint::AnyPath)]
    parts: Vec<PathBuf>,
    /// Where to write the result. For a sweep: a file. For runs: a folder, which gets one file per
    /// scenario; `verify --recorded` reads them from the folder `runs` next to the profile
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    output: PathBuf,
    /// Format of a merged sweep
    #[arg(long, value_enum, default_value = "json")]
    format: AnswerFormat,
}

pub(super) fn run(arguments: &MergeArguments) -> Result<Outcome, Failure> {
    let refused =
        |what: String| Err(Failure::refused(what, "pass folders of runs, or files of a sweep"));
    if let Some(missing) = arguments.parts.iter().find(|path| !path.exists()) {
        return refused(format!("{} does not exist", missing.display()));
    }
    let of_sweeps = arguments.parts.iter().filter(|path| path.is_file()).count();
    if of_sweeps == arguments.parts.len() {
        return merge_sweeps(arguments);
    }
    if of_sweeps > 0 {
        return refused("some parts are files and some are folders".to_owned());
    }
    merge_runs(arguments)
}

/// Puts the parts of a sweep together.
fn merge_sweeps(arguments: &MergeArguments) -> Result<Outcome, Failure> {
    let MergeArguments { parts, output, format } = arguments;
    let refused = |path: &Path, why: String, help: &str| {
        Failure::refused(format!("{}: {why}", path.display()), help)
    };
    check_outputs(parts.iter().map(PathBuf::as_path), [output.as_path()])?;
    let mut merged: Option<SweepReport> = None;
    for path in parts {
        let help = "pass files written by `evaluate --sweep --shard --format json`";
        let text = files::read(path, LARGEST);
        let text = text.map_err(|error| refused(path, error.to_string(), help))?;
        let part = SweepReport::read(&text).map_err(|why| refused(path, why, help))?;
        if let Some(Parts { numbers, of }) = &part.parts
            && (numbers.is_empty() || numbers.iter().any(|&one| Shard::new(one, *of).is_none()))
        {
            let why = format!("`parts` contains numbers that are not valid for {of} parts");
            return Err(refused(path, why, help));
        }
        if let Some(other) = other_points(&part) {
            let why =
                format!("the points of `{other}` are not those that this part should contain");
            return Err(refused(path, why, help));
        }
        match &mut merged {
            None => merged = Some(part),
            Some(before) => before.merge(part).map_err(|why| {
                refused(path, why, "pass each part once, and only parts of the same sweep")
            })?,
        }
    }
    let whole = merged.map_or(Err(Vec::new()), SweepReport::whole).map_err(|missing| {
        let numbers: Vec<String> = missing.iter().map(usize::to_string).collect();
        let why = format!("missing parts: {}", numbers.join(", "));
        refused(&parts[0], why, "pass the files of all parts")
    })?;
    show(&whole, *format, None, Some(output))
}

/// A scenario whose points are not one for each value of the part, in order.
fn other_points(part: &SweepReport) -> Option<&str> {
    let parts = part.parts.as_ref()?;
    let shards: Vec<Shard> =
        parts.numbers.iter().filter_map(|&number| Shard::new(number, parts.of)).collect();
    let is_other = |sweep: &&Sweeping| {
        let ranges = shards.iter().map(|shard| shard.range(sweep.values.len()));
        let wanted = ranges.flat_map(|range| &sweep.values[range]);
        !wanted.eq(sweep.points.iter().map(|point| &point.value))
    };
    part.sweeps.iter().find(is_other).map(|sweep| sweep.scenario.as_str())
}

/// The largest file of a part: room for a thousand values of a thousand scenarios.
const LARGEST: u64 = 1 << 30;

/// Puts runs into one folder.
fn merge_runs(arguments: &MergeArguments) -> Result<Outcome, Failure> {
    let mut read = Vec::new();
    let mut merged: BTreeMap<String, (RunSet, PathBuf)> = BTreeMap::new();
    for path in arguments.parts.iter().map(|folder| runs_in(folder)) {
        for path in path? {
            let set = RunSet::load(&path)?;
            read.push(path.clone());
            match merged.get_mut(&set.scenario) {
                None => {
                    merged.insert(set.scenario.clone(), (set, path));
                }
                Some((before, first)) => before.merge(set).map_err(|why| {
                    let (one, other) = (first.display(), path.display());
                    Failure::refused(
                        format!("{one} and {other} cannot be merged: {why}"),
                        "pass each part once, and only parts of the same `verify`",
                    )
                })?,
            }
        }
    }
    let target = |scenario: &String| arguments.output.join(format!("{scenario}.json"));
    let targets: Vec<PathBuf> = merged.keys().map(target).collect();
    check_outputs(read.iter().map(PathBuf::as_path), targets.iter().map(PathBuf::as_path))?;
    let mut said = String::new();
    for ((mut set, _), target) in merged.into_values().zip(&targets) {
        set.sort();
        set.save(target)?;
        let _ = writeln!(said, "{}: runs of {} plans", target.display(), set.runs.len());
    }
    print(&said)
}

/// The files of runs in a folder. None may be growing still.
fn runs_in(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let refused =
        |why: String, help: &str| Failure::refused(format!("{}: {why}", folder.display()), help);
    let entries = std::fs::read_dir(folder)
        .map_err(|error| refused(error.to_string(), "pass folders of runs"))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    if let Some(partial) = paths.iter().find(|path| files::is_partial(path)) {
        let why = format!("{} is incomplete", partial.display());
        return Err(refused(why, "finish this part first with `hallway verify --resume`"));
    }
    if paths.is_empty() {
        return Err(refused("contains no runs".to_owned(), "pass folders of runs"));
    }
    Ok(paths)
}
