//! Calls whose time the user states: nobody has measured it.

use super::{Call, Program};
use crate::kernels::{CpuSide, GpuSide, OwnCost};

impl Program {
    /// Whether the time of what a call does was stated, not measured or predicted from what was.
    pub fn is_stated(&self, call: &Call) -> bool {
        call.stated_time().is_some() || self.stated_cost(call).is_some()
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
        let kernel = self.own_kernel(call.step()?.own()?);
        let ((false, GpuSide::Cost(cost), _) | (true, _, CpuSide::Cost(cost))) =
            (call.is_compute(), &kernel.gpu, &kernel.cpu)
        else {
            return None;
        };
        // A roofline holds what was stated against what was measured.
        matches!(cost, OwnCost::Points(_) | OwnCost::Stated { .. }).then_some(cost)
    }
}
