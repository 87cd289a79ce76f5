//! From the raw scenario to the checked workload. Each function checks one rule.

use super::error::{Faults, ScenarioError};
use super::key::Key;
use super::process::process;
use super::raw::{
    BufferMemory, HostState, RawBuffer, RawHome, RawLimits, RawPlans, RawScenario, count,
};
use super::read::{Reading, read};
use super::task::Scope;
use super::words::{FamilyName, PlanMemory};
use super::workload::too_large;
use super::{Buffer, Home, Limits, Needed, PlanChoice, Task, Workload, graph};
use crate::files::{self, Fault, LONGEST_NAME, Spanned, name_problem, one_of};
use crate::kernels::OwnCost;
use crate::machine::{HostMemory, MOST_CPU_THREADS};
use crate::program::spelled::{DeclaredKernel, NamedBuffer, RawCpu, RawProgram, expand};
use crate::program::{Call, Place, Program};
use crate::units::{Instant, Span};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// The largest scenario in bytes: room for thousands of tasks.
const LARGEST: u64 = 4 << 20;

impl Workload {
    /// Reads a scenario; `file_name` is what errors call it. Files of its kernels lie beside it.
    ///
    /// # Errors
    /// The first mistake.
    pub fn from_toml(file_name: &str, text: &str) -> Result<Self, ScenarioError> {
        Self::changed(file_name, &files::with_line_feeds(text), None)
    }

    /// Like [`from_toml`](Self::from_toml), with another value of a key if there is one.
    pub(super) fn changed(
        file_name: &str,
        text: &str,
        change: Option<(&Key, &str)>,
    ) -> Result<Self, ScenarioError> {
        let folder = Path::new(file_name).parent().unwrap_or(Path::new(""));
        Self::checked(text, folder, change).map_err(|faults| {
            faults.first_in_file(file_name, text).expect("a scenario is refused for a reason")
        })
    }

    /// Reads the scenario in a file.
    ///
    /// # Errors
    /// The first mistake.
    pub fn load(path: &Path) -> Result<Self, ScenarioError> {
        Self::from_toml(&path.display().to_string(), &read_file(path)?)
    }

    /// Reads the scenario in a file.
    ///
    /// # Errors
    /// Every mistake that can be told from the others, in the order of the file.
    pub fn load_or_list(path: &Path) -> Result<Self, Vec<ScenarioError>> {
        let text = read_file(path).map_err(|error| vec![error])?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Self::checked(&text, folder, None)
            .map_err(|faults| faults.in_file(&path.display().to_string(), &text))
    }

    fn checked(text: &str, folder: &Path, change: Option<(&Key, &str)>) -> Result<Self, Faults> {
        let mut faults = Faults::default();
        let reading = read(text, change, &mut faults);
        let workload = reading.and_then(|reading| check(reading, folder, &mut faults));
        match workload {
            Some(workload) if faults.is_empty() => Ok(workload),
            _ => Err(faults),
        }
    }
}

pub(super) fn read_file(path: &Path) -> Result<String, ScenarioError> {
    files::read(path, LARGEST)
        .map_err(|cause| ScenarioError::Unreadable { path: path.to_owned(), cause })
}

/// Checks all that does not depend on what is wrong already.
fn check(reading: Reading, folder: &Path, faults: &mut Faults) -> Option<Workload> {
    let Reading { scenario, has_all_buffers, has_all_tasks, has_all_programs } = reading;
    let raw = scenario?;
    faults.keep(name(&raw.name));
    faults.keep(question(&raw.question));
    let batches = faults.keep(count("`batches`", raw.batches.as_ref()));
    let runs = faults.keep(count("`runs`", raw.runs.as_ref()));
    let ids = unique_names("buffer", raw.buffers.iter().map(|buffer| &buffer.name), faults);
    let task_ids = unique_names("task", raw.tasks.iter().map(|task| &task.name), faults);
    unique_names("program", raw.programs.iter().map(|program| &program.name), faults);
    unique_names("kernel", raw.kernels.iter().map(|kernel| &kernel.name), faults);
    let kernels = raw.kernels.iter().map(|raw| DeclaredKernel::new(raw, folder).map(Arc::new));
    let kernels = faults.keep_all(kernels);
    let own_cpu = faults.keep(raw.cpu.as_ref().map(own_cpu).transpose());
    for program in &raw.programs {
        if let Some(result) = &program.result {
            faults.keep(name(result));
        }
        // Two of one name are told where the program is expanded, where buffers are known, too.
        let memory = program.memory.iter().map(|memory| &memory.name);
        for spanned in memory.chain(program.streams.iter().map(|stream| &stream.name)) {
            faults.keep(name(spanned));
        }
    }
    let (limits, plans) = (limits(&raw.limits, faults), plans(&raw.plans, faults));
    let process = faults.keep(process(&raw.process, &raw.buffers));
    let buffers = faults.keep_all(raw.buffers.iter().map(buffer));
    let (buffers, batches, runs) =
        (buffers.filter(|_| has_all_buffers)?, batches?.unwrap_or(1), runs?.unwrap_or(100));
    faults.keep(total_size(&raw.buffers, &buffers, batches))?;
    let declared = kernels.as_deref().unwrap_or_default();
    let (raw_buffers, buffers_there, tasks) = (&raw.buffers[..], &buffers[..], &task_ids);
    let scope = Scope { raw_buffers, buffers: buffers_there, ids: &ids, tasks, declared };
    let tasks = faults.keep_all(raw.tasks.iter().map(|raw| scope.task(raw)));
    let tasks = tasks.filter(|_| has_all_tasks)?;
    let kernels = kernels.as_ref().filter(|_| has_all_programs)?;
    let named: Vec<NamedBuffer> = buffers.iter().map(|buffer| named(buffer, batches)).collect();
    let programs = faults.keep_all(programs(&raw.programs, &named, kernels))?;
    if tasks.is_empty() && programs.is_empty() {
        let message = format!("the scenario `{}` has no tasks and no programs", raw.name);
        let help = "add a `[[task]]` table with `name`, `kernel`, `reads` and `writes`, or a \
                    `[[program]]` with `name` and `calls`";
        faults.note(Fault::new(message, raw.name.span(), "computes nothing", help));
    }
    if let (Some(stray), true) = (&raw.cpu, tasks.is_empty()) {
        let message = format!("the scenario `{}` has `cpu` but no tasks", raw.name);
        let help = "remove `cpu`, or add the tasks that your CPU code does";
        faults.note(Fault::new(message, stray.span(), "no effect", help));
    }
    graph::check_flow(&raw, &buffers, &tasks, &programs, faults);
    if !faults.is_empty() {
        return None;
    }
    let tasks = faults.keep(graph::in_order(&tasks, &raw))?;
    faults.keep(scope.check_needed(&tasks))?;
    let workload = Workload {
        tasks: tasks.into(),
        limits,
        plans,
        process: process?,
        programs,
        own_cpu: own_cpu?,
        results: results(&raw),
        part: None,
        name: raw.name.get_ref().clone(),
        question: raw.question.get_ref().clone(),
        batches,
        runs,
        buffers,
        files: kernels.iter().flat_map(|kernel| kernel.files.iter().cloned()).collect(),
    };
    faults.keep(calls(&raw, &workload))?;
    faults.keep(check_length(&raw, &workload)).map(|()| workload)
}

fn own_cpu(raw: &Spanned<RawCpu>) -> Result<Arc<DeclaredKernel>, Fault> {
    DeclaredKernel::of_scenario(raw).map(Arc::new)
}

/// A buffer as programs see it.
fn named(buffer: &Buffer, batches: u64) -> NamedBuffer {
    let place = match buffer.home {
        Home::Host(memory) => Some(Place::Host(memory)),
        Home::Device => Some(Place::FIRST_DEVICE),
        Home::Scratch => None,
    };
    NamedBuffer { name: buffer.name.clone(), bytes: buffer.bytes(batches), place }
}

/// What programs are said to leave, by their names.
fn results(raw: &RawScenario) -> BTreeMap<String, String> {
    let said = raw.programs.iter().filter_map(|program| {
        let result = program.result.as_ref()?.get_ref().clone();
        Some((program.name.get_ref().clone(), result))
    });
    said.collect()
}

fn name(name: &Spanned<String>) -> Result<(), Fault> {
    let Some(problem) = name_problem(name.get_ref()) else { return Ok(()) };
    let help = format!(
        "use 1 to {LONGEST_NAME} printable characters without slashes, such as \"image-batches\""
    );
    Err(Fault::new(format!("`name` {problem}"), name.span(), "not a name", help))
}

/// A question is shown on terminals and in pictures.
fn question(question: &Spanned<String>) -> Result<(), Fault> {
    let Some(character) = files::unprintable(question.get_ref()) else { return Ok(()) };
    let code = files::code_point(character);
    let message = format!("`question` contains the unprintable character {code}");
    let help = "write a single line of printable characters";
    Err(Fault::new(message, question.span(), "unprintable", help))
}

/// Checks names, and gives each its index in the file.
fn unique_names<'a>(
    kind: &str,
    names: impl Iterator<Item = &'a Spanned<String>>,
    faults: &mut Faults,
) -> BTreeMap<&'a Spanned<String>, usize> {
    let mut places: BTreeMap<&Spanned<String>, usize> = BTreeMap::new();
    for (place, spanned) in names.enumerate() {
        faults.keep(name(spanned));
        if let Some((first, _)) = places.get_key_value(spanned) {
            let message = format!("two {kind}s have the same `name`, `{spanned}`");
            let help = format!("give each {kind} a distinct name");
            let fault = Fault::new(message, spanned.span(), "same name", help);
            faults.note(fault.and(first.span(), "first used here"));
            continue;
        }
        places.insert(spanned, place);
    }
    places
}

fn buffer(raw: &RawBuffer) -> Result<Buffer, Fault> {
    let elements =
        raw.elements.within(&format!("`elements` of buffer `{}`", raw.name), 1..=i64::MAX)?;
    let of_host = [
        ("host", raw.host.as_ref().map(Spanned::span), "describes host memory"),
        ("needed", raw.needed.as_ref().map(Spanned::span), "never copied"),
    ];
    for (key, span, label) in of_host {
        let Some(span) = span.filter(|_| raw.home != RawHome::Host) else { continue };
        let message =
            format!("buffer `{}` has the key `{key}`, but its `home` is not `\"host\"`", raw.name);
        let help = format!("remove `{key}`, or set `home = \"host\"`");
        return Err(Fault::new(message, span, label, help));
    }
    let host = raw.host.as_ref().map(Spanned::get_ref);
    let memory = match host.and_then(|host| host.memory) {
        Some(BufferMemory::Pinned) => HostMemory::Pinned,
        Some(BufferMemory::WriteCombined) => HostMemory::WriteCombined,
        Some(BufferMemory::Pageable) | None => HostMemory::Pageable,
    };
    let needed = raw.needed.as_ref();
    let needed = needed.map(|needed| Needed::checked(needed, &raw.name, elements)).transpose()?;
    Ok(Buffer {
        name: raw.name.get_ref().clone(),
        element_type: raw.element_type,
        elements,
        home: match raw.home {
            RawHome::Host => Home::Host(memory),
            RawHome::Device => Home::Device,
            RawHome::Scratch => Home::Scratch,
        },
        fresh: host.is_some_and(|host| host.state == Some(HostState::Fresh)),
        shared: raw.shared.as_ref().is_some_and(|shared| *shared.get_ref()),
        needed,
    })
}

/// The bytes of all batches of all buffers fit into a signed 64-bit number, as in CUDA.
fn total_size(raw: &[RawBuffer], buffers: &[Buffer], batches: u64) -> Result<(), Fault> {
    let Some(at) = too_large(buffers, batches) else { return Ok(()) };
    let (raw, buffer) = (&raw[at], &buffers[at]);
    let (each, batches) = (buffer.element_type.size(), buffer.copies(batches));
    let message = format!(
        "with buffer `{}`, all batches of all buffers need more memory than any machine has",
        buffer.name
    );
    let label = format!("x {each} bytes x {batches} batches");
    let help = "use fewer `elements` or fewer `batches`";
    Err(Fault::new(message, raw.elements.span(), label, help))
}

/// The programs, call by call. Beyond the limit, no other one is even spelled out.
fn programs(
    raw: &[RawProgram],
    buffers: &[NamedBuffer],
    kernels: &[Arc<DeclaredKernel>],
) -> impl Iterator<Item = Result<Program, Fault>> {
    let mut together = 0;
    raw.iter().map_while(move |raw| {
        (together <= MOST_CALLS_TOGETHER).then(|| {
            let program = expand(raw, buffers, kernels)?;
            together += program.body.len();
            if together <= MOST_CALLS_TOGETHER { Ok(program) } else { Err(too_many_together(raw)) }
        })
    })
}

/// The most calls that all programs of a scenario may have together: an evaluation takes some 500
/// bytes for each, and is to take less than 1 GiB.
const MOST_CALLS_TOGETHER: usize = 1_500_000;

fn too_many_together(raw: &RawProgram) -> Fault {
    let message =
        format!("the programs up to this one have more than {MOST_CALLS_TOGETHER} calls in total");
    let help = "repeat fewer times, or split the programs into several files: an evaluation would \
                need more than 1 GiB of memory";
    Fault::new(message, raw.name.span(), "over the limit", help)
}

/// Plans of whole batches, and of as many chunks as the scenario names, have few enough calls to
/// be simulated.
fn calls(raw: &RawScenario, workload: &Workload) -> Result<(), Fault> {
    const MOST: u64 = Program::MOST_CALLS as u64;
    let too_many = |span, chunks: u64| {
        let calls = workload.calls(chunks);
        let help = format!(
            "reduce `iterations`, `batches` or `chunks`: the limit is {MOST} calls, and each chunk \
             takes 3 calls plus its launches; smaller numbers give the same answer"
        );
        let message = format!("a plan would have {calls} calls, too many to simulate");
        Fault::new(message, span, "too many", help)
    };
    if workload.calls(1) > MOST {
        let keys = raw.tasks.iter().filter_map(|task| task.iterations.as_ref());
        let most = keys.chain(&raw.batches).max_by_key(|count| *count.get_ref());
        return Err(too_many(most.map_or(raw.name.span(), Spanned::span), 1));
    }
    for raw in &raw.plans.chunks {
        let chunks = count("a value in `chunks`", Some(raw))?.unwrap_or(1);
        if workload.calls(chunks) > MOST {
            return Err(too_many(raw.span(), chunks));
        }
    }
    Ok(())
}

fn limits(raw: &RawLimits, faults: &mut Faults) -> Limits {
    let threads = raw.cpu_threads.as_ref().and_then(|threads| {
        faults.keep(threads.within("`cpu_threads`", 1..=MOST_CPU_THREADS as i64))
    });
    let help = "write a number and a unit: B, KiB, MiB, GiB, TiB, kB, MB, GB or TB";
    let mut memory = |before: &str, text: &Option<Spanned<String>>| {
        faults.keep(text.as_ref()?.parsed(before, "not an amount of memory", help))
    };
    Limits {
        device_memory: memory("`device_memory`: ", &raw.device_memory),
        pinned_memory: memory("`pinned_memory`: ", &raw.pinned_memory),
        cpu_threads: threads.and_then(|threads| usize::try_from(threads).ok()),
    }
}

fn plans(raw: &RawPlans, faults: &mut Faults) -> PlanChoice {
    let families = FamilyName::ALL.map(|family| (family.name(), family));
    let family = |name: &Spanned<String>| faults.keep(one_of("family", name, &families));
    let families = raw.families.iter().filter_map(family).collect();
    let chunks = |raw| faults.keep(count("a value in `chunks`", Some(raw))).flatten();
    let chunks = raw.chunks.iter().filter_map(chunks).collect();
    let memories = PlanMemory::ALL.map(|memory| (memory.name(), memory));
    let memory = |name: &Spanned<String>| faults.keep(one_of("kind of memory", name, &memories));
    let memory = raw.memory.iter().filter_map(memory).collect();
    PlanChoice { families, chunks, memory }
}

/// Refuses tasks whose stated times make a pass that is too long to simulate, and stated times that
/// are too long to count over all runs.
fn check_length(raw: &RawScenario, workload: &Workload) -> Result<(), Fault> {
    let tasks = raw.tasks.iter().filter_map(|raw| {
        let task = workload.tasks.iter().find(|task| task.name == *raw.name.get_ref())?;
        Some((raw.kernel.span(), stated(task, workload)))
    });
    let programs = raw.programs.iter().zip(&workload.programs);
    // The stated time of the CPU in a pass.
    let worked =
        |program: &Program| program.body.iter().filter_map(Call::stated_time).sum::<Span>();
    let programs = programs.map(|(raw, program)| (raw.name.span(), worked(program)));
    let own = workload.on_own_cpu().zip(raw.cpu.as_ref());
    let own = own.map(|(own, raw)| (raw.span(), stated(&own.tasks[0], &own)));
    let Some((place, time)) = tasks.chain(programs).chain(own).max_by_key(|(_, time)| *time) else {
        return Ok(());
    };
    let most = Instant::HORIZON.since_start();
    if time > most {
        let message = format!("the stated time of a run is {}", time.in_years());
        let help = format!(
            "state a shorter time, or use fewer `iterations` or `batches`: a run can take up to \
             {}",
            most.in_years()
        );
        return Err(Fault::new(message, place, "takes too long", help));
    }
    if time * workload.runs < Span::LONGEST {
        return Ok(());
    }
    let (runs, most) = (workload.runs, Span::LONGEST.in_years());
    let message = format!("{runs} runs of a stated {time} take more than {most}");
    let help = format!("use fewer `runs` or state a shorter time: the limit is {most}");
    let at = raw.runs.as_ref().map_or_else(|| raw.name.span(), Spanned::span);
    Err(Fault::new(message, at, "too many runs", help).and(place, "stated here"))
}

/// What a task takes at least in a pass, on the side where that is more, by what is stated.
fn stated(task: &Task, workload: &Workload) -> Span {
    let Some(work) = task.kernel.own_work() else { return Span::ZERO };
    let elements = work.elements.unwrap_or(workload.buffer(task.output()).elements);
    let time = |cost: &OwnCost| match cost {
        OwnCost::Stated { fixed, per_element, .. } => {
            Span::from_nanos_f64(fixed + per_element * elements as f64)
        }
        OwnCost::Points(points) => {
            let reached = points.iter().rfind(|(size, _)| *size <= elements);
            reached.map_or(Span::ZERO, |(_, time)| *time)
        }
        OwnCost::Roofline { .. } => Span::ZERO,
    };
    let longest = work.declared.kernel.costs().map(time).max().unwrap_or_default();
    longest * task.iterations * workload.batches
}
