//! Tasks scheduled one by one: each on the processor, and at the moment, that a profile's prices
//! speak for. What no profile is needed for stands here; `schedule` makes the programs.

use super::builder::Builder;
use super::dealt::chunks_in_words;
use super::definition::{Definition, Division, Traits};
use crate::machine::Side;
use crate::program::Program;
use crate::scenario::{FamilyName, Workload};

/// Tasks scheduled one by one, by their prices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByTask {
    /// Pieces of one batch.
    pub chunks: u64,
    /// Streams of all devices together.
    pub streams: usize,
    pub devices: usize,
    /// Whether the CPU has some of the tasks.
    pub with_cpu: bool,
}

impl ByTask {
    /// Whole batches in one stream of one GPU.
    pub(crate) const SIMPLEST: Self = Self { chunks: 1, streams: 1, devices: 1, with_cpu: false };
}

impl Definition for ByTask {
    fn traits(&self) -> Traits {
        Traits {
            chunks: self.chunks,
            devices: self.devices,
            side: if self.with_cpu { Side::Both } else { Side::Gpu },
            saves_device_memory: true,
            ..Traits::of(FamilyName::ByTask)
        }
    }

    fn smallest() -> Self {
        Self::SIMPLEST
    }

    /// None: which there are depends on a profile.
    fn choices(_: &Workload, _: Division) -> Vec<Self> {
        Vec::new()
    }

    fn build(&self, _: Builder<'_>) -> Result<Program, String> {
        Err("scheduling tasks needs a profile's costs, but no profile is given".to_owned())
    }

    fn in_words(&self, _: &Workload) -> Vec<String> {
        let over = match self.devices {
            1 => String::new(),
            devices => format!(" across {devices} GPUs"),
        };
        let with = match (self.with_cpu, self.devices) {
            (false, _) => "",
            (true, 1) => " across the GPU and the CPU",
            (true, _) => " and the CPU",
        };
        let order = format!(
            "Tasks are scheduled one by one{over}{with}, in the order that the profile's costs \
             favour, in {}. Copies start as early as memory allows.",
            match self.streams {
                1 => "one stream".to_owned(),
                streams => format!("{streams} streams"),
            }
        );
        let memory = "Device memory is a single allocation. A buffer occupies part of it from \
                      its copy in or first write to its last use; when memory runs out, the \
                      buffer whose next use is furthest away is evicted.";
        vec![chunks_in_words(self.chunks), order, memory.to_owned()]
    }

    fn parameters(&self) -> Option<String> {
        let over = if self.devices > 1 { format!(" on {}", self.devices) } else { String::new() };
        let with = if self.with_cpu { " with cpu" } else { "" };
        Some(format!("{} x{}{over}{with}", self.chunks, self.streams))
    }
}
