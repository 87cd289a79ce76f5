//! A scenario may have sizes that no calibration measures: these are measured for it, and added.

use super::super::predicted::{FITTED, PROFILE, SAMPLES};
use super::super::workloads::{ON_HOST, floats, head, read, simple, task};
use hallway::calibrate::{LibraryJob, ScenarioJob, measure_twin};
use hallway::fit::fit;
use hallway::kernels::{Arguments, Kernel, Variant};
use hallway::profile::{DeviceLocality, Profile};
use hallway::samples::{MEMORY_FOOTPRINT, Measurement, OwnRun, Quantity, Samples, Stop};
use hallway::scenario::{FamilyName, Workload};
use hallway::search::{candidates, rank};
use hallway::study::{Wanted, with_own_models};
use hallway::units::{Bytes, Span};

fn wanted(workload: &Workload, samples: &Samples, profile: &Profile) -> Vec<LibraryJob> {
    let found = Wanted::new(std::slice::from_ref(workload), samples, profile).kernels;
    let job = |job| match job {
        ScenarioJob::Library(job) => job,
        ScenarioJob::Own(job) => panic!("nobody brought {job:?}"),
    };
    found.into_iter().map(job).collect()
}

/// As if each element took so many nanoseconds.
fn measured(job: &LibraryJob, nanos: u64) -> Measurement {
    let time = Span::from_nanos(job.elements * nanos);
    Measurement::new(job.quantity(), 1, vec![time; 3], Stop::Stable)
}

const SCALE: Variant = Variant { kernel: Kernel::Scale, extent: 0 };
const LARGE: u64 = 300_000_001;

fn on_gpu(profile: &Profile, kernel: Kernel, extent: u32, elements: u64) -> Option<f64> {
    let arguments = Arguments { extent, ..Arguments::default() };
    let found = profile.kernel(kernel, &arguments, elements, &DeviceLocality::default());
    found.ok().map(|time| time.ns)
}

#[test]
fn sizes_beyond_a_calibration_are_wanted_once_and_stand_in_the_profile() {
    let mut samples = SAMPLES.clone();
    assert!(wanted(&simple(Kernel::Scale, 1 << 22, ""), &samples, &PROFILE).is_empty());
    let workload = simple(Kernel::Scale, LARGE, "");
    let jobs = wanted(&workload, &samples, &PROFILE);
    let own = Bytes::new(SCALE.bytes(LARGE));
    for footprint in [None, Some(own)] {
        let whole = LibraryJob { variant: SCALE, elements: LARGE, footprint };
        assert!(jobs.contains(&whole), "{jobs:?}");
    }
    let largest = |footprint: Option<Bytes>| {
        let times = match footprint {
            None => PROFILE.kernels.iter().find(|one| one.variant == SCALE).map(|one| &one.time),
            Some(_) => PROFILE.twins.iter().find(|one| one.variant == SCALE).map(|one| &one.time),
        };
        times.expect("calibrated").largest() as u64
    };
    assert!(jobs.iter().all(|job| job.elements > largest(job.footprint)), "{jobs:?}");
    let before = &*FITTED;
    samples.measurements.extend(jobs.iter().map(|job| measured(job, 5)));
    assert!(wanted(&workload, &samples, &PROFILE).is_empty());
    let after = with_own_models(before.clone(), &samples);
    let time = on_gpu(&after, Kernel::Scale, 16, LARGE).expect("known");
    assert!((time / (5.0 * LARGE as f64) - 1.0).abs() < 1e-3, "{time}");
    let small = |profile| on_gpu(profile, Kernel::Scale, 16, 1 << 20);
    assert_eq!(small(&after), small(before));
    // Fitted again from all samples, the profile is the same.
    assert!(fit(&samples).expect("committed") == after);
    assert!(with_own_models(after.clone(), &samples) == after);
    let of_machine = Profile { kernels: before.kernels.clone(), ..after.clone() };
    assert!(Profile { twins: before.twins.clone(), ..of_machine } == *before, "nothing else");
}

fn product(inner: u64) -> Workload {
    let buffers = floats(["x", "y", "z"], inner * inner, ON_HOST);
    let arguments = format!("arguments = {{ inner = {inner} }}");
    read(&(head("p", "") + &buffers + &task("t", "matmul", &["x", "y"], "z", &arguments)))
}

#[test]
fn other_arguments_are_measured_themselves_or_between_two() {
    let samples = Samples::none(PROFILE.machine.clone());
    let variant = Variant { kernel: Kernel::Matmul, extent: 8192 };
    let elements = 8192 * 8192;
    let own = Some(Bytes::new(variant.bytes(elements)));
    let jobs = wanted(&product(8192), &samples, &PROFILE);
    let of = |footprint| LibraryJob { variant, elements, footprint };
    assert!(jobs.contains(&of(None)) && jobs.contains(&of(own)), "{jobs:?}");
    assert!(jobs.contains(&of(Some(MEMORY_FOOTPRINT))) == (own < Some(MEMORY_FOOTPRINT)));
    assert!(jobs.iter().all(|job| job.variant == variant), "{jobs:?}");
    let mut with = samples.clone();
    with.measurements.extend(jobs.iter().map(|job| measured(job, 7)));
    let profile = with_own_models(PROFILE.clone(), &with);
    let time = on_gpu(&profile, Kernel::Matmul, 8192, elements).expect("known");
    assert!((time / (7.0 * elements as f64) - 1.0).abs() < 1e-3, "{time}");
    // Between two that are known, both are measured, in whole rows of each.
    let between = wanted(&product(1500), &samples, &PROFILE);
    let extents: Vec<u32> = between.iter().map(|job| job.variant.extent).collect();
    assert!(extents.iter().all(|extent| [1024, 2048].contains(extent)), "{extents:?}");
    for job in between {
        assert!(job.elements.is_multiple_of(u64::from(job.variant.extent)), "{job:?}");
    }
}

/// A product whose time follows from no smaller one is not predicted, and the report says how it
/// comes to be.
#[test]
fn what_is_beyond_says_what_to_do() {
    let mut profile = PROFILE.clone();
    for model in profile.kernels.iter_mut().filter(|one| one.variant == SCALE) {
        // Nothing follows for other sizes from a single one.
        model.time.knots.truncate(1);
        model.time.knots[0] = (1024.0, 50_000.0);
    }
    let mut workload = simple(Kernel::Scale, 1 << 22, "");
    workload.plans.families = vec![FamilyName::Resident];
    let ranking = rank(candidates(&workload), &profile, 2, 1);
    let said = ranking.unknown[0].1.to_string();
    assert!(said.contains("above 1024 elements: `hallway calibrate --scenario FILE`"), "{said}");
    let none = Samples::none(profile.machine.clone());
    assert_eq!(wanted(&workload, &none, &profile).len(), 1);
}

#[test]
fn twins_are_measured_near_and_far() {
    for (variant, elements) in [
        (SCALE, 4096),
        (Variant { kernel: Kernel::Matmul, extent: 24 }, 240),
        (Variant { kernel: Kernel::Histogram, extent: 16 }, 5000),
        (Variant { kernel: Kernel::Transpose, extent: 50 }, 2500),
        (Variant { kernel: Kernel::BlackScholes, extent: 0 }, 3000),
        (Variant { kernel: Kernel::Fft, extent: 64 }, 1280),
        (Variant { kernel: Kernel::Convolution, extent: 9 }, 1000),
    ] {
        for footprint in [Bytes::new(variant.bytes(elements)), Bytes::mib(1)] {
            let job = LibraryJob { variant, elements, footprint: Some(footprint) };
            let found = measure_twin(2, &job, footprint).expect("there is memory");
            let [one] = &found[..] else { panic!("{found:?}") };
            let of = Quantity::Own(OwnRun::Twin { variant, elements, footprint });
            assert_eq!((&one.quantity, one.count), (&of, 1));
            assert!(!one.times.is_empty() && one.times.iter().all(|time| time.nanos() > 0));
        }
    }
}
