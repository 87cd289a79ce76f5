//! `hallway calibrate`: measure and fit.

use super::interrupts::interrupts;
use super::outputs::check_outputs;
use super::profiles::{Found, SAMPLES, deliver, fitted, in_folder, profile_of};
use super::terminal::width;
use super::{Failure, Outcome};
use crate::calibrate::{
    CalibrateError, Course, MOST_DEVICES, Progress, calibrate, managed_bytes, provenance,
};
use crate::compare::{Drift, DriftAnswer};
use crate::files;
use crate::fit::times_of;
use crate::gpu::{Device, supports};
use crate::host::Team;
use crate::kernels::Kernel;
use crate::machine::MOST_CPU_THREADS;
use crate::profile::Profile;
use crate::report;
use crate::samples::{CalibrationExtent, Provenance, Quantity, Recorder, Samples};
use crate::trials::{Round, TrialError, Trials};
use crate::units::Bytes;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use miette::miette;
use std::collections::BTreeSet;
use std::io::Write;
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Debug, Args)]
pub(super) struct CalibrateArguments {
    /// Folder for the samples and the profile
    #[arg(long, value_name = "FOLDER", default_value = "calibration/this-machine")]
    output: PathBuf,
    /// Continue the calibration that was interrupted in that folder
    #[arg(long)]
    resume: bool,
    /// Measure fewer sizes, and in one pass instead of two: takes about 15 seconds, but parameters
    /// get no intervals
    #[arg(long)]
    quick: bool,
    /// Also measure managed memory: up to 256 MiB, and at most a sixteenth of free device memory
    #[arg(long)]
    managed: bool,
    /// Only check, within seconds, whether the machine still takes the times that this profile (or
    /// the one in this folder) was fitted to; the exit code is 1 if any has changed
    #[arg(long, value_name = "PROFILE")]
    #[arg(conflicts_with_all = ["output", "resume", "quick", "managed", "gpus", "threads", "seed"])]
    check: Option<PathBuf>,
    /// GPU to calibrate, counted from 0
    #[arg(long, default_value_t = 0)]
    gpu: usize,
    /// Number of GPUs to calibrate together, this one included: copies between them, and work at
    /// the same time; up to 15 seconds more [default: all, up to 8]
    #[arg(long, value_name = "NUMBER")]
    gpus: Option<usize>,
    /// CPU threads that run the CPU side of each kernel [default: all]
    #[arg(long)]
    threads: Option<usize>,
    /// Seed of the order of measurements
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

pub(super) fn run(arguments: &CalibrateArguments) -> Result<Outcome, Failure> {
    if let Some(profile) = &arguments.check {
        return check(arguments, &in_folder(profile));
    }
    let target = arguments.output.join(SAMPLES);
    let path = arguments.output.join("profile.toml");
    check_outputs([], [target.as_path(), path.as_path()])?;
    let device = Device::open(arguments.gpu)?;
    let team = team(arguments.threads)?;
    let extent = if arguments.quick { CalibrationExtent::Quick } else { CalibrationExtent::Full };
    let gpus = gpus(&device, arguments.gpus)?;
    let machine = provenance(&device, &team, arguments.seed, extent, gpus).map_err(plain)?;
    let managed_bytes = if arguments.managed { managed_bytes(&device)? } else { Bytes::ZERO };
    let machine = Provenance { managed_bytes, ..machine };
    let growing = files::partial(&target);
    let so_far =
        if arguments.resume { interrupted(&growing, &machine)? } else { Samples::none(machine) };
    for error in Kernel::ALL.into_iter().filter_map(|kernel| supports(kernel).err()) {
        let _ = writeln!(std::io::stderr(), "hallway: one kernel is left out: {error}");
    }
    // Old samples stay in place until the new ones are complete.
    let mut beginning = Vec::new();
    let recorder = Recorder::new(&mut beginning, &so_far).map_err(Failure::machine)?;
    let recorder = recorder.onto(std::io::sink());
    let file = files::begin(&growing, &beginning);
    let file = file.map_err(|error| Failure::unwritten(growing.display(), &error))?;
    let mut bar = Bar::new().map_err(Failure::machine)?;
    let mut recorder = recorder.onto(file);
    let course = Course::new(&so_far.machine);
    let mut trials = Trials::new(&so_far.machine, &device, &team);
    let measure = |mut samples: Samples| {
        for pass in 0..course.passes() {
            samples = trials.round(|round| {
                let probes = course.probes_until(pass)..course.probes_until(pass + 1);
                let mut along = WithTrials { bar: &mut bar, round, probes, failed: None };
                let part = (&course, pass);
                let measured = calibrate(&device, &team, part, samples, &mut recorder, &mut along);
                match along.failed {
                    Some(error) => Err(Failure::from(error)),
                    None => {
                        measured.map_err(|e| failure(e, |e| how_to_go_on(e, arguments, &growing)))
                    }
                }
            })?;
        }
        trials.finish(samples, &mut recorder).map_err(Failure::machine)
    };
    let samples = measure(so_far);
    bar.shown.finish_and_clear();
    let fitted_to = |samples: &Samples| {
        let profile = profile_of(samples).map_err(Failure::machine)?;
        // The profile comes first. If the process ends before the samples are renamed, `--resume`
        // finds all of them and fits the same profile.
        profile.save(&path).map_err(Failure::machine)?;
        recorder.end().map_err(Failure::machine)?;
        files::finish(&growing, &target).map_err(Failure::machine)?;
        Ok(profile)
    };
    let found = samples.and_then(|samples| fitted_to(&samples).map(|profile| (samples, profile)));
    let (samples, profile) = found.map_err(|failure| match failure {
        Failure::Machine(report) if has_measurements(&growing) => {
            let how = going_on(arguments, &growing);
            Failure::Machine(miette!(
                help = format!("the measurements so far are kept\n{how}"),
                "{report}"
            ))
        }
        other => other,
    })?;
    fitted(&path, &samples, &profile)?;
    Ok(Outcome::Done)
}

/// The failure of work that does not listen to interrupts.
fn plain(error: CalibrateError) -> Failure {
    failure(error, ToString::to_string)
}

fn failure(error: CalibrateError, interrupted: impl Fn(&CalibrateError) -> String) -> Failure {
    match error {
        CalibrateError::Gpu(error) => Failure::from(error),
        CalibrateError::Interrupted { .. } => Failure::Interrupted(interrupted(&error)),
        other => Failure::machine(other),
    }
}

/// Repeats a few measurements, and compares them with the samples that the profile was fitted to.
fn check(arguments: &CalibrateArguments, path: &Path) -> Result<Outcome, Failure> {
    let found = Found { profile: Profile::load(path)?, path: path.into() };
    let before = found.own_samples()?;
    let there = &before.machine;
    let device = Device::open(arguments.gpu)?;
    let team = team((there.cpu_threads > 0).then_some(there.cpu_threads))?;
    let gpus = there.devices.min(device.visible());
    let here = provenance(&device, &team, there.seed, there.extent, gpus).map_err(plain)?;
    let (hallway_version, managed_bytes) = (there.hallway_version.clone(), there.managed_bytes);
    let here = Provenance { hallway_version, managed_bytes, ..here };
    let mut bar = Bar::new().map_err(Failure::machine)?;
    let empty = Samples::none(here.clone());
    let course = Course::telling(&here);
    // These samples serve only this comparison.
    let mut recorder = Recorder::new(std::io::sink(), &empty).map_err(Failure::machine)?;
    let now = calibrate(&device, &team, (&course, 0), empty, &mut recorder, &mut bar);
    bar.shown.finish_and_clear();
    let now =
        now.map_err(|error| failure(error, |e| format!("hallway: {e}; the check has no result")))?;
    let quantities: BTreeSet<&Quantity> = now.measurements.iter().map(|m| &m.quantity).collect();
    let drift = |quantity: &Quantity| {
        let drift = Drift::between(&times_of(&before, quantity), &times_of(&now, quantity))?;
        Some((quantity.clone(), drift))
    };
    let drifts: Vec<_> = quantities.into_iter().filter_map(drift).collect();
    let width = width(None, None);
    let mut text = report::drifts(&drifts, width);
    for difference in there.differences(&here) {
        text += &format!("Differs from the calibration: {difference}\n");
    }
    deliver(&report::folded(&text, width), None)?;
    let changed = drifts.iter().any(|(_, drift)| drift.answer == DriftAnswer::Changed);
    Ok(if changed { Outcome::CheckFailed } else { Outcome::Done })
}

/// The complete probes that an interrupted calibration of this machine left behind.
fn interrupted(growing: &Path, here: &Provenance) -> Result<Samples, Failure> {
    if !growing.exists() {
        return Err(Failure::Input(miette!(
            help = "leave out --resume to start one, or name another folder with --output",
            "no calibration was interrupted here: there is no {}",
            growing.display()
        )));
    }
    let mut samples = Samples::load(growing)?;
    let refused = |why: String| {
        Failure::Input(miette!(
            help = "use the same machine and options as before, or start again without --resume",
            "cannot continue {}: {why}",
            growing.display()
        ))
    };
    let differences = samples.machine.differences(here);
    if !differences.is_empty() {
        return Err(refused(differences.join("; ")));
    }
    let done = Course::new(&samples.machine).done(&samples.measurements);
    let (_, whole) = done.map_err(|error| refused(error.to_string()))?;
    samples.measurements.truncate(whole);
    // Trials are quick, and belong to a complete round: they are run again.
    samples.trials.clear();
    Ok(samples)
}

fn how_to_go_on(error: &CalibrateError, arguments: &CalibrateArguments, growing: &Path) -> String {
    let how = going_on(arguments, growing);
    format!("hallway: {error}; an older profile is unchanged\n{how}")
}

fn has_measurements(growing: &Path) -> bool {
    Samples::load(growing).is_ok_and(|samples| !samples.measurements.is_empty())
}

fn going_on(arguments: &CalibrateArguments, growing: &Path) -> String {
    let CalibrateArguments { output, gpu, gpus, threads, seed, quick, managed, .. } = arguments;
    let mut options = format!("--resume --output {} --gpu {gpu} --seed {seed}", output.display());
    if *quick {
        options += " --quick";
    }
    if *managed {
        options += " --managed";
    }
    if let Some(gpus) = gpus {
        options += &format!(" --gpus {gpus}");
    }
    if let Some(threads) = threads {
        options += &format!(" --threads {threads}");
    }
    format!(
        "To continue: hallway calibrate {options}\n\
         To fit what was measured so far: hallway fit {} --output PROFILE",
        growing.display()
    )
}

/// How many GPUs are calibrated together.
fn gpus(device: &Device, asked: Option<usize>) -> Result<usize, Failure> {
    match asked {
        None => Ok(device.visible().min(MOST_DEVICES)),
        Some(gpus) if (1..=MOST_DEVICES).contains(&gpus) => {
            device.nth(gpus - 1)?;
            Ok(gpus)
        }
        Some(gpus) => Err(Failure::Input(miette!(
            help = format!("write a number from 1 to {MOST_DEVICES}"),
            "--gpus {gpus}: no such number of GPUs is calibrated together"
        ))),
    }
}

/// The threads that run the CPU side of every kernel.
pub(super) fn team(threads: Option<usize>) -> Result<Team, Failure> {
    let available = std::thread::available_parallelism().map_or(1, usize::from);
    let most = MOST_CPU_THREADS;
    match threads {
        Some(threads) if !(1..=most).contains(&(threads as u64)) => {
            Err(Failure::Input(miette::miette!(
                help = "write a number in this range, or leave --threads out to use all",
                "--threads {threads}: it must be from 1 to {most}"
            )))
        }
        other => Team::new(other.unwrap_or(available)).map_err(Failure::machine),
    }
}

/// A calibration pass with trials run in between. A shared machine changes from minute to minute:
/// spread out like this, measurements and trials meet it in the same conditions.
struct WithTrials<'a, 's> {
    bar: &'a mut Bar,
    round: &'a mut Round<'s>,
    /// The probes of this pass, counted over all passes.
    probes: Range<usize>,
    failed: Option<TrialError>,
}

impl Progress for WithTrials<'_, '_> {
    fn advance(&mut self, done: usize, total: usize) -> ControlFlow<()> {
        let Range { start, end } = self.probes;
        let share = (done.clamp(start, end) - start, end - start);
        while self.round.is_behind(share) {
            self.bar.advance(done, total)?;
            if let Err(error) = self.round.step() {
                self.failed = Some(error);
                return ControlFlow::Break(());
            }
        }
        self.bar.advance(done, total)
    }
}

/// A progress bar that also notices when the user interrupts.
struct Bar {
    shown: ProgressBar,
    is_stopped: Arc<AtomicBool>,
}

impl Bar {
    fn new() -> std::io::Result<Self> {
        let shown = ProgressBar::new(0);
        let style = ProgressStyle::with_template("calibrating {wide_bar} {pos}/{len}, {eta} left");
        shown.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Ok(Self { shown, is_stopped: interrupts()? })
    }
}

impl Progress for Bar {
    fn advance(&mut self, done: usize, total: usize) -> ControlFlow<()> {
        self.shown.set_length(total as u64);
        self.shown.set_position(done as u64);
        if self.is_stopped.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}
