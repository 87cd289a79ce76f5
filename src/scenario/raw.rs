//! A scenario as it is written, before anything is checked.
//!
//! These types say which keys there are and what types and words they take; `read` decodes
//! them. Whatever needs to know a second thing is in `check`.

#[cfg(feature = "schema")]
use super::schema;
use crate::files::Spanned;
use crate::program::spelled::{RawKernel, RawProgram};
use crate::units::ElementType;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, IntoDeserializer, MapAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;

/// The version of the file format that this hallway reads.
pub(super) const SCHEMA_VERSION: i64 = 1;

// The doc comments below are the descriptions in the JSON Schema of scenarios, and so in
// docs/reference/scenario.md: they are written for those who write a scenario.

/// A workload: buffers, and tasks that read and write them.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
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
    /// Name of the scenario. Reports, pictures and files with measured runs carry it.
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::name"))]
    pub name: Spanned<String>,
    /// What the scenario asks, in one line. Reports show it above the answer.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub question: Spanned<String>,
    /// Independent repetitions of all tasks, each with host data of its own. A plan may overlap
    /// them. Default: 1.
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::count"))]
    #[serde(default)]
    pub batches: Option<Spanned<i64>>,
    /// How many times a program goes over the whole workload. Set-up is paid once, so it is
    /// spread over this many passes. Default: 100.
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::count"))]
    #[serde(default)]
    pub runs: Option<Spanned<i64>>,
    /// The arrays that tasks read and write: one `[[buffer]]` table for each.
    #[serde(default, rename = "buffer")]
    pub buffers: Vec<RawBuffer>,
    /// The kernels to run: one `[[task]]` table for each, in any order. A task runs after the
    /// tasks that write what it reads.
    #[serde(default, rename = "task")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub tasks: Vec<RawTask>,
    /// Programs that are spelled out call by call: one `[[program]]` table for each. They are
    /// predicted and run as they stand, beside the plans for the tasks.
    #[serde(default, rename = "program")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub programs: Vec<RawProgram>,
    /// Kernels of one's own, which tasks run and programs launch and compute: one `[[kernel]]`
    /// table for each.
    #[serde(default, rename = "kernel")]
    pub kernels: Vec<RawKernel>,
    /// What a plan may use of the machine. Default: all of it.
    #[serde(default)]
    pub limits: RawLimits,
    /// Which plans to consider. Default: a broad choice.
    #[serde(default)]
    pub plans: RawPlans,
}

/// An array of numbers.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields, expecting = "a [[buffer]] table")]
#[cfg_attr(feature = "schema", schemars(rename = "Buffer"))]
pub(super) struct RawBuffer {
    /// Name of the buffer, by which tasks refer to it. No two buffers share one.
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::name"))]
    pub name: Spanned<String>,
    /// Type of an element. The kernels of the library work on `f32`. Programs copy any type.
    #[serde(rename = "type")]
    pub element_type: ElementType,
    /// Number of elements in one batch.
    #[cfg_attr(feature = "schema", schemars(with = "i64", range(min = 1)))]
    pub elements: Spanned<i64>,
    /// Where the contents are before the workload, and must be after it.
    pub home: RawHome,
    /// Whether all batches read the same contents, such as weights: they are there once, and cross
    /// once in a pass. Only for inputs that no task writes. Default: each batch has its own.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Option<bool>"))]
    pub shared: Option<Spanned<bool>>,
    /// Which elements of each batch have to cross between host and device: of a result, those that
    /// the host needs; of an input, those that tasks use. Tasks still compute all. Only for
    /// `home = "host"`, and not for what is updated in place. Default: all of them.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Option<RawNeeded>"))]
    pub needed: Option<Spanned<RawNeeded>>,
    /// How the host holds the buffer. Only for `home = "host"`.
    #[cfg_attr(feature = "schema", schemars(with = "Option<RawHost>"))]
    pub host: Option<Spanned<RawHost>>,
}

/// A part of a buffer: one range, or rows of equal length that lie apart.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields, expecting = "a table such as { elements = 1000 }")]
#[cfg_attr(feature = "schema", schemars(rename = "Needed"))]
pub(super) struct RawNeeded {
    /// The first element, counted from 0. Default: 0.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Option<i64>", range(min = 0)))]
    pub from: Option<Spanned<i64>>,
    /// How many elements: of all, or of each row.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Option<i64>", range(min = 1)))]
    pub elements: Option<Spanned<i64>>,
    /// Instead of `elements`: the share of all, or of each row, above 0 and up to 1.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub share: Option<Spanned<f64>>,
    /// Elements from the start of a row to the start of the next. Default: there is one row.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Option<i64>", range(min = 1)))]
    pub pitch: Option<Spanned<i64>>,
    /// How many rows. Default: as many as there are.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Option<i64>", range(min = 1)))]
    pub rows: Option<Spanned<i64>>,
}

/// Where a buffer is at home.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", schemars(rename = "Home"))]
pub(super) enum RawHome {
    /// In host memory: inputs start there, and results must end there.
    Host,
    /// In the memory of the GPU, before and after the workload.
    Device,
    /// Nowhere: an intermediate that nobody needs before or after.
    Scratch,
}

/// How the host holds a buffer.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields, expecting = "a table such as { memory = \"pinned\" }")]
#[cfg_attr(feature = "schema", schemars(rename = "Host"))]
pub(super) struct RawHost {
    /// Kind of host memory. Default: `pageable`. Plans may pin pageable memory; that is part of
    /// their set-up.
    pub memory: Option<BufferMemory>,
    /// Whether the memory was in use before. Default: `reused`.
    pub state: Option<HostState>,
}

/// A kind of host memory that a buffer may live in.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", schemars(rename = "HostMemory"))]
pub(super) enum BufferMemory {
    /// Ordinary memory: the driver stages copies through pinned memory of its own.
    Pageable,
    /// Page-locked: the copy engine reads and writes it directly.
    Pinned,
    /// Page-locked, and left out by the CPU's caches: it writes fast and reads very slowly.
    WriteCombined,
}

/// Whether host memory was in use before.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(super) enum HostState {
    /// The program keeps the memory from one run to the next.
    Reused,
    /// New for every run, so that its pages are touched for the first time. Only for outputs.
    Fresh,
}

/// One kernel applied to buffers.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields, expecting = "a [[task]] table")]
#[cfg_attr(feature = "schema", schemars(rename = "Task", transform = schema::by_kernel))]
pub(super) struct RawTask {
    /// Name of the task. No two tasks share one.
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::name"))]
    pub name: Spanned<String>,
    /// Which kernel runs: of the library (`hallway kernels` lists them) or of a `[[kernel]]` table.
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::kernel"))]
    pub kernel: Spanned<String>,
    /// Names of the buffers that the kernel reads, in the order in which it takes them.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub reads: Spanned<Vec<Spanned<String>>>,
    /// Name of the buffer that the kernel writes: exactly one, but for kernels of a `[[kernel]]`
    /// table, which may write several.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>", length(min = 1)))]
    pub writes: Spanned<Vec<Spanned<String>>>,
    /// Names of tasks that this one runs after, besides those that write what it reads. Default:
    /// none.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub after: Vec<Spanned<String>>,
    /// How many times the kernel runs. Each run reads what the one before wrote. One of a
    /// `[[kernel]]` table runs again on the same memory. Default: 1.
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::count"))]
    #[serde(default)]
    pub iterations: Option<Spanned<i64>>,
    /// Scalar arguments. Which ones there are depends on the kernel. Those of a kernel of a
    /// `[[kernel]]` table are the numbers that its rules name.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::arguments"))]
    pub arguments: BTreeMap<Spanned<String>, Spanned<f64>>,
    /// `"cpu"` keeps the task on the CPU, also in plans in which the GPU has the others. Default:
    /// it is where its plan has it.
    pub on: Option<On>,
    /// Whether plans may cut the task into chunks: `{ along = "elements" }` allows it, and `"none"`
    /// forbids it. Default: tasks are cut whose kernel is of the library and goes element by
    /// element, and others stay whole.
    #[cfg_attr(feature = "schema", schemars(with = "Option<RawSplit>"))]
    pub split: Option<Spanned<RawSplit>>,
}

/// Where a task has to run.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(super) enum On {
    /// On the CPU: it prepares what the GPU gets, or goes on with what comes back.
    Cpu,
}

/// Whether a task may be cut into chunks.
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Split", untagged))]
pub(super) enum RawSplit {
    Not(NoSplit),
    Along(RawAlong),
}

impl RawSplit {
    /// What is said of how it is cut.
    pub const fn along(&self) -> Option<&RawAlong> {
        match self {
            Self::Not(_) => None,
            Self::Along(along) => Some(along),
        }
    }
}

// An untagged enum of serde would not say which key of a table is wrong.
impl<'de> Deserialize<'de> for RawSplit {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = RawSplit;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"none\" or a table such as { along = \"elements\" }")
            }

            fn visit_str<E: de::Error>(self, word: &str) -> Result<RawSplit, E> {
                NoSplit::deserialize(word.into_deserializer()).map(RawSplit::Not)
            }

            fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<RawSplit, A::Error> {
                RawAlong::deserialize(MapAccessDeserializer::new(table)).map(RawSplit::Along)
            }
        }
        from.deserialize_any(Either)
    }
}

/// That a task is not cut.
#[derive(Deserialize, Clone, Copy)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(super) enum NoSplit {
    /// It stays whole.
    None,
}

/// How a task may be cut into chunks.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "AlongElements"))]
pub(super) struct RawAlong {
    /// What is cut.
    #[serde(rename = "along")]
    _along: Along,
    /// Neighbours that each chunk reads beyond its own elements, on each side, in one iteration.
    /// The kernel decides; the key is here so that the file can state it. Default: the kernel's.
    #[cfg_attr(feature = "schema", schemars(with = "Option<i64>", range(min = 0)))]
    pub halo: Option<Spanned<i64>>,
}

/// What is cut. All buffers have one dimension.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
enum Along {
    /// The elements of the buffers.
    Elements,
}

/// What a plan may use of the machine.
#[derive(Deserialize, Default)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields, expecting = "a [limits] table")]
#[cfg_attr(feature = "schema", schemars(rename = "Limits"))]
pub(super) struct RawLimits {
    /// Memory of each GPU, such as `"8 GiB"`. Default: all that the GPU has.
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::memory"))]
    #[serde(default)]
    pub device_memory: Option<Spanned<String>>,
    /// Pinned host memory, such as `"512 MiB"`. Default: all that the host has.
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::memory"))]
    #[serde(default)]
    pub pinned_memory: Option<Spanned<String>>,
    /// Threads of the plan on the CPU. A profile only predicts the number that it was calibrated
    /// with. Default: that number.
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::threads"))]
    #[serde(default)]
    pub cpu_threads: Option<Spanned<i64>>,
}

/// Which plans to consider.
#[derive(Deserialize, Default)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields, expecting = "a [plans] table")]
#[cfg_attr(feature = "schema", schemars(rename = "Plans"))]
pub(super) struct RawPlans {
    /// Families of plans. Default: all of them but `staged`, `packed`, `hybrid`, `zero-copy` and
    /// `managed`.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::families"))]
    pub families: Vec<Spanned<String>>,
    /// Numbers of pieces into which plans cut each batch. Default: powers of two up to 64.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::chunks"))]
    pub chunks: Vec<Spanned<i64>>,
    /// How plans hold data that is pageable. With `pageable` alone, no plan pins memory or takes
    /// pinned memory of its own. Default: `pinned`, and `pageable` for a few of them.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::plan_memory"))]
    pub memory: Vec<Spanned<String>>,
}
