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

/// Blocks end on whole rows of registers of the crate's kernels, which have six on the widest
/// vectors, and on whole vectors.
const MULTIPLES: [usize; 2] = [6, 16];

/// A thread's share of a large product, in rough nanoseconds.
const LARGE_NANOS: f64 = 4e6;

/// The longest side of a block, but for what it takes to end on whole registers: the crate goes
/// over the whole of it for every few hundred of the inner dimension, so it has to stay in a
/// core's L2 cache, with what is packed beside it. (Of 10,000 rows and columns, 16 threads of a
/// Xeon with 2 MiB each take 1.27 s in blocks of 1,250 and 1.13 s in blocks of 512.)
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
        let most = if is_large && members > 1 { 4 * members } else { members };
        let [height, width] = sides([rows, inner], most, members);
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

/// Sides of the blocks that so many members of a team are through with first: of up to `most`
/// blocks, or of as many more as it takes for none to be too long. All come to a block before
/// one comes to a second, so that 36 blocks take 32 members as long as 64 of that size.
fn sides(whole: [usize; 2], most: usize, members: usize) -> [usize; 2] {
    let fewest = whole.map(|side| side.div_ceil(MOST_SIDE));
    let cut = |side: usize, pieces: usize| {
        whole[side].div_ceil(pieces.max(fewest[side])).next_multiple_of(MULTIPLES[side])
    };
    // Where blocks are as long as they may be, up to twice as many come out more even.
    let downs = fewest[0]..=most.max(2 * fewest[0]);
    let grids = downs.map(|down| [cut(0, down), cut(1, (most / down).max(1))]);
    // In products, for each step of the inner dimension.
    let work = |&[height, width]: &[usize; 2]| {
        let blocks = whole[0].div_ceil(height) * whole[1].div_ceil(width);
        blocks.div_ceil(members) * (height * width + FETCHED * (height + width))
    };
    grids.min_by_key(work).expect("a product has a block")
}

/// A block reads its rows and columns of the factors, and one number of either takes as long as
/// so many products of two. (Four bytes of what another core has in its caches, at 10 GB/s,
/// against two operations at 100 a nanosecond.)
const FETCHED: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    /// Of what so many members could do while the slowest has to do with its blocks, how much
    /// the whole product is.
    fn use_of([rows, columns]: [usize; 2], most: usize, members: usize) -> f64 {
        let [height, width] = sides([rows, columns], most, members);
        let blocks = rows.div_ceil(height) * columns.div_ceil(width);
        let at_most = blocks.div_ceil(members) * height * width * members;
        (rows * columns) as f64 / at_most as f64
    }

    #[test]
    fn no_member_waits_for_a_second_block_of_another() {
        for members in 1..=64 {
            let used = use_of([1_000, 1_000], members, members);
            assert!(used > 0.8, "{members} members, {used}");
        }
        // In six by six blocks, 32 members had two rounds, and nothing to do in half of one.
        assert!(use_of([1_000, 1_000], 32, 32) > 0.95);
        assert!(use_of([316, 316], 32, 32) > 0.9);
        assert!(use_of([10_000, 10_000], 128, 32) > 0.95);
    }

    #[test]
    fn blocks_are_as_square_as_may_be_and_stay_in_a_cache() {
        assert_eq!(sides([1_000, 1_000], 16, 16), [252, 256]);
        assert_eq!(sides([12, 4_096], 16, 16), [12, 256]);
        for side in [1_024, 10_000] {
            let sides = sides([side, side], 1, 1);
            assert!(sides.iter().zip(MULTIPLES).all(|(&side, by)| side < MOST_SIDE + by));
        }
    }
}
