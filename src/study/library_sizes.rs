//! Which sizes of the library's kernels a scenario needs that a profile does not have.

use crate::calibrate::LibraryJob;
use crate::kernels::{Kernel, Variant};
use crate::profile::{Curve, Profile, Warmth};
use crate::program::{Program, Step};
use crate::samples::{MEMORY_FOOTPRINT, Measurement};
use crate::units::Bytes;
use std::collections::BTreeSet;

/// The kernels on sizes, or with arguments, that lie outside of what a profile knows, each once.
/// What does not fit into the machine is left out.
pub(super) fn library_jobs(
    programs: &[Program],
    profile: &Profile,
    measured: &[Measurement],
) -> Vec<LibraryJob> {
    let mut jobs = BTreeSet::new();
    for call in programs.iter().flat_map(|program| &program.body) {
        let Some(step) = call.step().and_then(Step::library) else { continue };
        let wanted = step.variant();
        jobs.extend(jobs_for(wanted, step.elements(), call.is_compute(), profile));
    }
    let capacities = profile.machine.capacities();
    let fits = |job: &LibraryJob| {
        let has = if job.footprint.is_some() { capacities.host } else { capacities.device };
        has.is_none_or(|has| job.bytes() <= has)
    };
    let is_new = |job: &LibraryJob| {
        let quantity = job.quantity();
        measured.iter().all(|one| one.quantity != quantity)
    };
    jobs.into_iter().filter(fits).filter(is_new).collect()
}

/// Models of a kernel on a side, by what they are of.
fn curves(kernel: Kernel, on_cpu: bool, profile: &Profile) -> Vec<(Variant, &Curve)> {
    let twins = profile.twins.iter().filter(|twin| on_cpu && twin.found == Warmth::Same);
    let twins = twins.map(|twin| (twin.variant, &twin.time));
    let kernels = profile.kernels.iter().filter(|_| !on_cpu).map(|one| (one.variant, &one.time));
    let mut found: Vec<_> =
        twins.chain(kernels).filter(|(variant, _)| variant.kernel == kernel).collect();
    found.sort_by(|one, other| one.0.measure().total_cmp(&other.0.measure()));
    found
}

/// Between two calibrated arguments, these two are measured: times are interpolated. Other
/// arguments are measured themselves. A kernel that was not calibrated at all is for a calibration.
fn jobs_for(wanted: Variant, elements: u64, on_cpu: bool, profile: &Profile) -> Vec<LibraryJob> {
    let known = curves(wanted.kernel, on_cpu, profile);
    let after = known.partition_point(|(one, _)| one.measure() < wanted.measure());
    let around = match known.get(after) {
        Some((next, _)) if *next == wanted => &known[after..=after],
        Some(_) if after > 0 => &known[after - 1..=after],
        _ if known.is_empty() => return Vec::new(),
        _ => return exactly(wanted, elements, on_cpu),
    };
    let lacks = |(_, curve): &&(Variant, &Curve)| {
        let size = elements as f64;
        size > curve.largest() || curve.known(size).is_err()
    };
    let lacking = around.iter().filter(lacks);
    lacking.map(|(variant, _)| at(*variant, elements, on_cpu)).collect()
}

fn at(variant: Variant, elements: u64, on_cpu: bool) -> LibraryJob {
    let elements = elements.next_multiple_of(variant.kernel.grain(&variant.arguments()));
    let own = Bytes::new(variant.bytes(elements));
    LibraryJob { variant, elements, footprint: on_cpu.then_some(own) }
}

/// On the CPU also with data that no cache has any more.
fn exactly(variant: Variant, elements: u64, on_cpu: bool) -> Vec<LibraryJob> {
    let near = at(variant, elements, on_cpu);
    let has_far = on_cpu && near.bytes() < MEMORY_FOOTPRINT;
    let far = has_far.then_some(LibraryJob { footprint: Some(MEMORY_FOOTPRINT), ..near });
    std::iter::once(near).chain(far).collect()
}
