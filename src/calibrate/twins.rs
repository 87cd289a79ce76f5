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
        let share = Bytes::new(footprint.get() / arrays(variant));
        let first = self.turn * count;
        let starts: Vec<usize> =
            (first..first + count).map(|index| self.window(share, bytes, index)).collect();
        let arguments = variant.arguments();
        let [inputs @ .., out] = &mut self.pools;
        let clock = Instant::now();
        for start in starts {
            let range = start..start + bytes.as_usize() / 4;
            let operands = inputs.each_ref().map(|x| Operand::Array(&x.as_slice()[range.clone()]));
            let output = match variant.kernel.shape() {
                Shape::Map => &mut out.as_mut_slice()[range],
                Shape::Reduction => &mut out.as_mut_slice()[..1],
            };
            let operands = &operands[..variant.kernel.inputs()];
            self.team.run(variant.kernel, &arguments, operands, output, 0);
        }
        clock.elapsed().into()
    }
}
