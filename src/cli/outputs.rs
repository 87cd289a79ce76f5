//! Where results may go.

use super::Failure;
use crate::files;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Refuses places that cannot be written, to write over what the command reads, and two results
/// in one file, all before anything is computed that would be lost.
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
            Failure::Input(miette::miette!(
                help = "name another place with --output, or move the other file",
                "{} would take the place of {of_what}, {}",
                output.display(),
                other.display()
            ))
        };
        if let Some(input) = read.get(&file) {
            return Err(refused("what is read", input));
        }
        if let Some(other) = written.insert(file, output) {
            return Err(refused("another result", other));
        }
    }
    Ok(())
}

/// The file behind a path, however it is spelled and whatever links lead to it, even if it is
/// not there yet; `None` for a terminal or a pipe, which nothing is lost in.
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
