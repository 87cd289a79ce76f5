//! What repeats itself in a list of calls, so that a page can show a plan of thousands.

use std::ops::Range;

/// A piece of a shortened list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// The call at this position.
    Call(usize),
    /// Calls that are left out: as the `period` calls before them, so many times more.
    More { calls: Range<usize>, period: usize, times: usize },
}

/// A group of calls is shortened if it comes at least so many times.
const OFTEN: usize = 4;

/// Shortens a list in which equal keys mean calls of one sort. Of what repeats itself, the
/// first time and the last are kept.
pub(super) fn shortened<K: Eq>(keys: &[K]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    shorten(keys, 0..keys.len(), &mut pieces);
    pieces
}

fn shorten<K: Eq>(keys: &[K], range: Range<usize>, pieces: &mut Vec<Piece>) {
    let mut at = range.start;
    while at < range.end {
        let Some((period, times)) = repetition(&keys[at..range.end]) else {
            pieces.push(Piece::Call(at));
            at += 1;
            continue;
        };
        let end = at + period * times;
        let left_out = at + period..end - period;
        shorten(keys, at..at + period, pieces);
        pieces.push(Piece::More { calls: left_out, period, times: times - 2 });
        shorten(keys, end - period..end, pieces);
        at = end;
    }
}

/// The repetition at the beginning that covers most, if there is one: how long a group is and
/// how many times it comes. Of equal ones, that of the shortest group.
fn repetition<K: Eq>(keys: &[K]) -> Option<(usize, usize)> {
    let times = |period: usize| {
        let alike = keys.iter().zip(&keys[period..]).take_while(|(one, other)| one == other);
        1 + alike.count() / period
    };
    let found = (1..=keys.len() / OFTEN).map(|period| (period, times(period)));
    let often = found.filter(|&(_, times)| times >= OFTEN);
    often.rev().max_by_key(|(period, times)| period * times)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(keys: &str) -> String {
        let keys: Vec<char> = keys.chars().collect();
        let piece = |piece: &Piece| match piece {
            Piece::Call(at) => keys[*at].to_string(),
            Piece::More { calls, period, times } => {
                assert_eq!(calls.len(), period * times);
                format!("({period} x {times})")
            }
        };
        shortened(&keys).iter().map(piece).collect()
    }

    #[test]
    fn what_comes_three_times_is_shown() {
        assert_eq!(shown(""), "");
        assert_eq!(shown("abcabcabc"), "abcabcabc");
    }

    #[test]
    fn of_what_comes_more_often_the_ends_are_shown() {
        assert_eq!(shown("aaaa"), "a(1 x 2)a");
        assert_eq!(shown("xabababababy"), "xab(2 x 3)aby");
        assert_eq!(shown("aaaaaaaaab"), "a(1 x 7)ab");
    }

    #[test]
    fn what_repeats_itself_within_is_shortened_too() {
        let one = format!("c{}d", "k".repeat(100));
        let within = "ck(1 x 98)kd";
        assert_eq!(shown(&one.repeat(64)), format!("{within}(102 x 62){within}"));
    }
}
