//! What a program says of kernels that are not of the library.

use super::call::Call;
use super::problem::Problem;
use super::step::{OwnStep, Step};
use super::value::Program;
use crate::kernels::{CpuSide, GpuSide, OwnCost, OwnKernel};
use crate::units::Span;
use std::collections::BTreeSet;

impl Program {
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

    /// The kernels that it launches whose time on the GPU is stated and whose `grid` is not. They
    /// are taken to fill the GPU, so that nothing runs beside them.
    pub fn kernels_without_grid(&self) -> BTreeSet<&str> {
        let launched = self.body.iter().filter(|call| call.is_launch());
        let steps = launched.filter_map(|call| call.step()?.own_step());
        let kernels =
            steps.filter(|step| step.geometry.is_none()).map(|step| self.own_kernel(step));
        let stated = kernels.filter(|kernel| matches!(kernel.gpu, GpuSide::Cost(_)));
        stated.map(|kernel| kernel.name.as_str()).collect()
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
        self.calls().filter_map(|call| Some((call.step()?.own_step()?, call.is_compute())))
    }

    /// Whether the time of what a call does was stated, not measured or predicted from what was.
    pub fn is_stated(&self, call: &Call) -> bool {
        call.stated_time().is_some() || self.stated_cost(call).is_some()
    }

    /// The time that a stand-in takes in the place of a step of which only the time was stated:
    /// either the one kernel's on the GPU, or what the CPU takes for it.
    pub fn stand_in_time(&self, step: &OwnStep, on_cpu: bool) -> Option<Span> {
        let kernel = self.own_kernel(step);
        let ((false, GpuSide::Cost(cost), _) | (true, _, CpuSide::Cost(cost))) =
            (on_cpu, &kernel.gpu, &kernel.cpu)
        else {
            return None;
        };
        Some(Span::from_nanos(cost.stated(step.elements)?.round() as u64))
    }

    /// The kernels in whose place stand-ins run, by their names.
    pub fn stood_in_for(&self) -> BTreeSet<&str> {
        let steps = self.own_steps();
        let stood_in = steps.filter(|&(step, on_cpu)| self.stand_in_time(step, on_cpu).is_some());
        stood_in.map(|(step, _)| self.own_kernel(step).name.as_str()).collect()
    }

    /// The kernels whose stated times have no range, by their names: what a prediction says of them
    /// is as good as what was stated.
    pub fn stated_without_range(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for call in self.calls() {
            let name = self.kernel_of(call).unwrap_or_default();
            let cost = self.stated_cost(call);
            if cost.is_some_and(|cost| cost.range().is_none()) && !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// What was stated of the kernel of a call, on the side where the call runs it.
    fn stated_cost(&self, call: &Call) -> Option<&OwnCost> {
        let kernel = self.own_kernel(call.step()?.own_step()?);
        let ((false, GpuSide::Cost(cost), _) | (true, _, CpuSide::Cost(cost))) =
            (call.is_compute(), &kernel.gpu, &kernel.cpu)
        else {
            return None;
        };
        // A roofline holds what was stated against what was measured.
        matches!(cost, OwnCost::Points(_) | OwnCost::Stated { .. }).then_some(cost)
    }
}
