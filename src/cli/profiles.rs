//! Finding profiles, scenarios and the files that belong to them; writing results.

use super::progress::Progress;
use super::{Failure, Predicting, imported};
use crate::files;
use crate::profile::Profile;
use crate::report::{self, Origin, ProblemKind, UnsteadyLink, ranges_held};
use crate::runs::RunSet;
use crate::samples::Samples;
use crate::scenario::{Source, Workload};
use crate::search::{Candidates, Plan, Ranking, candidates_for, contests, rank_counted};
use crate::simulate::Draws;
use crate::study::Calibration;
use crate::trace;
use crate::units::Span;
use crate::what_if::with_gpu;
use std::collections::BTreeMap;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// The folder whose folders are searched for profiles.
pub(super) const CALIBRATIONS: &str = "calibration";

/// How the names of folders with runs of random workloads begin. The seed follows.
pub(super) const RANDOM_RUNS: &str = "random-";

/// Bytes of a file of scores: the names of thousands of scenarios.
const LARGEST_SCORES: u64 = 1 << 20;

/// A profile and the path that it was read from.
pub(super) struct LoadedProfile {
    pub profile: Profile,
    pub path: PathBuf,
    /// Whether another GPU is in the machine than the one that was measured.
    pub has_other_gpu: bool,
}

impl LoadedProfile {
    /// What reports say of it.
    pub fn origin(&self) -> Origin {
        let mut origin = Origin::new(&self.path.display().to_string(), &self.profile);
        origin.by_data_sheet = self.has_other_gpu;
        let scores = (!self.has_other_gpu).then_some(self.scores());
        let scores = scores.and_then(|path| files::read(&path, LARGEST_SCORES).ok());
        origin.scored =
            scores.and_then(|text| report::Scores::read(&text, origin.calibration_unix_time));
        origin
    }

    /// The file with the scores of the runs on this machine.
    pub fn scores(&self) -> PathBuf {
        self.runs().with_file_name("scores.json")
    }

    /// The folder for runs on this machine.
    pub fn runs(&self) -> PathBuf {
        self.path.parent().unwrap_or(Path::new(".")).join("runs")
    }

    /// Where runs of a scenario on this machine are kept.
    pub fn runs_of(&self, workload: &Workload) -> PathBuf {
        runs_in(&self.runs(), workload)
    }

    /// The runs that an earlier `verify` kept, if there are any.
    pub fn kept_runs(&self, workload: &Workload) -> Result<Option<RunSet>, Failure> {
        let path = self.runs_of(workload);
        (path.exists() && !self.has_other_gpu)
            .then(|| self.saved_runs_at(workload, &path))
            .transpose()
    }

    /// The runs of a scenario in a file.
    pub fn saved_runs_at(&self, workload: &Workload, path: &Path) -> Result<RunSet, Failure> {
        if !path.exists() {
            let (name, path) = (&workload.name, path.display());
            return Err(Failure::refused(
                format!("no runs of `{name}` next to the profile: {path} does not exist"),
                "run `hallway verify` on the profile's machine, without --recorded",
            ));
        }
        let runs = RunSet::load(path)?;
        let (name, found) = (&workload.name, &runs.scenario);
        if found != name {
            return Err(Failure::refused(
                format!("{} contains runs of `{found}`, not of `{name}`", path.display()),
                "move the file out of the way and run `hallway verify` on the profile's machine",
            ));
        }
        // Runs can only be compared with the profile of the calibration that they belong to.
        if runs.calibration_unix_time == self.profile.machine.unix_time {
            return Ok(runs);
        }
        let path = self.path.display();
        Err(Failure::refused(
            format!("the runs of `{name}` belong to a different calibration than {path}"),
            "run `hallway verify` again on this profile's machine",
        ))
    }

    /// The samples that the profile was fitted to.
    pub fn own_samples(&self) -> Result<Samples, Failure> {
        let path = self.samples();
        let refused = |why: &str| {
            Failure::refused(
                format!("{why} {}", path.display()),
                "keep the profile next to its samples, where `hallway calibrate` wrote it",
            )
        };
        if !path.exists() {
            return Err(refused("no samples next to the profile: cannot find"));
        }
        let samples = Samples::load(&path)?;
        if samples.machine.unix_time == self.profile.machine.unix_time {
            Ok(samples)
        } else {
            Err(refused("the profile was not fitted to the samples next to it:"))
        }
    }

    /// Where the samples behind the profile are kept.
    pub fn samples(&self) -> PathBuf {
        self.path.with_file_name(Calibration::SAMPLES)
    }
}

/// Where runs of a scenario are kept in a folder of runs.
pub(super) fn runs_in(folder: &Path, workload: &Workload) -> PathBuf {
    folder.join(format!("{}.json", workload.name))
}

/// Runs are of the scenario's plans, by what was done and by name: the scenario may have changed
/// since, or a hand may have changed the file.
pub(super) fn check_runs(
    workload: &Workload,
    ranking: &Ranking,
    runs: &RunSet,
) -> Result<(), Failure> {
    let known = ranking.plans.iter().map(|ranked| &ranked.plan);
    let known = known.chain(ranking.unknown.iter().map(|(plan, _)| plan));
    // Runs of a scenario are of all its parts.
    let mut is_known = runs.runs.is_empty() || workload.part.is_some();
    for plan in known {
        let Some(run) = runs.run_of(&plan.identity()) else { continue };
        is_known = true;
        let (name, named) = (plan.name(), &run.plan);
        if *named != name {
            return Err(Failure::refused(
                format!("{}: the run named `{named}` is a run of `{name}`", workload.name),
                "correct the name in the file of runs, or run `hallway verify` again",
            ));
        }
        check_trace(workload, plan, runs)?;
    }
    if is_known {
        return Ok(());
    }
    let name = &workload.name;
    Err(Failure::refused(
        format!(
            "`{name}` has changed since its plans were run: none of the runs matches a current plan"
        ),
        "run `hallway verify` again on the profile's machine, or give the scenario another `name`",
    ))
}

/// Refuses a number of runs that takes longer than can be counted with any of the plans: which one
/// is faster then shows in no time of a whole program.
pub(super) fn check_runs_count(
    workload: &Workload,
    ranking: &Ranking,
    runs: u64,
) -> Result<(), Failure> {
    let Some(long) = ranking.too_long_over(runs) else { return Ok(()) };
    let (most, pass) = (Span::LONGEST.in_years(), long.makespan());
    let (scenario, plan) = (&workload.name, long.plan.name());
    Err(Failure::told(
        ProblemKind::Unanswered,
        format!(
            "{scenario}: {runs} runs of `{plan}` at {pass} each take more than the limit of {most}"
        ),
        "use fewer runs, with `--runs` or `runs` in the scenario",
    ))
}

/// What was timed are calls of the plan.
fn check_trace(workload: &Workload, plan: &Plan, runs: &RunSet) -> Result<(), Failure> {
    let calls = plan.program.body.len();
    let Some(trace) = runs.trace_of(&plan.identity()) else { return Ok(()) };
    let named = trace.timeline.activities.iter().flat_map(|one| {
        let after = one.cause.map(|cause| cause.after);
        std::iter::once(one.call).chain(after)
    });
    let Some(call) = named.max().filter(|&call| call >= calls) else { return Ok(()) };
    let (scenario, plan, last) = (&workload.name, plan.name(), calls.saturating_sub(1));
    Err(Failure::refused(
        format!(
            "{scenario}: `traces` refers to call {call} of `{plan}`, which only has calls 0 to \
             {last}"
        ),
        "run `hallway verify` again on the profile's machine",
    ))
}

/// The path of a profile that is named by its own path or by its folder.
pub(super) fn in_folder(path: &Path) -> PathBuf {
    if path.is_dir() { path.join(Calibration::PROFILE) } else { path.to_owned() }
}

impl Predicting {
    /// The profile that was named, or the newest of `calibration/*/profile.toml`.
    pub fn profile(&self) -> Result<LoadedProfile, Failure> {
        match self.profile.as_slice() {
            [] => self.load_profile(newest(Path::new(CALIBRATIONS))?),
            [path] => self.load_profile(in_folder(path)),
            several => Err(Failure::refused(
                format!("this command takes one profile, but {} were given", several.len()),
                "pass one profile; only `hallway evaluate` compares machines",
            )),
        }
    }

    /// All profiles that were named, or the newest.
    pub fn profiles(&self) -> Result<Vec<LoadedProfile>, Failure> {
        if self.profile.is_empty() {
            return Ok(vec![self.profile()?]);
        }
        self.profile.iter().map(|path| self.load_profile(in_folder(path))).collect()
    }

    fn load_profile(&self, path: PathBuf) -> Result<LoadedProfile, Failure> {
        match Profile::load(&path) {
            Ok(measured) => {
                let profile = match self.gpu_model {
                    Some(gpu) => with_gpu(&measured, gpu).map_err(|why| {
                        Failure::refused(
                            why,
                            "drop --gpu-model, or describe the machine with a table",
                        )
                    })?,
                    None => measured.clone(),
                };
                let profile = self.switches.applied(profile);
                let has_other_gpu = profile.machine.gpu != measured.machine.gpu;
                Ok(LoadedProfile { profile, path, has_other_gpu })
            }
            Err(_) if Workload::load(&path).is_ok() => Err(mixed_up(&path, "scenario", "profile")),
            Err(error) => Err(error.into()),
        }
    }

    /// The files that every predicting command reads.
    pub fn inputs<'p>(
        &'p self,
        found: impl IntoIterator<Item = &'p LoadedProfile>,
        workloads: impl IntoIterator<Item = &'p Workload>,
    ) -> impl Iterator<Item = &'p Path> {
        let profiles = found.into_iter().map(|found| &found.path);
        let of_kernels = workloads.into_iter().flat_map(|workload| &workload.files);
        self.scenarios.iter().chain(profiles).chain(of_kernels).map(PathBuf::as_path)
    }

    /// Predicts for a machine, and shows how far that has come.
    pub fn predictor<'p>(&self, found: &'p LoadedProfile, progress: &'p Progress) -> Predictor<'p> {
        // How many times as wide ranges have to be to hold what they are made for on this machine.
        let held = ranges_held(&found.origin(), &found.profile);
        let draws = self.draws().widened(held.map_or(1.0, |held| held.widening()));
        Predictor { found, draws, progress }
    }

    /// Reads the scenarios.
    pub fn workloads(&self) -> Result<Vec<Workload>, Failure> {
        Ok(self.sources()?.into_iter().map(|(_, workload)| workload).collect())
    }

    /// Reads the scenarios, each in parts whose plans leave the same results.
    pub fn contests(&self) -> Result<Vec<Workload>, Failure> {
        Ok(self.workloads()?.iter().flat_map(contests).collect())
    }

    /// Reads the scenarios, and keeps their texts. Two may not share a name: runs, pictures and
    /// reports are named after them, and the second would overwrite the first.
    pub fn sources(&self) -> Result<Vec<(Source, Workload)>, Failure> {
        let sources: Vec<(Source, Workload)> =
            self.scenarios.iter().map(|path| source(path)).collect::<Result<_, _>>()?;
        let mut places = BTreeMap::new();
        for ((_, workload), path) in sources.iter().zip(&self.scenarios) {
            let name = &workload.name;
            if let Some(first) = places.insert(name, path) {
                let (one, other) = (first.display(), path.display());
                return Err(Failure::refused(
                    format!("two scenarios are named `{name}`: {one} and {other}"),
                    "change the `name` in one of them, or run the command separately for each",
                ));
            }
        }
        Ok(sources)
    }
}

/// Predicts plans for one machine, as stages of some work whose progress is shown.
#[derive(Clone, Copy)]
pub(super) struct Predictor<'p> {
    pub found: &'p LoadedProfile,
    pub draws: Draws,
    pub progress: &'p Progress,
}

impl Predictor<'_> {
    /// Predicts and ranks the plans of a workload, as the next stage.
    pub fn ranking(&self, workload: &Workload) -> Ranking {
        self.ranking_of(workload, candidates_for(workload, &self.found.profile), 0)
    }

    /// Like [`ranking`](Self::ranking), of these plans, for a stage in which each of them is
    /// simulated `more` times once all are ranked.
    pub fn ranking_of(&self, workload: &Workload, candidates: Candidates, more: u64) -> Ranking {
        self.progress.begin(&workload.name, u64::MAX);
        let calls: u64 = candidates.plans.iter().map(|plan| plan.program.body.len() as u64).sum();
        // One more for its timeline.
        self.progress.expect(calls * (self.draws.count as u64 + 1 + more));
        let mut ranking =
            rank_counted(candidates, &self.found.profile, self.draws, self.progress.tally());
        ranking.link_off = UnsteadyLink::of(&self.found.profile).map_or(0.0, UnsteadyLink::widest);
        ranking
    }
}

/// Writes a result to a file or to standard output.
pub(super) fn deliver(text: &str, output: Option<&Path>) -> Result<(), Failure> {
    if let Some(path) = output {
        return write_whole(path, text);
    }
    // Plans, machines and scenarios have their names from files, which are shown as they are.
    let text = files::without_controls(text);
    match std::io::stdout().write_all(text.as_bytes()) {
        // A reader that stops reading, such as `head`, is no failure.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(|error| {
            Failure::of_machine(format!("cannot write to standard output: {error}"))
        }),
    }
}

/// Writes a file that the user named, whole or not at all.
pub(super) fn write_whole(path: &Path, text: &str) -> Result<(), Failure> {
    let failure = |error| Failure::unwritten(path.display(), &error);
    files::write_whole(path, text.as_bytes()).map_err(failure)
}

/// Reads a scenario, and says so if it is something else.
pub(super) fn load(path: &Path) -> Result<Workload, Failure> {
    source(path).map(|(_, workload)| workload)
}

fn source(path: &Path) -> Result<(Source, Workload), Failure> {
    if trace::is_trace(path) {
        return imported::source(path);
    }
    Source::load(path).map_err(|error| match Profile::load(path) {
        Ok(_) => mixed_up(path, "profile", "scenario"),
        Err(_) => Failure::input(error.into()),
    })
}

fn mixed_up(path: &Path, is: &str, not: &str) -> Failure {
    Failure::refused(
        format!("{} is a {is}, not a {not}", path.display()),
        "pass scenarios as arguments and the profile with --profile",
    )
}

/// The profile with the latest calibration date in the folders of a folder.
pub(super) fn newest(folder: &Path) -> Result<PathBuf, Failure> {
    let none = || {
        Failure::refused(
            format!("no profile found: no {}/*/profile.toml in this directory", folder.display()),
            "pass a profile with --profile, change to a directory that has one, or run `hallway \
             calibrate`",
        )
    };
    let entries = std::fs::read_dir(folder).map_err(|_| none())?;
    let paths = entries.flatten().map(|entry| entry.path().join(Calibration::PROFILE));
    let mut paths: Vec<PathBuf> = paths.filter(|path| path.is_file()).collect();
    paths.sort();
    let mut best = None;
    for path in paths {
        let time = Profile::load(&path)?.machine.unix_time;
        if best.as_ref().is_none_or(|&(newest, _)| time > newest) {
            best = Some((time, path));
        }
    }
    best.map(|(_, path)| path).ok_or_else(none)
}
