//! How a command fails: the exit code, and what is said in words or as JSON.

use crate::execute::ExecuteError;
use crate::files::without_controls;
use crate::profile::ProfileError;
use crate::report::{Drawn, Failed, Problem, ProblemKind};
use crate::runs::RunsError;
use crate::samples::SamplesError;
use crate::study::TrialError;
use miette::{Diagnostic, LabeledSpan, MietteDiagnostic, SourceCode, miette};
use std::ffi::OsString;
use std::fmt::{self, Display, Formatter};
use std::io::{self, ErrorKind, IsTerminal};

/// A failure that ends a command: its exit code goes by its kind.
#[derive(Debug)]
pub(super) enum Failure {
    Input(miette::Report),
    /// The input is right, and there is no answer to it.
    Unanswered(miette::Report),
    /// The arguments are wrong, and JSON was asked for. In words, clap says so itself.
    Usage {
        message: String,
        help: Option<String>,
    },
    NoGpu(String),
    Machine(miette::Report),
    /// By the user, with what to say about it.
    Interrupted(String),
}

/// How failures are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FailureFormat {
    Words,
    Json,
}

impl FailureFormat {
    /// JSON if the arguments ask for it, whether or not the rest of them makes sense.
    pub fn asked_for(arguments: &[OsString]) -> Self {
        let words = arguments.iter().map(|argument| argument.to_str().unwrap_or_default());
        let words: Vec<&str> = words.take_while(|&word| word != "--").collect();
        let asked = words.contains(&"--format=json")
            || words.windows(2).any(|pair| pair == ["--format", "json"]);
        if asked { Self::Json } else { Self::Words }
    }
}

impl Failure {
    /// What clap says of the arguments.
    pub fn usage(error: &clap::Error) -> Self {
        let text = error.to_string();
        let (message, help) = text.split_once("\n\n").unwrap_or((&text, ""));
        let message = message.strip_prefix("error: ").unwrap_or(message);
        let help = help.trim();
        let help = (!help.is_empty()).then(|| help.to_owned());
        Self::Usage { message: message.trim().to_owned(), help }
    }

    /// The exit code.
    pub const fn code(&self) -> u8 {
        match self {
            Self::Unanswered(_) => 1,
            Self::Input(_) | Self::Usage { .. } => 2,
            Self::NoGpu(_) => 3,
            Self::Machine(_) => 4,
            // As the shell has it for programs that an interrupt ends: 128 and its number.
            Self::Interrupted(_) => 130,
        }
    }

    /// What to write to standard error.
    pub fn shown(&self, format: FailureFormat) -> String {
        match (format, self) {
            (FailureFormat::Json, _) => Failed { error: self.problem() }.json(),
            (
                FailureFormat::Words,
                Self::Input(report) | Self::Unanswered(report) | Self::Machine(report),
            ) => drawn(report),
            (FailureFormat::Words, Self::Usage { message, .. } | Self::Interrupted(message)) => {
                without_controls(message)
            }
            (FailureFormat::Words, Self::NoGpu(why)) => {
                format!("hallway: this command needs a GPU: {why}")
            }
        }
    }

    fn problem(&self) -> Problem {
        let (kind, message, help) = match self {
            Self::Input(report) => (ProblemKind::Input, report.to_string(), help(report)),
            Self::Unanswered(report) => (ProblemKind::Unanswered, report.to_string(), help(report)),
            Self::Usage { message, help } => (ProblemKind::Usage, message.clone(), help.clone()),
            Self::NoGpu(why) => (ProblemKind::NoGpu, why.clone(), None),
            Self::Machine(report) => (ProblemKind::Machine, report.to_string(), help(report)),
            Self::Interrupted(message) => (ProblemKind::Interrupted, message.clone(), None),
        };
        Problem::new(self.code(), kind, &message, help)
    }

    /// With the help that the error gives; its causes are in its message already.
    pub fn input(error: &impl Diagnostic) -> Self {
        let mut shown = MietteDiagnostic::new(error.to_string());
        shown.help = error.help().map(|help| help.to_string());
        Self::Input(miette::Report::new(shown))
    }

    /// A place that cannot be written is the user's to choose; one that is full is the machine's.
    pub fn unwritten(path: impl Display, error: &io::Error) -> Self {
        let report = miette!(
            help = "choose a writable path with enough space",
            "cannot write {path}: {error}"
        );
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Self::Machine(report),
            _ => Self::Input(report),
        }
    }

    pub fn machine(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Machine(miette::Report::msg(error.to_string()))
    }
}

impl From<crate::gpu::GpuError> for Failure {
    fn from(error: crate::gpu::GpuError) -> Self {
        if error.is_absence() { Self::NoGpu(error.to_string()) } else { Self::machine(error) }
    }
}

impl From<ProfileError> for Failure {
    fn from(error: ProfileError) -> Self {
        match &error {
            ProfileError::Write { path, source } => Self::unwritten(path, source),
            other => Self::input(other),
        }
    }
}

impl From<RunsError> for Failure {
    fn from(error: RunsError) -> Self {
        match &error {
            RunsError::Write { path, source } => Self::unwritten(path, source),
            other => Self::input(other),
        }
    }
}

impl From<SamplesError> for Failure {
    fn from(error: SamplesError) -> Self {
        Self::input(&error)
    }
}

impl From<TrialError> for Failure {
    fn from(error: TrialError) -> Self {
        match error.source {
            ExecuteError::Gpu(error) => Self::from(error),
            _ => Self::machine(error),
        }
    }
}

fn help(report: &miette::Report) -> Option<String> {
    report.help().map(|help| help.to_string())
}

/// For standard error: coloured only where that is a terminal whose user did not refuse.
pub(super) fn drawn(report: &miette::Report) -> String {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
    let is_coloured = std::io::stderr().is_terminal() && !is_set("NO_COLOR") && !is_dumb;
    Drawn::new(&Harmless(report.as_ref()), is_coloured).to_string().trim_end().to_owned()
}

/// An error whose words do nothing to a terminal, whatever names and words of files are in them.
#[derive(Debug)]
struct Harmless<'e>(&'e dyn Diagnostic);

impl Display for Harmless<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&without_controls(&self.0.to_string()))
    }
}

impl std::error::Error for Harmless<'_> {}

impl Diagnostic for Harmless<'_> {
    fn help<'a>(&'a self) -> Option<Box<dyn Display + 'a>> {
        self.0.help().map(|help| Box::new(without_controls(&help.to_string())) as Box<dyn Display>)
    }

    // What these show of a file is harmless already.
    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.0.source_code()
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        self.0.labels()
    }
}
