//! The state that a device was in.

use serde::{Deserialize, Serialize};

/// What a device said of itself at one moment; what it did not say is left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    pub sm_mhz: Option<u32>,
    pub memory_mhz: Option<u32>,
    /// Degrees Celsius.
    pub temperature: Option<u32>,
    /// From 0, full speed, to 15, idle: P0 to P15.
    pub power_state: Option<u32>,
    /// Of the link to the host at this moment; it may sleep at a lower one.
    pub pcie_generation: Option<u32>,
    pub pcie_width: Option<u32>,
    /// What holds the clocks down, such as `software power cap`. Idleness does not.
    #[serde(default)]
    pub throttled: Vec<String>,
}

/// Clocks go in steps of 15 MHz, and one step moves nothing.
const USUAL: f64 = 0.02;

impl Condition {
    /// Why what is measured now is not what is measured as a rule: clocks are held
    /// down, or are not those of `usual`. `None` if nothing is known against it.
    pub fn disturbance(&self, usual: &Self) -> Option<String> {
        let mut reasons = self.throttled.clone();
        if let (Some(now), Some(usual)) = (self.sm_mhz, usual.sm_mhz)
            && (f64::from(now) - f64::from(usual)).abs() > USUAL * f64::from(usual)
        {
            reasons.push(format!("SM clock of {now} instead of {usual} MHz"));
        }
        (!reasons.is_empty()).then(|| reasons.join(", "))
    }
}
