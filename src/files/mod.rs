//! Writing files so that nobody ever sees half of one, and reading those that are no larger than
//! what they should be.
//!
//! Invariant: a file appears under its name when it is whole, or not at all;
//! one that was there before stays until then. What takes long to write grows
//! under a name of its own, which says that it is not whole.

use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The text of a file of at most so many bytes: what goes on without end, as a device does, is
/// none of ours and would fill all memory.
///
/// # Errors
/// If it cannot be read, is larger, or is no text.
pub fn read(path: &Path, most: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let problem = format!("it goes on beyond {} MiB, and none is so long", most >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, problem));
    }
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// The name under which a file grows: `samples.partial.jsonl` for `samples.jsonl`.
pub fn partial(path: &Path) -> PathBuf {
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    path.with_extension(format!("partial.{extension}"))
}

/// Writes the beginning of a file that grows, and opens it to write on, for nobody else as long
/// as it is open. What grew there before is replaced once the beginning is whole.
///
/// # Errors
/// If the folder cannot be made or the file not be written, or somebody else writes on it.
pub fn begin(path: &Path, beginning: &[u8]) -> io::Result<File> {
    let open = || OpenOptions::new().append(true).open(path);
    // Kept until the new file is there, so that of two that begin at once one is kept out.
    let before = open().ok();
    before.as_ref().map_or(Ok(()), lock)?;
    write_whole(path, beginning)?;
    let file = open()?;
    lock(&file).map(|()| file)
}

/// Some file systems know no locks: then nobody is kept out.
fn lock(file: &File) -> io::Result<()> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            Err(io::Error::new(io::ErrorKind::ResourceBusy, "another process is writing it"))
        }
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}

/// Gives a file that has grown up its own name.
///
/// # Errors
/// If it cannot be renamed; an old file stays as it was.
pub fn finish(grown: &Path, path: &Path) -> io::Result<()> {
    File::open(grown)?.sync_all()?;
    std::fs::rename(grown, path)
}

/// Writes a file so that readers see the old one or the new one, whole. Its folder
/// is made if need be.
///
/// # Errors
/// If it cannot be written; an old file stays as it was.
pub fn write_whole(path: &Path, contents: &[u8]) -> io::Result<()> {
    // A pipe or a device is written to, not replaced; so is what a link leads to.
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if path.exists() && !path.is_file() {
        return OpenOptions::new().write(true).open(path)?.write_all(contents);
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    // As for any new file: temporary ones are closed to others, results are not.
    let open = Permissions::from_mode(0o666);
    let mut file = tempfile::Builder::new().permissions(open).tempfile_in(folder)?;
    file.write_all(contents)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}
