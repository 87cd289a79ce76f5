//! Takes memory once, in the set-up, instead of in every pass.
//!
//! Device memory that a pass takes and gives back stays; host memory that is new in every pass,
//! such as the destination of a download, is used again; and what a pass pins stays pinned. The
//! contents of new memory are nobody's, so a program that does not read before it writes does the
//! same.

use crate::advise::missing_waits::with_needed_waits;
use crate::advise::patch::Patch;
use crate::advise::refusal::Refusal;
use crate::advise::rewriting::{Condition, Place, Rewriting};
use crate::advise::subject::Subject;
use crate::program::{AllocationId, Call, MemoryChange};
use std::collections::BTreeSet;

pub(super) fn variants(subject: &Subject) -> Result<Vec<Rewriting>, Refusal> {
    let program = &subject.program;
    let inside = subject.in_graphs();
    let mut patch = Patch::default();
    let mut places = Vec::new();
    let mut taken: BTreeSet<AllocationId> = BTreeSet::new();
    let mut pinned: BTreeSet<AllocationId> = BTreeSet::new();
    for (at, call) in program.body.iter().enumerate().filter(|(at, _)| !inside[*at]) {
        let Some((id, change)) = call.memory_change() else { continue };
        match change {
            MemoryChange::Allocate => drop(taken.insert(id)),
            MemoryChange::Pin => drop(pinned.insert(id)),
            MemoryChange::Free | MemoryChange::Unpin | MemoryChange::Renew => {}
        }
        patch.remove(at);
        // Giving back belongs to what took it.
        if !matches!(change, MemoryChange::Free | MemoryChange::Unpin) {
            places.push(Place::of(program, at, Some(id)));
        }
    }
    if places.is_empty() {
        return Err(Refusal::NothingTaken);
    }
    let mut kept = patch.applied(program);
    let has = |call: &Call| program.setup.contains(call);
    let takes = taken.into_iter().map(Call::allocate).filter(|call| !has(call));
    let pins = pinned.into_iter().map(Call::pin).filter(|call| !has(call));
    let calls: Vec<Call> = takes.chain(pins).collect();
    kept.setup.splice(0..0, calls);
    let kept = subject.rewritten(kept, 1);
    // To free memory outside of a stream waits for the device: what relied on that needs a wait.
    let program = match kept.check_waits() {
        Ok(()) => with_needed_waits(&kept, |_| false),
        Err(_) => kept.program,
    };
    let (places, conditions) = (Place::gathered(places), Vec::<Condition>::new());
    Ok(vec![Rewriting { program, passes: 1, places, conditions }])
}
