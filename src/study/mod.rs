//! Whole protocols that a library user can call. The command line adds arguments, progress and
//! exit codes to them.
//!
//! # Calibrate, fit and assess
//!
//! A [`Calibration`] measures a machine, and runs trials in between: plans of small random
//! workloads. It fits a profile to the measurements, and predicts the trials to see how wide
//! ranges have to be. If it is interrupted, another one resumes where it was.
//!
//! ```no_run
//! use hallway::calibrate::provenance;
//! use hallway::gpu::Device;
//! use hallway::host::Team;
//! use hallway::samples::CalibrationExtent;
//! use hallway::study::{Calibration, Phase};
//! use std::ops::ControlFlow;
//! use std::path::Path;
//!
//! let (device, team) = (Device::open(0)?, Team::new(16)?);
//! let (seed, gpus) = (1, 1);
//! let machine = provenance(&device, &team, seed, CalibrationExtent::Full, gpus)?;
//!
//! let folder = Path::new("calibration/my-machine");
//! let mut calibration = Calibration::new(machine, (&device, &team), folder, Vec::new());
//! if calibration.growing().exists() {
//!     calibration.resume()?;
//! }
//! let (samples, profile) = calibration.run(&mut |phase| {
//!     if let Phase::Measuring { done, total } = phase {
//!         println!("{done} of {total}");
//!     }
//!     ControlFlow::Continue(())
//! })?;
//! println!("{} measurements", samples.measurements.len());
//! if let Some(accuracy) = profile.accuracy {
//!     println!("half of the trials were within {:.1}%", 100.0 * accuracy.median_error);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`fit_and_assess`] does without a GPU what follows the measurements. [`drifts`] says whether a
//! machine still takes the times that it was calibrated with.
//!
//! # Predict, run and score
//!
//! 1. Name the plans: those of given workloads, or those that [`draw`] draws of random ones.
//! 2. Predict all of them: [`predict`]. [`digest`] sums up the profile, the plans and what was
//!    predicted, and can be published before anything runs.
//! 3. Run them with a [`Runner`]: in random order, each run kept as it comes, in parts ([`Shard`])
//!    if need be.
//! 4. Score them: [`score`].
//!
//! What plans take once is timed before 3, in [`NewProcesses`], and scored by [`score_set_up`].
//!
//! ```no_run
//! use hallway::execute::Effort;
//! use hallway::gpu::Device;
//! use hallway::host::Team;
//! use hallway::profile::Profile;
//! use hallway::scenario::Workload;
//! use hallway::search::candidates_over;
//! use hallway::simulate::{Draws, Tally};
//! use hallway::study::{Job, Runner, Which, digest, predict, score};
//! use std::ops::ControlFlow;
//! use std::path::Path;
//!
//! let profile = Profile::load(Path::new("calibration/my-machine/profile.toml"))?;
//! let workload = Workload::load(Path::new("scenarios/stencil-halo.toml"))?;
//! let plans = candidates_over(&workload, &profile.gpu_counts());
//! let draws = Draws::new(100, 1);
//! let predicted = [predict(workload, plans, &profile, draws, &Tally::default())];
//! let digest = digest(&profile, &predicted);
//! println!("predictions: {digest}");
//!
//! let runs = |workload: &Workload| Path::new("runs").join(format!("{}.json", workload.name));
//! let mut jobs = Job::all(&predicted, (&profile, &digest), Which::default(), runs);
//! let (device, team) = (Device::open(0)?, Team::new(profile.machine.cpu_threads)?);
//! let runner = Runner {
//!     device: Some(&device),
//!     team: &team,
//!     contents: profile.machine.seed,
//!     order: draws.seed,
//!     rounds: 3,
//!     reruns: 3,
//!     effort: Effort::FULL,
//!     traced: None,
//! };
//! let measured = runner.run(&mut jobs, &mut |_| ControlFlow::Continue(()))?;
//! for (one, runs) in predicted.iter().zip(&measured) {
//!     let score = score(&one.workload, &one.ranking, runs);
//!     println!("{}: {} plans beside their predictions", score.scenario, score.cells.len());
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Invariant: a [`Runner`] runs programs in an order that depends on a seed alone. Only when all
//! have run does it look at predictions: for the plan to run again beside the fastest one. A run
//! that was kept is never thrown away or repeated. No model of a time is fitted to a trial; only
//! the width of ranges is.

mod accuracy;
mod calibration;
mod drawn;
mod ledger;
mod library_sizes;
mod own_kernels;
mod predicted;
mod random_scenario;
mod replayed;
mod runner;
mod score;
mod set_up;
mod shard;
mod trials;

pub use accuracy::assess;
pub use calibration::{Calibration, CalibrationError, Phase, drifts, fit_and_assess, interrupted};
pub use drawn::{Drawn, draw};
pub use ledger::{RecordedRuns, refitted};
pub use own_kernels::{CommandJob, Wanted, with_own_models};
pub use predicted::{Predicted, Which, digest, predict};
pub use random_scenario::{TRIAL_KERNELS, trial_scenarios};
pub use replayed::{Played, ReplayError, own_prices, play, replay};
pub use runner::{Event, Job, Runner, StudyError};
pub use score::score;
pub use set_up::{NewProcesses, score_set_up, time_new_process};
pub use shard::Shard;
pub use trials::TrialError;
