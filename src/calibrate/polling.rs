//! What a stream pays while other streams wait.

use super::context::{MeasurementContext, Timed};
use super::probe::{Counts, Probe};
use super::sizes::MOST_STREAMS;
use crate::gpu::{AnyDevice, AnyStream};
use crate::machine::{Direction, OperationKind};
use crate::samples::{MEANWHILE, Quantity};
use crate::units::Bytes;

pub(super) fn probes() -> Vec<Probe> {
    let with = |copies| POLLING_STREAMS.map(|others| polled(others, copies));
    MEANWHILE.into_iter().flat_map(with).collect()
}

fn polled(others: usize, copies: [bool; 2]) -> Probe {
    let what = Quantity::Polled { others, copies };
    // Each of these is a mean over some forty kernels.
    Probe::new(what, Counts::Both(8, 40)).limit(0.5, 5)
}

/// How many streams wait while another one runs kernels. The largest number leaves that one and two
/// for copies.
const POLLING_STREAMS: [usize; 4] = [1, 2, 3, MOST_STREAMS - 3];

/// A copy that outlasts a chain of kernels.
const LONG_COPIES: Bytes = Bytes::mib(32);

impl<D: AnyDevice> MeasurementContext<'_, D> {
    /// Device time of `count` kernels in the first stream. Meanwhile `others` streams
    /// wait for their end, to run one kernel each. `copies` says whether long copies to
    /// the device, and from it, are under way.
    pub fn polled(&mut self, others: usize, copies: [bool; 2], count: u64) -> Timed {
        let piece = self.piece(false)?;
        let time = self.held(|context| {
            let [start, end] = [&context.ordering[0], &context.ordering[1]];
            context.streams[0].record(start)?;
            for direction in Direction::BOTH.into_iter().filter(|&way| copies[way as usize]) {
                let stream = &context.streams[context.streams.len() - 1 - direction as usize];
                stream.wait(start)?;
                context.copy_turn(stream, direction, LONG_COPIES, 0)?;
            }
            (0..count).try_for_each(|_| {
                context.issue(&context.streams[0], OperationKind::Kernel, &piece)
            })?;
            context.streams[0].record(end)?;
            context.streams[1..=others].iter().try_for_each(|stream| {
                stream.wait(end)?;
                context.issue(stream, OperationKind::Kernel, &piece)
            })
        })?;
        self.streams.iter().try_for_each(|stream| stream.synchronize())?;
        Ok(time)
    }
}
