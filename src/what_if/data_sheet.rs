//! Another GPU in today's host, by the data sheets of both.
//!
//! A kernel takes as many times as long as its roofline says: the longer of its bytes at the
//! memory's rate and its operations at the arithmetic's (Williams, Waterman and Patterson,
//! "Roofline: an insightful visual performance model", 2009). Both GPUs are taken to reach the
//! same share of what their data sheets promise. The link is the narrower one of the host's and
//! the GPU's. Host, calls and the latencies of the device stay as they were measured.

use super::{kernels, links};
use crate::kernels::Variant;
use crate::machine::{GpuModel, PcieLink};
use crate::profile::{MultiGpu, Profile};
use crate::samples::TransferPath;

/// How far off times on such a machine are taken to be, as a share. Against published figures of
/// five machines, from an H200's profile: copies of 16 MiB take 9, 13, 16 and 16% longer than
/// predicted on an RTX 3090, an A100, a GTX 1060 and an RTX 3090 in a slot of eight lanes, and 55%
/// longer on an RTX 5090. A test holds this.
const OFF_BY: f64 = 0.35;

/// What such a machine takes for granted, in a sentence.
pub const TAKEN_FOR_GRANTED: &str = "The GPU's rates come from data sheets; its link is the slower \
                                     of the GPU's and the host's; your own kernels take the GPU \
                                     times that the scenario states.";

/// The profile of today's host with another GPU in it.
///
/// # Errors
/// If today's GPU is not in the table of data sheets, or its link is not known.
pub fn with_gpu(profile: &Profile, gpu: &GpuModel) -> Result<Profile, String> {
    let now = &profile.machine;
    let before = GpuModel::named(&now.gpu).ok_or_else(|| {
        let known = GpuModel::all().iter().map(|model| model.key).collect::<Vec<_>>().join(", ");
        format!(
            "there is no data sheet for the profile's GPU, {}: use a profile of one of {known}",
            now.gpu
        )
    })?;
    let mut changed = profile.clone();
    let machine = &mut changed.machine;
    if gpu == before {
        return Ok(changed);
    }
    let link = PcieLink::noted(&machine.link)
        .ok_or_else(|| format!("the profile does not name its link (it has \"{}\")", now.link))?;
    let after = link.narrower(gpu.link());
    machine.gpu = format!("{}, scaled from a measured {} using data sheets", gpu.name, now.gpu);
    machine.gpu_uuid = None;
    gpu.compute_capability().clone_into(&mut machine.compute_capability);
    machine.multiprocessors = gpu.multiprocessors;
    machine.device_memory_bytes = gpu.device_memory();
    machine.link = format!("{:.1} GT/s PCIe x{}", after.speed(), after.lanes);
    machine.devices = 1;
    changed.multi_gpu = MultiGpu::default();
    kernels_on(&mut changed, [before, gpu]);
    links::scale_profile(&mut changed, [after.on_paper() / link.on_paper(); 2])?;
    // Trials and repeated calibrations were on the other GPU.
    (changed.accuracy, changed.conditions, changed.intervals) = (None, None, None);
    changed.model_error = Some(OFF_BY);
    Ok(changed)
}

/// Scales what the GPU itself takes.
fn kernels_on(profile: &mut Profile, [before, after]: [&GpuModel; 2]) {
    let gap = profile.kernel_gap().unwrap_or_default();
    let by_memory = before.memory / after.memory;
    for model in &mut profile.kernels {
        let variant = model.variant;
        kernels::beyond(&mut model.time, gap, |elements| {
            let on = |gpu: &GpuModel| roofline(variant, elements, gpu);
            on(after) / on(before)
        });
        let longer = [&mut model.just_copied, &mut model.from_memory];
        longer.into_iter().flatten().for_each(|curve| curve.scale(by_memory));
    }
    for model in &mut profile.own_kernels {
        kernels::beyond(&mut model.time, gap, |_| by_memory);
    }
    let on_device = [TransferPath::OnDevice, TransferPath::ManagedResident];
    for model in profile.transfers.iter_mut().filter(|model| on_device.contains(&model.path)) {
        kernels::beyond(&mut model.time, gap, |_| by_memory);
    }
}

/// Nanoseconds of a kernel on paper.
fn roofline(variant: Variant, elements: f64, gpu: &GpuModel) -> f64 {
    let flops = variant.kernel.flops_per_element(&variant.arguments()) * elements;
    (variant.bytes(elements as u64) as f64 / gpu.memory).max(flops / gpu.flops)
}
