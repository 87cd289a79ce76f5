//! What the operating system says about the CPU.

use crate::units::Bytes;
use std::fs;

/// The CPU as a calibration names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuDescription {
    /// The vendor's name for it, or the architecture where the system has no name.
    pub model: String,
    /// How many threads this process may run at once.
    pub threads: usize,
    pub numa_nodes: usize,
    /// All memory, where the system tells.
    pub memory: Option<Bytes>,
}

/// Describes this machine's CPU; what the system does not tell is left at its plainest.
pub fn describe() -> CpuDescription {
    CpuDescription {
        model: model().unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        numa_nodes: numa_nodes().unwrap_or(1),
        memory: memory("MemTotal"),
    }
}

fn model() -> Option<String> {
    let facts = fs::read_to_string("/proc/cpuinfo").ok()?;
    let (_, name) = facts
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(key, _)| key.trim() == "model name")?;
    Some(name.trim().to_owned())
}

/// A line of `/proc/meminfo`, in which kB are kibibytes (`proc_meminfo(5)`).
fn memory(line: &str) -> Option<Bytes> {
    let facts = fs::read_to_string("/proc/meminfo").ok()?;
    let (_, value) =
        facts.lines().filter_map(|line| line.split_once(':')).find(|(key, _)| *key == line)?;
    Some(Bytes::kib(value.trim().strip_suffix("kB")?.trim().parse().ok()?))
}

/// Host memory that can be had without pushing out anything, where the system tells.
pub fn available_memory() -> Option<Bytes> {
    memory("MemAvailable")
}

fn numa_nodes() -> Option<usize> {
    let is_node =
        |name: &str| name.strip_prefix("node").is_some_and(|id| id.parse::<u32>().is_ok());
    let nodes = fs::read_dir("/sys/devices/system/node")
        .ok()?
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_str().is_some_and(is_node))
        .count();
    (nodes > 0).then_some(nodes)
}

/// The size of the largest cache that the first CPU reaches.
pub(super) fn last_level_cache() -> Option<Bytes> {
    let kibibytes = |level: u32| -> Option<u64> {
        let path = format!("/sys/devices/system/cpu/cpu0/cache/index{level}/size");
        fs::read_to_string(path).ok()?.trim().strip_suffix('K')?.parse().ok()
    };
    (0..8).filter_map(kibibytes).max().map(Bytes::kib)
}
