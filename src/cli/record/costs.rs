//! What recording adds: found by recording calls that nothing lies between, and kernels that do
//! nothing.

use super::launch::{Launch, Library};
use crate::cli::{Failure, Outcome};
use crate::gpu::alike_calls;
use crate::record::format::{EMPTY_KERNEL, Form};
use crate::stats::median;
use crate::trace::{CallKind, HostCall, Recording, Trace, WorkKind};
use std::collections::BTreeMap;
use tempfile::TempDir;

/// The command that makes such calls, which help does not show.
pub(in crate::cli) const MAKE_CALLS: &str = "make-alike-calls";

/// Fewer than this many calls in a row say nothing.
const FEWEST: usize = 100;

/// The side of the process that is recorded.
pub(in crate::cli) fn make_calls() -> Result<Outcome, Failure> {
    alike_calls()?;
    Ok(Outcome::Done)
}

/// What recording adds between two calls of each form, and what it shows for a kernel that does
/// nothing, in nanoseconds. Empty if that cannot be
/// measured here; the recording of the program then says why.
pub(super) fn measured(library: &Library) -> BTreeMap<u8, u64> {
    let recorded = || -> Option<Recording> {
        let folder = TempDir::with_prefix("hallway-").ok()?;
        let program = std::env::current_exe().ok()?;
        let launch = Launch {
            program: program.as_os_str(),
            arguments: &[MAKE_CALLS.into()],
            library: library.path(),
            prefix: &folder.path().join("calls"),
            digests: false,
            seconds: None,
            range: None,
            device_only: false,
            costs: &BTreeMap::new(),
        };
        launch.run_quietly()?;
        let part = std::fs::read_dir(folder.path()).ok()?.flatten().next()?;
        Recording::read(&std::fs::read(part.path()).ok()?).ok()
    };
    recorded().map(|recording| of_recording(&recording.trace)).unwrap_or_default()
}

fn of_recording(trace: &Trace) -> BTreeMap<u8, u64> {
    let mut costs = between(&trace.calls);
    let kernels = trace.work.iter().filter(|work| matches!(work.kind, WorkKind::Kernel { .. }));
    let times: Vec<f64> = kernels.map(|work| work.end.since(work.start).nanos_f64()).collect();
    if let Some(time) = median(&times).filter(|_| times.len() >= FEWEST) {
        costs.insert(EMPTY_KERNEL, time as u64);
    }
    costs
}

/// The middle of the times between two calls of a form.
fn between(calls: &[HostCall]) -> BTreeMap<u8, u64> {
    let mut gaps: BTreeMap<u8, Vec<f64>> = BTreeMap::new();
    for pair in calls.windows(2) {
        let [before, call] = pair else { continue };
        if let Some(form) = form_of(&call.kind)
            && before.function == call.function
        {
            let gap = call.begin.since(before.end.min(call.begin));
            gaps.entry(form as u8).or_default().push(gap.nanos_f64());
        }
    }
    gaps.retain(|_, gaps| gaps.len() >= FEWEST);
    let middle = |gaps: &Vec<f64>| median(gaps).unwrap_or_default() as u64;
    let mut costs: BTreeMap<u8, u64> =
        gaps.iter().map(|(&form, gaps)| (form, middle(gaps))).collect();
    // Other calls are recorded in the same way.
    let usual: Vec<f64> = costs.values().map(|&nanos| nanos as f64).collect();
    if let Some(usual) = median(&usual) {
        for form in Form::ALL {
            costs.entry(form as u8).or_insert(usual as u64);
        }
    }
    costs
}

/// The form of a call, if such calls are made in a row.
const fn form_of(kind: &CallKind) -> Option<Form> {
    Some(match kind {
        CallKind::Copy { .. } => Form::Copy,
        CallKind::Clear { .. } => Form::Clear,
        CallKind::Launch { .. } => Form::Launch,
        CallKind::Record { .. } => Form::Record,
        CallKind::Wait { .. } => Form::Wait,
        CallKind::Synchronize { .. } => Form::Synchronize,
        CallKind::SynchronizeEvent { .. } => Form::SynchronizeEvent,
        CallKind::SynchronizeDevice => Form::SynchronizeDevice,
        _ => return None,
    })
}
