//! The usual pass of a trace, as a program to advise on.

use super::Asked;
use crate::advise::Subject;
use crate::cli::Failure;
use crate::cli::imported::{KernelUses, stem, ways, with_calls, without_recorder};
use crate::program::Program;
use crate::scenario::Workload;
use crate::trace::{Spelled, SpelledPart, Trace};
use std::collections::BTreeMap;
use std::path::Path;

/// The usual pass of a trace's loop, or all of it.
pub(super) fn of_trace(path: &Path, uses: &KernelUses) -> Result<Asked, Failure> {
    let trace = with_calls(path, uses)?;
    let pass = trace.pass();
    let name = stem(path);
    let how = without_recorder(&trace, pass.as_ref());
    let mut found = None;
    for spelled in ways(&trace, &name, SpelledPart::usual(&trace, pass.as_ref()), how) {
        let read = program_of(path, &name, &spelled.text);
        // Where addresses seem to show a race, memory is told apart by streams alone.
        let (subject, workload) = match spelled.by_address {
            true => {
                let Ok((program, workload)) = read else { continue };
                (Subject::addressed(program), workload)
            }
            false => {
                let (program, workload) = read?;
                (Some(Subject::recorded(program)), workload)
            }
        };
        if let Some(subject) = subject {
            found = Some((subject, workload, spelled));
            break;
        }
    }
    let (mut subject, workload, spelled) = found.expect("one way needs no addresses");
    let recorded = spelled.recorded;
    let unchanged = pass.as_ref().map(|pass| trace.unchanged_copies(pass));
    let unchanged = unchanged.unwrap_or_default();
    subject.unchanged = by_position(&trace, &subject.program, &spelled, &unchanged);
    let recorded_on = trace.gpus.iter().find_map(|gpu| gpu.name.clone());
    let (others, recorded) = (Vec::new(), Some(recorded));
    let SpelledPart { calls, .. } = SpelledPart::usual(&trace, pass.as_ref());
    let account = Some(trace.account(calls));
    Ok(Asked { name, workload, subject, others, recorded, recorded_on, account })
}

/// What is known of calls of a trace, by the positions of the program's calls that they became.
fn by_position(
    trace: &Trace,
    program: &Program,
    spelled: &Spelled,
    of_calls: &BTreeMap<usize, bool>,
) -> BTreeMap<usize, bool> {
    let asks = program.body.iter().enumerate().filter(|(_, call)| {
        call.is_launch() || call.is_clear() || call.route().is_some() || call.works_on_cpu()
    });
    let both = asks.zip(&spelled.asked);
    let known =
        both.filter_map(|((at, _), &work)| Some((at, *of_calls.get(&trace.work[work].call?)?)));
    known.collect()
}

/// The program of a trace that was spelled out.
fn program_of(path: &Path, name: &str, text: &str) -> Result<(Program, Workload), Failure> {
    let unfit = |why: String| {
        Failure::refused(
            format!("{} cannot be read as a program: {why}", path.display()),
            "`hallway explain` shows what it contains",
        )
    };
    let workload = Workload::from_toml(name, text).map_err(|error| unfit(error.to_string()))?;
    let program = workload.programs.first().cloned();
    program
        .map(|program| (program, workload))
        .ok_or_else(|| unfit("it makes no GPU calls".to_owned()))
}
