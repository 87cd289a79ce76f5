//! `hallway calibrate`: measure and fit.

use super::profiles::{SAMPLES, fitted};
use super::{Failure, Outcome};
use crate::calibrate::{CalibrateError, Progress, calibrate, provenance};
use crate::files;
use crate::fit::fit;
use crate::gpu::{Device, supports};
use crate::host::Team;
use crate::kernels::Kernel;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{BufWriter, Write};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(super) struct CalibrateArguments {
    /// Folder for the samples and the profile
    #[arg(long, value_name = "FOLDER", default_value = "calibration/this-machine")]
    output: PathBuf,
    /// Which GPU, counted from 0
    #[arg(long, default_value_t = 0)]
    gpu: usize,
    /// CPU threads of the twins [default: all]
    #[arg(long)]
    threads: Option<usize>,
    /// Seed of the order in which quantities are measured
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

pub(super) fn run(arguments: &CalibrateArguments) -> Result<Outcome, Failure> {
    let device = Device::open(arguments.gpu)?;
    let team = team(arguments.threads)?;
    let machine = provenance(&device, &team, arguments.seed)?;
    for error in Kernel::ALL.into_iter().filter_map(|kernel| supports(kernel).err()) {
        let _ = writeln!(std::io::stderr(), "hallway: without one kernel: {error}");
    }
    let folder = &arguments.output;
    // The old samples stay until the new ones are whole.
    let file = files::unnamed_beside(&folder.join(SAMPLES)).map_err(Failure::input)?;
    let mut bar = Bar::new();
    let writer = BufWriter::new(&file);
    let samples = calibrate(&device, &team, &machine, writer, &mut bar).map_err(|e| match e {
        CalibrateError::Gpu(error) => Failure::from(error),
        other => Failure::machine(other),
    })?;
    bar.0.finish_and_clear();
    let profile = fit(&samples).map_err(Failure::machine)?;
    file.persist(folder.join(SAMPLES)).map_err(Failure::machine)?;
    let path = folder.join("profile.toml");
    profile.save(&path).map_err(Failure::machine)?;
    fitted(&path, &samples)?;
    Ok(Outcome::Done)
}

/// The threads that run the CPU twins.
pub(super) fn team(threads: Option<usize>) -> Result<Team, Failure> {
    let available = std::thread::available_parallelism().map_or(1, usize::from);
    match threads {
        Some(0) => Err(Failure::Input(miette::miette!("--threads 0: name at least one"))),
        other => Team::new(other.unwrap_or(available)).map_err(Failure::machine),
    }
}

struct Bar(ProgressBar);

impl Bar {
    fn new() -> Self {
        let bar = ProgressBar::new(0);
        let style = ProgressStyle::with_template("calibrating {wide_bar} {pos}/{len}, {eta} left");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self(bar)
    }
}

impl Progress for Bar {
    fn advance(&mut self, done: usize, total: usize) {
        self.0.set_length(total as u64);
        self.0.set_position(done as u64);
    }
}
