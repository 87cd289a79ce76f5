//! `hallway calibrate --scenario`: measure what scenarios bring along, and add it to a profile.
//!
//! Kernels run in a child process, which is this program again with a command that help does not
//! show. A kernel that faults takes its process along, and one that never ends is killed with it.

use super::outputs::check_outputs;
use super::profiles::{CALIBRATIONS, LoadedProfile, deliver, in_folder, load, newest};
use super::{Failure, Outcome, print};
use crate::calibrate::{NewProcess, ScenarioJob};
use crate::files;
use crate::gpu::Device;
use crate::profile::Profile;
use crate::report::ProblemKind;
use crate::samples::{Measurement, Recorder, Samples};
use crate::scenario::Workload;
use crate::study::{Calibration, CommandJob, Wanted, with_own_models};
use crate::units::Span;
use clap::{Args, ValueHint};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// The command of the child process.
pub(super) const MEASURE: &str = "measure-kernels";

/// What to measure for scenarios.
#[derive(Debug, Args)]
pub(super) struct ScenarioArguments {
    /// Measure only what this scenario needs and the profile lacks: its own kernels, matrix
    /// products with its shapes, and library kernels at sizes outside the calibrated range. Takes
    /// seconds
    #[arg(long = "scenario", value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[arg(conflicts_with_all = ["resume", "quick", "managed", "check", "gpus", "threads", "seed"])]
    pub scenarios: Vec<PathBuf>,
    /// With --scenario: profile to add the measurements to, or its folder [default: the newest in
    /// calibration/*/]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::AnyPath, requires = "scenarios")]
    profile: Option<PathBuf>,
    /// Also run and time the commands that the scenario specifies as CPU versions of its kernels
    #[arg(long, requires = "scenarios")]
    allow_commands: bool,
    /// Kill a kernel or a command that runs for longer than this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 20, requires = "scenarios",
        value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout: u64,
}

/// What a child is asked for, on its standard input.
#[derive(Serialize, Deserialize)]
struct Request {
    gpu: usize,
    /// Threads that run CPU twins.
    threads: usize,
    jobs: Vec<ScenarioJob>,
}

/// What a child answers for each job, in a line of its own.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Answer {
    Measured(Vec<Measurement>),
    Failed(String),
    NoGpu(String),
}

/// Runs of a command, and the time after which there are no more.
const RUNS: usize = 5;
const PATIENCE: Duration = Duration::from_secs(2);

pub(super) fn run(
    arguments: &ScenarioArguments,
    output: Option<&Path>,
    gpu: usize,
) -> Result<Outcome, Failure> {
    let path = match &arguments.profile {
        Some(path) => in_folder(path),
        None => newest(Path::new(CALIBRATIONS))?,
    };
    let found = LoadedProfile { profile: Profile::load(&path)?, path, has_other_gpu: false };
    let workloads = arguments.scenarios.iter().map(|path| load(path));
    let workloads: Vec<Workload> = workloads.collect::<Result<_, _>>()?;
    let mut samples = found.own_samples()?;
    let (samples_path, profile_path) = match output {
        Some(folder) => (folder.join(Calibration::SAMPLES), folder.join(Calibration::PROFILE)),
        None => (found.samples(), found.path.clone()),
    };
    let of_kernels = workloads.iter().flat_map(|workload| &workload.files);
    let inputs = arguments.scenarios.iter().chain(of_kernels).map(PathBuf::as_path);
    check_outputs(inputs, [samples_path.as_path(), profile_path.as_path()])?;
    let mut wanted = Wanted::new(&workloads, &samples, &found.profile);
    let mut text = String::new();
    if !arguments.allow_commands {
        for CommandJob { name, command, .. } in std::mem::take(&mut wanted.commands) {
            let command = command.join(" ");
            let _ = writeln!(
                text,
                "Skipped: `{command}`, the CPU version of `{name}`. --allow-commands lets hallway \
                 run it."
            );
        }
    }
    if wanted.is_empty() {
        text += "Nothing to measure: the samples already cover this scenario.\n";
        return print(&text);
    }
    let before = samples.measurements.len();
    let timeout = Duration::from_secs(arguments.timeout);
    // What failed takes nothing from what did not.
    let mut failed =
        measure_kernels(&wanted.kernels, gpu, timeout, &found, &mut samples.measurements)?;
    for job in &wanted.commands {
        match timed(job, timeout) {
            Ok(measurement) => samples.measurements.push(measurement),
            Err(failure) => failed = failed.or(Some(failure)),
        }
    }
    if samples.measurements.len() == before {
        return failed.map_or(Ok(Outcome::Done), Err);
    }
    for measurement in &samples.measurements[before..] {
        let _ = writeln!(text, "{}: {}", measurement.quantity, of_one(measurement));
    }
    let profile = with_own_models(found.profile.clone(), &samples);
    save(&samples, &samples_path)?;
    profile.save(&profile_path)?;
    let _ = writeln!(text, "Added to {}", profile_path.display());
    deliver(&text, None)?;
    failed.map_or(Ok(Outcome::Done), Err)
}

fn save(samples: &Samples, path: &Path) -> Result<(), Failure> {
    let unwritten = |error| Failure::unwritten(path.display(), &error);
    let mut text = Vec::new();
    let recorder = Recorder::new(&mut text, samples).map_err(unwritten)?;
    recorder.end().map_err(unwritten)?;
    files::write_whole(path, &text).map_err(unwritten)
}

/// The median time of one repetition.
fn of_one(measurement: &Measurement) -> Span {
    let mut times = measurement.times.clone();
    times.sort_unstable();
    let middle = times.get(times.len() / 2).copied().unwrap_or_default();
    Span::from_nanos(middle.nanos() / measurement.count.max(1))
}

/// Measures all jobs in child processes: a kernel that fails ends its own, and another one goes on
/// with the rest. Returns the first failure.
///
/// # Errors
/// If there is no GPU or another one than the profile's, or no process.
fn measure_kernels(
    jobs: &[ScenarioJob],
    gpu: usize,
    timeout: Duration,
    found: &LoadedProfile,
    measured: &mut Vec<Measurement>,
) -> Result<Option<Failure>, Failure> {
    if !jobs.is_empty() {
        check_machine(gpu, found)?;
    }
    let (mut rest, mut first) = (jobs, None);
    while !rest.is_empty() {
        let mut child = child()?;
        let threads = found.profile.machine.cpu_threads.max(1);
        let answers = child.answers(&Request { gpu, threads, jobs: rest.to_vec() })?;
        while let Some((job, others)) = rest.split_first() {
            rest = others;
            let failure = match answers.recv_timeout(timeout) {
                Ok(Answer::Measured(found)) => {
                    measured.extend(found);
                    continue;
                }
                Ok(Answer::NoGpu(why)) => return Err(Failure::no_gpu(why)),
                Ok(Answer::Failed(why)) => failed(job, &why),
                Err(RecvTimeoutError::Timeout) => Failure::told(
                    ProblemKind::Machine,
                    format!("{} did not finish within {} s", job.name(), timeout.as_secs()),
                    "look for an infinite loop, launch less work, or raise --timeout",
                ),
                Err(RecvTimeoutError::Disconnected) => {
                    failed(job, &format!("its process died: {}", child.last_words()))
                }
            };
            first = first.or(Some(failure));
            break;
        }
    }
    Ok(first)
}

fn child() -> Result<Guarded, Failure> {
    let this = std::env::current_exe().map_err(Failure::of_machine)?;
    let [input, output, errors] = [(); 3].map(|()| Stdio::piped());
    let mut command = Command::new(this);
    command.arg(MEASURE).stdin(input).stdout(output).stderr(errors);
    command.spawn().map(Guarded).map_err(Failure::of_machine)
}

/// Says what happened to a kernel, and what to do.
fn failed(job: &ScenarioJob, why: &str) -> Failure {
    let help = if why.contains("ILLEGAL_ADDRESS") || why.contains("MISALIGNED") {
        "the kernel accesses memory outside its arguments: check `parameters`, `grid` and the \
         ranges in `reads` and `writes` against the code; `compute-sanitizer` finds the line"
    } else if why.contains("OUT_OF_MEMORY") {
        "use smaller ranges, or free device memory"
    } else if why.contains("cannot be loaded") {
        "check the code, its `entry` and its `include` folders"
    } else {
        "check `block`, `grid`, `shared` and `parameters` against the code"
    };
    Failure::told(ProblemKind::Machine, format!("{} failed: {why}", job.name()), help)
}

/// A profile is only added to on its own machine.
fn check_machine(gpu: usize, found: &LoadedProfile) -> Result<(), Failure> {
    let device = Device::open(gpu)?;
    let (here, there) = (device.describe()?.name, &found.profile.machine.gpu);
    if here == *there {
        return Ok(());
    }
    Err(Failure::refused(
        format!("{} was measured on {there}, but this GPU is {here}", found.path.display()),
        "pass a profile of this machine with --profile, or run `hallway calibrate` first",
    ))
}

/// A child process that does not outlive its owner.
struct Guarded(Child);

impl Guarded {
    /// Hands the child its request, and reads its answers as they come.
    fn answers(&mut self, request: &Request) -> Result<Receiver<Answer>, Failure> {
        let request = serde_json::to_vec(request).map_err(Failure::of_machine)?;
        let (send, receive) = channel();
        let (input, output) = (self.0.stdin.take(), self.0.stdout.take());
        std::thread::spawn(move || {
            if let Some(mut input) = input {
                // A child that is gone already says so on its other end.
                let _ = input.write_all(&request);
            }
            let lines = output.into_iter().flat_map(|output| BufReader::new(output).lines());
            for line in lines.map_while(Result::ok) {
                let Ok(answer) = serde_json::from_str(&line) else { continue };
                if send.send(answer).is_err() {
                    return;
                }
            }
        });
        Ok(receive)
    }

    /// How a child that ended by itself did so.
    fn last_words(&mut self) -> String {
        let status = self.0.wait().map_or_else(|error| error.to_string(), |s| s.to_string());
        let mut words = String::new();
        if let Some(mut errors) = self.0.stderr.take() {
            let _ = errors.read_to_string(&mut words);
        }
        let last = words.lines().last().unwrap_or_default();
        if last.is_empty() { status } else { format!("{status}; {last}") }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The child's side: measures what its standard input asks for.
pub(super) fn measure() -> Result<Outcome, Failure> {
    let request: Request =
        serde_json::from_reader(std::io::stdin().lock()).map_err(Failure::of_machine)?;
    let answer = |answer: &Answer| {
        let line = serde_json::to_string(answer).map_err(Failure::of_machine)?;
        deliver(&(line + "\n"), None)
    };
    let device = match Device::open(request.gpu) {
        Ok(device) => device,
        Err(error) => return answer(&Answer::NoGpu(error.to_string())).map(|()| Outcome::NoGpu),
    };
    for job in &request.jobs {
        match job.measure(&device, request.threads) {
            Ok(measured) => answer(&Answer::Measured(measured))?,
            Err(error) => {
                // Behind a fault, the context is of no use any more, even for its own end.
                answer(&Answer::Failed(error.to_string()))?;
                std::process::exit(Outcome::CheckFailed.code().into());
            }
        }
    }
    Ok(Outcome::Done)
}

/// Times a command: by its last line if that is a time, and otherwise from its start to its end.
fn timed(job: &CommandJob, timeout: Duration) -> Result<Measurement, Failure> {
    let failed = |why: &str| {
        let (command, name) = (job.command.join(" "), &job.name);
        let what = format!("the CPU version of `{name}`, `{command}`, {why}");
        let help = "run the command by itself; it must exit with 0";
        Failure::told(ProblemKind::Machine, what, help)
    };
    let process = NewProcess {
        program: PathBuf::from(&job.command[0]),
        arguments: job.command[1..].iter().map(OsString::from).collect(),
        patience: timeout,
    };
    let mut times = Vec::new();
    let all = Instant::now();
    while times.is_empty() || (times.len() < RUNS && all.elapsed() < PATIENCE) {
        let (text, took) = process.run("").map_err(|why| failed(&why))?;
        let said = text.lines().last().and_then(|line| line.trim().parse::<Span>().ok());
        times.push(said.unwrap_or(took.into()));
    }
    Ok(job.measured(times))
}
