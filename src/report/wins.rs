//! Where the GPU wins, in words.

use super::words::between;
use crate::search::{Setting, Wins};

/// Where the GPU wins, in words: `about 1.27 M (1.15 to 1.41 M) and more`. `None`: everywhere.
pub(super) fn stretch(wins: &Wins, say: &dyn Fn(f64) -> String) -> Option<String> {
    let end = |at: Setting, range: Option<[Option<Setting>; 2]>| {
        let at = say(at.0);
        let range = range.map(|ends| ends.map(|end| end.map(|end| say(end.0))));
        match range {
            None | Some([None, None]) => at,
            Some([Some(low), Some(high)]) if low == at && high == at => at,
            Some([Some(low), Some(high)]) => format!("{at} ({})", between(&low, &high)),
            Some([Some(low), None]) => format!("{at} ({low}, or beyond what was tried)"),
            Some([None, Some(high)]) => format!("{at} (up to {high}, or below what was tried)"),
        }
    };
    let from = wins.from.map(|from| end(from, wins.from_range));
    let until = wins.until.map(|until| end(until, wins.until_range));
    match (from, until) {
        (None, None) => None,
        (Some(from), None) => Some(format!("above {from}")),
        (None, Some(until)) => Some(format!("below {until}")),
        (Some(from), Some(until)) => Some(format!("from {from} to {until}")),
    }
}
