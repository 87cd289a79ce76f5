//! A program's written form, and the digest of it that tells programs apart.

use super::call::Call;
use super::operands::{Allocation, StreamTraits};
use super::value::Program;
use crate::files::{self, Place as TextPlace};
use crate::kernels::OwnKernel;
use miette::Diagnostic;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt::Display;
use std::path::Path;

/// Version of the written form.
const FORMAT: u32 = 1;

/// Bytes of a file: a call takes some two hundred.
const LARGEST: u64 = 1 << 30;

/// What is written of a program besides its label.
#[derive(Serialize)]
struct Written<'p> {
    hallway_program: u32,
    allocations: &'p [Allocation],
    streams: &'p [StreamTraits],
    events: usize,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    kernels: Cow<'p, [OwnKernel]>,
    setup: &'p [Call],
    body: &'p [Call],
}

/// All that is read of a program.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Read {
    #[serde(rename = "hallway_program")]
    _format: u32,
    label: String,
    allocations: Vec<Allocation>,
    streams: Vec<StreamTraits>,
    events: usize,
    #[serde(default)]
    kernels: Vec<OwnKernel>,
    setup: Vec<Call>,
    body: Vec<Call>,
}

#[derive(Deserialize)]
struct Versioned {
    hallway_program: u32,
}

/// Why a file is not read as a program.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    #[error("cannot read {path}: {source}")]
    Read { path: String, source: std::io::Error },
    #[error("cannot write {path}: {source}")]
    Write { path: String, source: std::io::Error },
    #[error("{path}:{place}: not a program: {problem}")]
    Parse { path: String, place: TextPlace, problem: String },
    #[error("{path} has a program of format {found}; this hallway reads format {FORMAT}")]
    Format { path: String, found: u32 },
    #[error("{path}: {problem}")]
    Content { path: String, problem: String },
}

impl Diagnostic for ProgramError {
    fn help<'a>(&'a self) -> Option<Box<dyn Display + 'a>> {
        const ANEW: &str =
            "write it anew with `hallway explain SCENARIO --plan NAME --program FILE`";
        match self {
            Self::Write { .. } => None,
            _ => Some(Box::new(ANEW)),
        }
    }
}

impl Program {
    fn written(&self) -> Written<'_> {
        let Self { label: _, allocations, streams, events, kernels, setup, body } = self;
        let (hallway_program, events, kernels) = (FORMAT, *events, Cow::Borrowed(&kernels[..]));
        Written { hallway_program, allocations, streams, events, kernels, setup, body }
    }

    /// A digest of everything that the program does. Programs that differ in their label alone, or
    /// in the names of the files that their kernels come from, have one identity.
    pub fn identity(&self) -> String {
        let kernels = self.kernels.iter().map(OwnKernel::without_file).collect();
        let written = Written { kernels: Cow::Owned(kernels), ..self.written() };
        let bytes = serde_json::to_vec(&written).expect("a program is plain data");
        files::digest(&bytes)
    }

    /// The program as a text of one line, which [`Program::from_text`] reads.
    pub fn to_text(&self) -> String {
        #[derive(Serialize)]
        struct Labelled<'p> {
            label: &'p str,
            #[serde(flatten)]
            written: Written<'p>,
        }
        let labelled = Labelled { label: &self.label, written: self.written() };
        serde_json::to_string(&labelled).expect("a program is plain data") + "\n"
    }

    /// Reads a program from its text. Errors call it `path`.
    ///
    /// # Errors
    /// If it is not the text of a program of this version, names what it does not have (an
    /// allocation, a stream, bytes beyond an allocation's end), or contradicts itself.
    pub fn from_text(path: &str, text: &str) -> Result<Self, ProgramError> {
        let path = path.to_owned();
        let parse = |error: &serde_json::Error| ProgramError::Parse {
            path: path.clone(),
            place: TextPlace::of_json(text, error),
            problem: files::json_problem(error),
        };
        let Versioned { hallway_program: found } =
            serde_json::from_str(text).map_err(|error| parse(&error))?;
        if found != FORMAT {
            return Err(ProgramError::Format { path, found });
        }
        let Read { _format, label, allocations, streams, events, kernels, setup, body } =
            serde_json::from_str(text).map_err(|error| parse(&error))?;
        let program = Self { label, allocations, streams, events, kernels, setup, body };
        match program.check() {
            Err(problem) => Err(ProgramError::Content { path, problem: problem.to_string() }),
            Ok(()) => Ok(program),
        }
    }

    /// # Errors
    /// If the file cannot be read, or is no program: see [`Program::from_text`].
    pub fn load(path: &Path) -> Result<Self, ProgramError> {
        let name = path.display().to_string();
        let text = files::read(path, LARGEST);
        let text = text.map_err(|source| ProgramError::Read { path: name.clone(), source })?;
        Self::from_text(&name, &text)
    }

    /// Writes the program so that readers see the old file or the new one, whole.
    ///
    /// # Errors
    /// If the folder or the file cannot be written; an old file stays as it was.
    pub fn save(&self, path: &Path) -> Result<(), ProgramError> {
        let name = path.display().to_string();
        let write = |source| ProgramError::Write { path: name.clone(), source };
        files::write_whole(path, self.to_text().as_bytes()).map_err(write)
    }
}
