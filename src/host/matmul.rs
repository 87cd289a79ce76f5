//! Products of matrices.

use super::team::Team;
use crate::kernels::Effort;
use gemm_common::Parallelism;
use std::ops::Range;

/// A row-major product whose factors were checked.
#[derive(Clone, Copy)]
struct Product {
    x: *const f32,
    y: *const f32,
    output: *mut f32,
    inner: usize,
}

// SAFETY: only a description; whoever computes blocks of it on several threads sees
// to it that they do not overlap.
unsafe impl Sync for Product {}

impl Product {
    /// The output's block of these rows and columns, on this thread.
    ///
    /// # Safety
    /// The rows and columns must be there.
    unsafe fn block(&self, rows: Range<usize>, columns: Range<usize>) {
        let (inner, stride) = (self.inner, self.inner as isize);
        // The crate wants its output by columns: a row-major product is the
        // column-major product of the factors in the other order.
        // SAFETY: as the caller promises.
        unsafe {
            let output = self.output.add(rows.start * inner + columns.start);
            let (y, x) = (self.y.add(columns.start), self.x.add(rows.start * inner));
            gemm_f32::gemm::f32::get_gemm_fn()(
                columns.len(),
                rows.len(),
                inner,
                output,
                stride,
                1,
                false,
                y,
                stride,
                1,
                x,
                stride,
                1,
                0.0,
                1.0,
                false,
                false,
                false,
                Parallelism::None,
            );
        }
    }
}

/// Blocks end on whole vectors and rows of registers of the crate's kernels.
const MULTIPLE: usize = 16;

/// A thread's share of a large product, in rough nanoseconds.
const LARGE_NANOS: f64 = 4e6;

/// The longest side of a block: the crate goes over the whole of it for every few hundred of the
/// inner dimension, so it has to stay in a core's L2 cache, with what is packed beside it. (Of
/// 10,000 rows and columns, 16 threads of a Xeon with 2 MiB each take 1.27 s in blocks of 1,250
/// and 1.13 s in blocks of 512.)
const MOST_SIDE: usize = 512;

impl Team {
    /// `output = x y`, row by row: `y` has `inner` rows and columns, the others
    /// have `inner` columns.
    pub(super) fn matmul(
        &self,
        cost: Effort,
        (x, y): (&[f32], &[f32]),
        output: &mut [f32],
        inner: usize,
    ) {
        assert_eq!((x.len(), y.len()), (output.len(), inner * inner), "matrices that do not fit");
        let rows = x.len() / inner;
        if rows == 0 {
            return;
        }
        let (x, y, output) = (x.as_ptr(), y.as_ptr(), output.as_mut_ptr());
        let product = Product { x, y, output, inner };
        let members = if self.shares(cost, rows * inner) { self.threads() } else { 1 };
        // Large products in more blocks than threads: these are not equally fast.
        let is_large = cost.nanos(rows * inner) > members as f64 * LARGE_NANOS;
        let blocks = if is_large && members > 1 { 4 * members } else { members };
        // As square as may be: a block reads its rows and columns of the factors.
        let across = (blocks as f64 * inner as f64 / rows as f64).sqrt().ceil() as usize;
        let across = across.clamp(1, blocks);
        let down = blocks.div_ceil(across);
        let (height, width) = (side(rows, down), side(inner, across));
        let (down, across) = (rows.div_ceil(height), inner.div_ceil(width));
        let block = |index: usize| {
            let (row, column) = (index / across * height, index % across * width);
            // SAFETY: the lengths were checked, the slices are borrowed throughout,
            // and blocks do not overlap.
            unsafe {
                product.block(row..rows.min(row + height), column..inner.min(column + width));
            }
        };
        if members == 1 {
            (0..down * across).for_each(block)
        } else {
            self.crew.each(down * across, self.patience(cost, rows * inner), &block);
        }
    }
}

/// Length of each of so many pieces, or of as many more as it takes.
fn side(whole: usize, pieces: usize) -> usize {
    whole.div_ceil(pieces.max(whole.div_ceil(MOST_SIDE))).next_multiple_of(MULTIPLE)
}
