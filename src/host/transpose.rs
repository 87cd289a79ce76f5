//! Rows become columns.

use super::cut::Cut;
use super::team::Team;
use super::vector::{Loop, Vector, on_widest_vectors};
use crate::kernels::Effort;

/// Elements on a side of what is turned at once: a cache line of each row.
const TILE: usize = 16;

/// Tiles on a side of what a thread takes at a time: rows are read and written in
/// pieces that are worth opening a page of memory for.
const TILES: usize = 4;

impl Team {
    /// `x` has so many columns, and `output` as many rows.
    pub(super) fn transpose(&self, cost: Effort, x: &[f32], output: &mut [f32], columns: usize) {
        assert_eq!(x.len(), output.len(), "a transposed array has as many elements");
        assert_eq!(x.len() % columns, 0, "the last row is not whole");
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
        self.crew.each(squares.parts, self.patience(cost, x.len()), &|at| {
            squares.piece(at, down * across).for_each(part);
        });
    }
}

/// A transposition, or a rectangle of one.
#[derive(Clone, Copy)]
struct Transpose {
    x: *const f32,
    output: *mut f32,
    rows: usize,
    columns: usize,
    /// Store past the caches.
    streaming: bool,
}

// SAFETY: only a description; whoever runs parts of it on several threads sees
// to it that they do not overlap.
unsafe impl Sync for Transpose {}

impl Transpose {
    /// At most `side` rows and columns from a place on.
    ///
    /// # Safety
    /// The place must be inside.
    unsafe fn part(&self, row: usize, column: usize, side: usize) -> Part {
        // SAFETY: the caller vouches for the place.
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
    /// A tile by way of a copy that stays in the nearest cache.
    ///
    /// # Safety
    /// As for [`Loop::run`]; the tile must be inside.
    #[inline(always)]
    unsafe fn tile<V: Vector>(&self, row: usize, column: usize) {
        let mut turned = [[0.0; TILE]; TILE];
        // SAFETY: the caller vouches for the tile.
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
        // SAFETY: all places are inside.
        unsafe {
            for column in (0..whole(self.columns)).step_by(TILE) {
                for row in (0..whole(self.rows)).step_by(TILE) {
                    self.tile::<V>(row, column);
                }
            }
            // What is left on the right and at the bottom.
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
