//! From a strategy and a workload to a program.

use super::builder::{Builder, refuse_fresh};
use super::crossing::refuse_rows;
use super::strategy::Strategy;
use crate::machine::{Capacities, HostMemory};
use crate::program::{BufferId, DoesNotFit, Program, Whose, captured, check_fits, check_hazards};
use crate::scenario::{Buffer, Home, PlanMemory, Workload};

/// Why a strategy has no plan for a workload.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{strategy}: {reason}")]
pub struct Refusal {
    pub strategy: Strategy,
    pub reason: String,
    /// Whether memory is too small for it: a smaller workload may have such a plan.
    pub is_too_large: bool,
}

/// Builds the program of a strategy.
///
/// # Errors
/// If the strategy does not fit the workload (it cannot be cut, say) or the program does not fit
/// the workload's limits.
pub fn build(workload: &Workload, strategy: Strategy) -> Result<Program, Refusal> {
    let program = draft(workload, strategy)?;
    accepted(workload, strategy, program)
}

/// Builds the program of a strategy like [`build`], but without a name and without looking for
/// races. That is for searches, which ask thousands of programs for their time and keep a few.
///
/// # Errors
/// As [`build`].
pub(crate) fn draft(workload: &Workload, strategy: Strategy) -> Result<Program, Refusal> {
    let refuse = |reason| Refusal { strategy, reason, is_too_large: false };
    check_memory_kind(workload, strategy).map_err(refuse)?;
    let own = if strategy.is_on_cpu() { workload.on_own_cpu() } else { None };
    let builder = Builder::new(own.as_ref().unwrap_or(workload), strategy);
    let program = strategy.family.build(builder);
    let program = program.and_then(|one| if strategy.graph { captured(one) } else { Ok(one) });
    let program = program.map_err(refuse)?;
    check_limits(workload, strategy, &program)?;
    Ok(program)
}

fn check_limits(workload: &Workload, strategy: Strategy, program: &Program) -> Result<(), Refusal> {
    let refuse = |error: DoesNotFit| {
        let reason = error.to_string();
        Refusal { strategy, reason, is_too_large: true }
    };
    check_fits(program, Capacities::from(&workload.limits), Whose::Scenario).map_err(refuse)
}

/// Names a program after the strategy that it follows, if it fits the workload's limits and has no
/// race.
pub(crate) fn accepted(
    workload: &Workload,
    strategy: Strategy,
    mut program: Program,
) -> Result<Program, Refusal> {
    let refuse = |reason| Refusal { strategy, reason, is_too_large: false };
    check_limits(workload, strategy, &program)?;
    check_hazards(&program).map_err(|hazard| refuse(hazard.to_string()))?;
    program.label = strategy.name_of(&program);
    Ok(program)
}

/// Whether a strategy's kind of host memory is one that the workload's buffers can be in.
///
/// # Errors
/// Why it is not.
pub(crate) fn check_memory_kind(workload: &Workload, strategy: Strategy) -> Result<(), String> {
    if strategy.is_on_cpu() {
        return Ok(());
    }
    let pageable = |id: BufferId| {
        let buffer = workload.buffer(id);
        buffer.home == Home::Host(HostMemory::Pageable) && !buffer.fresh
    };
    if strategy.each_pass && !workload.buffer_ids().any(pageable) {
        return Err("there is no buffer to pin in each run".to_owned());
    }
    let combined = |id| pageable(id) && strategy.held(workload, id) == HostMemory::WriteCombined;
    if strategy.memory == HostMemory::WriteCombined && !workload.buffer_ids().any(combined) {
        return Err("no pageable buffer is read-only".to_owned());
    }
    if strategy.own_memory() == HostMemory::Pinned {
        // Results for new pages land elsewhere, and the CPU copies them home.
        refuse_rows(workload, |buffer| buffer.fresh)?;
        let pinned = Home::Host(HostMemory::Pinned);
        return refuse_fresh(workload, |id| workload.buffer(id).home == pinned);
    }
    // Who asks for pageable memory gets no other. What the scenario has pinned stays so.
    if workload.plans.holds(PlanMemory::Pageable) {
        return Ok(());
    }
    let is_pinned =
        |buffer: &&Buffer| matches!(buffer.home, Home::Host(memory) if memory.is_pinned());
    let pinned = workload.buffers.iter().find(is_pinned);
    pinned.map_or(Ok(()), |buffer| Err(format!("`{}` is already pinned", buffer.name)))
}
