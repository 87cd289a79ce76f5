//! What a workload's buffers hold before a plan, and must hold after it.

use super::placeholder::Placeholder;
use crate::host::{Operand, Team};
use crate::kernels::{Arguments, Kernel, Shape};
use crate::program::{BufferId, signature};
use crate::runs::TOLERANCE;
use crate::scenario::{Buffer, OwnWork, Task, TaskKernel, Workload};
use crate::units::ElementType;
use rayon::prelude::*;
use std::ops::Range;

/// The contents of every buffer. A buffer's batches lie one behind the other. Whatever the type of
/// its elements is, its bytes are kept as those of `f32` values, with a rest at the end.
#[derive(Debug, Clone)]
pub struct Contents {
    buffers: Vec<Vec<f32>>,
}

/// An output that differs from what the CPU twins compute.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error(
    "`{buffer}` is wrong at element {element}: it is {found}, but should be {expected}. The cause \
     is a bug in hallway, a faulty device, or one of your own kernels accessing memory outside its \
     declared ranges"
)]
pub struct Mismatch {
    pub buffer: String,
    pub element: usize,
    pub found: f64,
    pub expected: f64,
}

impl Contents {
    /// Random inputs, determined by the seed. Everything else is NaN.
    pub fn random(workload: &Workload, team: &Team, seed: u64) -> Self {
        Self::random_in(workload, team, seed, |id| workload.is_input(id))
    }

    /// Random numbers in every buffer, determined by the seed.
    pub fn all_random(workload: &Workload, team: &Team, seed: u64) -> Self {
        Self::random_in(workload, team, seed, |_| true)
    }

    fn random_in(
        workload: &Workload,
        team: &Team,
        seed: u64,
        is_random: impl Fn(BufferId) -> bool,
    ) -> Self {
        let contents = |(index, buffer): (usize, &Buffer)| {
            let bytes = buffer.bytes(workload.batches);
            let mut values = vec![f32::NAN; bytes.in_f32s()];
            if is_random(BufferId(index)) {
                team.fill_random(&mut values, seed + index as u64);
                as_elements(buffer.element_type, &mut values);
            }
            if !workload.is_output(BufferId(index)) {
                forget_rest(buffer, &mut values);
            }
            values
        };
        Self { buffers: workload.buffers.iter().enumerate().map(contents).collect() }
    }

    /// Puts other values into a buffer.
    pub fn set(&mut self, id: BufferId, values: Vec<f32>) {
        self.buffers[id.0] = values;
    }

    /// What the buffers hold after the workload. Every task is computed on the whole of
    /// every batch, without a plan.
    #[must_use]
    pub fn computed(&self, workload: &Workload, team: &Team) -> Self {
        let mut after = self.clone();
        for task in &workload.tasks {
            for batch in 0..workload.batches {
                match &task.kernel {
                    TaskKernel::Library { kernel, arguments } => {
                        let inputs = task.reads.iter();
                        let inputs = inputs.map(|&id| after.bytes(workload, id, batch));
                        let of = (*kernel, arguments);
                        let inputs = inputs.map(|bytes| bytemuck::cast_slice(bytes).to_vec());
                        let output = iterated(task, of, inputs.collect(), team);
                        let written = after.bytes_mut(workload, task.output(), batch);
                        written.copy_from_slice(bytemuck::cast_slice(&output));
                    }
                    TaskKernel::Own(work) => after.hold_place(workload, (task, work), batch),
                }
            }
        }
        after
    }

    /// Writes what takes the place of the results of a task whose kernel has no twin.
    fn hold_place(&mut self, workload: &Workload, (task, work): (&Task, &OwnWork), batch: u64) {
        let lengths = task.writes.iter().map(|&id| workload.buffer(id).bytes(1).as_usize());
        let lengths: Vec<usize> = lengths.collect();
        let launch = Placeholder {
            kernel: &work.declared.kernel,
            elements: work.elements.unwrap_or(workload.buffer(task.output()).elements),
            signature: signature(&work.numbers),
        };
        for _ in 0..task.iterations {
            let reads = task.reads.iter().map(|&id| self.bytes(workload, id, batch));
            let written = launch.written(&reads.collect::<Vec<_>>(), &lengths);
            for (&id, bytes) in task.writes.iter().zip(written) {
                self.bytes_mut(workload, id, batch).copy_from_slice(&bytes);
            }
        }
    }

    /// The contents of one buffer, all batches.
    pub fn of(&self, id: BufferId) -> &[f32] {
        &self.buffers[id.0]
    }

    fn bytes(&self, workload: &Workload, id: BufferId, batch: u64) -> &[u8] {
        let range = batch_range(workload, id, batch);
        &bytemuck::cast_slice::<f32, u8>(&self.buffers[id.0])[range]
    }

    fn bytes_mut(&mut self, workload: &Workload, id: BufferId, batch: u64) -> &mut [u8] {
        let range = batch_range(workload, id, batch);
        &mut bytemuck::cast_slice_mut::<f32, u8>(&mut self.buffers[id.0])[range]
    }

    /// Compares one output with what it must be. Returns the largest deviation, relative
    /// to the output's largest value; 0 for whole numbers.
    ///
    /// # Errors
    /// The first element that deviates by more than rounding can explain.
    pub fn check(&self, workload: &Workload, id: BufferId, found: &[f32]) -> Result<f64, Mismatch> {
        let Buffer { name, element_type, .. } = workload.buffer(id);
        let tolerance = tolerance(*element_type);
        let size = element_type.size() as usize;
        let bytes = workload.buffer(id).bytes(workload.batches).as_usize();
        let value = |bytes: &[u8]| element_type.value(bits(bytes));
        let of = |words| -> &[u8] { &bytemuck::cast_slice::<f32, u8>(words)[..bytes] };
        let values = |words| of(words).par_chunks_exact(size).map(value);
        let expected = self.of(id);
        let finite = values(expected).map(f64::abs).filter(|value| value.is_finite());
        let largest = finite.reduce(|| f64::from(f32::MIN_POSITIVE), f64::max);
        // The difference of equal infinities would be NaN. Memory that nobody has written holds NaN
        // on both sides.
        let deviation = |(found, expected): (f64, f64)| {
            let is_right = found == expected || found.is_nan() && expected.is_nan();
            if is_right { 0.0 } else { (found - expected).abs() / largest }
        };
        let Buffer { needed, elements, .. } = *workload.buffer(id);
        let is_needed =
            move |at: usize| needed.is_none_or(|needed| needed.contains(at as u64 % elements));
        let pairs = || {
            let pairs = values(found).zip(values(expected)).enumerate();
            pairs.map(move |(at, pair)| if is_needed(at) { pair } else { (0.0, 0.0) })
        };
        let is_wrong = |pair| {
            let deviation = deviation(pair);
            deviation > tolerance || deviation.is_nan()
        };
        if let Some(element) = pairs().position_first(is_wrong) {
            let at = |words| value(&of(words)[element * size..][..size]);
            let (found, expected) = (at(found), at(expected));
            return Err(Mismatch { buffer: name.clone(), element, found, expected });
        }
        Ok(pairs().map(deviation).reduce(|| 0.0, f64::max))
    }
}

/// Puts NaN where tasks need nothing of an input: what does not cross must not matter.
fn forget_rest(buffer: &Buffer, values: &mut [f32]) {
    let Some(needed) = buffer.needed else { return };
    let size = buffer.element_type.size();
    let nan = f32::NAN.to_le_bytes();
    let of_batch = (buffer.elements * size) as usize;
    let bytes = bytemuck::cast_slice_mut::<f32, u8>(values);
    for (at, byte) in bytes.iter_mut().enumerate() {
        if !needed.contains((at % of_batch) as u64 / size) {
            *byte = nan[at % nan.len()];
        }
    }
}

/// Where a batch lies, in bytes.
fn batch_range(workload: &Workload, id: BufferId, batch: u64) -> Range<usize> {
    let buffer = workload.buffer(id);
    let first = (buffer.start_of(batch) * buffer.element_type.size()) as usize;
    first..first + buffer.bytes(1).as_usize()
}

/// How far values of a type may be off, relative to the largest: eight units in the last place of
/// the short types, and nothing of whole numbers.
fn tolerance(element_type: ElementType) -> f64 {
    match element_type.fraction_bits() {
        None => 0.0,
        Some(bits @ ..20) => 2_f64.powi(3 - bits.cast_signed()),
        Some(_) => f64::from(TOLERANCE),
    }
}

fn bits(bytes: &[u8]) -> u64 {
    match bytes.try_into() {
        // By far the most are `f32`.
        Ok(four) => u64::from(u32::from_le_bytes(four)),
        Err(_) => bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte)),
    }
}

/// Makes random elements of a type out of random bits: floating-point numbers from 1 to 2, which
/// all have one exponent, and whole numbers of any size.
fn as_elements(element_type: ElementType, values: &mut [f32]) {
    if element_type == ElementType::F32 {
        return;
    }
    let size = element_type.size() as usize;
    for bytes in bytemuck::cast_slice_mut::<f32, u8>(values).chunks_exact_mut(size) {
        // Not all bits of a random `f32` are random: a product spreads those that are (Knuth, "The
        // Art of Computer Programming", 6.4, multiplicative hashing).
        let random = bits(bytes).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - 8 * size);
        let element = match element_type.fraction_bits() {
            Some(fraction) => {
                let exponent = (1_u64 << (8 * size as u32 - 2 - fraction)) - 1;
                exponent << fraction | random & ((1 << fraction) - 1)
            }
            None => random,
        };
        bytes.copy_from_slice(&element.to_le_bytes()[..size]);
    }
}

/// The output of a task. Each iteration reads the output of the one before: in the operand that the
/// task updates in place, or otherwise in the operand that its kernel iterates on.
fn iterated(
    task: &Task,
    (kernel, arguments): (Kernel, &Arguments),
    mut inputs: Vec<Vec<f32>>,
    team: &Team,
) -> Vec<f32> {
    let in_place = task.reads.contains(&task.output());
    let mut output = Vec::new();
    let iterated = kernel.iterated();
    for _ in 0..task.iterations {
        let length = match kernel.shape() {
            Shape::Map => inputs[iterated].len(),
            Shape::Reduction => kernel.results(arguments) as usize,
        };
        output = vec![f32::NAN; length];
        let operands: Vec<Operand<'_>> = inputs.iter().map(|x| Operand::Array(x)).collect();
        team.run(kernel, arguments, &operands, &mut output, 0);
        for (index, input) in inputs.iter_mut().enumerate() {
            let updated =
                if in_place { task.reads[index] == task.output() } else { index == iterated };
            if updated {
                input.clone_from(&output);
            }
        }
    }
    output
}
