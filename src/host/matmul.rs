//! Products of matrices.

use super::team::{Cost, Team};
use gemm_common::Parallelism;

impl Team {
    /// `output = x y`, row by row: `y` has `inner` rows and columns, the others
    /// have `inner` columns.
    pub(super) fn matmul(
        &self,
        cost: Cost,
        (x, y): (&[f32], &[f32]),
        output: &mut [f32],
        inner: usize,
    ) {
        assert_eq!((x.len(), y.len()), (output.len(), inner * inner), "matrices that do not fit");
        let (rows, inner_stride) = (x.len() / inner, inner as isize);
        let shared = self.shares(cost, x.len());
        let parallelism =
            if shared { Parallelism::Rayon(self.threads()) } else { Parallelism::None };
        // The crate wants its output by columns: a row-major product is the
        // column-major product of the factors in the other order.
        let mut multiply = || {
            let (output, y, x) = (output.as_mut_ptr(), y.as_ptr(), x.as_ptr());
            // SAFETY: the lengths were checked, and the slices are borrowed throughout.
            unsafe {
                gemm_f32::gemm::f32::get_gemm_fn()(
                    inner,
                    rows,
                    inner,
                    output,
                    inner_stride,
                    1,
                    false,
                    y,
                    inner_stride,
                    1,
                    x,
                    inner_stride,
                    1,
                    0.0,
                    1.0,
                    false,
                    false,
                    false,
                    parallelism,
                );
            }
        };
        if shared { self.install(multiply) } else { multiply() }
    }
}
