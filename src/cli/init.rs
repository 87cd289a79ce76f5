//! `hallway init`: a first scenario.

use super::outputs::check_outputs;
use super::profiles::write_whole;
use super::{Failure, Outcome, print};
use crate::scenario::{SCHEMA, Template};
use clap::{Args, ValueEnum, ValueHint};
use std::path::{Path, PathBuf};

/// File name of the JSON Schema, beside the scenario that names it.
const SCHEMA_FILE: &str = "hallway-scenario.schema.json";

#[derive(Debug, Args)]
pub(super) struct InitArguments {
    /// File to write the scenario to [default: `<kind>.toml`]
    #[arg(value_name = "PATH", value_hint = ValueHint::FilePath)]
    path: Option<PathBuf>,
    /// Kind of scenario
    #[arg(long, value_enum, default_value = "kernel")]
    kind: Kind,
    /// Overwrite existing files
    #[arg(long)]
    force: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// A data loader: each batch arrives in host memory and feeds one step of a model on the GPU
    Loader,
    /// A single kernel
    Kernel,
    /// A chain of tasks, each reading the previous one's output
    Layers,
    /// Two programs, spelled out call by call
    Program,
}

pub(super) fn run(arguments: &InitArguments) -> Result<Outcome, Failure> {
    let template = match arguments.kind {
        Kind::Loader => Template::Loader,
        Kind::Kernel => Template::Kernel,
        Kind::Layers => Template::Layers,
        Kind::Program => Template::Program,
    };
    let default = || PathBuf::from(format!("{}.toml", template.name()));
    let path = arguments.path.clone().unwrap_or_else(default);
    let taken = path.symlink_metadata().is_ok();
    if taken && (!arguments.force || path.is_dir()) {
        return Err(Failure::refused(
            format!("{} already exists", path.display()),
            "name another file, or overwrite this one with --force",
        ));
    }
    let name = path.file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
    let schema = path.with_file_name(SCHEMA_FILE);
    check_outputs([], [path.as_path(), schema.as_path()])?;
    let kept = write_schema(&schema, arguments.force)?;
    write_whole(&path, &template.text(&name, SCHEMA_FILE))?;
    let (path, schema) = (path.display().to_string(), schema.display());
    let argument = as_argument(&path);
    let of_schema = match kept {
        true => "already exists and differs from the schema of this version; --force overwrites it",
        false => "for validation in editors with Taplo",
    };
    let text = format!(
        "{path}: the scenario\n{schema}: {of_schema}\n\nNext:\n  hallway evaluate {argument}    \
         is the GPU worth it, and which plan is fastest?\n  hallway explain {argument}     what \
         does the fastest plan do?\n  hallway check {argument}       are there mistakes in the \
         file?\n"
    );
    print(&text)
}

/// A path as a shell takes it for one argument (POSIX, "Shell Command Language", quoting).
fn as_argument(path: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+:,@%".contains(c);
    if path.chars().all(is_plain) {
        return path.to_owned();
    }
    format!("'{}'", path.replace('\'', "'\\''"))
}

/// Whether another schema was there and was left alone.
fn write_schema(path: &Path, force: bool) -> Result<bool, Failure> {
    match std::fs::read_to_string(path) {
        Ok(there) if there == SCHEMA => Ok(false),
        _ if !force && path.symlink_metadata().is_ok() => Ok(true),
        _ => write_whole(path, SCHEMA).map(|()| false),
    }
}
