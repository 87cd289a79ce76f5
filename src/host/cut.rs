//! How work is cut up to be shared out.

use std::ops::Range;

/// How something is cut up.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut {
    pub parts: usize,
    /// What each piece but the first and the last is a multiple of.
    pub multiple: usize,
    /// How much that is left out comes before the first, and is counted in its length.
    pub before: usize,
}

impl Cut {
    /// One of the pieces, which are as equal in length as possible: there may be nothing in
    /// the last, and the first is shorter by what comes before it. Where the first of as many
    /// parts as there are threads begins, the same thread's first of twice as many begins. None
    /// begins before the one before it ends.
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

    /// A kernel finds in each core's caches what the one before left there.
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

    /// A stencil leaves out the first elements. (It leaves out the last one, too, for which an
    /// edge lies a block elsewhere now and then.)
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
