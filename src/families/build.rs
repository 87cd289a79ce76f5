//! The families: strategies that turn a workload into a program.

use super::builder::Builder;
use super::by_chunk::by_chunk;
use super::by_engine::by_engine;
use super::cpu::cpu;
use super::dealt::ONE_GPU;
use super::round_trip::round_trip;
use super::strategy::{Each, Family, Issue, Strategy};
use crate::machine::{Capacities, HostMemory};
use crate::program::{Program, Whose, captured, check_fits, check_hazards};
use crate::scenario::{Home, Workload};

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
/// If the strategy does not fit the workload (it cannot be cut, say) or the
/// plan does not fit the workload's limits.
pub fn build(workload: &Workload, strategy: Strategy) -> Result<Program, Refusal> {
    let refuse = |reason| Refusal { strategy, reason, is_too_large: false };
    check_memory_kind(workload, strategy).map_err(refuse)?;
    let builder = Builder::new(workload, strategy);
    let mut program = match strategy.family {
        Family::Cpu => cpu(builder),
        Family::RoundTrip => round_trip(builder),
        Family::Resident => by_chunk(builder, (1, ONE_GPU), 1, Issue::DepthFirst),
        Family::ByChunk { chunks, streams, issue } => {
            by_chunk(builder, (chunks, ONE_GPU), streams, issue)
        }
        Family::ByEngine { chunks } => by_engine(builder, (chunks, ONE_GPU), None),
        Family::Buffered { chunks, ring } => by_engine(builder, (chunks, ONE_GPU), Some(ring)),
        Family::MultiGpu { chunks, devices, each, spread } => {
            let over = (chunks, (devices, spread));
            check_dealing(workload, chunks, devices).and_then(|()| match each {
                Each::ByChunk { streams } => {
                    by_chunk(builder, over, streams * devices, Issue::DepthFirst)
                }
                Each::ByEngine => by_engine(builder, over, None),
            })
        }
    }
    .and_then(|plan| if strategy.graph { captured(plan) } else { Ok(plan) })
    .map_err(refuse)?;
    let limits = Capacities::from(&workload.limits);
    check_fits(&program, limits, Whose::Scenario)
        .map_err(|error| Refusal { is_too_large: true, ..refuse(error.to_string()) })?;
    check_hazards(&program).map_err(|hazard| refuse(hazard.to_string()))?;
    program.label = strategy.name_of(&program);
    Ok(program)
}

/// Checks that all GPUs get equally many chunks of each batch, or whole batches.
fn check_dealing(workload: &Workload, chunks: u64, devices: usize) -> Result<(), String> {
    let stays = workload.buffers.iter().find(|buffer| buffer.home == Home::Device);
    if let Some(buffer) = stays {
        return Err(format!("`{}` stays on one GPU", buffer.name));
    }
    if chunks > 1 && !chunks.is_multiple_of(devices as u64) {
        return Err(format!("{chunks} chunks cannot be shared out evenly to {devices} GPUs"));
    }
    if chunks * workload.batches < devices as u64 {
        return Err(format!("{devices} GPUs for fewer chunks"));
    }
    Ok(())
}

fn check_memory_kind(workload: &Workload, strategy: Strategy) -> Result<(), String> {
    if strategy.family == Family::Cpu {
        return Ok(());
    }
    for buffer in &workload.buffers {
        match (buffer.home, strategy.memory) {
            (Home::Host(HostMemory::Pinned), HostMemory::Pageable) => {
                return Err(format!("`{}` is pinned already", buffer.name));
            }
            (Home::Host(home), HostMemory::Pinned)
                if buffer.fresh
                    && (home == HostMemory::Pinned || strategy.family == Family::RoundTrip) =>
            {
                return Err(format!("fresh `{}` would be pinned anew in every run", buffer.name));
            }
            _ => {}
        }
    }
    Ok(())
}
