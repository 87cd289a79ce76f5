//! The calls of a program, dealt to several host threads, with a wait for another thread wherever
//! it is needed.

use super::super::order::{race, unissued};
use hallway::program::{Call, Program, ThreadId};
use rand::RngExt;
use rand::rngs::ChaCha8Rng;

pub fn over_threads(random: &mut ChaCha8Rng, mut program: Program) -> Program {
    let most = random.random_range(1..=2);
    let (mut making, mut known) = (0, 0);
    for call in std::mem::take(&mut program.body) {
        if random.random_bool(0.3) {
            // Threads are numbered by their first calls.
            making = random.random_range(0..=most.min(known + 1));
            known = known.max(making);
        }
        // It only waits for what was issued before it.
        if matches!(call, Call::SynchronizeDevice(_)) {
            wait_for_all(&mut program, (making, known), None);
        }
        program.body.push(call);
        program.threads.push(ThreadId(making));
    }
    loop {
        let end = program.body.len();
        let Some((first, second)) = unissued(&program).or_else(|| race(&program)) else { break };
        // Work that no thread waits for is waited for by the one that issued it.
        if second == end {
            let stream = program.body[first].stream().expect("work of a stream");
            program.body.push(Call::Synchronize { stream });
            program.threads.push(program.threads[first]);
            continue;
        }
        let (awaited, waiting) = (program.threads[first], program.threads[second]);
        let wait = Call::SynchronizeThread(awaited);
        let is_tried = second > 0
            && program.threads[second - 1] == waiting
            && program.body[second - 1] == wait;
        if awaited != waiting && !is_tried {
            program.body.insert(second, wait);
            program.threads.insert(second, waiting);
        } else {
            // It is another thread that has waited for the first of the two.
            wait_for_all(&mut program, (waiting.0, known), Some(second));
        }
    }
    program
}

/// Has a thread wait for all others, before a call or at the end.
fn wait_for_all(program: &mut Program, (waiting, known): (u16, u16), before: Option<usize>) {
    for other in (0..=known).filter(|&other| other != waiting) {
        let at = before.unwrap_or(program.body.len());
        // One that has made no call yet is not waited for.
        if !program.threads[..at].contains(&ThreadId(other)) {
            continue;
        }
        program.body.insert(at, Call::SynchronizeThread(ThreadId(other)));
        program.threads.insert(at, ThreadId(waiting));
    }
}
