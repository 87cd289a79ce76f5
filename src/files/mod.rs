//! Writing files so that nobody ever sees half of one.
//!
//! Invariant: a file appears under its name when it is whole, or not at all;
//! one that was there before stays until then.

use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tempfile::NamedTempFile;

/// A file of a passing name in the folder of `path`, which is made if need be. It
/// gets its own when it is persisted.
///
/// # Errors
/// If the folder cannot be made or written to.
pub fn unnamed_beside(path: &Path) -> io::Result<NamedTempFile> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    // As for any new file: temporary ones are closed to others, results are not.
    let open = Permissions::from_mode(0o666);
    tempfile::Builder::new().permissions(open).tempfile_in(folder)
}

/// Writes a file so that readers see the old one or the new one, whole.
///
/// # Errors
/// If it cannot be written; an old file stays as it was.
pub fn write_whole(path: &Path, contents: &[u8]) -> io::Result<()> {
    // A pipe or a device is written to, not replaced; so is what a link leads to.
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if path.exists() && !path.is_file() {
        return std::fs::OpenOptions::new().write(true).open(path)?.write_all(contents);
    }
    let mut file = unnamed_beside(path)?;
    file.write_all(contents)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}
