//! The files that recorded processes write, and the recording that they become.

use crate::record::format::{MAGIC, VERSION};
use crate::trace::{Part, RecordedProcess, Totals};
use crate::units::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::{self, BufWriter, IsTerminal, Write, stderr};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often progress is shown: on a terminal, and elsewhere.
const ON_TERMINAL: Duration = Duration::from_secs(1);
const ELSEWHERE: Duration = Duration::from_secs(10);

/// The parts of one recording, by their paths.
pub struct Parts {
    folder: PathBuf,
    /// What their names begin with.
    prefix: OsString,
    /// Parts of an earlier recording, which was not finished.
    before: BTreeSet<PathBuf>,
    parts: BTreeMap<PathBuf, Part>,
    is_terminal: bool,
    shown: Duration,
}

impl Parts {
    pub fn new(output: &Path) -> Self {
        let mut prefix = output.file_name().unwrap_or_default().to_owned();
        prefix.push(".");
        let folder = output.parent().unwrap_or(Path::new("/")).to_owned();
        let before = paths(&folder, &prefix).collect();
        let is_terminal = stderr().is_terminal();
        let (parts, shown) = (BTreeMap::new(), Duration::ZERO);
        Self { folder, prefix, before, parts, is_terminal, shown }
    }

    /// Reads what has come since the last time.
    pub fn look(&mut self) {
        for path in paths(&self.folder, &self.prefix) {
            if !self.before.contains(&path)
                && !self.parts.contains_key(&path)
                && let Ok(part) = Part::open(&path)
            {
                self.parts.insert(path, part);
            }
        }
        for part in self.parts.values_mut() {
            // What cannot be read now is found when it is joined.
            let _ = part.advance();
        }
    }

    /// Shows how far the program has come, every now and then.
    pub fn show_progress(&mut self, since: Duration) {
        let pause = if self.is_terminal { ON_TERMINAL } else { ELSEWHERE };
        if since < self.shown + pause {
            return;
        }
        self.shown = since;
        self.look();
        let mut all = Totals::default();
        for totals in self.parts.values().map(Part::totals) {
            all.calls += totals.calls;
            all.copies += totals.copies;
            all.copied = all.copied.saturating_add(totals.copied);
            all.kernels += totals.kernels;
        }
        let line = progress_line(since, all);
        let _ = match self.is_terminal {
            true => write!(stderr(), "\r{line}\x1b[K"),
            false => writeln!(stderr(), "{line}"),
        };
    }

    /// Removes the line of progress.
    pub fn clear_progress(&self) {
        if self.is_terminal && self.shown > Duration::ZERO {
            let _ = write!(stderr(), "\r\x1b[K");
        }
    }

    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    pub fn processes(&self) -> Vec<RecordedProcess> {
        self.parts.values().filter_map(|part| part.about().cloned()).collect()
    }

    /// Makes one recording of all parts, and removes them. Says how long it is.
    pub fn join(mut self, output: &Path) -> io::Result<u64> {
        if self.parts.len() == 1
            && let Some(path) = self.parts.keys().next()
        {
            std::fs::rename(path, output)?;
            return Ok(output.metadata()?.len());
        }
        let file = tempfile::Builder::new()
            .prefix(".hallway-")
            .suffix(".tmp")
            .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666))
            .tempfile_in(&self.folder)?;
        let mut whole = BufWriter::new(file.as_file());
        whole.write_all(MAGIC)?;
        whole.write_all(VERSION)?;
        for part in self.parts.values_mut() {
            part.append_to(&mut whole)?;
        }
        whole.flush()?;
        drop(whole);
        file.persist(output)?;
        for path in self.parts.keys() {
            // The recording is complete without it.
            let _ = std::fs::remove_file(path);
        }
        Ok(output.metadata()?.len())
    }
}

/// How long a program has run, and how far a terminal's line shows it.
fn progress_line(since: Duration, totals: Totals) -> String {
    let Totals { calls, copies, copied, kernels } = totals;
    format!(
        "recording: {} s, {calls} calls, {copies} copies ({}), {kernels} kernels",
        since.as_secs(),
        Bytes::new(copied)
    )
}

/// Files in a folder whose names begin like this, and end like those of parts.
fn paths(folder: &Path, prefix: &OsString) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let prefix = prefix.as_encoded_bytes();
    let is_part = move |name: &OsString| {
        let name = name.as_encoded_bytes();
        name.starts_with(prefix) && name.ends_with(b".part")
    };
    let named = entries.map(|entry| (entry.file_name(), entry.path()));
    named.filter(move |(name, _)| is_part(name)).map(|(_, path)| path)
}
