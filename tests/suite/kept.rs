//! What is written to a file and read from there again.

use hallway::profile::Profile;
use hallway::samples::{Recorder, Samples};

/// A profile as it is read from the file that it was written to.
#[track_caller]
pub fn saved(profile: &Profile) -> Profile {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("profile.toml");
    profile.save(&path).expect("written");
    Profile::load(&path).expect("what was written")
}

/// Samples as they are read from the file that they were recorded in.
#[track_caller]
pub fn recorded(samples: &Samples) -> Samples {
    let mut text = Vec::new();
    Recorder::new(&mut text, samples).and_then(Recorder::end).expect("a vector takes everything");
    loaded(&text).expect("what was written")
}

/// What is read from a file of samples with this text, which may still grow.
pub fn loaded(text: &[u8]) -> Result<Samples, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("samples.partial.jsonl");
    std::fs::write(&path, text).expect("written");
    Samples::load(&path).map_err(|error| error.to_string())
}
