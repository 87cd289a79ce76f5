//! Which machine, and which file about it, a report speaks of.

use super::words::date;
use crate::profile::Profile;
use crate::samples::Extent;
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
    /// How much was measured.
    #[serde(default)]
    pub extent: Extent,
    /// Measurements behind it, of how many, that the device's clocks disturbed; left
    /// out where nobody watched them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbed: Option<(usize, usize)>,
}

impl Origin {
    pub fn new(path: &str, profile: &Profile) -> Self {
        let machine = &profile.machine;
        let watched = profile.conditions.as_ref();
        Self {
            path: path.to_owned(),
            gpu: machine.gpu.clone(),
            link: machine.link.clone(),
            driver: machine.driver.clone(),
            cpu: machine.cpu.clone(),
            cpu_threads: machine.cpu_threads,
            calibration_unix_time: machine.unix_time,
            calibrated: date(machine.unix_time),
            extent: machine.extent,
            disturbed: watched.map(|watched| (watched.disturbed, watched.measurements)),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, gpu, link, cpu, calibrated, .. } = self;
        match (self.extent, self.calibration_unix_time) {
            (Extent::Full, _) => writeln!(f, "Profile  {path}, calibrated {calibrated}")?,
            (Extent::Quick, _) => {
                writeln!(f, "Profile  {path}, calibrated {calibrated}, quickly")?;
            }
            (Extent::Elsewhere, 0) => {
                writeln!(f, "Profile  {path}, of samples taken elsewhere")?;
            }
            (Extent::Elsewhere, _) => {
                writeln!(f, "Profile  {path}, of samples taken elsewhere on {calibrated}")?;
            }
        }
        write!(f, "Machine  {gpu} (link {link}); {cpu}")?;
        // Nobody says how many threads a CPU has that nothing is known of.
        if self.cpu_threads > 0 {
            write!(f, ", {} threads", self.cpu_threads)?;
        }
        match self.disturbed {
            None | Some((0, _)) => Ok(()),
            Some((disturbed, all)) => {
                write!(f, "\nClocks   other than usual in {disturbed} of {all} measurements")
            }
        }
    }
}
