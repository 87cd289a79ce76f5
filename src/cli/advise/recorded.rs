//! The usual pass of a trace, as a program to advise on.

use super::Asked;
use crate::advise::Subject;
use crate::cli::Failure;
use crate::cli::imported::{KernelUses, stem, ways, with_calls, without_recorder};
use crate::program::{Call, Program};
use crate::scenario::Workload;
use crate::trace::{CallKind, Spelled, SpelledPart, Trace};
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
    let asked = asked(&trace, &subject.program, &spelled);
    let known = asked.iter().filter_map(|(at, call)| Some((*at, *unchanged.get(call)?)));
    subject.unchanged = known.collect();
    let function = |call: &usize| trace.calls[*call].function.to_string();
    subject.functions = asked.iter().map(|(at, call)| (*at, function(call))).collect();
    let recorded_on = trace.gpus.iter().find_map(|gpu| gpu.name.clone());
    let (others, recorded) = (Vec::new(), Some(recorded));
    let SpelledPart { calls, .. } = SpelledPart::usual(&trace, pass.as_ref());
    let account = Some(trace.account(calls));
    Ok(Asked { name, workload, subject, others, recorded, recorded_on, account })
}

/// The calls of a trace that became calls of a program, by the positions of these. The wait that
/// belongs to a blocking copy is one of them.
fn asked(trace: &Trace, program: &Program, spelled: &Spelled) -> BTreeMap<usize, usize> {
    let asks = program.body.iter().enumerate().filter(|(_, call)| {
        call.is_launch() || call.is_clear() || call.route().is_some() || call.works_on_cpu()
    });
    let both = asks.zip(&spelled.asked);
    let mut found: BTreeMap<usize, usize> =
        both.filter_map(|((at, _), &work)| Some((at, trace.work[work].call?))).collect();
    let waits = found.iter().filter(|(at, call)| {
        let is_wait = program.body.get(*at + 1).is_some_and(Call::only_waits);
        is_wait && matches!(trace.calls[**call].kind, CallKind::Copy { blocking: true, .. })
    });
    let waits: Vec<(usize, usize)> = waits.map(|(at, call)| (at + 1, *call)).collect();
    found.extend(waits);
    found
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
