//! The committed scenarios on the committed profile, predicted once for all tests.

use hallway::fit::fit;
use hallway::profile::{Profile, ProfileError};
use hallway::runs::{Run, RunSet};
use hallway::samples::Samples;
use hallway::scenario::Workload;
use hallway::search::{Ranked, Ranking, candidates_for, candidates_over, rank};
use hallway::units::Span;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A committed scenario, by its path below `scenarios` without the ending.
pub fn scenario(name: &str) -> Workload {
    let path = repository().join("scenarios").join(name).with_extension("toml");
    Workload::load(&path).expect("it is committed")
}

/// The committed scenarios in folders below `scenarios`, in order.
pub fn scenarios(folders: &[&str]) -> Vec<PathBuf> {
    let list = |folder: &&str| {
        let folder = repository().join("scenarios").join(folder);
        std::fs::read_dir(folder).expect("readable").map(|entry| entry.expect("readable").path())
    };
    let mut paths: Vec<PathBuf> = folders.iter().flat_map(list).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    paths
}

/// The profile of a committed calibration, by its folder below `calibration`.
pub fn calibrated(folder: &str) -> Profile {
    let folder = repository().join("calibration").join(folder);
    Profile::load(&folder.join("profile.toml")).expect("it is committed")
}

/// Saves a profile, edits the text of its file, and loads it again.
pub fn reread(
    profile: &Profile,
    edit: impl FnOnce(String) -> String,
) -> Result<Profile, ProfileError> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("profile.toml");
    profile.save(&path).expect("it can be read");
    let text = std::fs::read_to_string(&path).expect("written");
    std::fs::write(&path, edit(text)).expect("written");
    Profile::load(&path)
}

pub static PROFILE: LazyLock<Profile> = LazyLock::new(|| calibrated("h200"));

/// The samples from which it was fitted.
pub static SAMPLES: LazyLock<Samples> = LazyLock::new(|| {
    Samples::load(&repository().join("calibration/h200/samples.jsonl")).expect("committed")
});

/// What the samples are fitted to, which takes seconds. Trials are left out.
pub static FITTED: LazyLock<Profile> = LazyLock::new(|| fit(&SAMPLES).expect("samples"));

pub static RANKED: LazyLock<Vec<(Workload, Ranking)>> = LazyLock::new(|| {
    let workloads = scenarios(&[""]).into_iter().map(|path| Workload::load(&path).expect("valid"));
    workloads.map(|workload| (workload.clone(), ranked(&workload, &PROFILE))).collect()
});

/// With few draws, which is quick.
pub fn ranked(workload: &Workload, profile: &Profile) -> Ranking {
    rank(candidates_over(workload, &profile.gpu_counts()), profile, 10, 1)
}

/// With few draws, over the plans that a search with the profile finds.
pub fn searched(workload: &Workload, profile: &Profile) -> Ranking {
    rank(candidates_for(workload, profile), profile, 10, 1)
}

/// The plan of a name.
#[track_caller]
pub fn plan_of<'r>(ranking: &'r Ranking, name: &str) -> &'r Ranked {
    let found = ranking.plans.iter().find(|one| one.plan.program.label == name);
    found.unwrap_or_else(|| panic!("no `{name}`: {:?}", ranking.unknown))
}

/// How many milliseconds a plan of a name is predicted to take.
#[track_caller]
pub fn milliseconds(ranking: &Ranking, name: &str) -> f64 {
    plan_of(ranking, name).makespan().nanos_f64() * 1e-6
}

/// A scenario of one of the cases that people asked about in public.
pub fn case(file: &str) -> Workload {
    Workload::load(&case_path(file)).expect("a scenario")
}

/// A file of one of the cases that people asked about in public.
pub fn case_path(file: &str) -> PathBuf {
    repository().join("tests/cases").join(file)
}

/// Three runs of a plan that took equally long.
pub fn run_of(ranked: &Ranked, time: Span) -> Run {
    Run {
        plan: ranked.plan.name(),
        identity: ranked.plan.identity(),
        setups_ns: vec![ranked.setup.clone().unwrap_or(time); 3],
        passes_ns: vec![time; 3],
        beside_ns: Vec::new(),
        new_processes: Vec::new(),
        worst_error: 0.0,
    }
}

/// The runs that were committed with the profile.
pub fn runs(workload: &Workload) -> RunSet {
    let path = repository().join("calibration/h200/runs").join(format!("{}.json", workload.name));
    RunSet::load(&path).expect("they are committed")
}
