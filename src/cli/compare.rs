//! `hallway compare`: compare two profiles, parameter by parameter.

use super::profiles::{deliver, in_folder};
use super::terminal::width;
use super::{Failure, Outcome};
use crate::compare::Agreement;
use crate::profile::{Intervals, Profile};
use crate::report;
use clap::Args;
use std::path::{Path, PathBuf};

/// Two calibrations of one machine in one sitting find this share of parameters inside each
/// other's 95% intervals.
const SAME: f64 = 0.95;

/// Number of parameters shown without `--all`.
const SHOWN: usize = 20;

/// Shown below the arguments.
const CODES: &str =
    "Exits with 1 if fewer than 95% of the parameters agree within their 95% intervals.";

#[derive(Debug, Args)]
#[command(after_help = CODES)]
pub(super) struct CompareArguments {
    /// Earlier profile, or its folder
    before: PathBuf,
    /// Later profile, or its folder
    now: PathBuf,
    /// Show every parameter that changed, not just those furthest outside their intervals
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
        text += &format!("Changed since the first calibration: {difference}\n");
    }
    deliver(&report::folded(&text, width), None)?;
    let is_same = found.share().is_some_and(|share| share >= SAME);
    Ok(if is_same { Outcome::Done } else { Outcome::CheckFailed })
}

fn intervals<'p>(profile: &'p Profile, path: &Path) -> Result<&'p Intervals, Failure> {
    let missing = || {
        Failure::refused(
            format!("{} has no intervals: they need a calibration in two passes", path.display()),
            "calibrate without --quick; if the samples already come from two passes, `hallway fit` \
             computes the intervals",
        )
    };
    profile.intervals.as_ref().ok_or_else(missing)
}
