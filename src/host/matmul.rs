//! Products of matrices.

use super::team::Team;
use crate::kernels::{CORE_KEEPS, Effort};
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

/// Blocks end on whole rows of registers of the crate's kernels, which have six of four vectors
/// each on the widest; of what is narrower, on whole vectors. (Of 316 rows and columns, 32 threads
/// of a Xeon take 41 us in blocks of 30 by 64, and 50 in blocks of 30 by 96.)
const HEIGHT: usize = 6;
const WIDTH: usize = 64;
const VECTOR: usize = 16;

/// The longest side of a block, but for what it takes to end on whole registers: the crate goes
/// over the whole of it for every few hundred of the inner dimension, so it has to stay in a
/// core's L2 cache, with what is packed beside it. (Of 10,000 rows and columns, 16 threads of a
/// Xeon with 2 MiB each take 1.27 s in blocks of 1,250 and 1.13 s in blocks of 512.)
const MOST_SIDE: usize = 512;

/// A block reads its rows and columns of the factors, and one number of either takes as long as
/// so many products of two: four bytes of what comes from farther away, at 10 GB/s, against two
/// operations at 100 a nanosecond; and half of that where a core's own caches keep both factors,
/// but for what they lose in between. (That has 16 and 32 threads find the blocks that were the
/// quickest of 316 rows and columns.)
const FETCHED: [f64; 2] = [20.0, 10.0];

/// To call the crate for a block, as many products: a tenth of a microsecond.
const CALLED: f64 = 5_000.0;

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
        let [height, width] = sides([rows, inner], members);
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

/// Sides of the blocks of a product of so many rows and columns that so many members of a team
/// are through with first. They are not equally fast, and whoever is through helps the others: all
/// are through when each could be that does as much as the others, and a block later at most
/// (Graham, "Bounds on multiprocessing timing anomalies", SIAM J. Appl. Math. 17, 1969). So blocks
/// are small, but for what each of them has to fetch.
fn sides([rows, columns]: [usize; 2], members: usize) -> [usize; 2] {
    let factors = size_of::<f32>() * columns * (rows + columns);
    let fetched = FETCHED[usize::from(factors <= CORE_KEEPS as usize)];
    let called = CALLED / columns as f64;
    // For each step of the inner dimension, in products: all of them, and the share of a block
    // that its member can be behind.
    let (all, members) = ((rows * columns) as f64, members as f64);
    let behind = 1.0 - 1.0 / members;
    let latest = |&[height, width]: &[usize; 2]| {
        let blocks = (rows.div_ceil(height) * columns.div_ceil(width)) as f64;
        let besides = fetched * (height + width) as f64 + called;
        (all + blocks * besides) / members + behind * ((height * width) as f64 + besides)
    };
    let widths = 1..=(MOST_SIDE / WIDTH).min(columns.div_ceil(WIDTH));
    let grids = widths.flat_map(|wide| {
        let width = (wide * WIDTH).min(columns.next_multiple_of(VECTOR));
        // Where that is least if blocks could be of any height.
        let wide = width as f64;
        let besides = fetched + called / wide;
        let height = (all / members * besides / (behind * (wide + fetched))).sqrt();
        let down = ((rows as f64 / height) as usize).max(rows.div_ceil(MOST_SIDE));
        let heights = [down, down + 1].map(|down| rows.div_ceil(down));
        heights.map(|height| [height.next_multiple_of(HEIGHT), width])
    });
    let best = grids.min_by(|one, other| latest(one).total_cmp(&latest(other)));
    best.expect("a product has a block")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many blocks there are for each member, and how much more than the product all of them
    /// are.
    fn cut(whole: [usize; 2], members: usize) -> (f64, f64) {
        let [height, width] = sides(whole, members);
        let blocks = whole[0].div_ceil(height) * whole[1].div_ceil(width);
        let all = (blocks * height * width) as f64;
        (blocks as f64 / members as f64, all / (whole[0] * whole[1]) as f64)
    }

    #[test]
    fn whoever_is_through_finds_another_block() {
        for members in 2..=64 {
            for (side, fewest) in [(316, 1.0), (1_000, 3.0), (3_162, 6.0), (10_000, 10.0)] {
                let (each, all) = cut([side, side], members);
                assert!(each > fewest, "{members} members, {side}: {each}");
                assert!(all < 1.15, "{members} members, {side}: {all}");
            }
        }
        // Of what is over in a few microseconds, at least one.
        assert!((1.0..2.0).contains(&cut([100, 100], 16).0));
    }

    #[test]
    fn blocks_are_of_whole_registers_and_stay_in_a_cache() {
        assert_eq!(sides([316, 316], 32), [24, 64]);
        assert_eq!(sides([316, 316], 16), [36, 64]);
        // What is over nearly as soon as called is cut into fewer.
        assert!(cut([1_000, 16], 32).0 < 0.7 * cut([1_000, 1_000], 32).0);
        // All of a narrow one; and one thread has nobody to help.
        assert_eq!(sides([4_096, 40], 16)[1], 48);
        assert_eq!(sides([316, 316], 1), [318, 320]);
        for side in [1_024, 10_000] {
            for members in [1, 16] {
                let [height, width] = sides([side, side], members);
                assert!(height.is_multiple_of(HEIGHT) && height < MOST_SIDE + HEIGHT);
                assert!(width.is_multiple_of(WIDTH) && width <= MOST_SIDE);
            }
        }
        let [height, width] = sides([10_000, 10_000], 16);
        assert!(height.min(width) >= 448, "far data is fetched as seldom as may be");
    }
}
