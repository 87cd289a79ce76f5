//! The digest that tells programs apart.

use super::call::Call;
use super::operands::{Allocation, StreamTraits, ThreadId};
use super::value::Program;
use crate::files;
use crate::kernels::OwnKernel;
use serde::Serialize;

/// Version of what is digested. Kept runs name programs by their digests.
const FORMAT: u32 = 2;

/// What a program does, without what it is called.
#[derive(Serialize)]
struct Digested<'p> {
    hallway_program: u32,
    allocations: &'p [Allocation],
    streams: &'p [StreamTraits],
    events: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    kernels: Vec<OwnKernel>,
    setup: &'p [Call],
    body: &'p [Call],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    threads: &'p [ThreadId],
}

impl Program {
    /// A digest of everything that the program does. Programs that differ in their label alone, in
    /// the names of their streams, or in those of the files that their kernels come from, have one
    /// identity.
    pub fn identity(&self) -> String {
        let Self { allocations, streams, events, kernels, setup, body, threads, .. } = self;
        let digested = Digested {
            hallway_program: FORMAT,
            allocations,
            streams,
            events: *events,
            kernels: kernels.iter().map(OwnKernel::without_file).collect(),
            setup,
            body,
            threads,
        };
        let bytes = serde_json::to_vec(&digested).expect("a program is plain data");
        files::digest(&bytes)
    }
}
