//! The committed scenarios on the committed profile, predicted once for all tests.

use hallway::profile::Profile;
use hallway::runs::RunSet;
use hallway::scenario::Workload;
use hallway::search::{Ranking, candidates_over, rank};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub static PROFILE: LazyLock<Profile> = LazyLock::new(|| {
    Profile::load(&repository().join("calibration/h200/profile.toml")).expect("it is committed")
});

pub static RANKED: LazyLock<Vec<(Workload, Ranking)>> = LazyLock::new(|| {
    let folder = std::fs::read_dir(repository().join("scenarios")).expect("readable");
    let mut paths: Vec<PathBuf> = folder.map(|entry| entry.expect("readable").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    let workloads = paths.iter().map(|path| Workload::load(path).expect("a scenario"));
    workloads.map(|workload| (workload.clone(), ranked(&workload, &PROFILE))).collect()
});

/// With few draws, which is quick.
pub fn ranked(workload: &Workload, profile: &Profile) -> Ranking {
    rank(candidates_over(workload, &profile.gpu_counts()), profile, 10, 1)
}

/// The runs that were committed with the profile.
pub fn runs(workload: &Workload) -> RunSet {
    let path = repository().join("calibration/h200/runs").join(format!("{}.json", workload.name));
    RunSet::load(&path).expect("they are committed")
}
