//! What a process pays because it does something for the first time: it uses the GPU, launches a
//! kernel, touches memory. A program has no call for that.

use super::caches::NewPages;
use super::history::MemoryHistory;
use crate::kernels::{GpuSide, Kernel, Library};
use crate::machine::{DeviceId, HostMemory};
use crate::profile::{Known, MemoryWork, Profile, Unknown};
use crate::program::{AllocationId, Place, Process, Program, Step};
use crate::units::{Bytes, Span};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What a process pays once, besides its set-up, because it does something for the first time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FirstUse {
    /// The sum of all that is known.
    pub known: Span,
    /// What it is the sum of, each part once.
    pub parts: Vec<(FirstUseOf, Span)>,
    /// What the profile does not know; the sum is without it.
    pub missing: Option<Unknown>,
    /// Libraries of NVIDIA that the program calls. No calibration has what starting them takes, and
    /// the sum is without it: their kernels count like others.
    pub libraries: Vec<Library>,
}

/// What is used for the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FirstUseOf {
    /// The framework, which the scenario says how long it takes to load.
    Framework,
    /// Each GPU: a context is created.
    Gpu,
    /// The module with the kernels, which is loaded.
    Module,
    /// Each kernel: its first launch takes longer than those after it.
    Kernels,
    /// Host memory, whose pages the system has to give out.
    Memory,
}

/// Predicts what a program's first pass, or what comes before it, takes longer in a process than
/// later ones do. In a new process that is:
///
/// - loading the framework, a context on each GPU, the kernels' module in it, and the first launch
///   of each kernel there, if the program uses a GPU;
/// - the first touch of a buffer in host memory that the body writes and has not read: nobody
///   has written to its pages before. (Of a buffer that the body renews first, each pass pays for
///   that. Memory of the program's own is touched in the set-up.)
///
/// A running process has paid for all of it. No calibration has what the first copy of a process
/// takes longer.
pub fn first_use(program: &Program, process: &Process, profile: &Profile) -> FirstUse {
    let mut sum = FirstUse::default();
    if !process.is_new() {
        return sum;
    }
    sum.libraries = libraries(program);
    let of_memory = first_touches(program, profile).into_iter().map(|(bytes, cost)| {
        let time = profile.new_pages(cost, bytes);
        (FirstUseOf::Memory, time.map(|time| Span::from_nanos_f64(time.max(0.0))))
    });
    for (of, cost) in of_devices(program, process, profile).into_iter().chain(of_memory) {
        match cost {
            Ok(time) => sum.add(of, time),
            Err(unknown) => {
                sum.missing = Some(match sum.missing.take() {
                    Some(other) => other.and(unknown),
                    None => unknown,
                });
            }
        }
    }
    sum
}

impl FirstUse {
    fn add(&mut self, of: FirstUseOf, time: Span) {
        self.known += time;
        match self.parts.iter_mut().find(|(known, _)| *known == of) {
            Some((_, known)) => *known += time,
            None if time > Span::ZERO => self.parts.push((of, time)),
            None => {}
        }
    }
}

/// What the first use of GPUs costs.
fn of_devices(
    program: &Program,
    process: &Process,
    profile: &Profile,
) -> Vec<(FirstUseOf, Known<Span>)> {
    if !program.needs_device() {
        return Vec::new();
    }
    let devices = program.devices() as u64;
    let mut costs = vec![
        (FirstUseOf::Framework, Ok(process.start)),
        (FirstUseOf::Gpu, profile.contexts(devices)),
    ];
    let launched = launched(program);
    if !launched.is_empty() {
        let module = profile.first_module().map(|module| module * launched.len() as u64);
        costs.push((FirstUseOf::Module, module));
    }
    let launches = launched.values().map(|kernels| profile.first_launches(kernels.len() as u64));
    costs.push((FirstUseOf::Kernels, Ok(launches.sum())));
    costs
}

/// A kernel.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Code {
    Ours(Kernel),
    /// A place in [`Program::kernels`].
    Own(usize),
}

/// The different kernels that each GPU runs. Those of NVIDIA's libraries are loaded and launched
/// for the first time as well.
fn launched(program: &Program) -> BTreeMap<DeviceId, BTreeSet<Code>> {
    let mut launched: BTreeMap<DeviceId, BTreeSet<Code>> = BTreeMap::new();
    for call in &program.body {
        let Some((stream, step)) = call.launched() else { continue };
        let code = match step {
            Step::Library(step) => Code::Ours(step.kernel),
            Step::Own(step) => Code::Own(step.kernel),
        };
        launched.entry(program.device_of(stream)).or_default().insert(code);
    }
    launched
}

/// The libraries of NVIDIA that a program's launches call.
fn libraries(program: &Program) -> Vec<Library> {
    let mut found = Vec::new();
    for call in &program.body {
        let Some((_, step)) = call.launched() else { continue };
        let library = match step {
            Step::Library(step) => step.kernel.library(),
            Step::Own(step) => match program.own_kernel(step).gpu {
                GpuSide::Product(_) => Some(Library::Cublas),
                _ => None,
            },
        };
        found.extend(library.filter(|library| !found.contains(library)));
    }
    found
}

/// How many bytes of buffers in host memory the body writes before anybody has, and who does: the
/// CPU's threads in a kernel, or the driver in a copy. For memory that is registered, it is the
/// thread that registers it.
fn first_touches(program: &Program, profile: &Profile) -> Vec<(Bytes, MemoryWork)> {
    let mut history = MemoryHistory::new(program, profile, program.host_footprint().all);
    let is_new = program.written_first();
    (0..is_new.len()).filter(|&at| is_new[at]).for_each(|at| history.renew(AllocationId(at)));
    let mut touched: BTreeMap<(AllocationId, MemoryWork), Bytes> = BTreeMap::new();
    for call in &program.body {
        let uses_new = program.accesses(call).any(|one| is_new[one.allocation().0]);
        // Each pass pays for what it renews or takes.
        if !uses_new || call.memory_change().is_some_and(|(_, change)| change.is_new()) {
            continue;
        }
        let Some(NewPages { allocation, cost, bytes }) = history.new_pages(call) else { continue };
        let is_pinned = program.allocation(allocation).place == Place::Host(HostMemory::Pinned);
        let cost = match cost {
            MemoryWork::FirstCopy if is_pinned => MemoryWork::FirstTouch,
            other => other,
        };
        *touched.entry((allocation, cost)).or_default() += bytes;
    }
    touched.into_iter().map(|((_, cost), bytes)| (bytes, cost)).collect()
}
