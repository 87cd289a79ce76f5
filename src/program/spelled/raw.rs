//! A program as it is spelled out, before names are resolved.

use crate::files::Spanned;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

// The doc comments below are the descriptions in the JSON Schema of scenarios, and so in
// docs/reference/scenario.md: they are written for those who write a program.

/// A program, call by call. Memory and streams go by their names. In a name, `{i % 2}` becomes a
/// number, where `i` is the index of a `repeat` around the call. Memory may have a range of bytes
/// behind its name: `x[0..4 MiB]`, `x[i * 4 MiB..+4 MiB]` (from, and how many), `x[4 MiB..]`.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields, expecting = "a [[program]] table")]
#[cfg_attr(feature = "schema", schemars(rename = "Program"))]
pub struct RawProgram {
    /// Name of the program: a plan of this name stands in reports.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub name: Spanned<String>,
    /// Memory of the program's own, besides the buffers. What no call of the program allocates is
    /// there from the set-up on.
    #[serde(default)]
    pub memory: Vec<RawMemory>,
    /// Streams that are not plain ones. A stream that calls name and this list does not is one
    /// that `cudaStreamCreate` makes, on the first GPU.
    #[serde(default)]
    pub streams: Vec<RawStream>,
    /// Calls that are made once, before the first pass.
    #[serde(default)]
    pub setup: Vec<RawCall>,
    /// Calls of each pass, in the order in which the host makes them.
    pub calls: Vec<RawCall>,
}

/// Memory of the program's own.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { name = \"d\", kind = \"device\", size = \"4 MiB\" }"
)]
#[cfg_attr(feature = "schema", schemars(rename = "Memory"))]
pub struct RawMemory {
    /// Name of the memory. No buffer has the same name.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub name: Spanned<String>,
    /// What kind of memory it is.
    pub kind: RawKind,
    /// Such as `"64 MiB"`.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub size: Spanned<String>,
    /// The GPU that has it, counted from 0. Only for `kind = "device"`. Default: 0.
    #[cfg_attr(feature = "schema", schemars(with = "Option<i64>", range(min = 0)))]
    pub gpu: Option<Spanned<i64>>,
}

/// A kind of memory.
#[derive(Debug, Deserialize, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", schemars(rename = "MemoryKind"))]
pub enum RawKind {
    /// A GPU's own.
    Device,
    /// Host memory that the driver stages.
    Pageable,
    /// Page-locked host memory.
    Pinned,
}

/// A stream that is not a plain one.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields, expecting = "a table such as { name = \"s\", priority = -1 }")]
#[cfg_attr(feature = "schema", schemars(rename = "Stream"))]
pub struct RawStream {
    /// Name by which calls refer to the stream.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub name: Spanned<String>,
    /// Whether the stream and the legacy default stream wait for each other. Default: `blocking`,
    /// they do.
    pub kind: Option<RawStreamKind>,
    /// Blocks of the lowest number that waits are dispatched first. Default: 0.
    #[serde(default)]
    pub priority: i32,
    /// The GPU of the stream, counted from 0. Default: 0.
    #[cfg_attr(feature = "schema", schemars(with = "Option<i64>", range(min = 0)))]
    pub gpu: Option<Spanned<i64>>,
}

/// Whether a stream and the legacy default stream wait for each other.
#[derive(Debug, Deserialize, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", schemars(rename = "StreamKind"))]
pub enum RawStreamKind {
    /// They wait for each other, as with `cudaStreamCreate`.
    Blocking,
    /// They do not, as with the flag `cudaStreamNonBlocking`.
    NonBlocking,
}

/// A call of the host, or calls that are repeated. Exactly one key says which call it is: `copy`,
/// `launch`, `compute`, `clear`, `record`, `wait`, `synchronize`, `allocate`, `pin`, `renew`,
/// `repeat` or `graph`.
#[derive(Debug, Deserialize, Default)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields, expecting = "a call such as { copy = \"x\", to = \"d\" }")]
#[cfg_attr(feature = "schema", schemars(rename = "Call"))]
pub struct RawCall {
    /// Memory to copy from. `to` says where to. With a `stream`, the host goes on while the copy
    /// is made (`cudaMemcpyAsync`); without one, it waits for it (`cudaMemcpy`).
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub copy: Option<Spanned<String>>,
    /// Where a `copy` goes.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub to: Option<Spanned<String>>,
    /// A kernel of the library to launch on the GPU. It `reads` memory and `writes` memory.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub launch: Option<Spanned<String>>,
    /// A kernel of the library that the CPU computes, with all its threads, while the host waits.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub compute: Option<Spanned<String>>,
    /// What a kernel reads, in the order in which it takes it.
    #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<String>>"))]
    pub reads: Option<Spanned<Vec<Spanned<String>>>>,
    /// What a kernel writes.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub writes: Option<Spanned<String>>,
    /// Scalar arguments of a kernel.
    #[cfg_attr(feature = "schema", schemars(with = "Option<BTreeMap<String, f64>>"))]
    pub arguments: Option<Spanned<BTreeMap<Spanned<String>, Spanned<f64>>>>,
    /// How many elements in front of the first output element a kernel reads. Default: 0.
    #[cfg_attr(feature = "schema", schemars(with = "Option<i64>", range(min = 0)))]
    pub lead: Option<Spanned<i64>>,
    /// Device memory in which a kernel combines its blocks. Default: memory that is added to the
    /// program, for each stream its own.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub workspace: Option<Spanned<String>>,
    /// Device memory to fill with zeros.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub clear: Option<Spanned<String>>,
    /// An event to record in a stream.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub record: Option<Spanned<String>>,
    /// An event that a stream waits for.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub wait: Option<Spanned<String>>,
    /// The stream that the host waits for.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub synchronize: Option<Spanned<String>>,
    /// Memory of the program to allocate.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub allocate: Option<Spanned<String>>,
    /// Pageable memory to page-lock. From then on it is pinned.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub pin: Option<Spanned<String>>,
    /// Host memory to give back, and to take anew with pages that nobody has touched.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub renew: Option<Spanned<String>>,
    /// How many times the `calls` of this call are made, one round after the other.
    #[cfg_attr(feature = "schema", schemars(with = "Option<i64>", range(min = 1)))]
    pub repeat: Option<Spanned<i64>>,
    /// Name of the number of the round, from 0, for the names and ranges in `calls`.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub index: Option<Spanned<String>>,
    /// The calls that are repeated.
    #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<RawCall>>"))]
    pub calls: Option<Spanned<Vec<RawCall>>>,
    /// Calls that are captured as one graph in the set-up; each pass launches it.
    #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<RawCall>>"))]
    pub graph: Option<Spanned<Vec<RawCall>>>,
    /// The stream that the call goes to. Default: the legacy default stream.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub stream: Option<Spanned<String>>,
}
