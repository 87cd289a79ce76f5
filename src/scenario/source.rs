//! The text of a scenario, and workloads that differ from it in one number.

use super::Workload;
use super::check::read_file;
use super::error::ScenarioError;
use super::key::{Key, all_keys};
use crate::files;
use std::path::{Path, PathBuf};

/// A scenario as it was written, from which others are read in which one number is another one.
#[derive(Debug, Clone)]
pub struct Source {
    /// What errors call it. Files of its kernels lie beside it.
    path: PathBuf,
    text: String,
    keys: Vec<Key>,
}

impl Source {
    /// Reads and checks the scenario in a file.
    ///
    /// # Errors
    /// The first mistake.
    pub fn load(path: &Path) -> Result<(Self, Workload), ScenarioError> {
        Self::from_toml(path, &read_file(path)?)
    }

    /// Reads and checks a scenario; `path` is what errors call it.
    ///
    /// # Errors
    /// The first mistake.
    pub fn from_toml(path: &Path, text: &str) -> Result<(Self, Workload), ScenarioError> {
        let text = files::with_line_feeds(text).into_owned();
        let workload = Workload::from_toml(&path.display().to_string(), &text)?;
        let keys = files::parse(&text).map(|document| all_keys(document.get_ref()));
        let keys = keys.unwrap_or_default();
        Ok((Self { path: path.to_owned(), text, keys }, workload))
    }

    /// Sixteen hexadecimal digits that stand for the text.
    pub fn digest(&self) -> String {
        files::digest(self.text.as_bytes())
    }

    /// The numbers that can be varied, in the order of the file; those that it leaves out last.
    pub fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// The scenario with another value of a key.
    ///
    /// # Errors
    /// If the scenario cannot have this value.
    pub fn with_value(&self, key: &Key, value: f64) -> Result<Workload, ScenarioError> {
        let name = self.path.display().to_string();
        let changed = Workload::changed(&name, &self.text, Some((key, &key.literal(value))));
        // A value that the file does not have has no place there.
        let has_place = key.here.is_some();
        changed.map_err(|error| error.with_value(&format!("`{key} = {value}`"), has_place))
    }
}
