//! `hallway init`: a first scenario.

use super::outputs::check_outputs;
use super::profiles::{deliver, write_whole};
use super::{Failure, Outcome};
use crate::scenario::{SCHEMA, Template};
use clap::{Args, ValueEnum, ValueHint};
use std::path::{Path, PathBuf};

/// File name of the JSON Schema, beside the scenario that names it.
const SCHEMA_FILE: &str = "hallway-scenario.schema.json";

#[derive(Debug, Args)]
pub(super) struct InitArguments {
    /// Where the scenario goes [default: the kind with .toml behind it]
    #[arg(value_name = "PATH", value_hint = ValueHint::FilePath)]
    path: Option<PathBuf>,
    /// What the scenario is about
    #[arg(long, value_enum, default_value = "kernel")]
    kind: Kind,
    /// Replace the files that are there already
    #[arg(long)]
    force: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Batches come from the host, and each feeds a step of a model on the GPU
    Loader,
    /// One task
    Kernel,
    /// A chain of tasks, each reading what the one before wrote
    Layers,
    /// Two programs, call by call
    Program,
}

impl From<Kind> for Template {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Loader => Self::Loader,
            Kind::Kernel => Self::Kernel,
            Kind::Layers => Self::Layers,
            Kind::Program => Self::Program,
        }
    }
}

pub(super) fn run(arguments: &InitArguments) -> Result<Outcome, Failure> {
    let template = Template::from(arguments.kind);
    let default = || PathBuf::from(format!("{}.toml", template.name()));
    let path = arguments.path.clone().unwrap_or_else(default);
    let taken = path.symlink_metadata().is_ok();
    if taken && (!arguments.force || path.is_dir()) {
        return Err(Failure::Input(miette::miette!(
            help = "name another file; --force replaces a file that is there",
            "{} is there already",
            path.display()
        )));
    }
    let name = path.file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
    let schema = path.with_file_name(SCHEMA_FILE);
    check_outputs([], [path.as_path(), schema.as_path()])?;
    let kept = write_schema(&schema, arguments.force)?;
    write_whole(&path, &template.text(&name, SCHEMA_FILE))?;
    let (path, schema) = (path.display().to_string(), schema.display());
    let argument = as_argument(&path);
    let of_schema = match kept {
        true => "was there already, and differs: --force replaces it",
        false => "editors that know Taplo check the scenario by it",
    };
    let text = format!(
        "{path}: a scenario to start from\n{schema}: {of_schema}\n\n\
         Next:\n  \
         hallway evaluate {argument}    which plan is fastest, and does the GPU pay?\n  \
         hallway explain {argument}     what does the plan to choose do?\n  \
         hallway check {argument}       is anything wrong with the file?\n"
    );
    deliver(&text, None)?;
    Ok(Outcome::Done)
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
