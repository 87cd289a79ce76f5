//! `hallway check`: every mistake in some files.

use super::failure::drawn;
use super::profiles::{deliver, in_folder};
use super::{Failure, Format, Outcome};
use crate::profile::Profile;
use crate::report::{Checked, CheckedFile, FileKind, Problem, ProblemKind, json};
use crate::samples::Samples;
use crate::scenario::Workload;
use clap::{Args, ValueHint};
use miette::{Diagnostic, Report};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub(super) struct CheckArguments {
    /// Scenarios, profiles (or their folders), samples (.jsonl) and tables of samples (.csv)
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    files: Vec<PathBuf>,
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

pub(super) fn run(arguments: &CheckArguments) -> Result<Outcome, Failure> {
    let mut files = Vec::new();
    for path in &arguments.files {
        let (path, is_folder) = (&in_folder(path), path.is_dir());
        let kind = if is_folder { FileKind::Profile } else { kind(path) };
        let mut errors = Vec::new();
        for report in mistakes(path, kind) {
            errors.push(Problem::new(ProblemKind::Input, &report));
            if arguments.format == Format::Table {
                let _ = writeln!(std::io::stderr(), "{}", drawn(&report));
            }
        }
        files.push(CheckedFile { file: path.display().to_string(), kind, errors });
    }
    let checked = Checked::new(files);
    let is_fine = checked.mistakes == 0;
    match arguments.format {
        Format::Json => deliver(&json(&checked), None)?,
        Format::Table if is_fine => deliver(&checked.summary(), None)?,
        Format::Table => {
            let _ = write!(std::io::stderr(), "{}", checked.summary());
        }
    }
    Ok(if is_fine { Outcome::Done } else { Outcome::BadInput })
}

/// What a file is: by its name, and of a TOML file by whether it describes a machine.
fn kind(path: &Path) -> FileKind {
    let ends = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
    match ends.as_deref() {
        Some("csv") => FileKind::Table,
        Some("jsonl") => FileKind::Samples,
        _ if describes_a_machine(path) => FileKind::Profile,
        _ => FileKind::Scenario,
    }
}

fn describes_a_machine(path: &Path) -> bool {
    // A device has no end.
    let file = if path.is_file() { File::open(path).ok() } else { None };
    let lines = file.into_iter().flat_map(|file| BufReader::new(file).lines());
    lines.map_while(Result::ok).any(|line| line.trim() == "[machine]")
}

fn mistakes(path: &Path, kind: FileKind) -> Vec<Report> {
    fn only<T, E: Diagnostic + Send + Sync + 'static>(found: Result<T, E>) -> Vec<Report> {
        found.err().map(Report::new).into_iter().collect()
    }
    match kind {
        FileKind::Scenario => {
            let errors = Workload::load_or_list(path).err().unwrap_or_default();
            errors.into_iter().map(Report::new).collect()
        }
        FileKind::Profile => only(Profile::load(path)),
        FileKind::Samples | FileKind::Table => match Samples::load(path) {
            Ok(samples) if samples.measurements.is_empty() => {
                let what = format!("{}: contains no measurements", path.display());
                vec![
                    Failure::refused(what, "calibrate again, or replace each `?` with a time")
                        .report,
                ]
            }
            found => only(found),
        },
    }
}
