//! A check against an earlier evaluation.

use super::EvaluateArguments;
use crate::cli::Failure;
use crate::files;
use crate::report::{Baseline, Limits};
use std::path::Path;
use std::str::FromStr;

/// What fails the check, as a user names it.
#[derive(Debug, Clone, Copy)]
pub(super) enum FailIf {
    Slower(f64),
    Verdict,
    Missing,
}

impl FromStr for FailIf {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim().split_once('=') {
            None if text.trim() == "verdict" => Ok(Self::Verdict),
            None if text.trim() == "missing" => Ok(Self::Missing),
            Some(("slower", share)) => super::share(share).map(Self::Slower),
            _ => Err("write `slower=5%`, `verdict` or `missing`".to_owned()),
        }
    }
}

/// What fails: by default, a fastest plan that is over 5% slower and another verdict.
pub(super) fn limits(asked: &[FailIf]) -> Limits {
    const USUAL: [FailIf; 2] = [FailIf::Slower(0.05), FailIf::Verdict];
    let mut limits = Limits { slower: None, verdict: false, missing: false };
    for one in if asked.is_empty() { &USUAL } else { asked } {
        match one {
            FailIf::Slower(share) => limits.slower = Some(*share),
            FailIf::Verdict => limits.verdict = true,
            FailIf::Missing => limits.missing = true,
        }
    }
    limits
}

/// Refuses two shares for one thing: it would depend on their order which of them counts.
pub(super) fn check_limits(asked: &[FailIf]) -> Result<(), Failure> {
    let shares = asked.iter().filter(|one| matches!(one, FailIf::Slower(_))).count();
    if shares < 2 {
        return Ok(());
    }
    Err(Failure::input(miette::miette!(
        help = "keep one of them",
        "--fail-if has `slower=` {shares} times"
    )))
}

/// Bytes of an evaluation: thousands of scenarios.
const LARGEST: u64 = 256 << 20;

/// Reads the earlier evaluation, if one was named.
pub(super) fn baseline(arguments: &EvaluateArguments) -> Result<Option<Baseline>, Failure> {
    arguments.baseline.as_deref().map(read).transpose()
}

fn read(path: &Path) -> Result<Baseline, Failure> {
    let refused = |problem: String| {
        Failure::input(miette::miette!(
            help = "write one with `hallway evaluate SCENARIO... --format json --output FILE`",
            "{} cannot be used as a baseline: {problem}",
            path.display()
        ))
    };
    let text = files::read(path, LARGEST).map_err(|error| refused(error.to_string()))?;
    Baseline::read(&text).map_err(refused)
}
