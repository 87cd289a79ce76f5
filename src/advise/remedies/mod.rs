//! The remedies, one file each: where each applies, and what it makes of a program.
//!
//! Each returns variants, the simplest first.
//!
//! Invariant: none of them knows what anything costs. What they return has yet to be proved.

mod chunks;
mod copy_once;
mod defer_waits;
mod download_stream;
mod drop_copies;
mod gather;
mod graph;
mod in_place;
mod keep_memory;
mod more_streams;
mod narrow;
mod pack;
mod pin;
mod prefetch;
mod prefetch_managed;
mod stage;

use super::refusal::Refusal;
use super::remedy::Remedy;
use super::rewriting::Rewriting;
use super::subject::Subject;
use crate::program::{Allocation, AllocationId, Call, Place, Program, Slice};
use crate::units::Bytes;

/// What a remedy makes of a program, in variants, the simplest first. They have yet to be proved.
///
/// # Errors
/// Why it does not apply.
pub(super) fn variants(remedy: Remedy, subject: &Subject) -> Result<Vec<Rewriting>, Refusal> {
    match remedy {
        Remedy::Pin => pin::variants(subject),
        Remedy::DeferWaits => defer_waits::variants(subject),
        Remedy::KeepMemory => keep_memory::variants(subject),
        Remedy::DropCopies => drop_copies::variants(subject),
        Remedy::CopyOnce => copy_once::variants(subject),
        Remedy::Narrow => narrow::variants(subject),
        Remedy::Pack => pack::variants(subject),
        Remedy::Gather => gather::variants(subject),
        Remedy::Stage => stage::variants(subject),
        Remedy::InPlace => in_place::variants(subject),
        Remedy::PrefetchManaged => prefetch_managed::variants(subject),
        Remedy::Prefetch => prefetch::variants(subject),
        Remedy::DownloadStream => download_stream::variants(subject),
        Remedy::Chunks => chunks::variants(subject),
        Remedy::MoreStreams => more_streams::variants(subject),
        Remedy::Graph => graph::variants(subject),
        Remedy::Cpu | Remedy::Share | Remedy::SeveralGpus | Remedy::Schedule => {
            let program = subject.plans.get(&remedy).cloned().ok_or(Refusal::NoSuchPlan)?;
            let (places, conditions) = (Vec::new(), Vec::new());
            Ok(vec![Rewriting { program, passes: 1, places, conditions }])
        }
    }
}

/// Copies of more bytes than this take their time for their bytes, not for being copies.
const SMALL: Bytes = Bytes::kib(256);

/// New memory that the set-up takes.
fn taken(program: &mut Program, name: &str, place: Place, bytes: Bytes) -> Slice {
    let id = AllocationId(program.allocations.len());
    let name = format!("{name}{}", id.0);
    program.allocations.push(Allocation { name, place, bytes, holds: None });
    program.setup.insert(0, Call::allocate(id));
    Slice { allocation: id, offset: Bytes::ZERO, length: bytes }
}
