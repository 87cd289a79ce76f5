//! More GPUs, or fewer.

use super::change::Varied;
use super::links;
use crate::machine::{DeviceId, Direction};
use crate::profile::{Estimate, OtherGpu, RootModel};
use crate::units::Bandwidth;

/// Gives the machine so many GPUs like the first. Where that many were calibrated together, what
/// was measured stands.
pub(super) fn set(varied: &mut Varied, count: usize) -> Result<(), String> {
    let profile = &mut varied.profile;
    profile.multi_gpu.roots.retain(|root| root.devices <= count);
    profile.multi_gpu.others.retain(|other| other.device.0 < count);
    profile.machine.devices = count;
    let measured = profile.gpu_counts();
    let most = measured.iter().copied().max().unwrap_or(1);
    if count <= most {
        return Ok(());
    }
    let [down, up] = links::rates(profile)?;
    // Both ways at once, each direction goes at the rate that one link leaves it, if that is known.
    let beside = |rate: f64, direction: Direction| {
        let longer = profile.shared(direction).ok()?.per_byte_ns;
        Some(1e9 / (1e9 / rate + longer))
    };
    let both = beside(down, Direction::HostToDevice).zip(beside(up, Direction::DeviceToHost));
    for devices in most + 1..=count {
        let all = |rate: f64| Some(Bandwidth::from_bytes_per_second(rate * devices as f64));
        let root = RootModel {
            devices,
            down_bytes_per_second: all(down),
            up_bytes_per_second: all(up),
            both_bytes_per_second: both.and_then(|(down, up)| all(down + up)),
            up_over_down: 1.0,
            scatter: 0.0,
        };
        profile.multi_gpu.roots.push(root);
    }
    for device in (1..count).map(DeviceId) {
        let others = &mut profile.multi_gpu.others;
        if !others.iter().any(|other| other.device == device) {
            others.push(OtherGpu { device, copy_in: 1.0, copy_out: 1.0, kernel: 1.0 });
        }
    }
    profile.multi_gpu.use_device.get_or_insert(Estimate::new(0.0, 0.0));
    varied.assume(
        "Each additional GPU is like the first and has its own link, which is equally fast; the \
         root complex carries all links at full speed, and switching between the GPUs' contexts \
         costs no host time. Plans that copy between GPUs are not predicted.",
    );
    Ok(())
}
