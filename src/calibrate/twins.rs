//! The kernels' CPU twins.

use super::context::MeasurementContext;
use super::probes::arrays;
use crate::host::Operand;
use crate::kernels::{Kernel, Shape, Variant};
use crate::samples::{Handing, Taker};
use crate::units::{Bytes, Span};
use std::time::Instant;

impl MeasurementContext<'_> {
    /// Time of `count` runs on all threads. Consecutive runs use consecutive windows of
    /// the footprint.
    pub fn twin(&mut self, variant: Variant, elements: u64, footprint: Bytes, count: u64) -> Span {
        let bytes = Bytes::of_f32(elements);
        let arguments = variant.arguments();
        let (kernel, whole) = (variant.kernel, variant.kernel.whole_bytes(&arguments));
        let results = kernel.results(&arguments) as usize;
        let share = Bytes::new((footprint.get() - whole) / arrays(variant));
        let first = self.turn * count;
        let starts: Vec<usize> =
            (first..first + count).map(|index| self.window(share, bytes, index)).collect();
        let wholes: [Option<usize>; Kernel::MOST_INPUTS] = std::array::from_fn(|input| {
            kernel.whole(input, &arguments).map(|length| length as usize)
        });
        let [inputs @ .., out] = &mut self.pools;
        let clock = Instant::now();
        for start in starts {
            let range = start..start + bytes.as_usize() / 4;
            let operands: [Operand<'_>; Kernel::MOST_INPUTS] = std::array::from_fn(|input| {
                let range = wholes[input].map_or(range.clone(), |length| 0..length);
                Operand::Array(&inputs[input].as_slice()[range])
            });
            let output = match kernel.shape() {
                Shape::Map => &mut out.as_mut_slice()[range],
                Shape::Reduction => &mut out.as_mut_slice()[..results],
            };
            let inputs = &operands[..kernel.inputs()];
            self.team.run_around(footprint, (kernel, &arguments), inputs, output, 0);
        }
        clock.elapsed().into()
    }

    /// Times of `count` kernels whose data other threads used before
    /// ([`Quantity::Handed`](crate::samples::Quantity::Handed)). Each taker has three
    /// times: with data of its own, with input that others wrote, and with output that
    /// others read.
    pub fn handed(&mut self, count: u64) -> [Span; Taker::ALL.len() * Handing::ALL.len()] {
        use Handing::{Nothing, Read, Written};
        use Taker::{One, Team, TeamBehindHelpers};
        // For each sequence: who runs which kernel, on which array (writing the next),
        // and which of the times that is.
        let [one, all] = [(&self.one_thread, MAP), (self.team, ARITHMETIC)];
        let sharing = (self.team, MAP);
        let threads = self.team.threads();
        let [among_few, among_all] = [One, TeamBehindHelpers].map(|t| t.elements(threads));
        let sequences = [
            (among_few, vec![(one, 0, Some((One, Nothing)))]),
            (among_few, vec![(all, 1, Some((Team, Nothing)))]),
            (among_few, vec![(one, 0, Some((One, Written))), (all, 1, Some((Team, Read)))]),
            (among_few, vec![(all, 0, Some((Team, Written))), (one, 1, Some((One, Read)))]),
            (among_all, vec![(sharing, 0, Some((TeamBehindHelpers, Nothing)))]),
            (among_all, vec![(all, 0, None), (sharing, 1, Some((TeamBehindHelpers, Read)))]),
            (among_all, vec![(sharing, 0, Some((TeamBehindHelpers, Written))), (all, 1, None)]),
        ];
        let mut times = [Span::ZERO; Taker::ALL.len() * Handing::ALL.len()];
        for (elements, sequence) in sequences {
            let elements = elements as usize;
            for turn in 0..=count {
                for &((team, variant), from, timed) in &sequence {
                    let (before, behind) = self.pools.split_at_mut(from + 1);
                    let input = [Operand::Array(&before[from].as_slice()[..elements])];
                    let output = &mut behind[0].as_mut_slice()[..elements];
                    let arguments = variant.arguments();
                    let clock = Instant::now();
                    team.run(variant.kernel, &arguments, &input, output, 0);
                    // The first turn does not count: it evicts what was in the caches
                    // before.
                    if let (Some((taker, part)), true) = (timed, turn > 0) {
                        let index = taker as usize * Handing::ALL.len() + part as usize;
                        times[index] += clock.elapsed().into();
                    }
                }
            }
        }
        times
    }
}

/// The kernel of one thread that takes over data, and of a team in which each thread
/// keeps to its own share.
const MAP: Variant = Variant { kernel: Kernel::Scale, extent: 0 };
/// The kernel of a team. It has so much arithmetic that even little data is shared out,
/// and that helping pays.
const ARITHMETIC: Variant = Variant { kernel: Kernel::Polynomial, extent: 256 };
