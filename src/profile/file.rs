//! Reading and writing profiles.

use super::Profile;
use std::path::Path;

/// Version of the file format.
pub const SCHEMA_VERSION: u32 = 1;

/// What can be wrong with a profile's file.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    #[error("cannot read {path}: {source}")]
    Read { path: String, source: std::io::Error },
    #[error("cannot write {path}: {source}")]
    Write { path: String, source: std::io::Error },
    #[error("{path} is not a profile: {source}")]
    Parse { path: String, source: Box<toml::de::Error> },
    #[error("{path} has schema version {found}; this hallway reads version {SCHEMA_VERSION}")]
    Version { path: String, found: u32 },
}

impl Profile {
    /// # Errors
    /// If the file cannot be read or is not a profile of this version.
    pub fn load(path: &Path) -> Result<Self, ProfileError> {
        let name = path.display().to_string();
        let read = |source| ProfileError::Read { path: name.clone(), source };
        let text = std::fs::read_to_string(path).map_err(read)?;
        let parse = |source| ProfileError::Parse { path: name.clone(), source: Box::new(source) };
        let profile: Self = toml::from_str(&text).map_err(parse)?;
        if profile.schema_version != SCHEMA_VERSION {
            return Err(ProfileError::Version { path: name, found: profile.schema_version });
        }
        Ok(profile)
    }

    /// Writes the profile so that readers see the old file or the new one, whole.
    ///
    /// # Errors
    /// If the folder or the file cannot be written; an old file stays as it was.
    pub fn save(&self, path: &Path) -> Result<(), ProfileError> {
        let name = path.display().to_string();
        let write = |source| ProfileError::Write { path: name.clone(), source };
        let text = toml::to_string(self).expect("a profile is plain data");
        crate::files::write_whole(path, text.as_bytes()).map_err(write)
    }
}
