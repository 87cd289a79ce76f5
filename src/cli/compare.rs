//! `hallway compare`: two profiles, parameter by parameter.

use super::profiles::{deliver, in_folder};
use super::terminal::width;
use super::{Failure, Outcome};
use crate::compare::Agreement;
use crate::profile::{Intervals, Profile};
use crate::report;
use clap::Args;
use std::path::{Path, PathBuf};

/// The share of parameters that two calibrations of one machine in one sitting
/// find inside each other's 95% intervals.
const SAME: f64 = 0.95;

/// Parameters that are shown unless all are wanted.
const SHOWN: usize = 20;

#[derive(Debug, Args)]
pub(super) struct CompareArguments {
    /// Profile of an earlier calibration, or its folder
    before: PathBuf,
    /// Profile of a later one: if fewer than 95% of the parameters lie inside each
    /// other's 95% intervals, the exit code is 1
    now: PathBuf,
    /// Show every parameter that changed, not only those furthest outside
    #[arg(long)]
    all: bool,
}

pub(super) fn run(arguments: &CompareArguments) -> Result<Outcome, Failure> {
    let [before, now] =
        [&arguments.before, &arguments.now].map(|path| Profile::load(&in_folder(path)));
    let (before, now) = (before?, now?);
    let both = [intervals(&before, &arguments.before)?, intervals(&now, &arguments.now)?];
    let found = Agreement::of([&before, &now], both);
    let (most, width) = (if arguments.all { usize::MAX } else { SHOWN }, width(None, None));
    let mut text = report::agreement(&found, most, width);
    for difference in before.machine.differences(&now.machine) {
        text += &format!("Other than before: {difference}\n");
    }
    deliver(&report::folded(&text, width), None)?;
    let is_same = found.share().is_some_and(|share| share >= SAME);
    Ok(if is_same { Outcome::Done } else { Outcome::CheckFailed })
}

fn intervals<'p>(profile: &'p Profile, path: &Path) -> Result<&'p Intervals, Failure> {
    let missing = || {
        Failure::Input(miette::miette!(
            help = "`hallway calibrate` measures in two passes unless it is told --quick; what an \
                    older one measured twice, `hallway fit` finds intervals for",
            "{} has no intervals: they take what was measured in two passes",
            path.display()
        ))
    };
    profile.intervals.as_ref().ok_or_else(missing)
}
