//! What the operating system tells about the CPU and its memory.

use crate::units::Bytes;
use std::fs;
use std::path::{Path, PathBuf};

/// The vendor's name of the CPU, or the architecture where the system tells none.
pub fn cpu_model() -> String {
    fact("/proc/cpuinfo", "model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}

/// How many hardware threads this process may use: one where the system does not tell.
pub fn hardware_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// How many NUMA nodes there are: one where the system does not tell.
pub fn count_numa_nodes() -> usize {
    numa_nodes().count().max(1)
}

/// All memory that this process may use, where the system tells.
pub fn usable_memory() -> Option<Bytes> {
    memory("MemTotal").into_iter().chain(limits().map(|limit| limit.most)).min()
}

/// A line of `/proc/meminfo`, whose "kB" are kibibytes (`proc_meminfo(5)`).
fn memory(line: &str) -> Option<Bytes> {
    let kilobytes = fact("/proc/meminfo", line)?;
    Some(Bytes::kib(kilobytes.strip_suffix("kB")?.trim().parse().ok()?))
}

/// The first value of this key in a file of keys and values.
fn fact(file: &str, key: &str) -> Option<String> {
    let facts = fs::read_to_string(file).ok()?;
    let mut facts = facts.lines().filter_map(|line| line.split_once(':'));
    facts.find(|(known, _)| known.trim() == key).map(|(_, value)| value.trim().to_owned())
}

/// Host memory that can be allocated without swapping anything out, where the system tells.
pub fn available_memory() -> Option<Bytes> {
    memory("MemAvailable").into_iter().chain(limits().map(|limit| limit.left)).min()
}

/// The memory limit of a control group, as containers and batch systems set it.
struct Limit {
    most: Bytes,
    left: Bytes,
}

/// The limits of this process's control group and of all groups around it, in cgroup versions 2 and
/// 1 (the kernel's Documentation/admin-guide, cgroup-v2.rst and cgroup-v1/memory.rst).
fn limits() -> impl Iterator<Item = Limit> {
    const VERSIONS: [(&str, &str, [&str; 2]); 2] = [
        ("::/", "/sys/fs/cgroup", ["memory.max", "memory.current"]),
        (":memory:/", "/sys/fs/cgroup/memory", ["memory.limit_in_bytes", "memory.usage_in_bytes"]),
    ];
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let of_version = |(mark, root, files): (&'static str, &'static str, [&'static str; 2])| {
        let own = groups.lines().find_map(|line| line.split_once(mark)).map(|(_, own)| own);
        let own = own.map(|own| Path::new(root).join(own)).unwrap_or_default();
        // In a container, the process's group may appear as the root.
        let around = own.ancestors().take_while(|group| group.starts_with(root));
        around.filter_map(|group| limit(group, files)).collect::<Vec<_>>()
    };
    VERSIONS.map(of_version).into_iter().flatten()
}

fn limit(group: &Path, [most, used]: [&str; 2]) -> Option<Limit> {
    let read = |file| fs::read_to_string(group.join(file)).ok();
    let number = |file| read(file)?.trim().parse::<u64>().ok();
    let (most, used) = (number(most)?, number(used)?);
    // Cached file pages are given up when memory is needed, so they do not count as used.
    let stat = read("memory.stat").unwrap_or_default();
    let files = stat.lines().filter_map(|line| {
        let (key, bytes) = line.split_once(' ')?;
        matches!(key, "inactive_file" | "active_file").then(|| bytes.parse::<u64>().ok())?
    });
    let used = used.saturating_sub(files.sum());
    Some(Limit { most: Bytes::new(most), left: Bytes::new(most.saturating_sub(used)) })
}

/// The NUMA nodes that the system tells of, counted from 0, each with its folder.
pub(super) fn numa_nodes() -> impl Iterator<Item = (usize, PathBuf)> {
    let entries = fs::read_dir("/sys/devices/system/node").into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let node = entry.file_name().to_str()?.strip_prefix("node")?.parse().ok()?;
        Some((node, entry.path()))
    })
}

/// The size of the largest cache of the first CPU.
pub(super) fn last_level_cache() -> Option<Bytes> {
    let kibibytes = |level: u32| -> Option<u64> {
        let path = format!("/sys/devices/system/cpu/cpu0/cache/index{level}/size");
        fs::read_to_string(path).ok()?.trim().strip_suffix('K')?.parse().ok()
    };
    (0..8).filter_map(kibibytes).max().map(Bytes::kib)
}
