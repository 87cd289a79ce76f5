//! The machine under a calibration.

use super::error::{CalibrateError, Calibrated};
use crate::gpu::{AnyDevice, Device, Monitor};
use crate::host::{Team, count_numa_nodes, cpu_model, page_policy, usable_memory};
use crate::samples::{CalibrationExtent, Provenance};
use crate::units::Bytes;

/// Describes the machine for a calibration of `devices` of its GPUs.
///
/// # Errors
/// If a device does not answer, or there are fewer than `devices`.
pub fn provenance(
    device: &Device,
    team: &Team,
    seed: u64,
    extent: CalibrationExtent,
    devices: usize,
) -> Calibrated<Provenance> {
    let gpu = device.describe()?;
    let reach_each_other = |index: usize| {
        let other = device.nth(index)?;
        Ok(device.reaches(other)? && other.reaches(device)?)
    };
    let mut peer_access = devices > 1;
    for index in 1..devices {
        peer_access &= reach_each_other(index).map_err(CalibrateError::Several)?;
    }
    let monitor = Monitor::new(device);
    let near = monitor.as_ref().map(Monitor::affinity).unwrap_or_default();
    let nvml = match &monitor {
        Some(monitor) => monitor.version().unwrap_or_else(|| "does not say".to_owned()),
        None => "not found: clocks and throttling were not monitored".to_owned(),
    };
    let since_1970 = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    Ok(Provenance {
        gpu: gpu.name,
        gpu_uuid: monitor.as_ref().and_then(Monitor::uuid),
        compute_capability: gpu.compute_capability,
        multiprocessors: gpu.multiprocessors,
        host_pages: Some(page_policy()),
        multiprocessor: gpu.multiprocessor,
        device_memory_bytes: gpu.memory,
        host_memory_bytes: usable_memory(),
        copy_engines: gpu.copy_engines,
        link: gpu.link.unwrap_or_else(|| Provenance::NOT_SHOWN.to_owned()),
        driver: gpu
            .driver
            .or_else(|| monitor.as_ref()?.driver())
            .unwrap_or_else(|| Provenance::NOT_SHOWN.to_owned()),
        cuda: gpu.cuda,
        cpu: cpu_model(),
        cpu_threads: team.threads(),
        numa_nodes: count_numa_nodes(),
        unix_time: since_1970.map_or(0, |since| since.as_secs()),
        hallway_version: env!("CARGO_PKG_VERSION").to_owned(),
        seed,
        extent,
        managed_bytes: Bytes::ZERO,
        nvml: Some(nvml),
        gpu_cpus: near.cpus,
        gpu_numa_nodes: near.numa_nodes,
        devices,
        peer_access,
    })
}
