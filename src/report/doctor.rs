//! What `hallway doctor` found on a machine.

use crate::units::{Bytes, words};
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// What hallway needs, and what this machine has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Diagnosis {
    /// The findings, in a fixed order.
    pub findings: Vec<Finding>,
    /// The GPUs that are visible to the driver.
    pub gpus: Vec<GpuFound>,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// What was checked.
    pub what: String,
    /// Its state.
    pub state: State,
    /// What was found.
    pub found: String,
    /// The consequence, if something is missing or may disturb measurements.
    pub cost: Option<String>,
    /// What to do about it.
    pub fix: Option<String>,
}

words! {
    /// The state of a finding.
    #[derive(Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "kebab-case")]
    pub enum State {
        /// As it should be.
        Ok = "ok",
        /// Nothing is missing, but measurements may suffer.
        Attention = "attention",
        /// Something is missing, and a command does not work without it.
        Missing = "missing",
    }
}

/// A GPU of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GpuFound {
    /// Its number for `--gpu`, counted from 0.
    pub index: usize,
    /// Its name, as reported by the driver.
    pub name: String,
    /// Its unique id. `null` if NVML does not report it.
    pub uuid: Option<String>,
    /// Size of its memory.
    pub memory_bytes: Bytes,
    /// Size of its free memory.
    pub free_bytes: Option<Bytes>,
    /// Compute capability, such as `9.0`.
    pub compute_capability: String,
    /// Speed and width of its link. `null` if the system does not report it.
    pub link: Option<String>,
    /// NUMA nodes of the host that it is attached to, such as `0-1`. `null` if NVML does not report
    /// them.
    pub numa_nodes: Option<String>,
    /// Number of other processes on it. `null` if NVML does not report it.
    pub other_processes: Option<usize>,
}

impl Finding {
    pub fn ok(what: &str, found: impl Into<String>) -> Self {
        Self { what: what.to_owned(), state: State::Ok, found: found.into(), cost: None, fix: None }
    }

    /// Something that may disturb measurements.
    pub fn attention(what: &str, found: impl Into<String>, cost: &str, fix: &str) -> Self {
        let (cost, fix) = (Some(cost.to_owned()), Some(fix.to_owned()));
        Self { state: State::Attention, cost, fix, ..Self::ok(what, found) }
    }

    pub fn missing(what: &str, found: impl Into<String>, cost: &str, fix: &str) -> Self {
        Self { state: State::Missing, ..Self::attention(what, found, cost, fix) }
    }
}

impl Diagnosis {
    /// A line for each finding; below it what it costs and the fix, where there is something to
    /// mend.
    pub fn text(&self) -> String {
        let width = self.findings.iter().map(|one| one.what.chars().count()).max().unwrap_or(0);
        let mut text = String::new();
        for Finding { what, state, found, cost, fix } in &self.findings {
            let _ = writeln!(text, "{state:<9}  {what:<width$}  {found}");
            for (word, said) in [("cost", cost), ("fix", fix)] {
                if let Some(said) = said {
                    let _ = writeln!(text, "{:11}{:<width$}  {said}", "", format!("  {word}:"));
                }
            }
        }
        text
    }
}
