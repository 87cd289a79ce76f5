//! The kernels' CPU twins.

use super::probes::arrays;
use super::rig::Rig;
use crate::host::Operand;
use crate::kernels::{Shape, Variant};
use crate::units::{Bytes, Span};
use std::time::Instant;

impl Rig<'_> {
    /// Time of `count` runs on all threads, each at the next place in the footprint.
    pub fn twin(&mut self, variant: Variant, elements: u64, footprint: Bytes, count: u64) -> Span {
        let bytes = Bytes::of_f32(elements);
        let arguments = variant.arguments();
        let (kernel, whole) = (variant.kernel, variant.kernel.whole_bytes(&arguments));
        let results = kernel.results(&arguments) as usize;
        let share = Bytes::new((footprint.get() - whole) / arrays(variant));
        let first = self.turn * count;
        let starts: Vec<usize> =
            (first..first + count).map(|index| self.window(share, bytes, index)).collect();
        let wholes: [Option<usize>; 3] = std::array::from_fn(|input| {
            kernel.whole(input, &arguments).map(|length| length as usize)
        });
        let [inputs @ .., out] = &mut self.pools;
        let clock = Instant::now();
        for start in starts {
            let range = start..start + bytes.as_usize() / 4;
            let operands: [Operand<'_>; 3] = std::array::from_fn(|input| {
                let range = wholes[input].map_or(range.clone(), |length| 0..length);
                Operand::Array(&inputs[input].as_slice()[range])
            });
            let output = match kernel.shape() {
                Shape::Map => &mut out.as_mut_slice()[range],
                Shape::Reduction => &mut out.as_mut_slice()[..results],
            };
            self.team.run(kernel, &arguments, &operands[..kernel.inputs()], output, 0);
        }
        clock.elapsed().into()
    }
}
