//! More GPUs, or fewer.

use super::change::Varied;
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
    let missing = most + 1..=count;
    let rate = |direction: Direction| {
        let rate = profile.link_rate(direction).ok_or_else(|| {
            format!("the profile lacks the bandwidth of large {direction} copies")
        })?;
        Ok::<_, String>((direction, rate.bytes_per_second()))
    };
    let alone = [rate(Direction::HostToDevice)?, rate(Direction::DeviceToHost)?];
    // Both ways at once, each direction goes at the rate that one link leaves it, if that is known.
    let beside = alone.map(|(direction, rate)| {
        let longer = profile.shared(direction).ok()?.per_byte_ns;
        Some(1e9 / (1e9 / rate + longer))
    });
    for devices in missing {
        let all = |rate: f64| Some(Bandwidth::from_bytes_per_second(rate * devices as f64));
        let both = beside[0].zip(beside[1]).map(|(down, up)| down + up);
        let root = RootModel {
            devices,
            down_bytes_per_second: all(alone[0].1),
            up_bytes_per_second: all(alone[1].1),
            both_bytes_per_second: both.and_then(all),
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
        "Each additional GPU is like the first and has its own, equal link; the root carries \
         all links at full speed, and switching between the GPUs' contexts costs no host time. \
         Plans that copy between GPUs are not predicted.",
    );
    Ok(())
}
