//! What repeats itself in a list of calls, so that a page can show a plan of thousands.

use std::collections::BTreeMap;
use std::ops::Range;

/// A piece of a shortened list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// The call at this position.
    Call(usize),
    /// Calls that are left out: as the `period` calls before them, so many times more.
    More { calls: Range<usize>, period: usize, times: usize },
}

/// A group of calls is shortened if it comes at least so many times, and has no more calls than
/// these: whether a group repeats itself is looked at for each length.
const OFTEN: usize = 4;
const LONGEST: usize = 1024;

/// Shortens a list in which equal keys mean calls of one sort. The first time and the
/// last are kept of what repeats itself.
pub(super) fn shortened<K: Ord>(keys: &[K]) -> Vec<Piece> {
    let mut numbers = BTreeMap::new();
    let mut number = |key| {
        let next = numbers.len();
        *numbers.entry(key).or_insert(next)
    };
    let keys: Vec<usize> = keys.iter().map(&mut number).collect();
    let mut pieces = Vec::new();
    shorten(&keys, 0..keys.len(), &mut pieces);
    pieces
}

fn shorten(keys: &[usize], range: Range<usize>, pieces: &mut Vec<Piece>) {
    let Some(Repetition { start, period, times }) = longest(&keys[range.clone()]) else {
        pieces.extend(range.map(Piece::Call));
        return;
    };
    let start = range.start + start;
    let end = start + period * times;
    shorten(keys, range.start..start, pieces);
    shorten(keys, start..start + period, pieces);
    pieces.push(Piece::More { calls: start + period..end - period, period, times: times - 2 });
    shorten(keys, end - period..end, pieces);
    shorten(keys, end..range.end, pieces);
}

/// `times` groups of `period` calls, one behind the other.
struct Repetition {
    start: usize,
    period: usize,
    times: usize,
}

/// The repetition that covers most, if there is one. Among equal ones, it is the first
/// with the shortest group.
fn longest(keys: &[usize]) -> Option<Repetition> {
    let mut best: Option<Repetition> = None;
    let mut most = 0;
    for period in 1..=(keys.len() / OFTEN).min(LONGEST) {
        let mut alike = 0;
        for at in 0..keys.len() - period {
            alike = if keys[at] == keys[at + period] { alike + 1 } else { 0 };
            let times = 1 + alike / period;
            if times >= OFTEN && times * period > most {
                most = times * period;
                best = Some(Repetition { start: at + 1 - alike, period, times });
            }
        }
    }
    best
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
