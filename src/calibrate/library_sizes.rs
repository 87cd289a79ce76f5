//! Kernels of the library at sizes that a scenario has and no calibration, one after the other.

use super::error::Calibrated;
use super::own_kernels::{OwnJob, fill, measure_own, random_words, rows_of_launches};
use crate::gpu::{AnyDevice, AnyMemory, AnyStream, Device, DeviceMemory};
use crate::host::{Operand, PageMemory, Team};
use crate::kernels::{Grid, Shape, Variant};
use crate::samples::{Measurement, OwnRun, Quantity, Stop};
use crate::units::{Bytes, Span};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// A kernel of the library at a size, on a side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LibraryJob {
    pub variant: Variant,
    pub elements: u64,
    /// On the CPU: the bytes that are used in turn. Nothing: on the GPU.
    pub footprint: Option<Bytes>,
}

/// Runs of a twin, and the time after which there are no more.
const RUNS: usize = 10;
const PATIENCE: Duration = Duration::from_millis(500);

impl LibraryJob {
    /// What it measures.
    pub fn quantity(&self) -> Quantity {
        let Self { variant, elements, footprint } = *self;
        Quantity::Own(match footprint {
            None => OwnRun::Library { variant, elements },
            Some(footprint) => OwnRun::Twin { variant, elements, footprint },
        })
    }

    /// Bytes of all its arrays.
    pub fn bytes(&self) -> Bytes {
        let own = Bytes::new(self.variant.bytes(self.elements));
        self.footprint.map_or(own, |footprint| footprint.max(own))
    }

    /// Elements of its input arrays, and of its output, if `along` is what it goes along.
    fn lengths(&self, along: u64) -> (Vec<u64>, u64) {
        let (kernel, arguments) = (self.variant.kernel, self.variant.arguments());
        let inputs = (0..kernel.inputs())
            .map(|input| kernel.whole(input, &arguments).unwrap_or(along))
            .collect();
        let output = match kernel.shape() {
            Shape::Map => along,
            Shape::Reduction => kernel.results(&arguments),
        };
        (inputs, output)
    }
}

/// What is measured for a scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScenarioJob {
    Own(Box<OwnJob>),
    Library(LibraryJob),
}

impl ScenarioJob {
    /// What it measures, in words.
    pub fn name(&self) -> String {
        match self {
            Self::Own(job) => {
                let OwnJob { kernel, elements, numbers, .. } = job.as_ref();
                let numbers =
                    if numbers.is_empty() { String::new() } else { format!(", {numbers}") };
                format!("kernel `{}` on {elements} elements{numbers}", kernel.name)
            }
            Self::Library(job) => job.quantity().to_string(),
        }
    }

    /// Measures it. `threads` run CPU twins.
    ///
    /// # Errors
    /// If a kernel does not compile or faults, there is too little memory, or the device fails.
    pub fn measure(&self, device: &Device, threads: usize) -> Calibrated<Vec<Measurement>> {
        match self {
            Self::Own(job) => measure_own(device, job),
            Self::Library(job) => match job.footprint {
                None => on_device(device, job),
                Some(footprint) => measure_twin(threads, job, footprint),
            },
        }
    }
}

fn on_device(device: &Device, job: &LibraryJob) -> Calibrated<Vec<Measurement>> {
    let arguments = job.variant.arguments();
    let (inputs, output) = job.lengths(job.elements);
    let stream = device.stream(0)?;
    let random = random_words()?;
    let array = |&elements: &u64| -> Calibrated<DeviceMemory> {
        let array = device.allocate(Bytes::of_f32(elements))?;
        fill(&stream, &array, &random)?;
        Ok(array)
    };
    let inputs = inputs.iter().map(array).collect::<Result<Vec<_>, _>>()?;
    let output = array(&output)?;
    let workspace = Grid::workspace(job.variant.kernel, &arguments).unwrap_or(1);
    let workspace = array(&workspace)?;
    // SAFETY: the workspace is that long and outlives the call, which is waited for.
    unsafe { stream.clear(workspace.address(), workspace.bytes())? };
    stream.synchronize()?;
    let addresses: Vec<u64> = inputs.iter().map(DeviceMemory::address).collect();
    let of = (job.variant.kernel, arguments);
    let into = (output.address(), workspace.address());
    let launch = device.kernel(of, &addresses, into, (job.elements, job.elements, 0))?;
    // The arrays are as large as the launch says, and outlive it, as all launches are waited for.
    rows_of_launches(device, &launch, &job.quantity())
}

/// Runs a twin on one part after the other of as much memory as is used in turn.
///
/// # Errors
/// If there is too little memory, or the system starts no threads.
pub fn measure_twin(
    threads: usize,
    job: &LibraryJob,
    footprint: Bytes,
) -> Calibrated<Vec<Measurement>> {
    let team = Team::new(threads)?;
    let (kernel, arguments) = (job.variant.kernel, job.variant.arguments());
    let own = Bytes::new(job.variant.bytes(job.elements));
    let parts = (footprint.get() / own.get().max(1)).max(1);
    let (inputs, output) = job.lengths(job.elements * parts);
    let mut seed = 0;
    let mut pool = |elements: u64| -> Calibrated<PageMemory> {
        let mut memory = PageMemory::new(Bytes::of_f32(elements))?;
        seed += 1;
        team.fill_random(memory.as_mut_slice(), seed);
        Ok(memory)
    };
    let inputs = inputs.into_iter().map(&mut pool).collect::<Result<Vec<_>, _>>()?;
    let mut output = pool(output)?;
    let mut run = |turn: usize| -> Span {
        let part = (turn as u64 % parts * job.elements) as usize;
        let part = part..part + job.elements as usize;
        let operands: Vec<Operand<'_>> = (0..kernel.inputs())
            .map(|input| match kernel.whole(input, &arguments) {
                Some(length) => &inputs[input].as_slice()[..length as usize],
                None => &inputs[input].as_slice()[part.clone()],
            })
            .map(Operand::Array)
            .collect();
        let output = match kernel.shape() {
            Shape::Map => &mut output.as_mut_slice()[part],
            Shape::Reduction => &mut output.as_mut_slice()[..kernel.results(&arguments) as usize],
        };
        let clock = Instant::now();
        team.run_around(footprint.max(own), (kernel, &arguments), &operands, output, 0);
        clock.elapsed().into()
    };
    // The first run finds caches as others left them; of long runs, one is enough.
    let first = run(0);
    let mut times = if first > Span::from(PATIENCE) { vec![first] } else { Vec::new() };
    let start = Instant::now();
    while times.is_empty() || (times.len() < RUNS && start.elapsed() < PATIENCE) {
        times.push(run(times.len() + 1));
    }
    Ok(vec![Measurement::new(job.quantity(), 1, times, Stop::Stable)])
}
