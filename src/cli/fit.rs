//! `hallway fit`: fit a profile to existing samples, and say what it is like.

use super::outputs::check_outputs;
use super::profiles::in_folder;
use super::progress::Progress;
use super::terminal::width;
use super::{Failure, Outcome, print};
use crate::fit::Like;
use crate::profile::Profile;
use crate::report;
use crate::samples::{CalibrationExtent, Samples, TABLE_TEMPLATE};
use crate::study::{Phase, fit_and_assess};
use clap::Args;
use std::path::{Path, PathBuf};

/// Shown below the arguments.
const TABLES: &str = "\
A file whose name ends in .csv is a table of times measured with other tools, in seconds:

  # gpu = NVIDIA H200
  # multiprocessors = 132
  # device_memory = 143156 MiB
  path,memory,bytes,concurrent,kernel,elements,call,operation,after,seconds
  H2D,pinned,1048576,,,,,,,20.9e-6
  H2D,pinned,1048576,D2H,,,,,,23.1e-6
  H2D,pinned,67108864,D2H,,,,,,1.32e-3
  ,,,,scale,1048576,,,,4.5e-6
  ,,,,,,launch,,,2.8e-6
  ,,,,,,,kernel,,8.9e-6
  ,,,,,,,kernel,copy-in,6.5e-6

Lines that differ only in their time are repeated measurements. Costs that the table lacks remain
unknown: `hallway evaluate` names the plans that it cannot predict without them.
docs/reference/table.md describes each column and what each time covers.";

#[derive(Debug, Args)]
#[command(after_long_help = TABLES, after_help = "`--help` shows an example of a table.")]
pub(super) struct FitArguments {
    /// Samples from a complete or interrupted `hallway calibrate`, or a table (.csv) of times
    /// measured with other tools
    #[arg(required_unless_present = "template")]
    samples: Option<PathBuf>,
    /// File to write the profile to
    #[arg(long, value_name = "FILE", required_unless_present = "template")]
    output: Option<PathBuf>,
    /// Print a commented table to fill in, and exit
    #[arg(long, conflicts_with_all = ["samples", "output", "like"])]
    template: bool,
    /// Profile, or its folder, from which to borrow costs that the samples lack: calls, hand-overs
    /// between engines, streams, graphs, allocation, pinning. Repeatable: each cost comes from the
    /// first profile that has it
    #[arg(long, value_name = "PROFILE")]
    like: Vec<PathBuf>,
}

pub(super) fn run(arguments: &FitArguments) -> Result<Outcome, Failure> {
    let FitArguments { samples, output, like, .. } = arguments;
    let (Some(path), Some(output)) = (samples, output) else {
        return print(TABLE_TEMPLATE);
    };
    let lenders: Vec<PathBuf> = like.iter().map(|path| in_folder(path)).collect();
    let inputs = [path].into_iter().chain(&lenders).map(PathBuf::as_path);
    check_outputs(inputs, [output.as_path()])?;
    let likes = like.iter().zip(&lenders).map(|(named, path)| {
        let profile = Profile::load(path)?;
        Ok(Like { from: named.display().to_string(), profile })
    });
    let likes = likes.collect::<Result<Vec<Like>, Failure>>()?;
    let samples = Samples::load(path)?;
    let progress = Progress::over_stages(FITTING_STAGES);
    let profile = fit_and_assess(&samples, &likes, &mut |phase| show_fitting(&progress, phase));
    drop(progress);
    let profile =
        profile.map_err(|error| Failure::input(miette::Report::msg(error.to_string())))?;
    profile.save(output)?;
    fitted(output, &samples, &profile)
}

/// The stages that [`show_fitting`] goes through.
pub(super) const FITTING_STAGES: usize = 4;

/// Shows how far fitting and assessing have come.
pub(super) fn show_fitting(progress: &Progress, phase: Phase) {
    match phase {
        Phase::Measuring { .. } => {}
        Phase::Fitting => progress.begin("fitting", 1),
        Phase::FittingPasses => progress.begin("fitting each pass", 1),
        Phase::PredictingTrials { done: 0, total } => {
            progress.begin("predicting trials", total as u64);
        }
        Phase::PredictingTrials { done, .. } => {
            progress.tally().add(done as u64 - progress.tally().done());
        }
        Phase::FindingIntervals => progress.begin("finding intervals", 1),
    }
}

/// Reports a new profile: how certain it is, and the parameters that no prediction shows.
pub(super) fn fitted(
    path: &Path,
    samples: &Samples,
    profile: &Profile,
) -> Result<Outcome, Failure> {
    let count = samples.measurements.len();
    let sure = report::sureness(profile);
    let mut head = format!("{}, measurements: {count}\n{sure}\n", path.display());
    if let Some(unsteady) = report::UnsteadyLink::of(profile).map(report::UnsteadyLink::sentence) {
        head += &format!("Link: {unsteady}.\n");
    }
    if samples.is_unfinished {
        head += "The calibration is unfinished, so the profile is incomplete. `hallway \
                 calibrate --resume` continues it.\n";
    }
    let once = samples.measurements.iter().filter(|one| one.times.len() == 1).count();
    if samples.machine.extent == CalibrationExtent::Elsewhere && once > 0 {
        head += &format!(
            "Quantities measured only once: {once}. Their scatter is unknown, so ranges are too \
             narrow.\n"
        );
    }
    for lender in &profile.borrowed {
        let costs = lender.groups.iter().map(|group| {
            let spread = (100.0 * group.costs.spread()).round();
            format!("{} (\u{b1}{spread}%)", group.costs.name())
        });
        let costs: Vec<String> = costs.collect();
        head += &format!("Borrowed from {}: {}.\n", lender.from, costs.join(", "));
    }
    let (trials, known) = (samples.trials.len(), profile.trials());
    if known < trials {
        head += &format!(
            "{known} of {trials} trials can be predicted; only these set the width of the ranges.\n"
        );
    }
    let width = width(None, None);
    print(&report::folded(&(head + &report::calibration(profile, width)), width))
}
