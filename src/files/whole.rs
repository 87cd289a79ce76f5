//! Writing a file whole, through a temporary one beside it.

use std::fs::{DirEntry, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Names of temporary files begin and end like this, so that one that a killed process left is
/// known to be hallway's.
const PREFIX: &str = ".hallway-";
const SUFFIX: &str = ".tmp";

/// Between making a temporary file and locking it, a process takes far less.
const FRESH: Duration = Duration::from_secs(60);

/// As many links as Linux follows.
const MOST_LINKS: usize = 40;

/// Writes a file so that readers see the old one or the new one, whole. Its folder is made if
/// need be. A symbolic link is written through, also one whose target does not exist yet; a pipe
/// or a device is written to and not replaced.
///
/// # Errors
/// If it cannot be written; an old file stays as it was.
pub fn write_whole(path: &Path, contents: &[u8]) -> io::Result<()> {
    let path = &target(path)?;
    if path.exists() && !path.is_file() {
        return OpenOptions::new().write(true).open(path)?.write_all(contents);
    }
    let folder = folder_of(path);
    std::fs::create_dir_all(folder)?;
    clear_away(folder);
    // A temporary file is closed to other users by default; a result is as open as any new file.
    let open = Permissions::from_mode(0o666);
    let mut builder = tempfile::Builder::new();
    let mut file = builder.prefix(PREFIX).suffix(SUFFIX).permissions(open).tempfile_in(folder)?;
    super::lock(file.as_file())?;
    file.write_all(contents)?;
    rename_whole(file.as_file(), file.path(), path)?;
    // Nothing bears the temporary name any more.
    let _ = file.into_temp_path().keep();
    Ok(())
}

/// Renames a file once its contents are on the disk, and returns once its name is: a power cut
/// leaves the old file or the new one.
pub(super) fn rename_whole(file: &File, from: &Path, to: &Path) -> io::Result<()> {
    file.sync_all()?;
    std::fs::rename(from, to)?;
    match File::open(folder_of(to))?.sync_all() {
        // Some file systems cannot flush a folder.
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => {
            Ok(())
        }
        flushed => flushed,
    }
}

/// Whether [`write_whole`] can be expected to succeed, asked before the work whose result it
/// writes. Nothing is changed.
///
/// # Errors
/// If the path is a folder, its name is too long, or its folder can be neither made nor written.
pub fn check_writable(path: &Path) -> io::Result<()> {
    let path = &target(path)?;
    match path.metadata() {
        Ok(found) if found.is_dir() => {
            return Err(io::Error::new(ErrorKind::IsADirectory, "it is a folder"));
        }
        Ok(found) if !found.is_file() => return Ok(()),
        Err(error) if error.kind() == ErrorKind::InvalidFilename => {
            return Err(io::Error::new(ErrorKind::InvalidFilename, "its name is too long"));
        }
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let is_there = |folder: &&Path| folder.as_os_str().is_empty() || folder.exists();
    let nearest = path.ancestors().skip(1).find(is_there).unwrap_or(Path::new("."));
    let nearest = if nearest.as_os_str().is_empty() { Path::new(".") } else { nearest };
    if !nearest.is_dir() {
        return Err(io::Error::from_raw_os_error(libc::ENOTDIR));
    }
    tempfile::tempfile_in(nearest).map(|_| ())
}

/// The file that a path leads to: links are followed, also where the last one leads to nothing.
fn target(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    // What stands behind `/dev/stdout` may be a pipe, which has no name to follow links to.
    if path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        return Ok(path);
    }
    for _ in 0..=MOST_LINKS {
        if !path.is_symlink() {
            return Ok(path);
        }
        path = folder_of(&path).join(std::fs::read_link(&path)?);
    }
    Err(io::Error::from_raw_os_error(libc::ELOOP))
}

fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Removes what killed processes left in a folder. A process keeps its temporary file locked, so
/// one that can be locked belongs to nobody, unless it was made this minute.
fn clear_away(folder: &Path) {
    let is_ours = |entry: &DirEntry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        name.starts_with(PREFIX) && name.ends_with(SUFFIX)
    };
    let is_old = |file: &File| {
        let changed = file.metadata().and_then(|found| found.modified());
        changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|age| age > FRESH))
    };
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten().filter(is_ours) {
        let file = OpenOptions::new().append(true).open(entry.path());
        if file.is_ok_and(|file| is_old(&file) && file.try_lock().is_ok()) {
            // Another process may have been faster.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}
