//! A plan that no machine could run, or not this one.

use crate::families::{Refusal, Strategy};

/// A plan that cannot be made, or does not fit the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Its name.
    pub plan: String,
    /// None of a program that the scenario spells out.
    pub strategy: Option<Strategy>,
    pub on_cpu: bool,
    pub reason: String,
    /// Whether memory is too small for it: a smaller workload may have such a plan.
    pub is_too_large: bool,
}

impl From<Refusal> for Refused {
    fn from(Refusal { strategy, reason, is_too_large }: Refusal) -> Self {
        let (plan, on_cpu) = (strategy.to_string(), strategy.is_on_cpu());
        Self { plan, strategy: Some(strategy), on_cpu, reason, is_too_large }
    }
}
