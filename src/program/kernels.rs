//! What a program says of kernels that are not of the library.

use super::call::Call;
use super::own_step::OwnStep;
use super::problem::Problem;
use super::step::Step;
use super::value::Program;
use crate::kernels::{OwnCost, OwnKernel};
use std::collections::BTreeSet;

impl Program {
    /// What a step of a kernel that is not of the library names that there is not.
    pub(super) fn no_own_step(&self, step: &OwnStep) -> Option<String> {
        let Some(kernel) = self.kernels.get(step.kernel) else {
            return Some(format!(
                "kernel {}, but the {} kernels are numbered from 0",
                step.kernel,
                self.kernels.len()
            ));
        };
        let bytes = step.slices().find_map(|slice| self.no_bytes(slice));
        bytes.or_else(|| step.problem(kernel))
    }

    /// What is wrong with the table of kernels.
    pub(super) fn wrong_kernels(&self) -> Option<Problem> {
        let mut names = BTreeSet::new();
        let twice = self.kernels.iter().find(|kernel| !names.insert(&kernel.name));
        if let Some(kernel) = twice {
            return Some(format!("kernels: two have the name `{}`", kernel.name).into());
        }
        let costs = |kernel: &OwnKernel| kernel.costs().find_map(OwnCost::problem);
        let wrong = self.kernels.iter().find_map(|kernel| Some((&kernel.name, costs(kernel)?)));
        wrong.map(|(name, problem)| format!("kernels: `{name}` has {problem}").into())
    }

    /// The kernel of a step that is not of the library.
    pub fn own_kernel(&self, step: &OwnStep) -> &OwnKernel {
        &self.kernels[step.kernel]
    }

    /// The name of the kernel that a call launches or computes.
    pub fn kernel_of(&self, call: &Call) -> Option<&str> {
        Some(match call.step()? {
            Step::Library(step) => step.kernel.name(),
            Step::Own(step) => &self.own_kernel(step).name,
        })
    }

    /// Steps of kernels that are not of the library, each with whether the CPU computes it.
    pub fn own_steps(&self) -> impl Iterator<Item = (&OwnStep, bool)> {
        self.calls().filter_map(|call| Some((call.step()?.own()?, call.is_compute())))
    }
}
