//! Reading and writing profiles.

use super::Profile;
use crate::files::{self, Place};
use miette::Diagnostic;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt::Display;
use std::path::Path;

/// Version of the file format.
pub const SCHEMA_VERSION: u32 = 2;

/// The last line of every profile. A file that was cut where a table ends would still be TOML,
/// and a smaller profile.
const END: &str = "# end of the profile";

/// Bytes of a profile: hundreds of times what a calibration finds.
const LARGEST: u64 = 64 << 20;

/// How to get a profile in place of one that cannot be used.
const ANEW: &str = "recreate it from its samples with `hallway fit SAMPLES --output FILE`, or \
                    with `hallway calibrate` on its machine";

/// What can be wrong with a profile's file.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    #[error("cannot read {path}: {source}")]
    Read { path: String, source: std::io::Error },
    #[error("cannot write {path}: {source}")]
    Write { path: String, source: std::io::Error },
    #[error("{path}:{place}: not a profile: {problem}")]
    Parse { path: String, place: Place, problem: String },
    #[error("{path}: {}", files::ends_early(END))]
    EndsEarly { path: String },
    #[error(
        "{path} has schema version {found}, but this version of hallway reads version \
         {SCHEMA_VERSION}"
    )]
    Version { path: String, found: u32 },
    #[error("{path} contains samples, not a profile")]
    Samples { path: String },
    #[error("{path}: {problem}")]
    Content { path: String, problem: String },
    #[error("{path} was not written because it would not be a valid profile: {problem}")]
    Unusable { path: String, problem: String },
}

impl Diagnostic for ProfileError {
    fn help<'a>(&'a self) -> Option<Box<dyn Display + 'a>> {
        let help = match self {
            Self::Read { .. } => {
                "pass the path of a profile; `hallway calibrate` and `hallway fit` create \
                 profiles"
                    .to_owned()
            }
            Self::Write { .. } => return None,
            Self::Parse { .. } | Self::Version { .. } => ANEW.to_owned(),
            Self::EndsEarly { .. } => {
                format!("{ANEW}, or add the line if you are sure that nothing is missing")
            }
            Self::Samples { path } => {
                format!("fit a profile to them with `hallway fit {path} --output FILE`")
            }
            Self::Content { .. } => format!("correct this, or {ANEW}"),
            Self::Unusable { .. } => {
                "some of the samples must be wrong: look for outliers".to_owned()
            }
        };
        Some(Box::new(help))
    }
}

/// What every version of the format has.
#[derive(Deserialize)]
struct Versioned {
    schema_version: u32,
}

impl Profile {
    /// The profile as its file has it: names, numbers, words, lists and tables of them.
    pub(super) fn plain(&self) -> Value {
        let mut plain = serde_json::to_value(self).expect("a profile is plain data");
        drop_nothing(&mut plain);
        if let Value::Object(sections) = &mut plain {
            sections.retain(|_, section| section.as_object().is_none_or(|keys| !keys.is_empty()));
        }
        plain
    }

    /// # Errors
    /// If the file cannot be read or is not a profile of this version.
    pub fn load(path: &Path) -> Result<Self, ProfileError> {
        let name = path.display().to_string();
        let read = |source| ProfileError::Read { path: name.clone(), source };
        let text = files::read(path, LARGEST).map_err(read)?;
        if text.starts_with("{\"hallway_samples\"") {
            return Err(ProfileError::Samples { path: name });
        }
        let version = files::decode(&text).map(|found: Versioned| found.schema_version);
        if let Some(found) = version.ok().filter(|&found| found != SCHEMA_VERSION) {
            return Err(ProfileError::Version { path: name, found });
        }
        Self::read(&name, &text)
    }

    fn read(path: &str, text: &str) -> Result<Self, ProfileError> {
        let path = path.to_owned();
        let is_profile = text.starts_with("schema_version") || text.contains("\n[machine]");
        if is_profile && !text.trim_end().ends_with(END) {
            return Err(ProfileError::EndsEarly { path });
        }
        let unfit = |error: files::TomlError| {
            let place = Place::at(text, error.span.start);
            ProfileError::Parse { path: path.clone(), place, problem: error.to_string() }
        };
        let profile: Self = files::decode(text).map_err(unfit)?;
        match profile.problem() {
            Some(problem) => Err(ProfileError::Content { path, problem }),
            None => Ok(profile),
        }
    }

    /// Writes the profile so that readers see the old file or the new one, whole.
    ///
    /// # Errors
    /// If the folder or the file cannot be written, or it could not be read again; an old file
    /// stays as it was.
    pub fn save(&self, path: &Path) -> Result<(), ProfileError> {
        let name = path.display().to_string();
        let write = |source| ProfileError::Write { path: name.clone(), source };
        let text = toml::to_string(&self.plain()).expect("a profile is plain data");
        let text = text + "\n" + END + "\n";
        Self::read(&name, &text).map_err(|error| ProfileError::Unusable {
            path: name.clone(),
            problem: error.to_string(),
        })?;
        files::write_whole(path, text.as_bytes()).map_err(write)
    }
}

/// Leaves out the keys that have no value, for which TOML has no word, and empty lists.
pub(super) fn drop_nothing(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| {
                !field.is_null() && field.as_array().is_none_or(|of| !of.is_empty())
            });
            fields.values_mut().for_each(drop_nothing);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nothing),
        _ => {}
    }
}

/// A profile, or a part of one, from plain data that was put together from sound ones. It goes
/// through a text, so that serde's code for these types is compiled once, for files alone.
pub(super) fn of_plain<T: DeserializeOwned>(plain: &Value) -> T {
    let text = toml::to_string(plain).expect("plain data");
    files::decode(&text).expect("all of it was sound")
}
