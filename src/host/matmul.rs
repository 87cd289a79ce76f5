//! Products of matrices, by the gemm crate's kernels in blocks of our own choice.

use super::team::Team;
use crate::kernels::{CORE_KEEPS, Effort};
use gemm_common::Parallelism;
use std::ops::Range;

/// A row-major product `output = x y`, whose shapes have been checked.
#[derive(Clone, Copy)]
struct Product {
    x: *const f32,
    y: *const f32,
    output: *mut f32,
    inner: usize,
}

// SAFETY: this is only a description. Whoever computes blocks of it on several threads
// sees to it that they do not overlap.
unsafe impl Sync for Product {}

impl Product {
    /// Computes the output's block of these rows and columns on the calling thread.
    ///
    /// # Safety
    /// The rows and columns must lie inside the output.
    unsafe fn block(&self, rows: Range<usize>, columns: Range<usize>) {
        let (inner, stride) = (self.inner, self.inner as isize);
        // The crate is column-major: it reads our row-major matrices as their transposes. As (x y)ᵀ
        // = yᵀ xᵀ, it gets `y` first and `x` second. SAFETY: the caller promises that rows and
        // columns lie inside; the factors are as large as the product needs.
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

/// Blocks end on whole register tiles of the crate's kernels: six by four vectors at
/// their widest. Narrower blocks end on whole vectors. (With 316 rows and columns, 32
/// threads of a Xeon take 41 us in blocks of 30 by 64, and 50 us in blocks of 30 by 96.)
const HEIGHT: usize = 6;
const WIDTH: usize = 64;
const VECTOR: usize = 16;

/// The longest side of a block, before rounding up to whole register tiles. The crate
/// passes over the whole block once for every few hundred of the inner dimension, so the
/// block has to stay in a core's L2 cache together with what is packed beside it. (With
/// 10,000 rows and columns, 16 threads of a Xeon with 2 MiB of L2 each take 1.27 s in
/// blocks of 1,250 and 1.13 s in blocks of 512.)
const MOST_SIDE: usize = 512;

/// What it costs a block to read one number of its rows or columns of the factors, in
/// multiply-adds. The first figure is for factors that come from farther away than a core's own
/// caches: 4 bytes at 10 GB/s against 2 operations at 100 per nanosecond. The second is half of
/// that, for factors that the core's own caches keep, apart from what they lose in between. (With
/// these, 16 and 32 threads get the blocks that were the quickest for 316 rows and columns.)
const FETCHED: [f64; 2] = [20.0, 10.0];

/// What it costs to call the crate for a block, in multiply-adds: a tenth of a microsecond.
const CALLED: f64 = 5_000.0;

impl Team {
    /// Computes `output = x y`, row-major. `y` has `inner` rows and columns; `x` and
    /// `output` have `inner` columns.
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
            // SAFETY: the lengths were checked, the slices are borrowed throughout, and
            // blocks do not overlap.
            unsafe {
                product.block(row..rows.min(row + height), column..inner.min(column + width));
            }
        };
        if members == 1 {
            (0..down * across).for_each(block)
        } else {
            self.pool.each(down * across, self.patience(cost, rows * inner), &block);
        }
    }
}

/// The height and width of blocks with which `members` threads finish a product of `rows`
/// by `columns` soonest.
///
/// Threads are not equally fast, and one that finishes early helps the others. Then all
/// finish at the time that equal shares would take, plus at most one block (Graham,
/// "Bounds on multiprocessing timing anomalies", SIAM J. Appl. Math. 17, 1969). So blocks
/// should be small, except that each block has to fetch its rows and columns.
fn sides([rows, columns]: [usize; 2], members: usize) -> [usize; 2] {
    let factors = size_of::<f32>() * columns * (rows + columns);
    let fetched = FETCHED[usize::from(factors <= CORE_KEEPS as usize)];
    let called = CALLED / columns as f64;
    // Per step of the inner dimension, in multiply-adds: the whole product, and the share
    // of one block by which a member can be late.
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
        // The height at which `latest` is least, if blocks could have any height.
        let wide = width as f64;
        let besides = fetched + called / wide;
        let height = (all / members * besides / (behind * (wide + fetched))).sqrt();
        let down = ((rows as f64 / height) as usize).max(rows.div_ceil(MOST_SIDE));
        let heights = [down, down + 1].map(|down| rows.div_ceil(down));
        heights.map(|height| [height.next_multiple_of(HEIGHT), width])
    });
    let best = grids.min_by(|one, other| latest(one).total_cmp(&latest(other)));
    best.expect("there is at least one block")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of blocks per member, and the blocks' total area as a multiple of the product's.
    fn cut(whole: [usize; 2], members: usize) -> (f64, f64) {
        let [height, width] = sides(whole, members);
        let blocks = whole[0].div_ceil(height) * whole[1].div_ceil(width);
        let all = (blocks * height * width) as f64;
        (blocks as f64 / members as f64, all / (whole[0] * whole[1]) as f64)
    }

    #[test]
    fn a_thread_that_finishes_early_finds_another_block() {
        for members in 2..=64 {
            for (side, fewest) in [(316, 1.0), (1_000, 3.0), (3_162, 6.0), (10_000, 10.0)] {
                let (each, all) = cut([side, side], members);
                assert!(each > fewest, "{members} members, {side}: {each}");
                assert!(all < 1.15, "{members} members, {side}: {all}");
            }
        }
        // A product that takes only a few microseconds has at least one block per member.
        assert!((1.0..2.0).contains(&cut([100, 100], 16).0));
    }

    #[test]
    fn blocks_are_of_whole_registers_and_stay_in_a_cache() {
        assert_eq!(sides([316, 316], 32), [24, 64]);
        assert_eq!(sides([316, 316], 16), [36, 64]);
        // Where a call costs nearly as much as its block, there are fewer blocks.
        assert!(cut([1_000, 16], 32).0 < 0.7 * cut([1_000, 1_000], 32).0);
        // A narrow product is not cut across; and a single thread has nobody to help.
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
        assert!(height.min(width) >= 448, "blocks should be large where fetching is slow");
    }
}
