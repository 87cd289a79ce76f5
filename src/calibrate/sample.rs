//! One sample: how each quantity is taken.

use super::context::MeasurementContext;
use super::error::CalibrateError;
use super::probe::{Probe, Streams};
use crate::gpu::{AnyDevice, GpuError};
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
    pub fn is_allowed(&self, quantity: &Quantity) -> Result<bool, GpuError> {
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
    pub fn sample(&mut self, probe: &Probe, count: u64) -> Result<Vec<Span>, CalibrateError> {
        self.turn += 1;
        if probe.streams != Streams::Same {
            self.change_streams(probe.streams == Streams::First);
        }
        self.times(&probe.quantities, count)
    }

    /// The first quantity says what is done; the others are timed with it.
    fn times(&mut self, quantities: &[Quantity], count: u64) -> Result<Vec<Span>, CalibrateError> {
        let time = match &quantities[0] {
            &Quantity::Call { call } => self.call(call, count)?,
            Quantity::CallInTurn { .. } => return Ok(self.calls_in_turn(count)?),
            Quantity::LaunchBeside { .. } => return Ok(self.launches_beside(count)?.to_vec()),
            Quantity::RoundTrip { links, across, long } => {
                self.round_trip(links, *across, *long)?
            }
            Quantity::Chain { links, across } => self.chain(links, *across, count)?,
            &Quantity::GraphCall { nodes, .. } => return Ok(self.graph_calls(nodes)?.to_vec()),
            Quantity::GraphChain { links } => self.graph_chain(links, count)?,
            &Quantity::GraphRows { kernels, waits, awaited } => {
                self.graph_rows(kernels, (waits, awaited), count)?
            }
            &Quantity::Rotation { direction, bytes, streams, in_graph } => {
                self.rotation((direction, bytes), streams, in_graph, count)?
            }
            &Quantity::Polled { others, copies } => self.polled(others, copies, count)?,
            &Quantity::Refetched { bytes, streams, kernels } => {
                self.refetched(bytes, (streams, kernels), count)?
            }
            &Quantity::Copy { direction, bytes } => self.copies(direction, bytes, count)?,
            &Quantity::CopyBesideKernels { direction, bytes, .. } => {
                return Ok(self.copies_beside_kernels((direction, bytes), count)?.to_vec());
            }
            &Quantity::Shared { bytes, footprint, .. } => {
                return Ok(self.shared_copies((bytes, footprint), count)?.to_vec());
            }
            &Quantity::Staged { direction, bytes, footprint, .. } => {
                return Ok(self.staged(direction, bytes, footprint)?.to_vec());
            }
            &Quantity::Kernel { variant, elements } => self.kernels(variant, elements, count)?,
            &Quantity::JustCopied { variant, elements } => {
                self.kernels_behind_copies(variant, elements, count)?
            }
            &Quantity::KernelAround { variant, elements, footprint } => {
                self.kernels_around((variant, elements), footprint, count)?
            }
            &Quantity::Twin { variant, elements, footprint } => {
                self.twin(variant, elements, footprint, count)
            }
            Quantity::Handed { .. } => return Ok(self.handed(count).to_vec()),
            &Quantity::Memory { work, bytes } => return self.memory(work, bytes),
            _ => return self.times_of_others(quantities, count),
        };
        Ok(vec![time])
    }

    fn times_of_others(
        &mut self,
        quantities: &[Quantity],
        count: u64,
    ) -> Result<Vec<Span>, CalibrateError> {
        let time = match &quantities[0] {
            &Quantity::Trip { first, size, next, in_graph: true, .. } => {
                return Ok(self.trip_in_graph((first, size), next)?);
            }
            &Quantity::Trip { first, size, next, .. } => {
                return Ok(self.trip_by_calls((first, size), next, Duration::ZERO)?);
            }
            &Quantity::LateTrip { first, size, next, .. } => {
                return Ok(self.trip_by_calls((first, size), Some(next), LATE)?);
            }
            &Quantity::Transfer { path, bytes } => return Ok(self.transfer(path, bytes, count)?),
            &Quantity::Beside { direction, bytes, load: Load::Kernel, .. } => {
                return Ok(self.beside_kernels(direction, bytes, count)?.to_vec());
            }
            &Quantity::Beside { direction, bytes, load: Load::Cpu, .. } => {
                return Ok(self.beside_twins(direction, bytes, count)?.to_vec());
            }
            &Quantity::Setup { step } => self.setup(step, count)?,
            &Quantity::PeerCopy { bytes, .. } => {
                let ways = quantities.iter().filter_map(|one| match *one {
                    Quantity::PeerCopy { from, to, .. } => Some([from, to]),
                    _ => None,
                });
                return Ok(self.peer_copies(&ways.collect::<Vec<_>>(), bytes, count)?);
            }
            &Quantity::Concurrent { bytes, devices, .. } => {
                let ways = quantities.iter().filter_map(|one| match *one {
                    Quantity::Concurrent { direction, .. } => Some(direction),
                    _ => None,
                });
                return Ok(self.concurrent(&ways.collect::<Vec<_>>(), bytes, devices, count)?);
            }
            Quantity::On { device, of } => return Ok(self.on(*device, of, count)?),
            Quantity::Crossing { .. } => self.crossing()?,
            &Quantity::Rows { path, row, rows } => self.rows(path, (row, rows), count)?,
            &Quantity::HostCopy { by_all, bytes, footprint, into_cache } => {
                self.host_copies(by_all, (bytes, footprint, into_cache), count)
            }
            &Quantity::MemoryBeside { work, .. } => return Ok(self.memory_beside(work)?.to_vec()),
            _ => unreachable!("only tables and scenarios have the others"),
        };
        Ok(vec![time])
    }
}
