//! A kernel of one's own as it is written.

use super::values::{Number, RawParameter};
use crate::files::{Spanned, written_in_several_ways};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{self, SeqAccess};
use std::collections::BTreeMap;

/// More elements than any memory holds.
pub(super) const MOST_ELEMENTS: i64 = 1 << 50;

// The doc comments below are the descriptions in the JSON Schema of scenarios: they are written for
// those who write a kernel.

/// Your own kernel. Its time on the GPU is either measured (from `source`, `ptx` or `cubin`) or
/// given by `points`, a `roofline` or a `stated` time. `cpu` gives the time of the same work on the
/// CPU. Programs launch it with `launch = "name"`.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema), schemars(rename = "Kernel"))]
#[serde(deny_unknown_fields, expecting = "a [[kernel]] table")]
pub struct RawKernel {
    /// Name of the kernel. Must differ from all library kernels.
    pub name: Spanned<String>,
    /// CUDA C++ device code, compiled by NVRTC for the GPU: the path of a file, relative to the
    /// scenario, or its text.
    pub source: Option<Spanned<RawFile>>,
    /// File with PTX, as written by `nvcc -ptx`.
    pub ptx: Option<Spanned<RawFile>>,
    /// File with a cubin, as written by `nvcc -cubin -arch=sm_90`.
    pub cubin: Option<Spanned<RawFile>>,
    /// The kernel in the code: an expression such as `"blur<float, 4>"` for `source`, its plain
    /// name for PTX or a cubin.
    pub entry: Option<Spanned<String>>,
    /// Folders with headers that the source includes, relative to the scenario.
    #[serde(default)]
    pub include: Vec<Spanned<String>>,
    /// Names for the memory that the kernel reads, in the order of a launch's `reads`.
    #[serde(default)]
    pub reads: Vec<Spanned<String>>,
    /// Names for the memory that the kernel writes, in the order of a launch's `writes`.
    #[serde(default)]
    pub writes: Vec<Spanned<String>>,
    /// The kernel's parameters, in the order of the code: a name from `reads` or `writes` for a
    /// pointer, or a typed number such as `{ i32 = "columns" }` or `{ f32 = 0.5 }`.
    #[serde(default)]
    pub parameters: Vec<Spanned<RawParameter>>,
    /// Number of threads in a block, in up to three dimensions.
    pub block: Option<Spanned<Vec<Spanned<Number>>>>,
    /// Number of blocks in the grid, in up to three dimensions: numbers, or expressions that use a
    /// launch's arguments, such as `"ceil(columns / 32)"`.
    pub grid: Option<Spanned<Vec<Spanned<Number>>>>,
    /// Dynamic shared memory per block, such as `"4 KiB"`. Default: none.
    pub shared: Option<Spanned<Number>>,
    /// Number of elements that a launch works on if the launch does not give it, such as
    /// `"rows * columns"`.
    pub elements: Option<Spanned<Number>>,
    /// The names in `reads` and `writes` of which a launch on part of the elements uses only the
    /// same part; the other inputs are read whole. Must include all of `writes`. With this key,
    /// plans can split tasks that have a `split`. Default: the kernel is not split.
    pub elementwise: Option<Spanned<Vec<Spanned<String>>>>,
    /// Number of neighbours on each side that an element of `elementwise` depends on, as in a
    /// stencil; for a grid of planes, the number of elements in a plane. A chunk then computes this
    /// many extra elements on each side, which take time and are discarded. Default: 0.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub halo: Option<Spanned<i64>>,
    /// Times for several numbers of elements: `[[1e6, "120 us"], [1e7, "1.1 ms"]]`.
    #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<Vec<Number>>>"))]
    pub points: Option<Spanned<RawPoints>>,
    /// Work per element, timed with the GPU's measured rates.
    pub roofline: Option<Spanned<RawRoofline>>,
    /// A stated time.
    pub stated: Option<Spanned<RawStated>>,
    /// The time of the same work on the CPU.
    pub cpu: Option<Spanned<RawCpu>>,
}

impl RawKernel {
    /// A kernel of which nothing is said.
    pub fn named(name: Spanned<String>) -> Self {
        Self {
            name,
            source: None,
            ptx: None,
            cubin: None,
            entry: None,
            include: Vec::new(),
            reads: Vec::new(),
            writes: Vec::new(),
            parameters: Vec::new(),
            block: None,
            grid: None,
            shared: None,
            elements: None,
            elementwise: None,
            halo: None,
            points: None,
            roofline: None,
            stated: None,
            cpu: None,
        }
    }
}

pub type RawPoints = Vec<RawPoint>;

/// A number of elements and a time. The pair of serde passes over a third value in silence.
#[derive(Debug, Clone)]
#[cfg_attr(feature = "schema", derive(JsonSchema), schemars(inline, with = "(f64, String)"))]
pub struct RawPoint(pub Spanned<f64>, pub Spanned<String>);

written_in_several_ways! {
    RawPoint, "a pair such as [1e6, \"120 us\"]",

    fn visit_seq<A: SeqAccess<'de>>(self, mut pair: A) -> Result<RawPoint, A::Error> {
        let lacks = |length| de::Error::invalid_length(length, &self);
        let size = pair.next_element()?.ok_or_else(|| lacks(0))?;
        let time = pair.next_element()?.ok_or_else(|| lacks(1))?;
        match pair.next_element::<de::IgnoredAny>()? {
            Some(_) => Err(lacks(3)),
            None => Ok(RawPoint(size, time)),
        }
    }
}

/// Work per element. The slower of arithmetic and memory sets the time.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema), schemars(rename = "Roofline"))]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { flops_per_element = 12, bytes_per_element = 8 }"
)]
pub struct RawRoofline {
    /// Number of floating-point operations; a fused multiply-add counts as two.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub flops_per_element: Spanned<f64>,
    /// Number of bytes read from and written to memory.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub bytes_per_element: Spanned<f64>,
}

/// A stated time.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema), schemars(rename = "Stated"))]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { fixed = \"5 us\", per_element = \"0.2 ns\", range = \"10%\" }"
)]
pub struct RawStated {
    /// Time independent of the size, such as `"5 us"`. Default: none.
    pub fixed: Option<Spanned<String>>,
    /// Time per element, such as `"0.2 ns"`. Default: none.
    pub per_element: Option<Spanned<String>>,
    /// Uncertainty of the time, such as `"10%"`: nine out of ten runs are within it. Predicted
    /// ranges include it. Default: the time is exact.
    pub range: Option<Spanned<String>>,
}

/// The time of a kernel's work on the CPU, given by one of these keys.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema), schemars(rename = "CpuSide"))]
#[serde(deny_unknown_fields, expecting = "a table such as { stated = { per_element = \"1 ns\" } }")]
pub struct RawCpu {
    /// Times for several numbers of elements: `[[1e6, "2 ms"], [1e7, "21 ms"]]`.
    #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<Vec<Number>>>"))]
    pub points: Option<Spanned<RawPoints>>,
    /// Work per element, timed with the CPU's measured rates.
    pub roofline: Option<Spanned<RawRoofline>>,
    /// A stated time.
    pub stated: Option<Spanned<RawStated>>,
    /// A command that does the same work, with its arguments: `["./blur", "{elements}"]`.
    /// `hallway calibrate --scenario FILE --allow-commands` times it. If the last line of its
    /// output is a time, such as `3.1 ms`, this time is used; otherwise, the time from start to
    /// exit.
    pub command: Option<Spanned<Vec<Spanned<String>>>>,
}

/// A kernel's file: its path or its contents.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema), schemars(rename = "KernelFile"))]
#[serde(untagged, expecting = "a path, or { name = \"blur.cu\", text = \"...\" }")]
pub enum RawFile {
    Path(String),
    Held(RawHeld),
}

/// The contents of a file, for a scenario without further files.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema), schemars(rename = "HeldFile"))]
#[serde(deny_unknown_fields)]
pub struct RawHeld {
    /// Name of the file in messages.
    pub name: String,
    /// The text of the file, or the bytes of a cubin in hexadecimal digits.
    pub text: String,
    /// The headers that a source includes, by the names in its `#include` lines.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
}
