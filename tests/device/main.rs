//! What only a GPU can show. Without one, each test says on standard error that it was
//! skipped and why; no test harness hides that.

mod calibration;
mod kernels;
mod own_kernels;
mod paths;
mod plans;
mod several;
mod spelled_out;
mod worse_machine;

use hallway::execute::{Effort, Executor};
use hallway::gpu::{
    AnyBlocker, AnyDevice, AnyEvent, AnyMemory, AnyStream, Blocker, Device, DeviceMemory, GpuError,
    Stream,
};
use hallway::host::{PageMemory, Team};
use hallway::scenario::Workload;
use hallway::search::candidates;
use hallway::timeline::Lane;
use hallway::units::{Bytes, Span};
use std::io::Write;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Tests run one at a time, because some of them measure time.
static TURN: Mutex<()> = Mutex::new(());

/// Runs a test if this machine has what it needs; otherwise says why it was skipped.
fn on_a_gpu(name: &str, test: impl FnOnce(&Device) -> Result<(), GpuError>) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    match Device::open(0).and_then(|device| test(&device)) {
        Ok(()) => {}
        Err(error) if error.is_absence() => {
            writeln!(std::io::stderr(), "{name}: skipped: {error}").expect("standard error");
        }
        Err(error) => panic!("{name}: {error}"),
    }
}

fn random(count: usize, seed: u64) -> Vec<f32> {
    let mut values = vec![0.0; count];
    Team::new(1).expect("one thread").fill_random(&mut values, seed);
    values
}

/// Allocates an array on the device with these values.
fn upload(device: &Device, stream: &Stream, values: &[f32]) -> Result<DeviceMemory, GpuError> {
    let bytes = Bytes::of_f32(values.len() as u64);
    let memory = device.allocate(bytes)?;
    // SAFETY: both sides hold that many bytes until the copy has been waited for.
    unsafe { stream.copy_in(values.as_ptr(), memory.address(), bytes)? };
    stream.synchronize()?;
    Ok(memory)
}

fn download(stream: &Stream, memory: &DeviceMemory, count: usize) -> Result<Vec<f32>, GpuError> {
    let mut values = vec![f32::NAN; count];
    let bytes = Bytes::of_f32(count as u64);
    // SAFETY: both sides hold that many bytes until the copy has been waited for.
    unsafe { stream.copy_out(memory.address(), values.as_mut_ptr(), bytes)? };
    stream.synchronize()?;
    Ok(values)
}

/// Copies a pattern with every kind of bits to the device and back through pinned memory.
///
/// # Safety
/// Both addresses must be valid for `count` elements.
unsafe fn round_trip(
    device: &Device,
    (from, to): (*mut f32, *mut f32),
    count: usize,
) -> Result<(), GpuError> {
    // An odd multiplier reaches every bit pattern: infinities, NaNs, subnormals.
    let pattern = |index: usize| (index as u32).wrapping_mul(0x9e37_79b1);
    // SAFETY: the caller promises that the address is valid for `count` elements.
    let (source, target) = unsafe {
        (
            std::slice::from_raw_parts_mut(from.cast::<u32>(), count),
            std::slice::from_raw_parts_mut(to.cast::<u32>(), count),
        )
    };
    for (index, value) in source.iter_mut().enumerate() {
        *value = pattern(index);
    }
    target.fill(0);
    let bytes = Bytes::of_f32(count as u64);
    let stream = device.stream(0)?;
    let memory = device.allocate(bytes)?;
    // SAFETY: all three hold that many bytes until the copies have been waited for.
    unsafe {
        stream.copy_in(from, memory.address(), bytes)?;
        stream.copy_out(memory.address(), to, bytes)?;
    }
    stream.synchronize()?;
    assert!(target.iter().enumerate().all(|(index, &value)| value == pattern(index)), "{count}");
    Ok(())
}

#[test]
fn a_round_trip_through_pinned_memory_keeps_every_bit() {
    on_a_gpu("a_round_trip_through_pinned_memory_keeps_every_bit", |device| {
        for count in [1, 3, 1023, 1_048_577] {
            let bytes = Bytes::of_f32(count as u64);
            let (from, to) = (device.allocate_pinned(bytes)?, device.allocate_pinned(bytes)?);
            // SAFETY: both were allocated with that size.
            unsafe { round_trip(device, (from.as_mut_ptr(), to.as_mut_ptr()), count)? };
        }
        Ok(())
    });
}

#[test]
fn a_round_trip_through_registered_memory_keeps_every_bit() {
    on_a_gpu("a_round_trip_through_registered_memory_keeps_every_bit", |device| {
        let count = 100_003;
        let bytes = Bytes::of_f32(count as u64);
        let pages = || PageMemory::new(bytes).expect("little memory");
        let (mut from, mut to) = (pages(), pages());
        // SAFETY: the registrations are dropped before the pages, which were created
        // first.
        let _registrations = unsafe {
            let from = device.register(from.as_mut_ptr(), bytes)?;
            (from, device.register(to.as_mut_ptr(), bytes)?)
        };
        // SAFETY: both were allocated with that size.
        unsafe { round_trip(device, (from.as_mut_ptr(), to.as_mut_ptr()), count) }
    });
}

#[test]
fn events_measure_a_known_delay() {
    on_a_gpu("events_measure_a_known_delay", |device| {
        let delay = Duration::from_millis(2);
        let stream = device.stream(0)?;
        let (before, after) = (device.timing_event()?, device.timing_event()?);
        let mut blocker = device.blocker()?;
        // Two rounds: in the first one the driver loads what it needs at a first use.
        for _ in 0..2 {
            let start = Instant::now();
            stream.record(&before)?;
            // The first event has certainly happened before the delay starts.
            stream.synchronize()?;
            blocker.hold(&stream)?;
            stream.record(&after)?;
            std::thread::sleep(delay);
            let held = !stream.is_done()?;
            blocker.release();
            Blocker::finish(&stream)?;
            let most = Span::from(start.elapsed());
            assert!(held, "the stream was not held");
            let measured = after.since(&before)?;
            assert!(measured >= Span::from(delay), "{measured} is shorter than the delay");
            assert!(measured <= most, "{measured} is longer than the {most} that passed");
        }
        Ok(())
    });
}

#[test]
fn a_gpu_that_is_not_there_is_an_error() {
    on_a_gpu("a_gpu_that_is_not_there_is_an_error", |_| {
        let count = Device::count()?;
        let error = Device::open(count).err().expect("one too many");
        assert_eq!(error, GpuError::NoSuchDevice { wanted: count, count });
        Ok(())
    });
}

/// Small workloads that together use every kind of buffer and kernel.
const WORKLOADS: [&str; 6] = [
    r#"
batches = 2
buffer = [
    { name = "x", type = "f32", elements = 10007, home = "host" },
    { name = "out", type = "f32", elements = 10007, home = "host", host = { state = "fresh" } },
]
task = [
    { name = "t", kernel = "stencil", reads = ["x"], writes = ["out"], iterations = 3,
      split = { along = "elements" } },
]
"#,
    r#"
buffer = [
    { name = "x", type = "f32", elements = 10007, home = "host" },
    { name = "mid", type = "f32", elements = 10007, home = "scratch" },
    { name = "total", type = "f32", elements = 1, home = "host" },
]
task = [
    { name = "p", kernel = "polynomial", reads = ["x"], writes = ["mid"],
      split = { along = "elements" } },
    { name = "s", kernel = "sum", reads = ["mid"], writes = ["total"],
      split = { along = "elements" } },
]
"#,
    r#"
buffer = [
    { name = "v", type = "f32", elements = 10007, home = "host", host = { memory = "pinned" } },
    { name = "w", type = "f32", elements = 10007, home = "device" },
]
task = [
    { name = "t", kernel = "saxpy", reads = ["v", "w"], writes = ["v"], iterations = 2,
      split = { along = "elements" } },
]
"#,
    r#"
batches = 2
buffer = [
    { name = "x", type = "f32", elements = 10007, home = "host" },
    { name = "w", type = "f32", elements = 9, home = "host" },
    { name = "mid", type = "f32", elements = 10007, home = "scratch" },
    { name = "counts", type = "f32", elements = 16, home = "host" },
]
task = [
    { name = "c", kernel = "convolution", reads = ["x", "w"], writes = ["mid"],
      split = { along = "elements" } },
    { name = "h", kernel = "histogram", reads = ["mid"], writes = ["counts"],
      arguments = { bins = 16 }, split = { along = "elements" } },
]
"#,
    r#"
buffer = [
    { name = "x", type = "f32", elements = 8192, home = "host" },
    { name = "y", type = "f32", elements = 4096, home = "host" },
    { name = "mid", type = "f32", elements = 8192, home = "scratch" },
    { name = "out", type = "f32", elements = 8192, home = "host" },
]
task = [
    { name = "m", kernel = "matmul", reads = ["x", "y"], writes = ["mid"],
      arguments = { inner = 64 }, split = { along = "elements" } },
    { name = "f", kernel = "fft", reads = ["mid"], writes = ["out"],
      arguments = { length = 32 }, split = { along = "elements" } },
]
"#,
    r#"
buffer = [
    { name = "x", type = "f32", elements = 10007, home = "device" },
    { name = "out", type = "f32", elements = 10007, home = "device" },
]
task = [
    { name = "t", kernel = "scale", reads = ["x"], writes = ["out"],
      split = { along = "elements" } },
]
"#,
];

#[test]
fn every_candidate_executes_and_passes() {
    on_a_gpu("every_candidate_executes_and_passes", |device| {
        let team = Team::new(4).expect("four threads");
        for text in WORKLOADS {
            let text = format!("schema_version = 1\nname = \"w\"\nquestion = \"?\"\n{text}");
            let mut workload = Workload::from_toml("w.toml", &text).expect("valid");
            workload.plans.chunks = vec![3];
            let executor = Executor::new(Some(device), &team, &workload, 5);
            let plans = candidates(&workload).programs();
            assert!(plans.len() >= 4, "only {} plans", plans.len());
            for plan in &plans {
                let run = executor.run(plan, Effort::SHORT).unwrap_or_else(|error| {
                    panic!("{} of\n{text}\n{error}", plan.label);
                });
                assert_eq!(run.identity, plan.identity());
                assert!(run.makespan() > Span::ZERO);
                let trace = executor.trace(plan).expect("it ran before").timeline;
                for lane in Lane::ALL {
                    assert!(trace.busy(lane) <= trace.makespan, "{}: {lane}", plan.label);
                }
                let captured: usize = plan.graphs().map(|graph| graph.calls.len()).sum();
                assert_eq!(trace.lane(Lane::Host).count(), plan.body.len() - captured);
            }
        }
        Ok(())
    });
}
