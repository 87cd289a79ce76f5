//! The files of a kernel of one's own, read into values: a program needs no file any more.

use super::cost::{of_kernel, only_one};
use super::raw_kernel::{RawFile, RawHeld, RawKernel};
use crate::files::{self, Fault, Spanned};
use crate::kernels::{Code, Image};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// Bytes of a source, of PTX, of a cubin.
const LARGEST: u64 = 16 << 20;
/// Headers of one source, and bytes of all of them: those of the CUDA toolkit are among them.
const MOST_HEADERS: usize = 1024;
const MOST_BYTES: usize = 32 << 20;

/// A kernel's code, and the files that it was read from.
type WithFiles = (Code, Vec<PathBuf>);

/// The code of a kernel, if it has a file. `folder` is the scenario's.
pub(super) fn code(raw: &RawKernel, folder: &Path) -> Result<Option<WithFiles>, Fault> {
    let forms = [("source", &raw.source), ("ptx", &raw.ptx), ("cubin", &raw.cubin)];
    let forms =
        forms.map(|(form, file)| file.as_ref().map(|file| (form, file.span(), (form, file))));
    let Some((_, (form, file))) = only_one(&of_kernel(raw.name.get_ref()), forms)? else {
        let Some(stray) = raw.entry.as_ref().or(raw.include.first()) else { return Ok(None) };
        let message = format!("kernel `{}` has no code for this key to apply to", raw.name);
        let help = "add `source`, `ptx` or `cubin`, or remove this key";
        return Err(Fault::new(message, stray.span(), "no code", help));
    };
    let Some(entry) = &raw.entry else {
        let message = format!("kernel `{}` does not say which kernel in the file to use", raw.name);
        let help = "add `entry = \"...\"`, the name of the `__global__` function";
        return Err(Fault::new(message, file.span(), "which one?", help));
    };
    if entry.get_ref().trim().is_empty() {
        let message = format!("`entry` of kernel `{}` is empty", raw.name);
        let help = "write the name of the `__global__` function";
        return Err(Fault::new(message, entry.span(), "empty", help));
    }
    let path = match file.get_ref() {
        RawFile::Path(path) => folder.join(path),
        RawFile::Held(held) => {
            let code = held_code(raw, form, file, held, entry)?;
            return Ok(Some((code, Vec::new())));
        }
    };
    let mut files = vec![path.clone()];
    let image = match form {
        "source" => {
            let text = text(&path, file)?;
            let folders = include_folders(raw, folder, &path)?;
            let headers = headers(&text, &folders).map_err(|problem| {
                let help = "include fewer or smaller headers";
                Fault::new(problem, file.span(), "too large", help)
            })?;
            files.extend(headers.iter().map(|header| header.path.clone()));
            let named = headers.into_iter().map(|Header { name, text, .. }| (name, text));
            Image::Source { text, headers: named.collect() }
        }
        "ptx" => Image::Ptx(text(&path, file)?),
        _ => Image::Cubin(Image::digits_of(&bytes(&path, file)?)),
    };
    if form != "source"
        && let Some(stray) = raw.include.first()
    {
        let message = format!("kernel `{}` is already compiled, but has `include`", raw.name);
        return Err(Fault::new(message, stray.span(), "no effect", "remove it"));
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let entry = entry.get_ref().trim().to_owned();
    Ok(Some((Code { file: name, image, entry }, files)))
}

/// The code of a kernel whose file stands in the scenario.
fn held_code(
    raw: &RawKernel,
    form: &str,
    file: &Spanned<RawFile>,
    RawHeld { name, text, headers }: &RawHeld,
    entry: &Spanned<String>,
) -> Result<Code, Fault> {
    if let Some(stray) = raw.include.first() {
        let message =
            format!("kernel `{}` has both `include` and the text of its source", raw.name);
        let help = "put the headers next to the text, in `headers`";
        return Err(Fault::new(message, stray.span(), "no effect", help));
    }
    let wrong = |message: String, help: &str| Err(Fault::new(message, file.span(), "here", help));
    if form != "source" && !headers.is_empty() {
        let message = format!("kernel `{}` is already compiled, but has `headers`", raw.name);
        return wrong(message, "remove them");
    }
    let text = text.clone();
    let is_digits = text.len().is_multiple_of(2) && text.bytes().all(|b| b.is_ascii_hexdigit());
    let image = match form {
        "source" => Image::Source { text, headers: headers.clone().into_iter().collect() },
        "ptx" => Image::Ptx(text),
        _ if is_digits && !text.is_empty() => Image::Cubin(text),
        _ => {
            let message = format!(
                "the cubin of kernel `{}` contains something other than hexadecimal digits",
                raw.name
            );
            let help = "write two hexadecimal digits per byte, or give the path of the file";
            return wrong(message, help);
        }
    };
    Ok(Code { file: name.clone(), image, entry: entry.get_ref().trim().to_owned() })
}

fn unreadable(path: &Path, file: &Spanned<RawFile>, cause: &std::io::Error) -> Fault {
    let message = format!("cannot read {}: {cause}", path.display());
    let help = "give the path of an existing file, relative to the scenario";
    Fault::new(message, file.span(), "cannot be read", help)
}

fn text(path: &Path, file: &Spanned<RawFile>) -> Result<String, Fault> {
    files::read(path, LARGEST).map_err(|cause| unreadable(path, file, &cause))
}

fn bytes(path: &Path, file: &Spanned<RawFile>) -> Result<Vec<u8>, Fault> {
    let length = std::fs::metadata(path).map(|found| found.len());
    let read = length.and_then(|length| match length {
        0 => Err(std::io::Error::other("the file is empty")),
        length if length > LARGEST => {
            Err(std::io::Error::other("the file is too large for a cubin"))
        }
        _ => std::fs::read(path),
    });
    read.map_err(|cause| unreadable(path, file, &cause))
}

/// Where headers are looked for: in the source's own folder, and then in those that are named.
fn include_folders(raw: &RawKernel, folder: &Path, source: &Path) -> Result<Vec<PathBuf>, Fault> {
    let own = source.parent().unwrap_or(Path::new(".")).to_owned();
    let mut folders = vec![own];
    for include in &raw.include {
        let path = folder.join(include.get_ref());
        if !path.is_dir() {
            let message = format!("{} is not a folder", path.display());
            let help = "give the path of a folder with headers, relative to the scenario";
            return Err(Fault::new(message, include.span(), "no such folder", help));
        }
        folders.push(path);
    }
    Ok(folders)
}

/// A header, by the name under which it is included.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Header {
    name: String,
    text: String,
    path: PathBuf,
}

/// Every header that a source includes and that is in one of the folders, with those that these
/// include in turn, by the name under which each is included. NVRTC has headers of its own, so one
/// that is not found is left to it.
fn headers(text: &str, folders: &[PathBuf]) -> Result<Vec<Header>, String> {
    let mut found: Vec<Header> = Vec::new();
    let mut left: VecDeque<(String, PathBuf)> =
        included(text).map(|name| (name.to_owned(), folders[0].clone())).collect();
    let mut bytes = 0;
    while let Some((name, beside)) = left.pop_front() {
        if found.iter().any(|known| known.name == name) {
            continue;
        }
        let mut places = std::iter::once(&beside).chain(folders).map(|folder| folder.join(&name));
        let Some(path) = places.find(|path| path.is_file()) else { continue };
        let Ok(text) = files::read(&path, LARGEST) else { continue };
        bytes += text.len();
        if found.len() == MOST_HEADERS || bytes > MOST_BYTES {
            return Err(format!(
                "it includes more than {MOST_HEADERS} headers, or headers that are too large"
            ));
        }
        let beside = path.parent().unwrap_or(&beside).to_owned();
        left.extend(included(&text).map(|name| (name.to_owned(), beside.clone())));
        found.push(Header { name, text, path });
    }
    found.sort();
    Ok(found)
}

/// What a text includes, by name.
fn included(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let rest = line.trim_start().strip_prefix('#')?.trim_start();
        let rest = rest.strip_prefix("include")?.trim_start();
        let end = match rest.chars().next()? {
            '"' => '"',
            '<' => '>',
            _ => return None,
        };
        rest[1..].split_once(end).map(|(name, _)| name)
    })
}
