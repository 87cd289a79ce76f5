//! Where results may go.

use super::Failure;
use crate::files;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Refuses places that cannot be written, and outputs that would overwrite an input or each other.
/// Runs before any computation, so that none is lost.
pub(super) fn check_outputs<'p>(
    inputs: impl IntoIterator<Item = &'p Path>,
    outputs: impl IntoIterator<Item = &'p Path>,
) -> Result<(), Failure> {
    let read: BTreeMap<PathBuf, &Path> =
        inputs.into_iter().filter_map(|path| Some((file(path)?, path))).collect();
    let mut written: BTreeMap<PathBuf, &Path> = BTreeMap::new();
    for output in outputs {
        let unwritten = |error| Failure::unwritten(output.display(), &error);
        files::check_writable(output).map_err(unwritten)?;
        let Some(file) = file(output) else { continue };
        let refused = |of_what: &str, other: &Path| {
            Failure::refused(
                format!("{} would overwrite {of_what}: {}", output.display(), other.display()),
                "choose another path for the output, or move the other file",
            )
        };
        if let Some(input) = read.get(&file) {
            return Err(refused("an input", input));
        }
        if let Some(other) = written.insert(file, output) {
            return Err(refused("another result", other));
        }
    }
    Ok(())
}

/// The file behind a path, with links resolved, even if it does not exist yet. `None` for a
/// terminal or a pipe: writing there overwrites nothing.
fn file(path: &Path) -> Option<PathBuf> {
    if path.exists() && !path.is_file() {
        return None;
    }
    if let Ok(found) = path.canonicalize() {
        return Some(found);
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    Some(folder.join(path.file_name()?))
}
