//! How an array is cut into pieces that threads share out.

use std::ops::Range;

/// A way to cut something into `parts` pieces.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut {
    pub parts: usize,
    /// Every piece but the first and the last has a length that is a multiple of this.
    pub multiple: usize,
    /// How many elements in front of the first piece are left out. Edges lie where they
    /// would if those were part of the first piece.
    pub before: usize,
}

impl Cut {
    /// The range of piece `part` of `whole` elements. Pieces are as equal in length as `multiple`
    /// allows; the last ones may be empty, and the first is shorter by `before`. Pieces do not
    /// overlap. If the parts are a multiple of the number of threads, the first piece of each
    /// thread starts at the same place whatever the multiple.
    pub fn piece(self, part: usize, whole: usize) -> Range<usize> {
        let edge = |at: usize| {
            let even = (at * (self.before + whole)).div_ceil(self.parts);
            even.next_multiple_of(self.multiple).saturating_sub(self.before).min(whole)
        };
        edge(part)..edge(part + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every kernel must give a core the range that it had before: its caches hold that data.
    #[test]
    fn a_share_begins_at_the_same_place_however_finely_it_is_cut() {
        for whole in [27_642, 195_766, 255_502, 471_237] {
            let start = |thread: usize, each: usize| {
                let cut = Cut { parts: 16 * each, multiple: 128, before: 0 };
                cut.piece(thread * each, whole).start
            };
            assert!(
                (0..16).all(|thread| (2..=8).all(|each| start(thread, each) == start(thread, 1)))
            );
        }
    }

    /// A stencil leaves out the first element. (It leaves out the last one, too, which
    /// moves an edge by a block now and then.)
    #[test]
    fn what_is_left_out_moves_no_share() {
        let edges = |whole: usize, before: usize| {
            let cut = Cut { parts: 16, multiple: 128, before };
            let pieces = (0..16).map(move |part| cut.piece(part, whole - before).end + before);
            pieces.collect::<Vec<_>>()
        };
        for whole in [27_642, 195_766] {
            assert_eq!(edges(whole, 16), edges(whole, 0));
        }
    }
}
