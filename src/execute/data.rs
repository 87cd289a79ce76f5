//! What a workload's buffers hold before a plan, and must hold after it.

use crate::host::{Operand, Team};
use crate::kernels::Shape;
use crate::program::BufferId;
use crate::runs::TOLERANCE;
use crate::scenario::{Buffer, Task, Workload};
use rayon::prelude::*;

/// The contents of every buffer. A buffer's batches lie one behind the other.
#[derive(Debug, Clone)]
pub struct Contents {
    buffers: Vec<Vec<f32>>,
}

/// An output that differs from what the CPU twins compute.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error(
    "`{buffer}` is wrong at element {element}: it is {found}, but the CPU twin computes \
     {expected}; this is a bug in hallway or a fault of the device"
)]
pub struct Mismatch {
    pub buffer: String,
    pub element: usize,
    pub found: f32,
    pub expected: f32,
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
            let mut values = vec![f32::NAN; (buffer.elements * workload.batches) as usize];
            if is_random(BufferId(index)) {
                team.fill_random(&mut values, seed + index as u64);
            }
            values
        };
        Self { buffers: workload.buffers.iter().enumerate().map(contents).collect() }
    }

    /// Puts other values into a buffer.
    pub(super) fn set(&mut self, id: BufferId, values: Vec<f32>) {
        self.buffers[id.0] = values;
    }

    /// What the buffers hold after the workload. Every task is computed on the whole of
    /// every batch, without a plan.
    #[must_use]
    pub fn computed(&self, workload: &Workload, team: &Team) -> Self {
        let mut after = self.clone();
        for task in &workload.tasks {
            for batch in 0..workload.batches as usize {
                let inputs = task.reads.iter().map(|&id| after.batch(workload, id, batch).to_vec());
                let output = iterated(task, inputs.collect(), team);
                after.batch_mut(workload, task.writes, batch).copy_from_slice(&output);
            }
        }
        after
    }

    /// The contents of one buffer, all batches.
    pub fn of(&self, id: BufferId) -> &[f32] {
        &self.buffers[id.0]
    }

    fn batch(&self, workload: &Workload, id: BufferId, batch: usize) -> &[f32] {
        let length = workload.buffer(id).elements as usize;
        &self.buffers[id.0][batch * length..(batch + 1) * length]
    }

    fn batch_mut(&mut self, workload: &Workload, id: BufferId, batch: usize) -> &mut [f32] {
        let length = workload.buffer(id).elements as usize;
        &mut self.buffers[id.0][batch * length..(batch + 1) * length]
    }

    /// Compares one output with what it must be. Returns the largest deviation, relative
    /// to the output's largest value.
    ///
    /// # Errors
    /// The first element that deviates by more than rounding can explain.
    pub fn check(&self, workload: &Workload, id: BufferId, found: &[f32]) -> Result<f64, Mismatch> {
        let expected = self.of(id);
        let finite = expected.par_iter().map(|value| value.abs()).filter(|value| value.is_finite());
        let largest = finite.reduce(|| f32::MIN_POSITIVE, f32::max);
        // The difference of equal infinities would be NaN.
        let deviation = |(&found, &expected): (&f32, &f32)| {
            if found == expected { 0.0 } else { (found - expected).abs() / largest }
        };
        let pairs = || found.par_iter().zip(expected);
        let is_wrong = |pair| {
            let deviation = deviation(pair);
            deviation > TOLERANCE || deviation.is_nan()
        };
        if let Some(element) = pairs().position_first(is_wrong) {
            let buffer = workload.buffer(id).name.clone();
            let (found, expected) = (found[element], expected[element]);
            return Err(Mismatch { buffer, element, found, expected });
        }
        Ok(f64::from(pairs().map(deviation).reduce(|| 0.0, f32::max)))
    }
}

/// The output of a task. Each iteration reads the output of the one before: in the
/// operand that the task updates in place, or otherwise in the operand that its kernel
/// iterates on.
fn iterated(task: &Task, mut inputs: Vec<Vec<f32>>, team: &Team) -> Vec<f32> {
    let in_place = task.reads.contains(&task.writes);
    let mut output = Vec::new();
    let iterated = task.kernel.iterated();
    for _ in 0..task.iterations {
        let length = match task.kernel.shape() {
            Shape::Map => inputs[iterated].len(),
            Shape::Reduction => task.kernel.results(&task.arguments) as usize,
        };
        output = vec![f32::NAN; length];
        let operands: Vec<Operand<'_>> = inputs.iter().map(|x| Operand::Array(x)).collect();
        team.run(task.kernel, &task.arguments, &operands, &mut output, 0);
        for (index, input) in inputs.iter_mut().enumerate() {
            let updated =
                if in_place { task.reads[index] == task.writes } else { index == iterated };
            if updated {
                input.clone_from(&output);
            }
        }
    }
    output
}
