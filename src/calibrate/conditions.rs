//! In what state the device is between measurements.

use crate::gpu::Monitor;
use crate::samples::{Condition, Quantity};
use std::time::{Duration, Instant};

/// Watches the device between measurements, if NVML is there.
pub(super) struct Watch {
    monitor: Option<Monitor>,
    /// The device's state when its clocks had come up.
    usual: Condition,
    started: Instant,
    spent: Duration,
}

/// Looking at the device may take up to one part in this many of the time. How long a
/// look takes is up to the driver.
const SHARE: u32 = 100;

impl Watch {
    pub fn new(monitor: Option<Monitor>) -> Self {
        let usual = monitor.as_ref().map(Monitor::read).unwrap_or_default();
        Self { monitor, usual, started: Instant::now(), spent: Duration::ZERO }
    }

    /// The whole state at this moment; `None` without NVML.
    pub fn condition(&self) -> Option<Condition> {
        self.monitor.as_ref().map(Monitor::read)
    }

    /// Why the measurement that has just ended was disturbed, if it was. Work of the host
    /// alone is never counted as disturbed.
    pub fn disturbance(&mut self, what: &Quantity) -> Option<String> {
        let monitor = self.monitor.as_ref()?;
        let is_due = self.spent * SHARE <= self.started.elapsed();
        if !is_due || !what.definition().uses_device() {
            return None;
        }
        let start = Instant::now();
        let now = monitor.glance();
        self.spent += start.elapsed();
        now.disturbance(&self.usual)
    }
}
