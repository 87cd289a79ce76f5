//! Several passes of a program as one body, so that work of one pass can overlap the next.

use super::subject::Subject;
use crate::program::{Program, ThreadId};

/// The most passes of one body: how its begin and its end differ from the rest then matters little.
const MOST_PASSES: u64 = 16;
/// The most calls of a body that is made longer.
const MOST_CALLS: u64 = 4_000;

/// The program with several passes in its body, and how many: one if it is long, or has several
/// already.
pub(super) fn unrolled(subject: &Subject) -> (Program, u64) {
    let calls = subject.program.body.len().max(1) as u64;
    let passes = match subject.passes {
        1 => (MOST_CALLS / calls).clamp(1, MOST_PASSES),
        _ => 1,
    };
    (repeated(&subject.program, passes), passes)
}

/// The program with its body several times.
pub(super) fn repeated(program: &Program, passes: u64) -> Program {
    let (mut body, mut threads): (_, Vec<ThreadId>) = (Vec::new(), Vec::new());
    for _ in 0..passes {
        body.extend_from_slice(&program.body);
        threads.extend_from_slice(&program.threads);
    }
    Program { body, threads, ..program.clone() }
}
