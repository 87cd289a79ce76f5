//! Kernels that a scenario brings along, one launch after the other.
//!
//! A kernel of somebody else may fault or never end, so this runs in a process of its own: whoever
//! starts it watches the clock.

use super::error::Calibrated;
use crate::gpu::{
    AnyBlocker, AnyDevice, AnyEvent, AnyMemory, AnyStream, Device, DeviceMemory, Event, GpuResult,
    Launch, Stream,
};
use crate::host::Team;
use crate::kernels::{Geometry, GpuSide, OwnKernel, Parameter, ProductType};
use crate::samples::{Measurement, OwnRun, Quantity, Stop};
use crate::units::{Bytes, Span};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// A launch to measure, with all that it takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OwnJob {
    pub kernel: OwnKernel,
    /// Device memory that the launch uses.
    pub memory: Vec<Bytes>,
    /// What it reads and writes: a place in `memory`, and where in there it begins.
    pub reads: Vec<(usize, Bytes)>,
    pub writes: Vec<(usize, Bytes)>,
    pub elements: u64,
    /// The numbers of the launch, in words.
    pub numbers: String,
    pub geometry: Option<Geometry>,
    pub parameters: Vec<Parameter>,
    /// Rows, inner elements and columns of a product.
    pub shape: Option<[u64; 3]>,
}

impl OwnJob {
    /// Whether a run is of this launch.
    pub fn is_of(&self, run: &OwnRun) -> bool {
        matches!(run, OwnRun::Kernel { kernel, numbers, elements, .. }
            if *kernel == self.kernel.digest()
                && *numbers == self.numbers
                && *elements == self.elements)
    }
}

/// Streams in which launches are measured in turn: none is near to all memory.
const STREAMS: usize = 3;
/// About how long a row of launches lasts, and how many a stream takes while it is held.
const ROW: Span = Span::from_millis(3);
const MOST_IN_A_ROW: u64 = 400;
/// Samples, and the time after which there are no more than the fewest.
const SAMPLES: usize = 15;
const FEWEST: usize = 3;
const PATIENCE: Duration = Duration::from_millis(400);
/// Random data, which is repeated.
const CHUNK: Bytes = Bytes::mib(16);

/// Measures a launch: rows of few and of many, back to back on the same data.
///
/// # Errors
/// If the kernel does not compile, faults, or the device fails.
pub fn measure_own(device: &Device, job: &OwnJob) -> Calibrated<Vec<Measurement>> {
    let arrays = arrays(device, job)?;
    let address = |&(at, offset): &(usize, Bytes)| arrays[at].address() + offset.get();
    let reads: Vec<u64> = job.reads.iter().map(address).collect();
    let writes: Vec<u64> = job.writes.iter().map(address).collect();
    let how = (job.geometry, &job.parameters[..]);
    let launch = device.own_kernel(&job.kernel, how, [&reads, &writes], job.shape)?;
    let [registers_per_thread, shared_bytes_per_block] = launch.takes()?;
    let quantity = Quantity::Own(OwnRun::Kernel {
        name: job.kernel.name.clone(),
        kernel: job.kernel.digest(),
        numbers: job.numbers.clone(),
        registers_per_thread,
        shared_bytes_per_block,
        elements: job.elements,
    });
    rows_of_launches(device, &launch, &quantity)
}

/// Measures rows of few launches and of many. The memory of a launch outlives it: all are waited
/// for.
pub(super) fn rows_of_launches(
    device: &Device,
    launch: &Launch,
    quantity: &Quantity,
) -> Calibrated<Vec<Measurement>> {
    let streams = (0..STREAMS).map(|_| device.stream(0)).collect::<Result<Vec<_>, _>>()?;
    let marks = [device.timing_event()?, device.timing_event()?];
    let mut blocker = device.blocker()?;
    let mut lasts = Span::ZERO;
    for stream in &streams {
        stream.prepare(launch)?;
        // The first launch loads code; a fault shows here.
        for _ in 0..2 {
            row(stream, &marks, launch, 1)?;
            stream.synchronize()?;
            lasts = marks[1].since(&marks[0])?;
        }
    }
    let fit_in = ROW.nanos() / lasts.nanos().max(1);
    let counts = [1, fit_in.clamp(2, MOST_IN_A_ROW)];
    let mut times: [Vec<Span>; 2] = Default::default();
    let start = Instant::now();
    for sample in 0..SAMPLES {
        if sample >= FEWEST && start.elapsed() > PATIENCE {
            break;
        }
        let stream = &streams[sample % STREAMS];
        for (times, count) in times.iter_mut().zip(counts) {
            blocker.hold(stream)?;
            let issued = row(stream, &marks, launch, count);
            blocker.end(&[stream])?;
            issued?;
            times.push(marks[1].since(&marks[0])?);
        }
    }
    let measurement =
        |(times, count)| Measurement::new(quantity.clone(), count, times, Stop::Stable);
    Ok(times.into_iter().zip(counts).map(measurement).collect())
}

/// Issues a row of launches between two marks.
fn row(stream: &Stream, marks: &[Event; 2], launch: &Launch, count: u64) -> GpuResult {
    stream.record(&marks[0])?;
    // SAFETY: the arrays are as large as the job says, and outlive the launches, which are waited
    // for. What a user's kernel does beyond them ends this process.
    (0..count).try_for_each(|_| unsafe { stream.launch(launch) })?;
    stream.record(&marks[1])
}

/// Device memory with random data: zeros can be faster than users' data, or slower.
fn arrays(device: &Device, job: &OwnJob) -> Calibrated<Vec<DeviceMemory>> {
    let mut random = random_words()?;
    if matches!(job.kernel.gpu, GpuSide::Product(ProductType::Bf16)) {
        random.iter_mut().for_each(|pair| *pair = of_bf16(*pair));
    }
    let stream = device.stream(0)?;
    let mut arrays = Vec::new();
    for &bytes in &job.memory {
        let array = device.allocate(bytes)?;
        fill(&stream, &array, &random)?;
        arrays.push(array);
    }
    Ok(arrays)
}

pub(super) fn random_words() -> Calibrated<Vec<f32>> {
    let mut random = vec![0.0; CHUNK.as_usize() / 4];
    Team::new(1)?.fill_random(&mut random, 1);
    Ok(random)
}

/// Fills an array with random words, again and again.
pub(super) fn fill(stream: &Stream, array: &DeviceMemory, random: &[f32]) -> GpuResult {
    let mut at = Bytes::ZERO;
    while at < array.bytes() {
        let part = CHUNK.min(array.bytes() - at);
        // SAFETY: both sides are that long, and outlive the copy, which is waited for.
        unsafe { stream.copy_in(random.as_ptr(), array.address() + at.get(), part)? };
        at += part;
    }
    stream.synchronize()
}

/// Two random bf16 from 1 to 2, out of the bits of a random `f32`.
fn of_bf16(value: f32) -> f32 {
    let bits = value.to_bits();
    f32::from_bits(0x3f80_3f80 | (bits >> 4) & 0x7f | (bits >> 1) & 0x7f_0000)
}
