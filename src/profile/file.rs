//! Reading and writing profiles.

use super::{LooksAfter, Profile};
use crate::files;
use miette::Diagnostic;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::Path;

/// Version of the file format.
pub const SCHEMA_VERSION: u32 = 1;

/// Bytes of a profile: hundreds of times what a calibration finds.
const LARGEST: u64 = 64 << 20;

/// How to come by a profile in place of one that is of no use.
const ANEW: &str = "make it anew from its samples, with `hallway fit SAMPLES --output FILE`, or \
                    with `hallway calibrate` on its machine";

/// What can be wrong with a profile's file.
#[derive(Debug, thiserror::Error, Diagnostic)]
pub enum ProfileError {
    #[error("cannot read {path}: {source}")]
    #[diagnostic(help(
        "give the path of a profile: `hallway calibrate` and `hallway fit` make one"
    ))]
    Read { path: String, source: std::io::Error },
    #[error("cannot write {path}: {source}")]
    Write { path: String, source: std::io::Error },
    #[error("{path} is not a profile: {source}")]
    #[diagnostic(help("{ANEW}"))]
    Parse { path: String, source: Box<toml::de::Error> },
    #[error("{path} has schema version {found}; this hallway reads version {SCHEMA_VERSION}")]
    #[diagnostic(help("{ANEW}"))]
    Version { path: String, found: u32 },
    #[error("{path} has samples, not a profile")]
    #[diagnostic(help("`hallway fit {path} --output FILE` makes one of them"))]
    Samples { path: String },
    #[error("{path}: {problem}")]
    #[diagnostic(help("put that right, or {ANEW}"))]
    Content { path: String, problem: String },
    #[error("{path} is not written, since nobody could read it: {problem}")]
    #[diagnostic(help("some of the samples cannot be right: look for times far from others"))]
    Unusable { path: String, problem: String },
}

/// What every version of the format has.
#[derive(Deserialize)]
struct Versioned {
    schema_version: u32,
}

impl Profile {
    /// # Errors
    /// If the file cannot be read or is not a profile of this version.
    pub fn load(path: &Path) -> Result<Self, ProfileError> {
        let name = path.display().to_string();
        let read = |source| ProfileError::Read { path: name.clone(), source };
        let text = files::read(path, LARGEST).map_err(read)?;
        if text.starts_with("{\"hallway_samples\"") {
            return Err(ProfileError::Samples { path: name });
        }
        let version = toml::from_str(&text).map(|found: Versioned| found.schema_version);
        if let Some(found) = version.ok().filter(|&found| found != SCHEMA_VERSION) {
            return Err(ProfileError::Version { path: name, found });
        }
        Self::read(&name, &text)
    }

    fn read(path: &str, text: &str) -> Result<Self, ProfileError> {
        let path = path.to_owned();
        let profile: Self = match toml::from_str(text) {
            Ok(profile) => profile,
            Err(source) => return Err(ProfileError::Parse { path, source: Box::new(source) }),
        };
        match profile.problem() {
            Some(problem) => Err(ProfileError::Content { path, problem }),
            None => Ok(profile),
        }
    }

    /// What is wrong with numbers that are each right by themselves.
    fn problem(&self) -> Option<String> {
        if self.machine.multiprocessors == 0 {
            return Some("`multiprocessors` of [machine] is 0, and must be at least 1".to_owned());
        }
        let several = &self.multi_gpu;
        let looks = || self.latency.looks.iter();
        let after = looks().flat_map(|looks| &looks.after);
        let in_graphs = looks().flat_map(|looks| &looks.in_graphs);
        let pair = |one: &LooksAfter| (one.from, one.to);
        // Of two that say different things, it would depend on their order which is believed.
        let twice = [
            twice("copy", self.copies.iter().map(|one| one.direction)),
            twice("registered_copy", self.registered_copies.iter().map(|one| one.direction)),
            twice("staging", self.staging.iter().map(|one| (one.direction, one.found))),
            twice("transfer", self.transfers.iter().map(|one| one.path)),
            twice("kernel", self.kernels.iter().map(|one| one.variant)),
            twice("twin", self.twins.iter().map(|one| (one.variant, one.found))),
            twice("polling", self.polling.iter().map(|one| one.copies)),
            twice(
                "handover",
                self.hand_overs.iter().map(|one| (one.from, one.to, one.across_streams)),
            ),
            twice("graph.handover", self.graph.hand_overs.iter().map(|one| (one.from, one.to))),
            twice("latency.looks.after", after.map(pair)),
            twice("latency.looks.in_graphs", in_graphs.map(pair)),
            twice("link.refetches", self.link.refetches.iter().map(|one| one.streams)),
            twice("interference", self.interference.iter().map(|one| (one.load, one.direction))),
            twice("multi_gpu.peer", several.peers.iter().map(|one| (one.from, one.to))),
            twice("multi_gpu.root", several.roots.iter().map(|one| one.devices)),
            twice("multi_gpu.other", several.others.iter().map(|one| one.device)),
        ];
        twice.into_iter().flatten().next()
    }

    /// Writes the profile so that readers see the old file or the new one, whole.
    ///
    /// # Errors
    /// If the folder or the file cannot be written, or it could not be read again; an old file
    /// stays as it was.
    pub fn save(&self, path: &Path) -> Result<(), ProfileError> {
        let name = path.display().to_string();
        let write = |source| ProfileError::Write { path: name.clone(), source };
        let text = toml::to_string(self).expect("a profile is plain data");
        Self::read(&name, &text).map_err(|error| ProfileError::Unusable {
            path: name.clone(),
            problem: error.to_string(),
        })?;
        files::write_whole(path, text.as_bytes()).map_err(write)
    }
}

/// The complaint if two tables of an array are about the same.
fn twice<K: Ord>(table: &str, mut keys: impl Iterator<Item = K>) -> Option<String> {
    let mut seen = BTreeSet::new();
    let is_twice = keys.any(|key| !seen.insert(key));
    is_twice.then(|| format!("two tables [[{table}]] are about the same; leave one out"))
}
