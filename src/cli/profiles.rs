//! Finding profiles, scenarios and the files that belong to them.

use super::{Failure, Predicting};
use crate::profile::Profile;
use crate::scenario::Workload;
use std::path::{Path, PathBuf};

/// A profile and where it came from.
pub(super) struct Found {
    pub profile: Profile,
    pub path: PathBuf,
}

impl Found {
    /// Where runs of a scenario on this machine are kept.
    pub fn runs_of(&self, workload: &Workload) -> PathBuf {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        folder.join("runs").join(format!("{}.json", workload.name))
    }

    /// Where the samples behind the profile are kept.
    pub fn samples(&self) -> PathBuf {
        self.path.with_file_name(SAMPLES)
    }
}

/// File name of a calibration's samples, beside its profile.
pub(super) const SAMPLES: &str = "samples.jsonl";

impl Predicting {
    /// The profile that was named, or the newest under `calibration/`.
    pub fn profile(&self) -> Result<Found, Failure> {
        let path = match &self.profile {
            Some(path) => path.clone(),
            None => newest(Path::new("calibration"))?,
        };
        let profile = Profile::load(&path).map_err(Failure::input)?;
        Ok(Found { profile, path })
    }

    pub fn workloads(&self) -> Result<Vec<Workload>, Failure> {
        self.scenarios.iter().map(|path| load(path)).collect()
    }
}

fn load(path: &Path) -> Result<Workload, Failure> {
    Workload::load(path).map_err(|error| Failure::Input(error.into()))
}

fn newest(folder: &Path) -> Result<PathBuf, Failure> {
    let none = || {
        Failure::Input(miette::miette!(
            help = "name one with --profile, run from hallway's folder, or run `hallway calibrate`",
            "there is no {}/*/profile.toml here",
            folder.display()
        ))
    };
    let entries = std::fs::read_dir(folder).map_err(|_| none())?;
    let paths = entries.flatten().map(|entry| entry.path().join("profile.toml"));
    let mut paths: Vec<PathBuf> = paths.filter(|path| path.is_file()).collect();
    paths.sort();
    let mut best = None;
    for path in paths {
        let time = Profile::load(&path).map_err(Failure::input)?.machine.unix_time;
        if best.as_ref().is_none_or(|&(newest, _)| time > newest) {
            best = Some((time, path));
        }
    }
    best.map(|(_, path)| path).ok_or_else(none)
}
