//! The state of a device at one moment.

use serde::{Deserialize, Serialize};

/// What a device reports about itself at one moment. What it does not report is left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    pub sm_mhz: Option<u32>,
    pub memory_mhz: Option<u32>,
    /// Degrees Celsius.
    pub temperature: Option<u32>,
    /// From 0, full speed, to 15, idle: P0 to P15.
    pub power_state: Option<u32>,
    /// PCIe generation of the link to the host. An idle link may report a lower one.
    pub pcie_generation: Option<u32>,
    pub pcie_width: Option<u32>,
    /// Reasons why clocks are held down, such as `software power cap`. Being idle is none.
    #[serde(default)]
    pub throttled: Vec<String>,
}

/// Share of the usual clock. Clocks move in steps of 15 MHz, and one step changes no time
/// noticeably.
const USUAL: f64 = 0.02;

impl Condition {
    /// Why times measured now may differ from the usual ones: clocks are held down, or differ from
    /// those of `usual`. `None` if nothing is wrong.
    pub fn disturbance(&self, usual: &Self) -> Option<String> {
        let mut reasons = self.throttled.clone();
        if let (Some(now), Some(usual)) = (self.sm_mhz, usual.sm_mhz)
            && (f64::from(now) - f64::from(usual)).abs() > USUAL * f64::from(usual)
        {
            reasons.push(format!("SM clock of {now} MHz instead of {usual} MHz"));
        }
        (!reasons.is_empty()).then(|| reasons.join(", "))
    }
}
