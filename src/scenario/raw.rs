//! A scenario as it is written, before anything is checked.
//!
//! These types say which keys there are and what types and words they take; `read` decodes
//! them. Whatever needs to know a second thing is in `check`.

#[cfg(feature = "schema")]
use super::schema;
use crate::files::{Fault, Spanned, written_in_several_ways};
#[cfg(feature = "schema")]
use crate::machine::MOST_CPU_THREADS;
use crate::program::ProcessState;
use crate::program::spelled::{RawCpu, RawKernel, RawProgram};
use crate::units::ElementType;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, IntoDeserializer, MapAccess};
use std::collections::BTreeMap;
use std::ops::Range;

/// The version of the file format that this hallway reads.
pub(super) const SCHEMA_VERSION: i64 = 1;

// The doc comments below are the descriptions in the JSON Schema of scenarios, and so in
// docs/reference/scenario.md: they are written for those who write a scenario.

/// A workload: buffers, and tasks that read and write them.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, expecting = "a scenario")]
// Serde would take a scenario without tasks; `check` does not.
#[cfg_attr(feature = "schema", schemars(rename = "Scenario"))]
#[cfg_attr(feature = "schema", schemars(transform = schema::without_own_kernels))]
#[cfg_attr(
    feature = "schema",
    schemars(extend(
        "required" = ["schema_version", "name", "question"],
        "anyOf" = [{ "required": ["task"] }, { "required": ["program"] }],
    ))
)]
pub(super) struct RawScenario {
    /// Version of the file format.
    #[serde(rename = "schema_version")]
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA_VERSION)))]
    _schema_version: i64,
    /// Name of the scenario, used in reports, plots and the names of files with measured runs.
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::name"))]
    pub name: Spanned<String>,
    /// The question that the scenario asks, in one line. Reports show it above the answer.
    pub question: Spanned<String>,
    /// Number of independent repetitions of all tasks, each with its own host data. A plan may
    /// overlap them. Default: 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = LARGEST_COUNT)))]
    pub batches: Option<Spanned<i64>>,
    /// Number of times the whole workload is run. Set-up is paid once and spread over this many
    /// runs. Default: 100.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = LARGEST_COUNT)))]
    pub runs: Option<Spanned<i64>>,
    /// The arrays that tasks read and write: one `[[buffer]]` table for each.
    #[serde(default, rename = "buffer")]
    pub buffers: Vec<RawBuffer>,
    /// The kernels to run: one `[[task]]` table for each, in any order. A task runs after the tasks
    /// whose results it reads.
    #[serde(default, rename = "task")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub tasks: Vec<RawTask>,
    /// Programs spelled out call by call: one `[[program]]` table for each. They are predicted and
    /// run as written, next to the plans for the tasks.
    #[serde(default, rename = "program")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub programs: Vec<RawProgram>,
    /// Your own kernels, for tasks and programs: one `[[kernel]]` table for each.
    #[serde(default, rename = "kernel")]
    pub kernels: Vec<RawKernel>,
    /// What your own CPU code takes for all tasks of one batch. The `cpu` plan then takes this
    /// time. In `points`, `roofline`, `stated` and a command's `{elements}`, the number of elements
    /// is that of the largest buffer, except for those that tasks read whole or reduce into.
    /// Default: hallway's own code, on all threads.
    pub cpu: Option<Spanned<RawCpu>>,
    /// Limits on the machine resources that plans may use. Default: none.
    #[serde(default)]
    pub limits: RawLimits,
    /// Which plans to consider. Default: a broad selection.
    #[serde(default)]
    pub plans: RawPlans,
    /// The process that runs the programs. Default: a new one.
    #[serde(default)]
    pub process: RawProcess,
}

/// An array of numbers.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Buffer"))]
#[serde(deny_unknown_fields, expecting = "a [[buffer]] table")]
pub(super) struct RawBuffer {
    /// Name by which tasks refer to the buffer. Must be unique.
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::name"))]
    pub name: Spanned<String>,
    /// Element type. Library kernels work on `f32`; programs can copy any type.
    #[serde(rename = "type")]
    pub element_type: ElementType,
    /// Number of elements in one batch.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub elements: Spanned<i64>,
    /// Where the contents are before the workload, and where they have to be after it.
    pub home: RawHome,
    /// True if all batches read the same contents, such as weights: they are stored once and copied
    /// once per run. Only for inputs that no task writes. Default: false.
    pub shared: Option<Spanned<bool>>,
    /// The elements of each batch that have to be copied between host and device: for a result,
    /// those that the host needs; for an input, those that tasks use. Tasks still compute all
    /// elements. Only for `home = "host"`, and not for buffers that are updated in place. Default:
    /// all elements.
    pub needed: Option<Spanned<RawNeeded>>,
    /// The kind and state of the host memory. Only for `home = "host"`.
    pub host: Option<Spanned<RawHost>>,
}

/// A part of a buffer: one range, or rows of equal length at a fixed pitch.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Needed"))]
#[serde(deny_unknown_fields, expecting = "a table such as { elements = 1000 }")]
pub(super) struct RawNeeded {
    /// The first element, counted from 0. Default: 0.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub from: Option<Spanned<i64>>,
    /// Number of elements, in total or per row.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub elements: Option<Spanned<i64>>,
    /// Instead of `elements`: a share of the buffer, or of each row, above 0 and up to 1.
    pub share: Option<Spanned<f64>>,
    /// Number of elements from the start of one row to the start of the next. Default: a single
    /// row.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub pitch: Option<Spanned<i64>>,
    /// Number of rows. Default: as many as fit.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub rows: Option<Spanned<i64>>,
}

/// Where a buffer starts and has to end.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Home"))]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawHome {
    /// In host memory: inputs start there, and results must end there.
    Host,
    /// In the memory of the GPU, before and after the workload.
    Device,
    /// Nowhere: an intermediate result that is not needed before or after the workload.
    Scratch,
}

/// The host memory of a buffer.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Host"))]
#[serde(deny_unknown_fields, expecting = "a table such as { memory = \"pinned\" }")]
pub(super) struct RawHost {
    /// Kind of host memory. Plans may pin pageable memory as part of their set-up. Default:
    /// `pageable`.
    pub memory: Option<BufferMemory>,
    /// Whether the memory was in use before. Default: `reused`.
    pub state: Option<HostState>,
}

/// A kind of host memory.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "HostMemory"))]
#[serde(rename_all = "kebab-case")]
pub(super) enum BufferMemory {
    /// Ordinary memory: the driver stages copies through its own pinned memory.
    Pageable,
    /// Page-locked: the copy engine reads and writes it directly.
    Pinned,
    /// Page-locked and not cached by the CPU: fast to write, very slow to read.
    WriteCombined,
}

/// Whether host memory was in use before.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(super) enum HostState {
    /// The program keeps the memory from one run to the next.
    Reused,
    /// Newly allocated for every run, so that its pages are touched for the first time. Only for
    /// outputs.
    Fresh,
}

/// One kernel applied to buffers.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, expecting = "a [[task]] table")]
#[cfg_attr(feature = "schema", schemars(rename = "Task", transform = schema::by_kernel))]
pub(super) struct RawTask {
    /// Name of the task. Must be unique.
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::name"))]
    pub name: Spanned<String>,
    /// The kernel to run: one from the library (listed by `hallway kernels`) or from a `[[kernel]]`
    /// table.
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::kernel"))]
    pub kernel: Spanned<String>,
    /// Names of the buffers that the kernel reads, in the order of its parameters.
    pub reads: Spanned<Vec<Spanned<String>>>,
    /// Names of the buffers that the kernel writes: exactly one for a library kernel, one or more
    /// for a kernel from a `[[kernel]]` table.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub writes: Spanned<Vec<Spanned<String>>>,
    /// Names of additional tasks that have to finish before this one starts, besides those whose
    /// results it reads. Default: none.
    #[serde(default)]
    pub after: Vec<Spanned<String>>,
    /// Number of times the kernel is launched. Each launch reads the previous one's output; a
    /// kernel from a `[[kernel]]` table works on the same memory again. Default: 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = LARGEST_COUNT)))]
    pub iterations: Option<Spanned<i64>>,
    /// Scalar arguments, which depend on the kernel. For a kernel from a `[[kernel]]` table, they
    /// are the numbers that its rules use.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::arguments"))]
    pub arguments: BTreeMap<Spanned<String>, Spanned<f64>>,
    /// `"cpu"` keeps the task on the CPU, even in plans that run the other tasks on the GPU.
    /// Default: each plan decides.
    pub on: Option<On>,
    /// Whether plans may split the task into chunks: `{ along = "elements" }` allows it, `"none"`
    /// forbids it. Default: a task may be split if its kernel is an element-wise library kernel;
    /// other tasks are not split.
    pub split: Option<Spanned<RawSplit>>,
}

impl RawTask {
    /// The place where it says that it may be split, and how.
    pub fn split_along(&self) -> Option<(Range<usize>, &RawAlong)> {
        let split = self.split.as_ref()?;
        match split.get_ref() {
            RawSplit::Not(_) => None,
            RawSplit::Along(along) => Some((split.span(), along)),
        }
    }
}

/// Where a task has to run.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(super) enum On {
    /// On the CPU, for example to prepare data for the GPU or to process its results.
    Cpu,
}

/// Whether a task may be split into chunks.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Split", untagged))]
pub(super) enum RawSplit {
    Not(NoSplit),
    Along(RawAlong),
}

written_in_several_ways! {
    RawSplit, "\"none\" or a table such as { along = \"elements\" }",

    fn visit_str<E: de::Error>(self, word: &str) -> Result<RawSplit, E> {
        NoSplit::deserialize(word.into_deserializer()).map(RawSplit::Not)
    }

    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<RawSplit, A::Error> {
        RawAlong::deserialize(MapAccessDeserializer::new(table)).map(RawSplit::Along)
    }
}

/// The task is not split.
#[derive(Deserialize, Clone, Copy)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(super) enum NoSplit {
    /// The task is not split.
    None,
}

/// How a task may be split into chunks.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "AlongElements"))]
#[serde(deny_unknown_fields)]
pub(super) struct RawAlong {
    /// What is split.
    #[serde(rename = "along")]
    _along: Along,
    /// Number of neighbours that a chunk reads on each side in one iteration. The kernel determines
    /// this number; if you give it, it must match. Default: the kernel's halo.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub halo: Option<Spanned<i64>>,
}

/// What is split. All buffers are one-dimensional.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
enum Along {
    /// The elements of the buffers.
    Elements,
}

/// Limits on the machine resources that plans may use.
#[derive(Deserialize, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Limits"))]
#[serde(default, deny_unknown_fields, expecting = "a [limits] table")]
pub(super) struct RawLimits {
    /// Amount of memory to use on each GPU, such as `"8 GiB"`. Default: all of it.
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::memory"))]
    pub device_memory: Option<Spanned<String>>,
    /// Amount of pinned host memory to use, such as `"512 MiB"`. Default: all host memory.
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::memory"))]
    pub pinned_memory: Option<Spanned<String>>,
    /// Number of threads for the plan on the CPU. A profile can predict only the number of threads
    /// that it was calibrated with. Default: that number.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = MOST_CPU_THREADS)))]
    pub cpu_threads: Option<Spanned<i64>>,
}

/// Which plans to consider.
#[derive(Deserialize, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Plans"))]
#[serde(default, deny_unknown_fields, expecting = "a [plans] table")]
pub(super) struct RawPlans {
    /// Families of plans. Default: all except `staged`, `packed`, `hybrid`, `zero-copy` and
    /// `managed`.
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::families"))]
    pub families: Vec<Spanned<String>>,
    /// Numbers of chunks to split each batch into. Default: powers of two up to 64.
    #[cfg_attr(feature = "schema", schemars(inner(range(min = 1, max = LARGEST_COUNT))))]
    pub chunks: Vec<Spanned<i64>>,
    /// What plans do with data in pageable memory. With `pageable` alone, no plan pins memory or
    /// allocates pinned memory of its own. Default: `pinned`, and `pageable` for a few plans.
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::plan_memory"))]
    pub memory: Vec<Spanned<String>>,
}

/// The process that runs the programs.
#[derive(Deserialize, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Process"))]
#[serde(deny_unknown_fields, expecting = "a [process] table")]
pub(super) struct RawProcess {
    /// Whether the process has used the GPU before, which decides what plans and programs pay once
    /// in addition to their set-up. Default: `running` if a buffer has `home = "device"` and there
    /// is no `start`, otherwise `new`.
    pub state: Option<Spanned<ProcessState>>,
    /// Time that a new process takes to load a framework, such as `"4 s"`. Plans and programs that
    /// use a GPU pay it once, on top of the context; those on the CPU do not. Not allowed with
    /// `state = "running"`. Default: none.
    pub start: Option<Spanned<String>>,
}

/// The schema of scenarios as it stands in a file, with a newline at its end.
#[cfg(feature = "schema")]
pub fn derived_schema() -> String {
    schema::derived::<RawScenario>()
}

/// The largest count. It keeps times multiplied by counts within 64 bits.
pub(super) const LARGEST_COUNT: i64 = 1_000_000;

/// Checks a count, if the scenario gives one.
pub(super) fn count(what: &str, value: Option<&Spanned<i64>>) -> Result<Option<u64>, Fault> {
    value.map(|value| value.within(what, 1..=LARGEST_COUNT)).transpose()
}
