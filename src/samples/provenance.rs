//! The machine under a calibration, and how much of it was measured.

use crate::files::{code_point, unprintable};
use crate::machine::{Capacities, HostPages, MOST_CPU_THREADS, MultiprocessorLimits};
use crate::units::Bytes;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// More than any machine has, by far: a larger number is a slip, and would be computed with.
const MOST_MULTIPROCESSORS: u64 = 10_000;
/// Threads, blocks, registers or bytes of a multiprocessor.
const MOST_IN_ONE: u64 = 1 << 30;
const MOST_COPY_ENGINES: u64 = 1_000;
pub(super) const MOST_GPUS: u64 = 1_000;
/// Bytes or elements of anything.
pub(super) const MOST_BYTES: u64 = 1 << 50;

/// Where and when the samples behind a profile were taken.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    pub gpu: String,
    /// The unique id of the GPU, where NVML tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_uuid: Option<String>,
    pub compute_capability: String,
    pub multiprocessors: u32,
    pub device_memory_bytes: Bytes,
    /// All memory of the host. Files of early versions do not have it.
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
    /// Seed of the order in which quantities were measured.
    pub seed: u64,
    /// Files of early versions do not have it: those calibrations were full.
    #[serde(default)]
    pub extent: CalibrationExtent,
    /// The most managed memory that was measured; 0 if none was.
    #[serde(default)]
    pub managed_bytes: Bytes,
    /// Version of NVML, or a note that it was not found. Files of early versions do not have it.
    #[serde(default)]
    pub nvml: Option<String>,
    /// CPUs of the host that are next to the GPU, such as `0-15`, where NVML tells.
    #[serde(default)]
    pub gpu_cpus: Option<String>,
    #[serde(default)]
    pub gpu_numa_nodes: Option<String>,
    /// Number of GPUs that were measured together; `gpu` is the first.
    #[serde(default = "one")]
    pub devices: usize,
    /// Whether the first GPU and each of the others reach each other's memory.
    #[serde(default)]
    pub peer_access: bool,
    /// How the system gives pages to processes. Files of early versions do not have it.
    #[serde(default)]
    pub host_pages: Option<HostPages>,
    /// What each multiprocessor holds at once, as the driver says.
    #[serde(default)]
    pub multiprocessor: MultiprocessorLimits,
}

/// The number of GPUs in files of early versions.
const fn one() -> usize {
    1
}

impl Provenance {
    /// Stands in for a word that a table leaves out.
    pub const NOT_SAID: &str = "not said";
    /// Stands in for a word that the system does not show.
    pub const NOT_SHOWN: &str = "not reported by the system";

    /// Size of an ordinary page of host memory. Where it was not recorded, that of x86.
    pub fn page_bytes(&self) -> Bytes {
        self.host_pages.as_ref().map_or(Bytes::kib(4), |pages| pages.bytes)
    }

    /// How much of each memory plans may use.
    pub const fn capacities(&self) -> Capacities {
        let host = self.host_memory_bytes;
        Capacities { device: Some(self.device_memory_bytes), pinned: host, host }
    }

    /// What no machine has: the key, and what is wrong with it in words.
    pub fn problem(&self) -> Option<(String, String)> {
        // A table may leave these out.
        let least = u64::from(self.extent != CalibrationExtent::Elsewhere);
        let memory = self.device_memory_bytes.get();
        let limits = self.multiprocessor;
        let counts = [
            ("multiprocessor.threads", u64::from(limits.threads), 1..=MOST_IN_ONE),
            ("multiprocessor.blocks", u64::from(limits.blocks), 1..=MOST_IN_ONE),
            ("multiprocessor.registers", u64::from(limits.registers), 1..=MOST_IN_ONE),
            ("multiprocessor.shared_bytes", u64::from(limits.shared_bytes), 1..=MOST_IN_ONE),
            ("multiprocessors", u64::from(self.multiprocessors), 1..=MOST_MULTIPROCESSORS),
            ("copy_engines", u64::from(self.copy_engines), least..=MOST_COPY_ENGINES),
            ("cpu_threads", self.cpu_threads as u64, least..=MOST_CPU_THREADS),
            ("numa_nodes", self.numa_nodes as u64, 0..=MOST_CPU_THREADS),
            ("devices", self.devices as u64, 1..=MOST_GPUS),
            ("device_memory_bytes", memory, 1..=MOST_BYTES),
            ("host_pages.bytes", self.page_bytes().get(), 1..=MOST_BYTES),
            ("managed_bytes", self.managed_bytes.get(), 0..=MOST_BYTES),
            ("host_memory_bytes", self.host_memory_bytes.map_or(1, Bytes::get), 1..=MOST_BYTES),
        ];
        let wrong = counts.into_iter().find(|(_, count, range)| !range.contains(count));
        let wrong = wrong.map(|(key, count, range)| {
            let (least, most) = range.into_inner();
            (key.to_owned(), format!("`{key}` is {count}, but must be {least} to {most}"))
        });
        wrong.or_else(|| self.unprintable())
    }

    /// A word with a character that cannot be printed: words stand in pictures, which are no XML
    /// with such a character in them, and on terminals, which obey some of them.
    fn unprintable(&self) -> Option<(String, String)> {
        fn first(key: &str, value: &Value) -> Option<(String, String)> {
            match value {
                Value::String(word) => {
                    let code = code_point(unprintable(word)?);
                    let problem = format!("`{key}` contains the unprintable character {code}");
                    Some((key.to_owned(), problem))
                }
                Value::Object(fields) => {
                    let key = |inner: &str| format!("{key}.{inner}");
                    fields.iter().find_map(|(inner, value)| first(&key(inner), value))
                }
                _ => None,
            }
        }
        self.fields().iter().find_map(|(key, value)| first(key, value))
    }

    fn fields(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(fields)) => fields,
            _ => unreachable!("it is plain data with names"),
        }
    }

    /// What differs from another sitting on what should be the same machine, in words. The time,
    /// the link's speed (which depends on its load) and the host's memory (which depends on limits)
    /// may differ. Something that only one of the two has is no difference.
    pub fn differences(&self, here: &Self) -> Vec<String> {
        let alike = Self {
            unix_time: here.unix_time,
            link: here.link.clone(),
            host_memory_bytes: here.host_memory_bytes,
            ..self.clone()
        };
        let here = here.fields();
        let differs =
            |there: &Value, here: &Value| !there.is_null() && !here.is_null() && there != here;
        let there = alike.fields().into_iter();
        let differing = there.filter(|(key, there)| differs(there, &here[key]));
        differing.map(|(key, there)| format!("{key}: was {there}, is now {}", here[&key])).collect()
    }
}

/// The extent of a calibration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CalibrationExtent {
    /// Every size, in two passes.
    #[default]
    Full,
    /// Fewer sizes, and CPU measurements only once.
    Quick,
    /// The contents of a table, not measured by hallway.
    Elsewhere,
}
