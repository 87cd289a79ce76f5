//! Traces as scenarios: wherever a scenario may be given, a trace may be.

use super::Failure;
use super::progress::Progress;
use crate::program::check_hazards;
use crate::report::traced;
use crate::scenario::{Source, Workload};
use crate::trace::{
    self, HostTime, KernelUse, KernelUseError, Pass, PointerAccess, Spelled, SpelledMemory,
    SpelledPart, Spelling, Trace,
};
use clap::Args;
use std::path::Path;

/// Reads a trace, and shows that something is being done.
pub(super) fn read_trace(path: &Path) -> Result<Trace, Failure> {
    let progress = Progress::over_stages(1);
    progress.begin("reading the trace", 1);
    trace::read(path).map_err(|error| Failure::input(miette::Report::msg(error.to_string())))
}

/// Reads a trace that has the host's calls: a program is made of these.
pub(super) fn with_calls(path: &Path, uses: &KernelUses) -> Result<Trace, Failure> {
    let mut trace = read_trace(path)?;
    if trace.has_calls() {
        return uses.state(&mut trace).map(|()| trace);
    }
    Err(Failure::refused(
        format!("{} has no host calls, and a program consists of host calls", path.display()),
        "record the program again with its calls: `hallway record` without --device-only, and \
         with no other profiler in the process",
    ))
}

/// What kernels do with the pointers that they are given.
#[derive(Debug, Default, Args)]
pub(super) struct KernelUses {
    /// Kernels of a recording with KERNEL in their names read memory only through these of the
    /// different pointers passed to them, counted from 0, e.g. gemm=0,1. Otherwise they count as
    /// reading through every pointer. Can be repeated
    #[arg(long, value_name = "KERNEL=N,...")]
    reads: Vec<KernelUse>,
    /// Kernels of a recording with KERNEL in their names write memory only through these of the
    /// different pointers passed to them, counted from 0. `gemm=` says that they write nothing
    #[arg(long, value_name = "KERNEL=N,...")]
    writes: Vec<KernelUse>,
}

impl KernelUses {
    pub const fn is_empty(&self) -> bool {
        self.reads.is_empty() && self.writes.is_empty()
    }

    /// Adds to a trace what is said here.
    fn state(&self, trace: &mut Trace) -> Result<(), Failure> {
        let reads = self.reads.iter().map(|stated| (PointerAccess::Read, stated));
        let writes = self.writes.iter().map(|stated| (PointerAccess::Write, stated));
        for (access, stated) in reads.chain(writes) {
            trace.state_use(access, stated.clone()).map_err(|error| {
                let help = match &error {
                    KernelUseError::NoPointers => "record the program with `hallway record`".into(),
                    KernelUseError::NoKernel { known, .. } => {
                        let shown: Vec<&str> = known.iter().map(String::as_str).take(8).collect();
                        format!("kernels here: `{}`", shown.join("`, `"))
                    }
                    KernelUseError::Beyond { .. } => "pointers are numbered from 0".into(),
                };
                Failure::refused(format!("--{access}s: {error}"), help)
            })?;
        }
        Ok(())
    }
}

/// The name of a scenario that comes from a file.
pub(super) fn stem(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let name = name.split('.').next().unwrap_or_default();
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let name: String = name.chars().map(plain).take(60).collect();
    let name = name.trim_matches('-');
    if name.is_empty() { "trace".to_owned() } else { name.to_owned() }
}

/// A program as it would be without the recorder, with what is known of its scatter.
pub(super) fn without_recorder(trace: &Trace, pass: Option<&Pass>) -> Spelling {
    let work_range = pass.and_then(|pass| trace.host_scatter(pass));
    Spelling { host: HostTime::WithoutRecorder, work_range, ..Spelling::default() }
}

/// A trace's usual pass as a scenario.
pub(super) fn source(path: &Path) -> Result<(Source, Workload), Failure> {
    let trace = with_calls(path, &KernelUses::default())?;
    let pass = trace.pass();
    let spelled = spelled(
        &trace,
        &stem(path),
        SpelledPart::usual(&trace, pass.as_ref()),
        without_recorder(&trace, pass.as_ref()),
    );
    let found = scenario(path, &spelled)?;
    eprint!("{}", traced::imported(&trace, pass.as_ref(), &spelled));
    Ok(found)
}

/// A part of a trace with its memory by addresses, where the trace has them. If nothing orders two
/// calls that then use the same memory, each stream has its own instead: a scenario with a race is
/// of no use.
pub(super) fn spelled(trace: &Trace, name: &str, part: SpelledPart, how: Spelling) -> Spelled {
    let has_no_race = |one: &Spelled| {
        let read = Workload::from_toml(name, &one.text).ok();
        let program = read.and_then(|workload| workload.programs.into_iter().next());
        program.is_some_and(|program| check_hazards(&program).is_ok())
    };
    let mut ways = ways(trace, name, part, how).peekable();
    while let Some(one) = ways.next() {
        if ways.peek().is_none() || has_no_race(&one) {
            return one;
        }
    }
    unreachable!("one way needs no addresses")
}

/// A part of a trace with its memory told apart in each way that the trace allows, the best first.
pub(super) fn ways(
    trace: &Trace,
    name: &str,
    part: SpelledPart,
    how: Spelling,
) -> impl Iterator<Item = Spelled> {
    let by_address = trace.has_addresses().then_some(SpelledMemory::ByAddress);
    let ways = by_address.into_iter().chain([SpelledMemory::OfStreams]);
    ways.map(move |memory| trace.spelled(name, part.clone(), Spelling { memory, ..how }))
}

/// Reads what was written: a scenario that nothing can read is of no use.
pub(super) fn scenario(path: &Path, spelled: &Spelled) -> Result<(Source, Workload), Failure> {
    Source::from_toml(path, &spelled.text).map_err(|error| {
        let what = format!("{} cannot be written as a scenario: {error}", path.display());
        Failure::refused(what, "import a different part of it with --pass")
    })
}
