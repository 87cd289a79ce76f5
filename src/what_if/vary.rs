//! Making the changed machine and the changed workload: its memory, and what launches and set-up
//! cost, are changed here.

use super::change::{Change, Knob, SetupPrice, Variation, Varied};
use super::{TAKEN_FOR_GRANTED, gpus, kernels, links, threads, with_gpu};
use crate::machine::{HostMemory, PcieLink};
use crate::profile::Profile;
use crate::samples::Provenance;
use crate::scenario::{Home, PlanMemory, Workload};
use crate::units::Bytes;

/// Changes a machine and a workload. The order of the changes does not matter.
///
/// # Errors
/// If the profile does not know what a change scales, or the workload does not have it: what is
/// missing and what to do about it, in words.
pub fn vary(
    profile: &Profile,
    workload: &Workload,
    variation: &Variation,
) -> Result<Varied, String> {
    let (profile, workload) = (profile.clone(), workload.clone());
    let mut varied = Varied { profile, workload, assumptions: Vec::new() };
    // Other changes are of the GPU that is there then.
    let gpu = variation.changes.iter().find_map(|change| match change {
        Change::Gpu(gpu) => Some(*gpu),
        _ => None,
    });
    if let Some(gpu) = gpu {
        varied.profile = with_gpu(&varied.profile, gpu)?;
        varied.assume(TAKEN_FOR_GRANTED);
    }
    let machine = varied.profile.machine.clone();
    // How many times as much as today each direction of the link carries.
    let mut capacities = [1.0; 2];
    let mut devices = None;
    for change in &variation.changes {
        match change {
            Change::Gpu(_) => {}
            Change::Gpus(count) => devices = Some(*count),
            Change::Memory(kind) => set_memory(&mut varied, *kind)?,
            Change::Process(state) => {
                let process = &mut varied.workload.process;
                *process = std::mem::take(process).in_state(*state);
            }
            Change::Times(..) | Change::Count(..) | Change::Link(_) => {
                match scaling(change, &machine)? {
                    // A factor of one says so itself.
                    Some((_, 1.0)) if matches!(change, Change::Times(..)) => {}
                    Some((knob, 1.0)) => {
                        varied.assume(&format!("`{variation}` leaves `{knob}` unchanged."));
                    }
                    Some((knob, factor)) => scale(&mut varied, &mut capacities, (&knob, factor))?,
                    None => {}
                }
            }
        }
    }
    links::scale(&mut varied, capacities)?;
    // Further GPUs have links as they are by then.
    if let Some(count) = devices {
        gpus::set(&mut varied, count)?;
    }
    Ok(varied)
}

/// What a change scales and by how much, if it scales something.
///
/// # Errors
/// If what it is of now is not known.
pub(super) fn scaling(
    change: &Change,
    machine: &Provenance,
) -> Result<Option<(Knob, f64)>, String> {
    Ok(match change {
        Change::Times(knob, factor) => Some((knob.clone(), *factor)),
        Change::Count(knob, count) => {
            let now = match knob {
                Knob::Threads => machine.cpu_threads,
                _ => machine.multiprocessors as usize,
            };
            if now == 0 {
                return Err(format!("the profile lacks the machine's number of {knob}"));
            }
            Some((knob.clone(), *count as f64 / now as f64))
        }
        Change::Link(link) => {
            let now = PcieLink::noted(&machine.link).ok_or_else(|| {
                format!(
                    "the profile does not name the machine's link (it has \"{}\"): use a \
                     factor, such as link=0.5x",
                    machine.link
                )
            })?;
            Some((Knob::Link, link.on_paper() / now.on_paper()))
        }
        Change::Memory(_) | Change::Gpu(_) | Change::Gpus(_) | Change::Process(_) => None,
    })
}

fn scale(
    varied: &mut Varied,
    capacities: &mut [f64; 2],
    (knob, factor): (&Knob, f64),
) -> Result<(), String> {
    match knob {
        Knob::Link => capacities.iter_mut().for_each(|capacity| *capacity *= factor),
        Knob::CopyIn => capacities[0] *= factor,
        Knob::CopyOut => capacities[1] *= factor,
        Knob::Kernels => kernels::scale(varied, None, factor)?,
        Knob::Kernel(name) => kernels::scale(varied, Some(name), factor)?,
        Knob::Multiprocessors => kernels::scale_multiprocessors(varied, factor),
        Knob::Threads => threads::scale(varied, factor)?,
        // What a launch costs the host, wherever it is made.
        Knob::Launch => {
            scale_prices(&mut varied.profile, factor, |key| key.starts_with("calls.launch"));
        }
        // Also where a program pays it in a pass.
        Knob::Setup(price) => scale_prices(&mut varied.profile, factor, |key| {
            paid_for(key).is_some_and(|of| *price == SetupPrice::All || *price == of)
        }),
    }
    Ok(())
}

/// Puts the host buffers into pinned memory from the start, so that no plan has to pin them, or
/// into pageable memory that no plan may pin.
fn set_memory(varied: &mut Varied, kind: HostMemory) -> Result<(), String> {
    if varied.workload.tasks.is_empty() {
        return set_memory_of_programs(varied, kind);
    }
    let workload = &mut varied.workload;
    for buffer in &mut workload.buffers {
        if let Home::Host(_) = buffer.home {
            buffer.home = Home::Host(kind);
        }
    }
    workload.plans.memory = Vec::new();
    if kind == HostMemory::Pageable {
        workload.plans.memory.push(PlanMemory::Pageable);
        workload.limits.pinned_memory = Some(Bytes::ZERO);
    }
    Ok(())
}

/// Makes the pageable memory of spelled programs pinned, or the other way round. Memory that a
/// call pins, and memory that a kernel uses from the host, stays as it is.
fn set_memory_of_programs(varied: &mut Varied, kind: HostMemory) -> Result<(), String> {
    let other = match kind {
        HostMemory::Pinned => HostMemory::Pageable,
        _ => HostMemory::Pinned,
    };
    let mut changed = false;
    for program in &mut varied.workload.programs {
        let moved = program.movable_host_memory(other);
        program.move_host_memory(&moved, kind);
        changed |= !moved.is_empty();
    }
    if !changed {
        return Err(format!("the programs have no {other} memory that could be {kind}"));
    }
    if kind == HostMemory::Pinned {
        varied.assume(
            "Copies of pinned memory do not block the host: a program that relied on them to \
             block needs an explicit wait.",
        );
    }
    Ok(())
}

fn scale_prices(profile: &mut Profile, factor: f64, is_meant: impl Fn(&str) -> bool) {
    let prices = profile.prices_mut().into_iter();
    prices.filter(|price| is_meant(&price.key.dotted())).for_each(|mut price| price.scale(factor));
}

/// Which part of set-up a price is paid for.
fn paid_for(key: &str) -> Option<SetupPrice> {
    Some(match key {
        "memory.register"
        | "memory.unregister"
        | "memory.pinned_allocate"
        | "memory.pinned_free" => SetupPrice::Pin,
        "memory.device_allocate" | "memory.device_free" => SetupPrice::Allocate,
        "setup.stream" => SetupPrice::Streams,
        "setup.event" => SetupPrice::Events,
        "setup.context" | "setup.new_context" => SetupPrice::Context,
        "graph.capture.per_graph"
        | "graph.capture.per_node"
        | "graph.instantiate.per_graph"
        | "graph.instantiate.per_node" => SetupPrice::Graphs,
        _ if key.starts_with("setup.") => SetupPrice::Module,
        _ => return None,
    })
}
