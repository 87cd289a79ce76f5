//! Why a recording has nothing in it, and what to do about that.

use crate::cli::Failure;
use crate::record::format::{Note, PROFILER};
use crate::report::ProblemKind;
use crate::trace::{RecordedProcess, Totals};
use std::collections::BTreeSet;
use std::sync::Arc;

/// How many names of ranges are listed.
const LISTED: usize = 10;

pub fn unused(name: &str) -> Failure {
    Failure::told(
        ProblemKind::Unanswered,
        format!("{name} did not use CUDA: nothing was recorded"),
        "check that it uses the GPU, that CUDA_INJECTION64_PATH is still set in the process that \
         does, and that this process can write to the output's folder",
    )
}

/// Why these processes recorded nothing; `None` if they did.
pub fn why(found: &[RecordedProcess], range: Option<&str>) -> Option<Failure> {
    let has = |note: Note| found.iter().flat_map(|process| &process.notes).any(|one| one.0 == note);
    let is_empty = found.iter().all(|process| process.totals == Totals::default());
    if found.iter().all(|process| process.cupti.is_none()) || (is_empty && has(Note::Forbidden)) {
        return Some(unrecorded(has(Note::Forbidden)));
    }
    let range = range.filter(|_| is_empty)?;
    if has(Note::Taken) {
        return Some(Failure::told(
            ProblemKind::Machine,
            "nothing was recorded: another tool is using CUPTI's callbacks, which --range needs",
            "run the program without its profiler, or record without --range",
        ));
    }
    Some(out_of_range(found, range))
}

fn unrecorded(is_forbidden: bool) -> Failure {
    let (what, help) = match is_forbidden {
        true => (
            "nothing was recorded: this user is not allowed to use CUPTI",
            "run as root, or have an administrator load the driver with \
             NVreg_RestrictProfilingToAdminUsers=0; in a container, add the capability SYS_ADMIN",
        ),
        false => (
            "nothing was recorded: CUPTI does not work here",
            "install the CUDA toolkit or the Python package nvidia-cuda-cupti, or name the library \
             in HALLWAY_CUPTI",
        ),
    };
    Failure::told(ProblemKind::Machine, what, help)
}

/// Nothing was done in the range: it never came, or came where CUDA was not used.
fn out_of_range(found: &[RecordedProcess], range: &str) -> Failure {
    let names: BTreeSet<&Arc<str>> = found.iter().flat_map(|process| &process.ranges).collect();
    if names.iter().any(|name| &***name == range) {
        return Failure::told(
            ProblemKind::Unanswered,
            format!("nothing was recorded: the program made no CUDA calls in range `{range}`"),
            "choose another range, or record without --range",
        );
    }
    let shown: Vec<String> = names.iter().take(LISTED).map(|name| shown(name)).collect();
    let more = if names.len() > LISTED { ", and others" } else { "" };
    let ranges = match shown.is_empty() {
        true => "the program has no NVTX ranges: record without --range".to_owned(),
        false => format!("ranges in the program: {}{more}", shown.join(", ")),
    };
    let what = match range {
        PROFILER => {
            "nothing was recorded: the program made no CUDA calls between cudaProfilerStart and \
             cudaProfilerStop, and has no range named `profiler`"
                .to_owned()
        }
        _ => format!("nothing was recorded: the program never entered a range named `{range}`"),
    };
    Failure::told(ProblemKind::Unanswered, what, ranges)
}

/// A name as it can be shown on a terminal.
fn shown(name: &str) -> String {
    let plain = name.chars().map(|c| if c.is_control() { '?' } else { c });
    format!("`{}`", plain.take(60).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(ranges: &[&str], calls: u64) -> RecordedProcess {
        RecordedProcess {
            cupti: Some(("libcupti.so".into(), 26)),
            totals: Totals { calls, ..Totals::default() },
            ranges: ranges.iter().map(|&name| name.into()).collect(),
            ..RecordedProcess::default()
        }
    }

    fn said(found: &[RecordedProcess], range: Option<&str>) -> Option<String> {
        why(found, range).map(|why| {
            let help = why.report.help().map(|help| help.to_string());
            format!("{}; {}", why.report, help.unwrap_or_default())
        })
    }

    #[test]
    fn whoever_chose_a_range_that_never_came_learns_which_did() {
        let asked = said(&[process(&["load", "step\u{7}"], 0)], Some("train")).expect("a reason");
        let both = "entered a range named `train`; ranges in the program: `load`, `step?`";
        assert!(asked.contains(both), "{asked}");
        let none = said(&[process(&[], 0)], Some("train")).expect("a reason");
        assert!(none.contains("has no NVTX ranges"), "{none}");
        let idle = said(&[process(&["train"], 0)], Some("train")).expect("a reason");
        assert!(idle.contains("made no CUDA calls in range `train`"), "{idle}");
        let never = said(&[process(&["train"], 0)], Some("profiler")).expect("a reason");
        assert!(never.contains("cudaProfilerStart"), "{never}");
        let two = [process(&[], 0), process(&["train"], 3)];
        assert_eq!(said(&two, Some("train")), None);
        assert_eq!(said(&[process(&[], 0)], None), None);
    }
}
