//! Transposition of a matrix.

use super::cut::Cut;
use super::team::Team;
use super::vector::{Loop, Vector, on_widest_vectors};
use crate::kernels::Effort;

/// Side of a tile, which is transposed at once: one cache line of each row.
const TILE: usize = 16;

/// Side of a part, in tiles. A thread takes a part at a time, so that rows are read and
/// written in stretches long enough to be worth opening a page of memory for.
const TILES: usize = 4;

impl Team {
    /// Transposes `x`, which has `columns` columns, into `output`, which has as many rows.
    pub(super) fn transpose(&self, cost: Effort, x: &[f32], output: &mut [f32], columns: usize) {
        assert_eq!(x.len(), output.len(), "input and output differ in length");
        assert_eq!(x.len() % columns, 0, "the last row is incomplete");
        let work = Transpose {
            x: x.as_ptr(),
            output: output.as_mut_ptr(),
            rows: x.len() / columns,
            columns,
            streaming: self.outgrows_caches(cost, x.len()),
        };
        let side = TILE * TILES;
        let (down, across) = (work.rows.div_ceil(side), columns.div_ceil(side));
        // SAFETY: parts lie inside the arrays and do not overlap.
        let part = |index: usize| unsafe {
            on_widest_vectors(work.part(index % down * side, index / down * side, side));
        };
        if !self.shares(cost, x.len()) {
            return (0..down * across).for_each(part);
        }
        let squares = Cut { multiple: 1, ..self.cut(cost, x.len()) };
        self.pool.each(squares.parts, self.patience(cost, x.len()), &|at| {
            squares.piece(at, down * across).for_each(part);
        });
    }
}

/// A whole transposition: its arrays and their shape.
#[derive(Clone, Copy)]
struct Transpose {
    x: *const f32,
    output: *mut f32,
    rows: usize,
    columns: usize,
    /// Whether stores bypass the caches.
    streaming: bool,
}

// SAFETY: this is only a description. Whoever runs parts of it on several threads sees to
// it that they do not overlap.
unsafe impl Sync for Transpose {}

impl Transpose {
    /// The part of at most `side` rows and columns that starts at a row and a column.
    ///
    /// # Safety
    /// The row and the column must lie inside the matrix.
    unsafe fn part(&self, row: usize, column: usize, side: usize) -> Part {
        // SAFETY: the caller promises that the place lies inside.
        unsafe {
            Part {
                whole: *self,
                x: self.x.add(row * self.columns + column),
                output: self.output.add(column * self.rows + row),
                rows: side.min(self.rows - row),
                columns: side.min(self.columns - column),
            }
        }
    }
}

#[derive(Clone, Copy)]
struct Part {
    whole: Transpose,
    x: *const f32,
    output: *mut f32,
    rows: usize,
    columns: usize,
}

impl Part {
    /// Transposes one tile through a copy that stays in the L1 cache.
    ///
    /// # Safety
    /// The CPU must have the instruction set of `V`, and the tile must lie inside the part.
    #[inline(always)]
    unsafe fn tile<V: Vector>(&self, row: usize, column: usize) {
        let mut turned = [[0.0; TILE]; TILE];
        // SAFETY: the caller promises the instruction set and that the tile lies inside.
        unsafe {
            for i in 0..TILE {
                let from = self.x.add((row + i) * self.whole.columns + column);
                for (j, to) in turned.iter_mut().enumerate() {
                    to[i] = *from.add(j);
                }
            }
            for (j, from) in turned.iter().enumerate() {
                let to = self.output.add((column + j) * self.whole.rows + row);
                let streaming =
                    self.whole.streaming && to.addr().is_multiple_of(V::LANES * size_of::<f32>());
                for at in (0..TILE).step_by(V::LANES) {
                    let vector = V::load(from.as_ptr().add(at));
                    if streaming { vector.stream(to.add(at)) } else { vector.store(to.add(at)) }
                }
            }
        }
    }
}

impl Loop for Part {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let whole = |length: usize| length / TILE * TILE;
        // SAFETY: all tiles and elements lie inside the part; the caller promises the
        // instruction set.
        unsafe {
            for column in (0..whole(self.columns)).step_by(TILE) {
                for row in (0..whole(self.rows)).step_by(TILE) {
                    self.tile::<V>(row, column);
                }
            }
            // Then the remainder on the right and at the bottom, element by element.
            for column in 0..self.columns {
                let first = if column < whole(self.columns) { whole(self.rows) } else { 0 };
                for row in first..self.rows {
                    *self.output.add(column * self.whole.rows + row) =
                        *self.x.add(row * self.whole.columns + column);
                }
            }
            if self.whole.streaming {
                V::fence();
            }
        }
    }
}
