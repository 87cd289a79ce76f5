//! The machine under a calibration, and how much of it was measured.

use crate::plan::Capacities;
use crate::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where and when the samples behind a profile were taken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    pub gpu: String,
    /// What tells this GPU from others like it, where NVML does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_uuid: Option<String>,
    pub compute_capability: String,
    pub multiprocessors: u32,
    pub device_memory_bytes: Bytes,
    /// All memory of the host; older files do not say.
    #[serde(default)]
    pub host_memory_bytes: Option<Bytes>,
    pub copy_engines: u32,
    pub link: String,
    pub driver: String,
    pub cuda: String,
    pub cpu: String,
    pub cpu_threads: usize,
    pub numa_nodes: usize,
    /// Seconds since 1970 at the start of the calibration.
    pub unix_time: u64,
    pub hallway_version: String,
    /// The order in which quantities were measured was drawn with this seed.
    pub seed: u64,
    /// Older files do not say: theirs were full.
    #[serde(default)]
    pub extent: Extent,
    /// Up to how much managed memory was measured; 0 if none was.
    #[serde(default)]
    pub managed_bytes: Bytes,
    /// Version of NVML, or that it was not found. Older files do not say.
    #[serde(default)]
    pub nvml: Option<String>,
    /// The CPUs and the NUMA nodes of the host that are next to the GPU, such as
    /// `0-15`, where NVML tells.
    #[serde(default)]
    pub gpu_cpus: Option<String>,
    #[serde(default)]
    pub gpu_numa_nodes: Option<String>,
    /// GPUs that were measured together, of which this is the first.
    #[serde(default = "one")]
    pub devices: usize,
    /// Whether the first and each of the others reach each other's memory.
    #[serde(default)]
    pub peer_access: bool,
}

/// As many as older files have.
const fn one() -> usize {
    1
}

impl Provenance {
    /// What stands in place of a word that a table leaves out.
    pub const NOT_SAID: &str = "not said";
    /// What stands in place of one that the system keeps to itself.
    pub const NOT_SHOWN: &str = "not shown by the system";

    /// The most that plans may take of its memories.
    pub const fn capacities(&self) -> Capacities {
        let host = self.host_memory_bytes;
        Capacities { device: Some(self.device_memory_bytes), pinned: host, host }
    }

    /// What differs from another sitting on what should be the same machine, in
    /// words. The time does of course, the link's speed goes by its load, and what there
    /// is of the host's memory by limits. What one of both does not say is no difference.
    pub fn differences(&self, here: &Self) -> Vec<String> {
        let alike = Self {
            unix_time: here.unix_time,
            link: here.link.clone(),
            host_memory_bytes: here.host_memory_bytes,
            ..self.clone()
        };
        let fields = |machine: &Self| match serde_json::to_value(machine) {
            Ok(serde_json::Value::Object(fields)) => fields,
            _ => unreachable!("it is plain data with names"),
        };
        let here = fields(here);
        let differs = |there: &serde_json::Value, here: &serde_json::Value| {
            !there.is_null() && !here.is_null() && there != here
        };
        let there = fields(&alike).into_iter();
        let differing = there.filter(|(key, there)| differs(there, &here[key]));
        differing.map(|(key, there)| format!("{key}: {there} there, {} here", here[&key])).collect()
    }
}

/// How much was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Extent {
    /// Every size, in two passes.
    #[default]
    Full,
    /// Fewer sizes, and what belongs to the CPU only once.
    Quick,
    /// Whatever a table has that was not measured by hallway.
    Elsewhere,
}
