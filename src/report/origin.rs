//! Which machine, and which file about it, a report speaks of.

use super::words::date;
use crate::samples::Provenance;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The profile behind a report. Keys are stable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Path of the profile.
    pub path: String,
    pub gpu: String,
    pub link: String,
    pub driver: String,
    pub cpu: String,
    pub cpu_threads: usize,
    /// Start of the calibration in seconds since 1970, and its date in UTC.
    pub calibration_unix_time: u64,
    pub calibrated: String,
}

impl Origin {
    pub fn new(path: &str, machine: &Provenance) -> Self {
        Self {
            path: path.to_owned(),
            gpu: machine.gpu.clone(),
            link: machine.link.clone(),
            driver: machine.driver.clone(),
            cpu: machine.cpu.clone(),
            cpu_threads: machine.cpu_threads,
            calibration_unix_time: machine.unix_time,
            calibrated: date(machine.unix_time),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, gpu, cpu, cpu_threads, calibrated, .. } = self;
        writeln!(f, "Profile  {path}, calibrated {calibrated}")?;
        write!(f, "Machine  {gpu} (link {}); {cpu}, {cpu_threads} threads", self.link)
    }
}
