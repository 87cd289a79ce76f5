//! Changes to a body at several positions at once. Positions are those of the body before.

use crate::program::{Call, Program, ThreadId};
use std::collections::BTreeMap;

/// What becomes of a body.
#[derive(Debug, Clone, Default)]
pub(super) struct Patch {
    before: BTreeMap<usize, Vec<Call>>,
    instead: BTreeMap<usize, Vec<Call>>,
    after: BTreeMap<usize, Vec<Call>>,
    at_the_end: Vec<Call>,
}

impl Patch {
    pub fn remove(&mut self, at: usize) {
        self.instead.insert(at, Vec::new());
    }

    pub fn replace(&mut self, at: usize, calls: Vec<Call>) {
        self.instead.insert(at, calls);
    }

    pub fn insert_before(&mut self, at: usize, call: Call) {
        self.before.entry(at).or_default().push(call);
    }

    pub fn insert_after(&mut self, at: usize, call: Call) {
        self.after.entry(at).or_default().push(call);
    }

    pub fn append(&mut self, call: Call) {
        self.at_the_end.push(call);
    }

    /// The program with this body. Calls that come in are made by the thread of the call that they
    /// come in at. What comes in before the first call of a graph or after its last one is not
    /// captured.
    pub fn applied(mut self, program: &Program) -> Program {
        let mut with = Program { body: Vec::new(), threads: Vec::new(), ..program.clone() };
        let mut threads: Vec<ThreadId> = Vec::new();
        // The end of the graph that is open, and where its launch is now.
        let mut open: Option<(usize, usize)> = None;
        for (at, call) in program.body.iter().enumerate() {
            let thread = program.thread_of(at);
            with.body.extend(self.before.remove(&at).unwrap_or_default());
            let begun = with.body.len();
            match self.instead.remove(&at) {
                Some(calls) => with.body.extend(calls),
                None => with.body.push(call.clone()),
            }
            if let Some(calls) = call.launched_calls() {
                open = Some((at + calls, begun));
            }
            if let Some((_, launch)) = open.filter(|&(end, _)| end == at) {
                let captured = with.body.len() - launch - 1;
                let launch = with.body.get_mut(launch).and_then(Call::launched_calls_mut);
                if let Some(calls) = launch {
                    *calls = captured;
                }
                open = None;
            }
            with.body.extend(self.after.remove(&at).unwrap_or_default());
            threads.resize(with.body.len(), thread);
        }
        with.body.append(&mut self.at_the_end);
        threads.resize(with.body.len(), ThreadId::MAIN);
        with.threads = if program.threads.is_empty() { Vec::new() } else { threads };
        with
    }
}
