//! The kernels' CPU twins.

use super::rig::{POOL, Rig};
use crate::host::Operand;
use crate::kernels::{Shape, Variant};
use crate::units::{Bytes, Span};
use std::time::Instant;

impl Rig<'_> {
    /// Time of one run on all threads. A cold run uses other memory each time.
    pub fn twin(&mut self, variant: Variant, elements: u64, cold: bool) -> Span {
        let bytes = Bytes::of_f32(elements);
        let start = self.window(POOL, bytes, if cold { self.turn } else { 0 });
        let range = start..start + bytes.as_usize() / 4;
        let [x, y, out] = &mut self.pools;
        let inputs = [
            Operand::Array(&x.as_slice()[range.clone()]),
            Operand::Array(&y.as_slice()[range.clone()]),
        ];
        let output = match variant.kernel.shape() {
            Shape::Map => &mut out.as_mut_slice()[range],
            Shape::Reduction => &mut out.as_mut_slice()[..1],
        };
        let inputs = &inputs[..variant.kernel.inputs()];
        let arguments = variant.arguments();
        let clock = Instant::now();
        self.team.run(variant.kernel, &arguments, inputs, output, 0);
        clock.elapsed().into()
    }
}
