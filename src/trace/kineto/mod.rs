//! Reads what the PyTorch profiler writes: Chrome's trace format, with categories and arguments
//! of Kineto's own.
//!
//! Invariant: the document is never held as a whole. One event at a time is cut out of it and
//! decoded, and one that cannot be decoded does not harm the others.

mod arguments;
mod decimal;
mod event;
mod names;
mod scanner;

use super::draft::Draft;
use super::join::join;
use super::limited::unpacking;
use super::{Defect, Trace, TraceError};
use scanner::{Scanner, Stop};
use serde::Deserialize;
use std::io::Read;
use std::path::Path;

/// The most events that are kept.
const MOST_EVENTS: usize = 50_000_000;

/// The most bytes of one event, or of one of the file's properties.
const LONGEST: usize = 4 << 20;

pub(super) fn read(path: &Path, content: impl Read) -> Result<Trace, TraceError> {
    let mut document = Document { draft: Draft::of("PyTorch profiler"), has_events: false };
    let mut scanner = Scanner::of(content);
    let cut = match document.read(&mut scanner) {
        Ok(()) => false,
        Err(Stop::End) => true,
        Err(Stop::Wrong { byte, problem }) => {
            return Err(TraceError::Json { file: path.to_owned(), byte, problem });
        }
        Err(Stop::Failed(error)) => return Err(unpacking(path, &error, scanner.byte())),
        Err(Stop::TooMany) => {
            let (file, place) = (path.to_owned(), "traceEvents");
            return Err(TraceError::TooMany { file, place, most: MOST_EVENTS });
        }
    };
    let Document { mut draft, has_events } = document;
    if !has_events && !cut {
        let problem = "it has no `traceEvents`, so it is not a PyTorch profiler trace".to_owned();
        return Err(TraceError::Json { file: path.to_owned(), byte: 0, problem });
    }
    if cut {
        draft.note(Defect::Cut);
    }
    if draft.functions.all.iter().any(|function| function.is_rocm) {
        draft.origin.tool = "PyTorch profiler (ROCm)";
    }
    join(draft, path, "Record it with ProfilerActivity.CUDA among the activities")
}

struct Document {
    draft: Draft,
    has_events: bool,
}

impl Document {
    fn read(&mut self, scanner: &mut Scanner<impl Read>) -> Result<(), Stop> {
        scanner.skip_byte_order_mark()?;
        match scanner.next_mark()? {
            b'{' => self.members(scanner)?,
            b'[' => self.events(scanner)?,
            _ => return Err(scanner.wrong("expected `{` or `[`")),
        }
        match scanner.next_mark() {
            Err(Stop::End) => Ok(()),
            Err(stop) => Err(stop),
            Ok(_) => Err(scanner.wrong(
                "there is more data after the end of the trace: were two files concatenated?",
            )),
        }
    }

    /// The members of the outermost object.
    fn members(&mut self, scanner: &mut Scanner<impl Read>) -> Result<(), Stop> {
        let mut text = Vec::new();
        loop {
            match scanner.peek_mark()? {
                b'}' => {
                    scanner.next_mark()?;
                    return Ok(());
                }
                b',' => {
                    scanner.next_mark()?;
                    continue;
                }
                b'"' => scanner.value(&mut text, LONGEST)?,
                _ => return Err(scanner.wrong_ahead("expected a property name")),
            };
            let key: Option<String> = decoded(&text);
            if scanner.next_mark()? != b':' {
                return Err(scanner.wrong("expected `:`"));
            }
            if key.as_deref() == Some("traceEvents") {
                if scanner.next_mark()? != b'[' {
                    return Err(scanner.wrong("`traceEvents` must be a list"));
                }
                self.events(scanner)?;
                continue;
            }
            scanner.peek_mark()?;
            let is_whole = scanner.value(&mut text, LONGEST)?;
            if let (Some(key), true) = (key, is_whole) {
                self.property(&key, &text);
            }
        }
    }

    /// The elements of the list of events, whose beginning has been read.
    fn events(&mut self, scanner: &mut Scanner<impl Read>) -> Result<(), Stop> {
        self.has_events = true;
        let mut text = Vec::new();
        let mut number = 0_usize;
        loop {
            match scanner.peek_mark()? {
                b']' => {
                    scanner.next_mark()?;
                    return Ok(());
                }
                b',' => {
                    scanner.next_mark()?;
                    continue;
                }
                b'}' | b':' => {
                    return Err(scanner.wrong_ahead(&format!("expected event {number}")));
                }
                _ => {}
            }
            let is_whole = scanner.value(&mut text, LONGEST)?;
            if !is_whole || !event::take(&mut self.draft, &text) {
                self.draft.note(Defect::Unreadable);
            }
            number += 1;
            if self.draft.events() > MOST_EVENTS {
                return Err(Stop::TooMany);
            }
            match scanner.peek_mark()? {
                b',' | b']' => {}
                _ => {
                    let problem = format!("expected a comma or the end after event {number}");
                    return Err(scanner.wrong_ahead(&problem));
                }
            }
        }
    }

    fn property(&mut self, key: &str, text: &[u8]) {
        match key {
            "schemaVersion" => {
                let version: Option<serde_json::Number> = decoded(text);
                self.draft.origin.version = version.map(|version| version.to_string());
            }
            // Times are relative to this one, so that an unset one lies as far before.
            "baseTimeNanoseconds" => {
                self.draft.unset = decoded(text).and_then(|base: i64| base.checked_neg());
            }
            "deviceProperties" => {
                let devices: Vec<DeviceProperties> = decoded(text).unwrap_or_default();
                let names = devices.into_iter().filter_map(|device| device.id.zip(device.name));
                self.draft.gpu_names = names.collect();
            }
            _ => {}
        }
    }
}

#[derive(Deserialize)]
struct DeviceProperties {
    id: Option<u32>,
    name: Option<String>,
}

/// A small part of the document. Bytes that are no text become question marks.
fn decoded<T: serde::de::DeserializeOwned>(text: &[u8]) -> Option<T> {
    serde_json::from_str(&String::from_utf8_lossy(text)).ok()
}
