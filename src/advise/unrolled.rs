//! Several passes of a program as one body, so that work of one pass can overlap the next.

use super::refusal::Refusal;
use super::subject::Subject;
use crate::machine::Direction;
use crate::program::{Call, Program, ThreadId};

/// The most passes of one body: how its begin and its end differ from the rest then matters little.
const MOST_PASSES: u64 = 16;
/// The most calls of a body that is made longer.
const MOST_CALLS: u64 = 4_000;

/// A program that has some passes of another one in its body.
pub(super) struct Body {
    pub subject: Subject,
    pub passes: u64,
}

/// The bodies in which copies may overlap kernels, or copies the other way: the program's own, and
/// one of several passes unless it is long, or has several already.
///
/// # Errors
/// If there is nothing that copies could overlap, or calls are in graphs.
pub(super) fn bodies(subject: &Subject) -> Result<Vec<Body>, Refusal> {
    let program = &subject.program;
    let crossings = || program.body.iter().filter_map(Call::crossing).map(|one| one.1);
    let both_ways = Direction::BOTH.into_iter().all(|way| crossings().any(|one| one == way));
    if !both_ways && program.body.iter().all(|call| !call.is_launch()) {
        return Err(Refusal::NothingBeside);
    }
    if program.has_graphs() {
        return Err(Refusal::HasGraphs);
    }
    let calls = program.body.len().max(1) as u64;
    let passes = match subject.passes {
        1 => (MOST_CALLS / calls).clamp(1, MOST_PASSES),
        _ => 1,
    };
    let mut bodies = vec![Body { subject: subject.clone(), passes: 1 }];
    if passes > 1 {
        let subject = Subject { program: repeated(program, passes), ..subject.clone() };
        bodies.push(Body { subject, passes });
    }
    Ok(bodies)
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
