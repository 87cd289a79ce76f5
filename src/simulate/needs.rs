//! What a plan asks of a profile besides its calls: it may only come to some
//! hand-overs, and to none of what it cannot come to does it need a price.

use super::operation::{NONE, Work};
use super::program::{HandOvers, Price, Program, Sort, Waits};
use crate::profile::{OperationKind, Profile, Unknown};

/// What the next operation of a stream has to follow.
#[derive(Clone, Copy, Default)]
struct Behind {
    last: Option<OperationKind>,
    /// Kinds of operations of other streams, by events.
    awaited: [bool; 3],
}

const KINDS: [OperationKind; 3] =
    [OperationKind::CopyIn, OperationKind::CopyOut, OperationKind::Kernel];

/// The prices of the hand-overs that the program may come to.
///
/// # Errors
/// If the profile does not know one of them.
pub(super) fn hand_overs(program: &Program<'_>) -> Result<HandOvers, Unknown> {
    let mut table = HandOvers::default();
    let mut streams = vec![Behind::default(); program.streams()];
    let mut recordings = vec![[false; 3]; program.recordings];
    for item in &program.items {
        let Some(behind) = streams.get_mut(usize::from(item.stream)) else { continue };
        let class = &program.classes[item.class as usize];
        match item.sort {
            // What the host has waited for keeps nothing waiting any more.
            Sort::HostOnly if matches!(class.waits, Waits::Stream(_)) => {
                *behind = Behind::default();
            }
            Sort::HostOnly => {}
            Sort::Record => {
                let mut before = behind.awaited;
                behind.last.iter().for_each(|&kind| before[kind as usize] = true);
                recordings[item.recording as usize] = before;
            }
            Sort::Wait if item.recording == NONE => {}
            Sort::Wait => {
                for kind in KINDS {
                    behind.awaited[kind as usize] |=
                        recordings[item.recording as usize][kind as usize];
                }
            }
            Sort::Operation | Sort::Kernel => {
                let to = class.work.kind().expect("events are handled before");
                let awaited = KINDS.into_iter().filter(|&kind| behind.awaited[kind as usize]);
                let within = behind.last.into_iter().map(|from| (from, false));
                for (from, across) in within.chain(awaited.map(|from| (from, true))) {
                    let price = &mut table[from as usize][to as usize][usize::from(across)];
                    if price.is_none() {
                        *price = price_of(program.profile, from, to, across)?;
                    }
                }
                *behind = Behind { last: Some(to), awaited: [false; 3] };
            }
        }
    }
    Ok(table)
}

fn price_of(
    profile: &Profile,
    from: OperationKind,
    to: OperationKind,
    across: bool,
) -> Result<Option<Price>, Unknown> {
    let found = profile.hand_over(from, to, across)?;
    Ok(found.map(|h| Price { first: h.first.ns.max(0.0), queued: h.queued.ns.max(0.0) }))
}

/// Only where several streams have kernels can one wait while another runs.
///
/// # Errors
/// If the profile does not know what that costs.
pub(super) fn polling(program: &Program<'_>) -> Result<(), Unknown> {
    if program.launching.len() < 2 {
        return Ok(());
    }
    let mut copies = [false; 2];
    for class in &program.classes {
        if let Work::Copy { direction, .. } | Work::Staged { direction, .. } = class.work {
            copies[direction as usize] = true;
        }
    }
    program.profile.knows_polling(copies)
}
