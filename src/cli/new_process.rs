//! A process that is started to time its own first use of the GPU: this program again, with a
//! command that help does not show.

use super::profiles::load;
use super::{Failure, Outcome, print};
use crate::calibrate::{NewProcess, first_times, first_uses};
use crate::host::hardware_threads;
use crate::program::Program;
use crate::runs::NewProcessTimes;
use crate::samples::{CalibrationExtent, Measurement};
use crate::scenario::Workload;
use crate::study::time_new_process;
use clap::Args;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io::Read;
use std::path::PathBuf;
use std::time::Duration;

/// The command of the new process.
pub(super) const MEASURE: &str = "measure-new-process";

/// Creating a context takes half a second; of a driver that has to wake up a GPU, ten.
const PATIENCE: Duration = Duration::from_secs(30);

/// Contents of large buffers take seconds, and so do passes over them.
const LONG_PATIENCE: Duration = Duration::from_secs(300);

/// The kernel library as PTX has less than a tenth of this.
const LARGEST_IMAGE: u64 = 16 << 20;

#[derive(Debug, Args)]
pub(super) struct NewProcessArguments {
    /// GPU to use, counted from 0
    #[arg(long, default_value_t = 0)]
    gpu: usize,
    /// Set up the plan that standard input names, and time that
    #[arg(long)]
    set_up: bool,
}

/// A scenario that another process can read.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Reread {
    pub path: PathBuf,
    /// The text, of a scenario that was drawn. Errors call it by the path.
    pub text: Option<String>,
}

impl Reread {
    fn workload(&self) -> Result<Workload, Failure> {
        let Some(text) = &self.text else { return load(&self.path) };
        let name = self.path.display().to_string();
        Workload::from_toml(&name, text).map_err(|error| Failure::input(error.into()))
    }
}

/// A plan to set up in a new process, on its standard input.
#[derive(Serialize, Deserialize)]
pub(super) struct SetUpRequest<P> {
    /// Threads that run CPU twins, as in a profile: 0 is as many as there are.
    pub threads: usize,
    /// Seed of what buffers hold.
    pub contents: u64,
    /// The kernel library as another process compiled it.
    pub image: String,
    pub scenario: Reread,
    pub program: P,
}

/// What it answers, in a line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Answer {
    Timed(NewProcessTimes),
    Failed(String),
}

/// Starts such processes and measures what comes for the first time in each.
///
/// # Errors
/// Why that cannot be measured, in words.
pub(super) fn measured(gpu: usize, extent: CalibrationExtent) -> Result<Vec<Measurement>, String> {
    let process = process(gpu, &[], PATIENCE)?;
    first_uses(&process, if extent == CalibrationExtent::Quick { 2 } else { 5 })
}

/// How to start this program as a new process.
fn process(gpu: usize, more: &[&str], patience: Duration) -> Result<NewProcess, String> {
    let program = std::env::current_exe().map_err(|error| {
        format!("cannot be started, because the path of this program is unknown: {error}")
    })?;
    let gpu = gpu.to_string();
    let arguments = [MEASURE, "--gpu", &gpu].into_iter().chain(more.iter().copied());
    Ok(NewProcess { program, arguments: arguments.map(OsString::from).collect(), patience })
}

/// The kernel library as a new process compiles it, which brings it and the driver into the
/// system's caches.
///
/// # Errors
/// What happened instead, as the end of a sentence.
pub(super) fn kernel_library(gpu: usize) -> Result<String, String> {
    Ok(process(gpu, &[], PATIENCE)?.times("")?.image)
}

/// Sets a plan up in a new process.
///
/// # Errors
/// What happened instead, as the end of a sentence.
pub(super) fn set_up(
    gpu: usize,
    request: &SetUpRequest<&Program>,
) -> Result<NewProcessTimes, String> {
    let request = serde_json::to_string(request).expect("a program is plain data");
    let (said, _) = process(gpu, &["--set-up"], LONG_PATIENCE)?.run(&request)?;
    match serde_json::from_str(said.trim()) {
        Ok(Answer::Timed(times)) => Ok(times),
        Ok(Answer::Failed(why)) => Err(format!("failed: {why}")),
        Err(error) => Err(format!("reported no times ({error})")),
    }
}

/// The new process's side: takes the kernel library from its standard input, and answers with its
/// times.
pub(super) fn measure(arguments: &NewProcessArguments) -> Result<Outcome, Failure> {
    if arguments.set_up {
        return measure_set_up(arguments.gpu);
    }
    let mut image = String::new();
    let input = std::io::stdin().lock();
    input.take(LARGEST_IMAGE).read_to_string(&mut image).map_err(Failure::of_machine)?;
    let times = first_times(arguments.gpu, image)?;
    let line = serde_json::to_string(&times).map_err(Failure::of_machine)?;
    print(&(line + "\n"))
}

/// The new process's side: sets up the plan that its standard input names.
fn measure_set_up(gpu: usize) -> Result<Outcome, Failure> {
    let request = std::io::stdin().lock();
    let request: SetUpRequest<Program> =
        serde_json::from_reader(request).map_err(Failure::of_machine)?;
    let SetUpRequest { threads, contents, image, scenario, program } = request;
    let workload = scenario.workload()?;
    let threads = if threads > 0 { threads } else { hardware_threads() };
    let times = time_new_process((gpu, &image), (threads, contents), (&workload, &program));
    let answer = match times {
        Ok(times) => Answer::Timed(times),
        Err(error) => Answer::Failed(error.to_string()),
    };
    let line = serde_json::to_string(&answer).map_err(Failure::of_machine)?;
    print(&(line + "\n"))
}
