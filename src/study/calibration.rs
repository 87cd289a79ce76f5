//! Calibrate a machine, fit a profile to what was measured, and assess it on trials.

use super::accuracy::assess;
use super::trials::{TrialError, Trials};
use crate::calibrate::{CalibrateError, Schedule, calibrate};
use crate::compare::Drift;
use crate::files;
use crate::fit::{FitError, Like, fit_like, fit_passes, intervals, times_of};
use crate::gpu::Device;
use crate::host::Team;
use crate::profile::{Accuracy, Profile, ProfileError};
use crate::samples::{Measurement, Provenance, Quantity, Recorder, Samples, SamplesError};
use std::collections::BTreeSet;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// How far a calibration has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Probes are measured: how many of them are done.
    Measuring { done: usize, total: usize },
    /// A profile is fitted to all samples.
    Fitting,
    /// A profile is fitted to each pass.
    FittingPasses,
    /// Trials are predicted: how many of them are done.
    PredictingTrials { done: usize, total: usize },
    /// Ranges are made as wide as trials and passes require.
    FindingIntervals,
}

/// Why a calibration did not end. What was measured is kept.
#[derive(Debug, thiserror::Error)]
pub enum CalibrationError {
    #[error("there is no interrupted calibration to continue: {} does not exist", path.display())]
    NothingToResume { path: PathBuf },
    #[error("cannot continue {}: {why}", path.display())]
    CannotResume { path: PathBuf, why: String },
    #[error("cannot write {}: {source}", path.display())]
    CannotWrite { path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Samples(#[from] SamplesError),
    #[error(transparent)]
    Measuring(#[from] CalibrateError),
    #[error(transparent)]
    Trial(#[from] TrialError),
    #[error(transparent)]
    Fit(#[from] FitError),
    #[error(transparent)]
    Profile(#[from] ProfileError),
}

/// A calibration of one machine, with the folder for its samples and its profile.
pub struct Calibration<'a> {
    device: &'a Device,
    team: &'a Team,
    /// What an interrupted calibration measured; nothing at first.
    so_far: Samples,
    folder: PathBuf,
    /// What comes for the first time in new processes: it is in no pass of the schedule.
    first_uses: Vec<Measurement>,
}

impl<'a> Calibration<'a> {
    /// File name of the samples.
    pub const SAMPLES: &'static str = "samples.jsonl";
    /// File name of the profile.
    pub const PROFILE: &'static str = "profile.toml";

    /// A calibration that has measured nothing yet, of the machine that
    /// [`provenance`](crate::calibrate::provenance) describes, with what
    /// [`first_uses`](crate::calibrate::first_uses) measured before the device was opened. Without,
    /// that stays unknown.
    pub fn new(
        machine: Provenance,
        (device, team): (&'a Device, &'a Team),
        folder: &Path,
        first_uses: Vec<Measurement>,
    ) -> Self {
        let (so_far, folder) = (Samples::none(machine), folder.to_owned());
        Self { device, team, so_far, folder, first_uses }
    }

    /// Where samples grow until there are all.
    pub fn growing(&self) -> PathBuf {
        files::partial(&self.folder.join(Self::SAMPLES))
    }

    /// Takes up the complete probes that an interrupted calibration of this machine left behind.
    ///
    /// # Errors
    /// See [`interrupted`].
    pub fn resume(&mut self) -> Result<(), CalibrationError> {
        self.so_far = interrupted(&self.growing(), &self.so_far.machine)?;
        Ok(())
    }

    /// Measures what is not measured yet, runs the trials, fits the profile and assesses it. Old
    /// files stay in place until the new ones are complete. `along` hears how far it has come;
    /// while it measures, the answer says whether to go on.
    ///
    /// # Errors
    /// If the machine or a file fails, a trial computes a wrong result, or `along` says to stop.
    /// What was measured is kept, and [`Calibration::resume`] takes it up.
    pub fn run(
        self,
        along: &mut dyn FnMut(Phase) -> ControlFlow<()>,
    ) -> Result<(Samples, Profile), CalibrationError> {
        let (growing, target) = (self.growing(), self.folder.join(Self::SAMPLES));
        let profile_path = self.folder.join(Self::PROFILE);
        let mut beginning = Vec::new();
        let unwritten = |source| CalibrationError::CannotWrite { path: growing.clone(), source };
        let recorder = Recorder::new(&mut beginning, &self.so_far).map_err(unwritten)?;
        let recorder = recorder.onto(std::io::sink());
        let file = files::begin(&growing, &beginning).map_err(unwritten)?;
        let mut recorder = recorder.onto(file);
        let samples = self.measure(&mut recorder, along)?;
        let profile = fit_and_assess(&samples, &[], &mut |phase| {
            // What is left takes seconds.
            let _ = along(phase);
        })?;
        // The profile comes first. If the process ends before the samples are renamed, a resumed
        // calibration finds all of them and fits the same profile.
        profile.save(&profile_path)?;
        recorder.end().map_err(unwritten)?;
        files::finish(&growing, &target).map_err(unwritten)?;
        Ok((samples, profile))
    }

    fn measure<W: Write>(
        self,
        recorder: &mut Recorder<W>,
        along: &mut dyn FnMut(Phase) -> ControlFlow<()>,
    ) -> Result<Samples, CalibrationError> {
        let growing = self.growing();
        let Self { device, team, so_far: mut samples, first_uses, .. } = self;
        let unwritten = |source| CalibrationError::CannotWrite { path: growing.clone(), source };
        let schedule = Schedule::new(&samples.machine);
        let mut trials = Trials::new(&samples.machine, device, team);
        for pass in 0..schedule.passes() {
            samples = trials.round(|round| {
                let probes = schedule.probes_until(pass)..schedule.probes_until(pass + 1);
                let mut failed = None;
                // A shared machine changes from minute to minute: spread out over the probes of the
                // pass, trials meet it in the same conditions as measurements.
                let mut with_trials = |done: usize, total: usize| {
                    let measured = done.clamp(probes.start, probes.end) - probes.start;
                    while round.is_behind((measured, probes.len())) {
                        along(Phase::Measuring { done, total })?;
                        if let Err(error) = round.step() {
                            failed = Some(error);
                            return ControlFlow::Break(());
                        }
                    }
                    along(Phase::Measuring { done, total })
                };
                let part = (&schedule, pass);
                let measured = calibrate(device, team, part, samples, recorder, &mut with_trials);
                match failed {
                    Some(error) => Err(CalibrationError::from(error)),
                    None => measured.map_err(CalibrationError::from),
                }
            })?;
        }
        for measurement in first_uses {
            recorder.add(&measurement).map_err(unwritten)?;
            samples.measurements.push(measurement);
        }
        trials.finish(samples, recorder).map_err(unwritten)
    }
}

/// The complete probes that an interrupted calibration left behind, in the file where its samples
/// grew.
///
/// # Errors
/// If there are none, or they are not `here`'s, or were measured in another order.
pub fn interrupted(growing: &Path, here: &Provenance) -> Result<Samples, CalibrationError> {
    let path = growing.to_owned();
    if !path.exists() {
        return Err(CalibrationError::NothingToResume { path });
    }
    let mut samples = Samples::load(&path)?;
    let differences = samples.machine.differences(here);
    if !differences.is_empty() {
        return Err(CalibrationError::CannotResume { path, why: differences.join("; ") });
    }
    // Whoever resumes has measured new processes again.
    samples.measurements.retain(|one| !one.quantity.is_of_new_process());
    let done = Schedule::new(&samples.machine).done(&samples.measurements);
    let (_, whole) =
        done.map_err(|error| CalibrationError::CannotResume { path, why: error.to_string() })?;
    samples.measurements.truncate(whole);
    // Trials are quick, and belong to a complete round: they are run again.
    samples.trials.clear();
    Ok(samples)
}

/// Fits a profile to samples, with its intervals and its accuracy on trials. `along` hears how far
/// it has come.
///
/// # Errors
/// If there are no samples.
pub fn fit_and_assess(
    samples: &Samples,
    likes: &[Like],
    along: &mut dyn FnMut(Phase),
) -> Result<Profile, FitError> {
    along(Phase::Fitting);
    let profile = fit_like(samples, likes)?;
    along(Phase::FittingPasses);
    let passes = fit_passes(samples);
    let total = samples.trials.len();
    along(Phase::PredictingTrials { done: 0, total });
    let accuracy = assess(&profile, passes.as_ref(), samples, &mut |done| {
        along(Phase::PredictingTrials { done, total });
    });
    along(Phase::FindingIntervals);
    let intervals = passes.and_then(|passes| intervals(samples, &profile, &passes));
    let model_error = accuracy.is_none().then_some(Accuracy::OF_MODEL);
    Ok(Profile { model_error, accuracy, intervals, ..profile })
}

/// Repeats a few measurements of a calibration on the machine as it is now, and compares their
/// times. Nothing is kept.
///
/// # Errors
/// If the machine fails, or `along` says to stop.
pub fn drifts(
    before: &Samples,
    now: &Provenance,
    (device, team): (&Device, &Team),
    along: &mut dyn FnMut(Phase) -> ControlFlow<()>,
) -> Result<Vec<(Quantity, Drift)>, CalibrateError> {
    let (empty, schedule) = (Samples::none(now.clone()), Schedule::telling(now));
    let mut recorder = Recorder::new(std::io::sink(), &empty)?;
    let along = &mut |done, total| along(Phase::Measuring { done, total });
    let now = calibrate(device, team, (&schedule, 0), empty, &mut recorder, along)?;
    let quantities: BTreeSet<&Quantity> = now.measurements.iter().map(|m| &m.quantity).collect();
    let drift = |quantity: &Quantity| {
        let drift = Drift::between(&times_of(before, quantity), &times_of(&now, quantity))?;
        Some((quantity.clone(), drift))
    };
    Ok(quantities.into_iter().filter_map(drift).collect())
}
