//! How a command fails: the exit code, and what is said in words or as JSON.

use crate::execute::ExecuteError;
use crate::files::without_controls;
use crate::profile::ProfileError;
use crate::report::{Drawn, Failed, Problem, ProblemKind, json_line};
use crate::runs::RunsError;
use crate::samples::SamplesError;
use crate::study::{StudyError, TrialError};
use miette::{Diagnostic, MietteDiagnostic, Report};
use std::ffi::OsString;
use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal};

/// A failure that ends a command: its exit code goes by its kind.
#[derive(Debug)]
pub(super) struct Failure {
    pub kind: ProblemKind,
    pub report: Report,
}

/// Whether the arguments ask for JSON, even if the rest of them makes no sense.
pub(super) fn asks_for_json(arguments: &[OsString]) -> bool {
    let words = arguments.iter().map(|argument| argument.to_str().unwrap_or_default());
    let words: Vec<&str> = words.take_while(|&word| word != "--").collect();
    words.contains(&"--format=json") || words.windows(2).any(|pair| pair == ["--format", "json"])
}

impl Failure {
    pub const fn new(kind: ProblemKind, report: Report) -> Self {
        Self { kind, report }
    }

    pub const fn input(report: Report) -> Self {
        Self::new(ProblemKind::Input, report)
    }

    /// What is wrong, and what to do about it.
    pub fn told(kind: ProblemKind, what: impl Display, help: impl Into<String>) -> Self {
        Self::new(kind, Report::new(MietteDiagnostic::new(what.to_string()).with_help(help)))
    }

    /// Input that cannot be used, and what to do about it.
    pub fn refused(what: impl Display, help: impl Into<String>) -> Self {
        Self::told(ProblemKind::Input, what, help)
    }

    /// By the user, with what to say about it.
    pub fn interrupted(message: &str) -> Self {
        Self::new(ProblemKind::Interrupted, Report::msg(message.to_owned()))
    }

    /// What clap says of the arguments, where JSON was asked for. In words, clap says so itself.
    pub fn usage(error: &clap::Error) -> Self {
        let text = error.to_string();
        let (message, help) = text.split_once("\n\n").unwrap_or((&text, ""));
        let message = message.strip_prefix("error: ").unwrap_or(message);
        let mut shown = MietteDiagnostic::new(message.trim());
        shown.help = Some(help.trim().to_owned()).filter(|help| !help.is_empty());
        Self::new(ProblemKind::Usage, Report::new(shown))
    }

    /// What to write to standard error.
    pub fn shown(&self, in_json: bool) -> String {
        let Self { kind, report } = self;
        match kind {
            _ if in_json => json_line(&Failed { error: Problem::new(*kind, report) }),
            ProblemKind::Usage | ProblemKind::Interrupted => without_controls(&report.to_string()),
            ProblemKind::NoGpu => format!("hallway: this command needs a GPU: {report}"),
            ProblemKind::Input | ProblemKind::Unanswered | ProblemKind::Machine => drawn(report),
        }
    }

    /// With the help that the error gives; its causes are in its message already.
    pub fn of_input(error: &impl Diagnostic) -> Self {
        let mut shown = MietteDiagnostic::new(error.to_string());
        shown.help = error.help().map(|help| help.to_string());
        Self::input(Report::new(shown))
    }

    pub fn no_gpu(why: impl Display) -> Self {
        Self::new(ProblemKind::NoGpu, Report::msg(why.to_string()))
    }

    /// A place that cannot be written is the user's to choose; one that is full is the machine's.
    pub fn unwritten(path: impl Display, error: &io::Error) -> Self {
        let kind = match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => ProblemKind::Machine,
            _ => ProblemKind::Input,
        };
        let what = format!("cannot write {path}: {error}");
        Self::told(kind, what, "choose a writable path with enough space")
    }

    pub fn of_machine(what: impl Display) -> Self {
        Self::new(ProblemKind::Machine, Report::msg(what.to_string()))
    }
}

impl From<crate::gpu::GpuError> for Failure {
    fn from(error: crate::gpu::GpuError) -> Self {
        if error.is_absence() { Self::no_gpu(error) } else { Self::of_machine(error) }
    }
}

impl From<ProfileError> for Failure {
    fn from(error: ProfileError) -> Self {
        match &error {
            ProfileError::Write { path, source } => Self::unwritten(path, source),
            other => Self::of_input(other),
        }
    }
}

impl From<RunsError> for Failure {
    fn from(error: RunsError) -> Self {
        match &error {
            RunsError::Write { path, source } => Self::unwritten(path, source),
            other => Self::of_input(other),
        }
    }
}

impl From<SamplesError> for Failure {
    fn from(error: SamplesError) -> Self {
        Self::of_input(&error)
    }
}

impl From<TrialError> for Failure {
    fn from(error: TrialError) -> Self {
        match error.source {
            ExecuteError::Gpu(error) => Self::from(error),
            _ => Self::of_machine(error),
        }
    }
}

/// How to go on after plans were run.
const KEPT: &str = "the runs made so far are kept; to continue, repeat the command with --resume";

impl From<StudyError> for Failure {
    fn from(error: StudyError) -> Self {
        match error {
            StudyError::Runs(error) => error.into(),
            StudyError::Execute { source: ExecuteError::Gpu(error), .. } if error.is_absence() => {
                error.into()
            }
            StudyError::Execute { .. } => Self::told(ProblemKind::Machine, error, KEPT),
            StudyError::CannotResume { .. } => Self::refused(
                error,
                "use the same profile, scenarios, seed and draws as before, or drop --resume to \
                 run all plans again",
            ),
            StudyError::Interrupted => Self::interrupted(&format!("hallway: interrupted; {KEPT}")),
        }
    }
}

/// For standard error: coloured only where that is a terminal whose user did not refuse.
pub(super) fn drawn(report: &Report) -> String {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
    let is_coloured = std::io::stderr().is_terminal() && !is_set("NO_COLOR") && !is_dumb;
    let drawn = Drawn::new(report.as_ref(), is_coloured, without_controls);
    drawn.to_string().trim_end().to_owned()
}
