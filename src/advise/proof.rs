//! Whether a rewritten program does the same.

use super::refusal::Refusal;
use super::remedies::variants;
use super::remedy::Remedy;
use super::rewriting::{Condition, Rewriting};
use super::subject::Subject;
use super::values::{Segment, Values};
use crate::program::{AllocationId, Place, Program, check_hazards};

/// What a remedy makes of a program, in variants, the simplest first: those that do the same.
///
/// # Errors
/// Why the remedy does not apply.
pub fn proved(remedy: Remedy, subject: &Subject) -> Result<Vec<Rewriting>, Refusal> {
    let mut variants = variants(remedy, subject)?;
    // Plans for the same tasks are right by themselves, and have other memory.
    variants.retain(|one| remedy.is_plan() || is_proved(subject, one));
    if variants.is_empty() { Err(Refusal::NotProved) } else { Ok(variants) }
}

/// Whether a rewriting is a program that can be run, has no race, and leaves the values that the
/// program leaves that it came from. With a condition on the data, the values are those only if it
/// is met, so they are not compared.
fn is_proved(before: &Subject, after: &Rewriting) -> bool {
    let rewritten = before.rewritten(after.program.clone(), after.passes);
    let is_sound =
        after.program.check().is_ok() && check_hazards(&rewritten.with_host_reads()).is_ok();
    let on_data = [Condition::Unchanged, Condition::OnlyRead, Condition::NobodyReads];
    let depends = after.conditions.iter().any(|one| on_data.contains(one));
    // Whoever reads later sees what is there at the end of the pass.
    let later = after.conditions.contains(&Condition::ReadLater);
    let seen = |one: &Subject| Subject { is_recorded: one.is_recorded && !later, ..one.clone() };
    let (before, rewritten) = (&seen(before), seen(&rewritten));
    is_sound && (depends || left(before, after.passes) == left_by(&rewritten, before))
}

/// What the host can see of a program's data: what is in its memory whenever it may look, and what
/// is in the memory that outlives the program.
#[derive(PartialEq)]
struct Left {
    seen: Vec<Vec<Segment>>,
    /// After some passes, and after as many again.
    at_the_end: Vec<Vec<Segment>>,
}

fn left(of: &Subject, passes: u64) -> Left {
    follow(of, &of.program, passes)
}

fn left_by(rewritten: &Subject, before: &Subject) -> Left {
    follow(rewritten, &before.program, 1)
}

/// Follows the set-up and some passes. Memory is that of the program that was there first: others
/// have the same, and more behind it.
fn follow(subject: &Subject, first: &Program, passes: u64) -> Left {
    let program = &subject.program;
    let lasts = |id: &AllocationId| {
        let one = first.allocation(*id);
        one.holds.is_some() || (subject.is_recorded && matches!(one.place, Place::Host(_)))
    };
    let lasting: Vec<AllocationId> =
        (0..first.allocations.len()).map(AllocationId).filter(lasts).collect();
    let copied = first.copied();
    let read: Vec<AllocationId> = lasting.iter().copied().filter(|id| copied[1][id.0]).collect();
    let mut values = Values::before(program);
    program.setup.iter().for_each(|call| values.follow(program, call));
    let (mut seen, mut at_the_end) = (Vec::new(), Vec::new());
    // Twice, since a pass also begins with what one leaves.
    for _ in 0..2 {
        for call in (0..passes).flat_map(|_| &program.body) {
            if subject.is_recorded && call.stated_time().is_some() {
                let now = read.iter().flat_map(|&id| values.of(program, id));
                let now: Vec<Segment> = now.collect();
                if seen.last() != Some(&now) {
                    seen.push(now);
                }
            } else {
                values.follow(program, call);
            }
        }
        at_the_end.extend(lasting.iter().map(|&id| values.of(program, id)));
    }
    Left { seen, at_the_end }
}
