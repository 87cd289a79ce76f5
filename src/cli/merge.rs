//! `hallway merge`: runs of several processes in one folder.

use super::outputs::check_outputs;
use super::profiles::deliver;
use super::{Failure, Outcome};
use crate::files;
use crate::runs::RunSet;
use clap::{Args, ValueHint};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub(super) struct MergeArguments {
    /// Folders of runs, as `verify --shard` writes them, such as runs/shard-3-of-16
    #[arg(required = true, value_name = "RUNS", value_hint = ValueHint::DirPath)]
    folders: Vec<PathBuf>,
    /// Folder for all runs, a file for each scenario: for `verify --recorded`, the folder `runs`
    /// beside the profile
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    output: PathBuf,
}

pub(super) fn run(arguments: &MergeArguments) -> Result<Outcome, Failure> {
    let mut read = Vec::new();
    let mut merged: BTreeMap<String, (RunSet, PathBuf)> = BTreeMap::new();
    for path in arguments.folders.iter().map(|folder| runs_in(folder)) {
        for path in path? {
            let set = RunSet::load(&path)?;
            read.push(path.clone());
            match merged.get_mut(&set.scenario) {
                None => {
                    merged.insert(set.scenario.clone(), (set, path));
                }
                Some((before, first)) => before.merge(set).map_err(|why| {
                    Failure::Input(miette::miette!(
                        help = "name every part once, and only parts of one `verify`",
                        "{} and {} cannot be merged: {why}",
                        first.display(),
                        path.display()
                    ))
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
    deliver(&said, None)?;
    Ok(Outcome::Done)
}

/// The files of runs in a folder. None may be growing still.
fn runs_in(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let refused = |why: String, help: &str| {
        Failure::Input(miette::miette!(help = help.to_owned(), "{}: {why}", folder.display()))
    };
    let entries = std::fs::read_dir(folder)
        .map_err(|error| refused(error.to_string(), "name folders of runs"))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    if let Some(partial) = paths.iter().find(|path| files::is_partial(path)) {
        let why = format!("{} is not complete", partial.display());
        return Err(refused(why, "let `hallway verify --resume` go on with this part first"));
    }
    if paths.is_empty() {
        return Err(refused("there are no runs".to_owned(), "name folders of runs"));
    }
    Ok(paths)
}
