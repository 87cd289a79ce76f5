//! Where this process may run, and what the system limits.

use super::affinity::OneCpu;
use super::cpu::numa_nodes;
use crate::units::Bytes;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// NUMA nodes, counted from 0, that the process may run on.
pub fn nodes_of_process() -> BTreeSet<usize> {
    let allowed = OneCpu::free();
    let nodes = numa_nodes().filter_map(|(node, folder)| {
        let cpus = numbers(&fs::read_to_string(folder.join("cpulist")).ok()?);
        allowed.cpus.iter().any(|cpu| cpus.contains(cpu)).then_some(node)
    });
    nodes.collect()
}

/// The numbers in a list such as `0-3,8`. What is no number is left out.
pub fn numbers(list: &str) -> BTreeSet<usize> {
    /// More than any host has, so that no file can ask for endless ones.
    const MOST: usize = 1 << 16;
    let range = |part: &str| {
        let (first, last) = part.trim().split_once('-').unwrap_or((part.trim(), part.trim()));
        let (first, last) = (first.parse::<usize>().ok()?, last.parse::<usize>().ok()?);
        Some(first..=last.min(MOST))
    };
    list.split(',').filter_map(range).flatten().collect()
}

/// How much memory the process may lock by itself (`ulimit -l`). `None`: as much as it wants.
pub fn locked_limit() -> Option<Bytes> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the struct is plain data that the call fills.
    let told = unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &raw mut limit) } == 0;
    (told && limit.rlim_cur != libc::RLIM_INFINITY).then(|| Bytes::new(limit.rlim_cur))
}

/// What decides on the clocks of the first CPU, such as `performance`, where the system shows it.
pub fn governor() -> Option<String> {
    let path = Path::new("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_numbers_are_read() {
        assert_eq!(numbers("0-2,7\n"), BTreeSet::from([0, 1, 2, 7]));
        assert_eq!(numbers(""), BTreeSet::new());
        assert_eq!(numbers("x,3-,5"), BTreeSet::from([5]));
        assert!(numbers("0-99999999999").len() < 100_000);
    }

    #[test]
    fn a_process_runs_somewhere() {
        let nodes = nodes_of_process();
        let system = Path::new("/sys/devices/system/node/node0");
        assert!(!nodes.is_empty() || !system.exists(), "on no node");
    }
}
