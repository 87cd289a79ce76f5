//! `hallway calibrate`: measure and fit.

use super::fit::{FITTING_STAGES, fitted, show_fitting};
use super::outputs::check_outputs;
use super::own_kernels::{self, ScenarioArguments};
use super::profiles::{LoadedProfile, deliver, in_folder};
use super::progress::Progress;
use super::terminal::{interrupts, unless_stopped, width};
use super::{Failure, Outcome, new_process};
use crate::calibrate::{CalibrateError, MOST_DEVICES, managed_bytes, provenance};
use crate::compare::DriftAnswer;
use crate::gpu::{AnyDevice, Device, supports};
use crate::host::{Team, hardware_threads};
use crate::kernels::Kernel;
use crate::machine::MOST_CPU_THREADS;
use crate::profile::Profile;
use crate::report::{self, ProblemKind};
use crate::samples::{CalibrationExtent, Provenance, Samples};
use crate::study::{Calibration, CalibrationError, Phase, drifts};
use crate::units::Bytes;
use clap::Args;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

#[derive(Debug, Args)]
pub(super) struct CalibrateArguments {
    /// Folder for the samples and the profile [default: calibration/this-machine; with --scenario,
    /// the folder of --profile]
    #[arg(long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    #[command(flatten)]
    of_scenario: ScenarioArguments,
    /// Continue an interrupted calibration in the output folder
    #[arg(long)]
    resume: bool,
    /// Measure fewer sizes, in one pass instead of two. Takes about 15 seconds, but parameters get
    /// no intervals
    #[arg(long)]
    quick: bool,
    /// Also measure managed memory. Uses up to 256 MiB of it, but at most 1/16 of the free device
    /// memory
    #[arg(long)]
    managed: bool,
    /// Only check whether the machine still matches this profile, or the one in this folder. Takes
    /// seconds; exits with 1 if any time has changed
    #[arg(long, value_name = "PROFILE")]
    #[arg(conflicts_with_all = ["output", "resume", "quick", "managed", "gpus", "threads", "seed"])]
    check: Option<PathBuf>,
    /// Index of the GPU to calibrate, counted from 0
    #[arg(long, default_value_t = 0)]
    gpu: usize,
    /// Number of GPUs to calibrate together, including the one that --gpu selects. Also measures
    /// concurrent work and copies between GPUs, which takes up to 15 seconds longer [default: all,
    /// up to 8]
    #[arg(long, value_name = "NUMBER")]
    gpus: Option<usize>,
    /// Number of CPU threads that run each kernel's CPU version [default: all]
    #[arg(long)]
    threads: Option<usize>,
    /// Seed for the order of the measurements
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl CalibrateArguments {
    fn folder(&self) -> &Path {
        self.output.as_deref().unwrap_or(Path::new("calibration/this-machine"))
    }
}

pub(super) fn run(arguments: &CalibrateArguments) -> Result<Outcome, Failure> {
    if let Some(profile) = &arguments.check {
        return check(arguments, &in_folder(profile));
    }
    if !arguments.of_scenario.scenarios.is_empty() {
        let output = arguments.output.as_deref();
        return own_kernels::run(&arguments.of_scenario, output, arguments.gpu);
    }
    let folder = arguments.folder();
    let target = folder.join(Calibration::SAMPLES);
    let path = folder.join(Calibration::PROFILE);
    check_outputs([], [target.as_path(), path.as_path()])?;
    let extent = if arguments.quick { CalibrationExtent::Quick } else { CalibrationExtent::Full };
    // Before this process has a context: see `first_uses`.
    let first_uses = new_process::measured(arguments.gpu, extent);
    let device = Device::open(arguments.gpu)?;
    let team = team(arguments.threads)?;
    let gpus = gpus(&device, arguments.gpus)?;
    let machine = provenance(&device, &team, arguments.seed, extent, gpus).map_err(plain)?;
    let managed_bytes = if arguments.managed { managed_bytes(&device)? } else { Bytes::ZERO };
    let machine = Provenance { managed_bytes, ..machine };
    let first_uses = first_uses.unwrap_or_else(|why| {
        let _ = writeln!(
            std::io::stderr(),
            "hallway: skipping the first use of the GPU: a new process {why}"
        );
        Vec::new()
    });
    let mut calibration = Calibration::new(machine, (&device, &team), folder, first_uses);
    let growing = calibration.growing();
    let how = going_on(arguments, &growing);
    let interrupted =
        |error: &_| format!("hallway: {error}; any existing profile is unchanged\n{how}");
    let failed = |error| failure(error, interrupted);
    let has_measurements = || Samples::load(&growing).is_ok_and(|it| !it.measurements.is_empty());
    if arguments.resume {
        calibration.resume().map_err(failed)?;
    }
    for error in Kernel::ALL.into_iter().filter_map(|kernel| supports(kernel).err()) {
        let _ = writeln!(std::io::stderr(), "hallway: skipping a kernel: {error}");
    }
    let mut shown = Shown::new().map_err(Failure::of_machine)?;
    let calibrated = calibration.run(&mut |phase| shown.phase(phase));
    drop(shown);
    let (samples, profile) = calibrated.map_err(|error| match failed(error) {
        Failure { kind: ProblemKind::Machine, report } if has_measurements() => {
            let help = format!("the measurements taken so far are kept\n{how}");
            Failure::told(ProblemKind::Machine, report, help)
        }
        other => other,
    })?;
    fitted(&path, &samples, &profile)
}

/// The failure of work that does not listen to interrupts.
fn plain(error: CalibrateError) -> Failure {
    failure(error.into(), ToString::to_string)
}

/// The failure of a calibration, with what to say if the user interrupted it.
fn failure(error: CalibrationError, interrupted: impl Fn(&CalibrateError) -> String) -> Failure {
    match error {
        CalibrationError::NothingToResume { .. } => Failure::refused(
            error,
            "drop --resume to start a new calibration, or name another folder with --output",
        ),
        CalibrationError::CannotResume { .. } => Failure::refused(
            error,
            "use the same machine and options as before, or drop --resume to start over",
        ),
        CalibrationError::CannotWrite { path, source } => {
            Failure::unwritten(path.display(), &source)
        }
        CalibrationError::Samples(error) => error.into(),
        CalibrationError::Measuring(CalibrateError::Gpu(error)) => error.into(),
        CalibrationError::Measuring(error @ CalibrateError::Interrupted { .. }) => {
            Failure::interrupted(&interrupted(&error))
        }
        CalibrationError::Trial(error) => error.into(),
        other => Failure::of_machine(other),
    }
}

/// Repeats a few measurements, and compares them with the samples that the profile was fitted to.
fn check(arguments: &CalibrateArguments, path: &Path) -> Result<Outcome, Failure> {
    let found =
        LoadedProfile { profile: Profile::load(path)?, path: path.into(), has_other_gpu: false };
    let before = found.own_samples()?;
    let there = &before.machine;
    let device = Device::open(arguments.gpu)?;
    let team = team((there.cpu_threads > 0).then_some(there.cpu_threads))?;
    let gpus = there.devices.min(device.visible());
    let here = provenance(&device, &team, there.seed, there.extent, gpus).map_err(plain)?;
    let (hallway_version, managed_bytes) = (there.hallway_version.clone(), there.managed_bytes);
    let here = Provenance { hallway_version, managed_bytes, ..here };
    let mut shown = Shown::new().map_err(Failure::of_machine)?;
    let drifts = drifts(&before, &here, (&device, &team), &mut |phase| shown.phase(phase));
    drop(shown);
    let no_result =
        |error: &CalibrateError| format!("hallway: {error}; the check was not completed");
    let drifts = drifts.map_err(|error| failure(error.into(), no_result))?;
    let width = width(None, None);
    let mut text = report::drifts(&drifts, width);
    for difference in there.differences(&here) {
        text += &format!("Changed since the calibration: {difference}\n");
    }
    deliver(&report::folded(&text, width), None)?;
    let changed = drifts.iter().any(|(_, drift)| drift.answer == DriftAnswer::Changed);
    Ok(if changed { Outcome::CheckFailed } else { Outcome::Done })
}

fn going_on(arguments: &CalibrateArguments, growing: &Path) -> String {
    let CalibrateArguments { gpu, gpus, threads, seed, quick, managed, .. } = arguments;
    let output = arguments.folder();
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
        "To continue: hallway calibrate {options}\nTo fit the measurements taken so far: \
         hallway fit {} --output PROFILE",
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
        Some(gpus) => Err(Failure::refused(
            format!("--gpus {gpus}: cannot calibrate this many GPUs together"),
            format!("write a number from 1 to {MOST_DEVICES}"),
        )),
    }
}

/// The threads that run the CPU side of every kernel.
pub(super) fn team(threads: Option<usize>) -> Result<Team, Failure> {
    let most = MOST_CPU_THREADS;
    match threads {
        Some(threads) if !(1..=most).contains(&(threads as u64)) => Err(Failure::refused(
            format!("--threads {threads}: must be between 1 and {most}"),
            "write a number in this range, or drop --threads to use all threads",
        )),
        other => Team::new(other.unwrap_or_else(hardware_threads)).map_err(Failure::of_machine),
    }
}

/// Shows how far a calibration has come, and notices when the user interrupts.
struct Shown {
    measuring: Option<Progress>,
    fitting: Option<Progress>,
    is_stopped: Arc<AtomicBool>,
}

impl Shown {
    fn new() -> std::io::Result<Self> {
        Ok(Self { measuring: None, fitting: None, is_stopped: interrupts()? })
    }

    fn phase(&mut self, phase: Phase) -> ControlFlow<()> {
        if let Phase::Measuring { done, total } = phase {
            let bar = self.measuring.get_or_insert_with(|| {
                let bar = Progress::over_stages(1);
                bar.begin("calibrating", total as u64);
                bar
            });
            bar.tally().add((done as u64).saturating_sub(bar.tally().done()));
        } else {
            self.measuring = None;
            let fitting = || Progress::over_stages(FITTING_STAGES);
            show_fitting(self.fitting.get_or_insert_with(fitting), phase);
        }
        unless_stopped(&self.is_stopped)
    }
}
