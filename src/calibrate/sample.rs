//! One sample: how each quantity is taken.

use super::context::{MeasurementContext, Timed};
use super::error::Calibrated;
use super::probe::{Probe, Streams};
use crate::gpu::{AnyDevice, GpuResult};
use crate::samples::{LATE, Load, Quantity, SetupStep, TimedCall};
use crate::units::Span;
use std::time::Duration;

/// Whether a device has what a quantity is of: some libraries for kernels may not be there.
pub(super) fn is_supported<D: AnyDevice>(quantity: &Quantity) -> bool {
    let variant = match *quantity {
        Quantity::Kernel { variant, .. }
        | Quantity::JustCopied { variant, .. }
        | Quantity::KernelAround { variant, .. } => Some(variant),
        Quantity::Call { call } => call.of_library().map(|(variant, _)| variant),
        _ => None,
    };
    variant.is_none_or(|variant| D::supports(variant.kernel))
}

impl<D: AnyDevice> MeasurementContext<'_, D> {
    /// Whether the device can be asked for a quantity. If not, it stays unknown.
    pub fn is_allowed(&self, quantity: &Quantity) -> GpuResult<bool> {
        match quantity {
            Quantity::Call { call: TimedCall::AllocateInStream | TimedCall::FreeInStream } => {
                self.device.has_pools()
            }
            Quantity::Setup { step: SetupStep::Context } => self.device.may_have_more_contexts(),
            _ => Ok(true),
        }
    }

    /// Takes one sample: the times of `count` repetitions, one time for each of a probe's
    /// quantities.
    pub fn sample(&mut self, probe: &Probe, count: u64) -> Calibrated<Vec<Span>> {
        self.turn += 1;
        if probe.streams != Streams::Same {
            self.change_streams(probe.streams == Streams::First);
        }
        self.times(&probe.quantities, count)
    }

    /// The first quantity says what is done; the others are timed with it.
    fn times(&mut self, quantities: &[Quantity], count: u64) -> Calibrated<Vec<Span>> {
        Ok(match &quantities[0] {
            &Quantity::Call { call } => vec![self.call(call, count)?],
            Quantity::CallInTurn { .. } => self.calls_in_turn(count)?,
            Quantity::LaunchBeside { .. } => self.launches_beside(count)?.to_vec(),
            Quantity::RoundTrip { links, across, long } => {
                vec![self.round_trip(links, *across, *long)?]
            }
            Quantity::Chain { links, across } => vec![self.chain(links, *across, count)?],
            &Quantity::GraphCall { nodes, .. } => self.graph_calls(nodes)?.to_vec(),
            Quantity::GraphChain { links } => vec![self.graph_chain(links, count)?],
            &Quantity::GraphRows { kernels, waits, awaited } => {
                vec![self.graph_rows(kernels, (waits, awaited), count)?]
            }
            &Quantity::CopyBehindNode { bytes } => vec![self.copy_behind_node(bytes)?],
            &Quantity::Trip { first, size, next, in_graph: true, .. } => {
                self.trip_in_graph((first, size), next)?
            }
            &Quantity::Trip { first, size, next, .. } => {
                self.trip_by_calls((first, size), next, Duration::ZERO)?
            }
            &Quantity::LateTrip { first, size, next, .. } => {
                self.trip_by_calls((first, size), Some(next), LATE)?
            }
            &Quantity::Polled { others, copies } => vec![self.polled(others, copies, count)?],
            &Quantity::Refetched { bytes, streams, kernels } => {
                vec![self.refetched(bytes, (streams, kernels), count)?]
            }
            &Quantity::Kernel { variant, elements } => {
                vec![self.kernels(variant, elements, count)?]
            }
            &Quantity::JustCopied { variant, elements } => {
                vec![self.kernels_behind_copies(variant, elements, count)?]
            }
            &Quantity::KernelAround { variant, elements, footprint } => {
                vec![self.kernels_around((variant, elements), footprint, count)?]
            }
            &Quantity::Twin { variant, elements, footprint } => {
                vec![self.twin(variant, elements, footprint, count)]
            }
            Quantity::Handed { .. } => self.handed(count).to_vec(),
            &Quantity::Memory { work, bytes } => self.memory(work, bytes)?,
            &Quantity::MemoryBeside { work, .. } => self.memory_beside(work)?.to_vec(),
            &Quantity::Setup { step } => vec![self.setup(step, count)?],
            Quantity::On { device, of } => self.on(*device, of, count)?,
            Quantity::Crossing { .. } => vec![self.crossing()?],
            _ => self.times_of_copies(quantities, count)?,
        })
    }

    fn times_of_copies(&mut self, quantities: &[Quantity], count: u64) -> Timed<Vec<Span>> {
        Ok(match quantities[0] {
            Quantity::Copy { direction, bytes } => vec![self.copies(direction, bytes, count)?],
            Quantity::Rotation { direction, bytes, streams, in_graph } => {
                vec![self.rotation((direction, bytes), streams, in_graph, count)?]
            }
            Quantity::CopyBesideKernels { direction, bytes, .. } => {
                self.copies_beside_kernels((direction, bytes), count)?.to_vec()
            }
            Quantity::Shared { bytes, footprint, .. } => {
                self.shared_copies((bytes, footprint), count)?.to_vec()
            }
            Quantity::Staged { direction, bytes, footprint, .. } => {
                self.staged(direction, bytes, footprint)?.to_vec()
            }
            Quantity::Transfer { path, bytes } => self.transfer(path, bytes, count)?,
            Quantity::Beside { direction, bytes, load: Load::Kernel, .. } => {
                self.beside_kernels(direction, bytes, count)?.to_vec()
            }
            Quantity::Beside { direction, bytes, load: Load::Cpu, .. } => {
                self.beside_twins(direction, bytes, count)?.to_vec()
            }
            Quantity::PeerCopy { bytes, .. } => {
                let ways = quantities.iter().filter_map(|one| match *one {
                    Quantity::PeerCopy { from, to, .. } => Some([from, to]),
                    _ => None,
                });
                self.peer_copies(&ways.collect::<Vec<_>>(), bytes, count)?
            }
            Quantity::Concurrent { bytes, devices, .. } => {
                let ways = quantities.iter().filter_map(|one| match *one {
                    Quantity::Concurrent { direction, .. } => Some(direction),
                    _ => None,
                });
                self.concurrent(&ways.collect::<Vec<_>>(), bytes, devices, count)?
            }
            Quantity::Rows { path, row, rows } => vec![self.rows(path, (row, rows), count)?],
            Quantity::HostCopy { by_all, bytes, footprint, into_cache } => {
                vec![self.host_copies(by_all, (bytes, footprint, into_cache), count)]
            }
            _ => unreachable!("only tables and scenarios have the others"),
        })
    }
}
