//! Kernels that are not of the library: a user's own code, code that is known only by what it
//! costs, and matrix products of any shape.

use crate::files;
use crate::units::{Bytes, Span, words};
use serde::{Deserialize, Serialize};

/// A kernel of a program that is not of the library.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnKernel {
    pub name: String,
    pub gpu: GpuSide,
    pub cpu: CpuSide,
    /// How a launch's grid, block, shared memory, parameters and elements follow from its numbers,
    /// as the scenario says it. Launches of equal numbers are equal only under the same rule.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rule: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elementwise: Option<Elementwise>,
}

/// That a launch on some of the elements uses these elements alone of some of its memory, and of
/// all that it writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Elementwise {
    /// What the scenario lists, in its names.
    pub names: Vec<String>,
    /// For each read, whether it is among them. If not, it is read whole.
    pub reads: Vec<bool>,
    /// How many neighbours on each side an element depends on, besides. A launch on some elements
    /// gets these, too, and what it computes for them is not used.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub halo: u64,
}

const fn is_zero(halo: &u64) -> bool {
    *halo == 0
}

/// What is known of a kernel on the GPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GpuSide {
    Unknown,
    /// It can be run, and so measured.
    Code(Code),
    /// A product of matrices by cuBLAS. It can be run, too.
    Product(ProductType),
    Cost(OwnCost),
}

/// What is known of a kernel on the CPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CpuSide {
    Unknown,
    /// A program that does the same. A calibration times it where the user allows that.
    Command(Vec<String>),
    Cost(OwnCost),
}

/// What a kernel costs that nobody measures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum OwnCost {
    /// Times at some numbers of elements, which increase.
    Points(Vec<(u64, Span)>),
    /// Work per element, to be held against what the machine does at most (Williams, Waterman,
    /// Patterson, "Roofline: an insightful visual performance model", 2009).
    Roofline { flops_per_element: f64, bytes_per_element: f64 },
    /// Nanoseconds, and by which share of them nine runs of ten are off at most, if that was said.
    Stated {
        fixed: f64,
        per_element: f64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        range: Option<f64>,
    },
}

/// A kernel's code, with everything that the compiler reads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Code {
    /// Name of the file, for messages. It is not part of the digest.
    pub file: String,
    pub image: Image,
    /// The kernel: a name expression such as `blur<float, 4>` for source, a plain name otherwise.
    pub entry: String,
}

/// The form of a kernel's code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Image {
    /// CUDA C++ device code, with the headers that it includes by these names.
    Source { text: String, headers: Vec<(String, String)> },
    /// The text of a PTX file.
    Ptx(String),
    /// The bytes in hexadecimal digits.
    Cubin(String),
}

words! {
    /// The types of a matrix product: of its operands, and how they are multiplied. Sums are `f32`.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum ProductType {
        F32 = "f32",
        /// Operands of `f32` are rounded to ten bits of mantissa before they are multiplied.
        Tf32 = "tf32",
        Bf16 = "bf16",
    }
}

/// The shape of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Geometry {
    /// Blocks in up to three dimensions.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block.
    pub shared_bytes: u32,
}

/// A parameter of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Parameter {
    /// The address of what the launch reads or writes, by its place there.
    Reads(usize),
    Writes(usize),
    I32(i32),
    U32(u32),
    I64(i64),
    U64(u64),
    F32(f32),
    F64(f64),
}

/// Device memory that a launch reads, and may write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadAndWritten {
    pub address: u64,
    pub bytes: Bytes,
    pub is_written: bool,
}

impl OwnCost {
    /// The time that was stated for a number of elements, in nanoseconds. `None` if it follows from
    /// times at other numbers, or from what a machine does at most.
    pub fn stated(&self, elements: u64) -> Option<f64> {
        match self {
            Self::Stated { fixed, per_element, .. } => Some(fixed + per_element * elements as f64),
            Self::Points(_) | Self::Roofline { .. } => None,
        }
    }

    /// By which share of a stated time nine runs of ten are off at most, if that was said.
    pub const fn range(&self) -> Option<f64> {
        match self {
            Self::Stated { range, .. } => *range,
            Self::Points(_) | Self::Roofline { .. } => None,
        }
    }

    /// What keeps it from saying how long an element takes.
    pub fn problem(&self) -> Option<String> {
        let is_amount = |amount: f64| amount.is_finite() && amount >= 0.0;
        match self {
            Self::Points(points) if points.is_empty() => Some("no point".to_owned()),
            Self::Points(points) => {
                let wrong = points.windows(2).find(|two| two[0].0 >= two[1].0);
                wrong.map(|two| format!("a point of {} elements after {}", two[1].0, two[0].0))
            }
            &Self::Roofline { flops_per_element: one, bytes_per_element: other }
            | &Self::Stated { fixed: one, per_element: other, .. } => {
                let wrong = [one, other].into_iter().find(|&amount| !is_amount(amount));
                wrong.map(|amount| format!("a cost of {amount}"))
            }
        }
    }
}

impl OwnKernel {
    /// Whether any part of the work takes the GPU as long as the whole.
    pub const fn takes_the_same_at_any_size(&self) -> bool {
        matches!(self.gpu, GpuSide::Cost(OwnCost::Stated { per_element: 0.0, fixed, .. })
            if fixed > 0.0)
    }

    /// Whether the GPU can run it.
    pub const fn runs(&self) -> bool {
        matches!(self.gpu, GpuSide::Code(_) | GpuSide::Product(_))
    }

    /// What it costs, where nobody measures that.
    pub fn costs(&self) -> impl Iterator<Item = &OwnCost> {
        let gpu = if let GpuSide::Cost(cost) = &self.gpu { Some(cost) } else { None };
        let cpu = if let CpuSide::Cost(cost) = &self.cpu { Some(cost) } else { None };
        gpu.into_iter().chain(cpu)
    }

    /// A digest of what the GPU runs, wherever it came from.
    pub fn digest(&self) -> String {
        let Self { gpu, rule, .. } = self.without_file();
        files::digest(&serde_json::to_vec(&(gpu, rule)).expect("plain data"))
    }

    /// A digest of the CPU's command.
    pub fn command_digest(&self) -> String {
        let bytes = serde_json::to_vec(&self.cpu).expect("plain data");
        files::digest(&bytes)
    }

    /// The kernel without the name of its file, which says nothing of what it does.
    #[must_use]
    pub fn without_file(&self) -> Self {
        let mut kernel = self.clone();
        if let GpuSide::Code(code) = &mut kernel.gpu {
            code.file.clear();
        }
        kernel
    }
}

impl Image {
    /// The bytes of a cubin, from their digits.
    pub fn bytes_of(digits: &str) -> Option<Vec<u8>> {
        let byte = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
        (0..digits.len()).step_by(2).map(byte).collect()
    }

    pub fn digits_of(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl ProductType {
    /// Size of an element of the operands and of the result.
    pub const fn bytes(self) -> u64 {
        match self {
            Self::F32 | Self::Tf32 => 4,
            Self::Bf16 => 2,
        }
    }
}

impl Geometry {
    /// The most threads of a block, in each dimension and together, and the most blocks of a grid
    /// (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").
    pub const MOST_THREADS: u32 = 1024;
    pub const MOST_OF_BLOCK: [u32; 3] = [1024, 1024, 64];
    pub const MOST_OF_GRID: [u32; 3] = [i32::MAX as u32, 65_535, 65_535];
    /// More dynamic shared memory than any multiprocessor has.
    pub const MOST_SHARED: Bytes = Bytes::kib(256);

    pub fn blocks(&self) -> u32 {
        let blocks: u64 = self.grid.iter().map(|&side| u64::from(side)).product();
        u32::try_from(blocks).unwrap_or(u32::MAX)
    }

    pub fn threads(&self) -> u32 {
        self.block.iter().fold(1, |all: u32, &side| all.saturating_mul(side))
    }

    /// What is wrong with it, if no device can launch it.
    pub fn problem(&self) -> Option<String> {
        let parts = [
            ("grid", "blocks", self.grid, Self::MOST_OF_GRID),
            ("block", "threads", self.block, Self::MOST_OF_BLOCK),
        ];
        for (part, unit, sides, most) in parts {
            if let Some(at) = (0..3).find(|&at| sides[at] == 0 || sides[at] > most[at]) {
                let (side, most) = (sides[at], most[at]);
                return Some(format!(
                    "its {part} has {side} {unit} in dimension {at}; it must have 1 to {most}"
                ));
            }
        }
        if self.threads() > Self::MOST_THREADS {
            let (threads, most) = (self.threads(), Self::MOST_THREADS);
            return Some(format!("its block has {threads} threads; the limit is {most}"));
        }
        let shared = Bytes::new(self.shared_bytes.into());
        let most = Self::MOST_SHARED;
        (shared > most)
            .then(|| format!("its block has {shared} of shared memory; the limit is {most}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_digits_and_come_back() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(Image::bytes_of(&Image::digits_of(&bytes)), Some(bytes));
        assert_eq!(Image::bytes_of("0g"), None);
        assert_eq!(Image::bytes_of("012"), None);
    }

    #[test]
    fn what_no_device_can_launch_is_told() {
        let fits = Geometry { grid: [1, 1, 1], block: [32, 8, 1], shared_bytes: 0 };
        assert_eq!(fits.problem(), None);
        assert_eq!((fits.blocks(), fits.threads()), (1, 256));
        for (wrong, told) in [
            (Geometry { grid: [0, 1, 1], ..fits }, "0 blocks in dimension 0"),
            (Geometry { grid: [1, 70_000, 1], ..fits }, "70000 blocks in dimension 1"),
            (Geometry { block: [32, 0, 1], ..fits }, "0 threads in dimension 1"),
            (Geometry { block: [64, 64, 1], ..fits }, "4096 threads"),
            (Geometry { shared_bytes: 1 << 20, ..fits }, "shared memory"),
        ] {
            let problem = wrong.problem().expect(told);
            assert!(problem.contains(told), "{problem}");
        }
    }
}
