//! The machine that a report is about, and its profile.

use super::words::{date, if_known};
use crate::compare::ErrorFigures;
use crate::profile::{Profile, Rule};
use crate::samples::{CalibrationExtent, Provenance};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The profile behind a report. Keys are stable; unknown values are `null`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Origin {
    /// Path of the profile.
    pub path: String,
    /// Name of the GPU.
    pub gpu: String,
    /// Whether the GPU is not the measured one, but one that is described by its data sheet.
    #[serde(default)]
    pub by_data_sheet: bool,
    /// Speed and width of the link to the host.
    pub link: Option<String>,
    /// Version of the driver.
    pub driver: Option<String>,
    /// Name of the CPU.
    pub cpu: Option<String>,
    /// Number of threads on which the CPU versions of kernels ran.
    pub cpu_threads: Option<usize>,
    /// Start of the calibration in seconds since 1970.
    pub calibration_unix_time: Option<u64>,
    /// Date of the calibration in UTC.
    pub calibrated: Option<String>,
    /// How much of the machine the calibration measured.
    #[serde(default)]
    pub extent: CalibrationExtent,
    /// Number of measurements taken at unusual device clocks, and the total number. `null` if
    /// clocks were not monitored.
    pub disturbed: Option<(usize, usize)>,
    /// Errors of the predictions for plans that were run on this machine. `null` if none were
    /// scored.
    #[serde(default)]
    pub scored: Option<ErrorFigures>,
    /// Relative error of predictions on other machines, where plans were tested. `null` if plans
    /// were tested on this machine, or if the error is unknown.
    #[serde(default)]
    pub model_error: Option<f64>,
    /// Profiles of other machines from which costs were borrowed.
    #[serde(default)]
    pub borrowed_from: Vec<String>,
    /// Rules of the simulator that were left out.
    #[serde(default)]
    pub without: Vec<Rule>,
}

impl Origin {
    pub fn new(path: &str, profile: &Profile) -> Self {
        let machine = &profile.machine;
        let watched = profile.conditions.as_ref();
        let nothing = [Provenance::NOT_SAID, Provenance::NOT_SHOWN];
        let said = |word: &String| (!nothing.contains(&word.as_str())).then(|| word.clone());
        let time = (machine.unix_time > 0).then_some(machine.unix_time);
        Self {
            path: path.to_owned(),
            gpu: machine.gpu.clone(),
            by_data_sheet: false,
            link: said(&machine.link),
            driver: said(&machine.driver),
            cpu: said(&machine.cpu),
            cpu_threads: (machine.cpu_threads > 0).then_some(machine.cpu_threads),
            calibration_unix_time: time,
            calibrated: time.map(date),
            extent: machine.extent,
            disturbed: watched.map(|watched| (watched.disturbed, watched.measurements)),
            scored: None,
            model_error: profile.model_error,
            borrowed_from: profile.borrowed.iter().map(|one| one.from.clone()).collect(),
            without: profile.switched_off.clone(),
        }
    }
}

impl Origin {
    pub(super) fn left_out(&self) -> Option<String> {
        rules_left_out(&self.without)
    }
}

/// The rules of the simulator that were left out, in words; `None` if none was.
pub fn rules_left_out(rules: &[Rule]) -> Option<String> {
    let names: Vec<&str> = rules.iter().map(|rule| rule.name()).collect();
    let noun = if names.len() == 1 { "rule" } else { "rules" };
    (!names.is_empty()).then(|| format!("{noun} {}", names.join(", ")))
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, gpu, .. } = self;
        let day = if_known(self.calibrated.as_ref(), |day| format!(" {day}"));
        match self.extent {
            CalibrationExtent::Full => writeln!(f, "Profile  {path}, calibrated{day}")?,
            CalibrationExtent::Quick => {
                writeln!(f, "Profile  {path}, calibrated{day} with --quick")?
            }
            CalibrationExtent::Elsewhere => {
                let on = if day.is_empty() { "" } else { " on" };
                writeln!(f, "Profile  {path}, fitted to a table of samples{on}{day}")?;
            }
        }
        let [link, cpu] =
            [&self.link, &self.cpu].map(|word| word.as_deref().unwrap_or(Provenance::NOT_SAID));
        write!(f, "Machine  {gpu} (link {link}); {cpu}")?;
        if let Some(threads) = self.cpu_threads {
            write!(f, ", {threads} threads")?;
        }
        if !self.borrowed_from.is_empty() {
            let from = self.borrowed_from.join(", ");
            write!(f, "\nBorrowed costs that the samples lack, from {from}")?;
        }
        if let Some(rules) = self.left_out() {
            write!(f, "\nLeft out: {rules}")?;
        }
        match self.disturbed {
            None | Some((0, _)) => Ok(()),
            Some((disturbed, all)) => {
                write!(f, "\nClocks   abnormal in {disturbed} of {all} measurements")
            }
        }
    }
}
