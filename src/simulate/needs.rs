//! What a plan asks of a profile besides its calls: it may only come to some
//! hand-overs, and to none of what it cannot come to does it need a price.

use super::operation::{NONE, Work};
use super::program::{HandOvers, Item, Price, Program, Sort, Tie, Waits};
use crate::profile::{HandOver, OperationKind, Profile, Unknown};

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
    let mut looked_up = [[[false; 3]; 3]; 3];
    let mut streams = vec![Behind::default(); program.streams()];
    let mut recordings = vec![[false; 3]; program.recordings];
    for item in &program.items {
        pass_barrier(program, &mut streams, item);
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
            Sort::Operation(to) => {
                let awaited = KINDS.into_iter().filter(|&kind| behind.awaited[kind as usize]);
                let within = behind.last.into_iter().map(|from| (from, Tie::Stream));
                for (from, tie) in within.chain(awaited.map(|from| (from, Tie::Event))) {
                    let tie = if class.in_graph { Tie::Graph } else { tie };
                    let (row, side) = ((from as usize, to as usize), tie as usize);
                    if !std::mem::replace(&mut looked_up[row.0][row.1][side], true) {
                        table[row.0][row.1][side] = price_of(program.profile, from, to, tie)?;
                    }
                }
                *behind = Behind { last: Some(to), awaited: [false; 3] };
            }
        }
    }
    if program.classes.iter().any(|class| class.may_go_inline) {
        // Whether such a copy is one of an engine's, only the run of the plan shows.
        for (from, to) in KINDS.into_iter().flat_map(|from| KINDS.map(|to| (from, to))) {
            for tie in [Tie::Stream, Tie::Event] {
                let price = &mut table[from as usize][to as usize][tie as usize];
                *price = price_of(program.profile, from, to, tie)?;
            }
        }
    }
    Ok(table)
}

/// Behind the legacy default stream's barrier, what was last is as good as awaited.
fn pass_barrier(program: &Program<'_>, streams: &mut [Behind], item: &Item) {
    if item.sort == Sort::HostOnly || !program.barrier.contains(&item.stream) {
        return;
    }
    let kind = |stream: u16| program.traits[usize::from(stream)].kind;
    for &other in &program.barrier {
        if kind(item.stream).waits_for(kind(other)) {
            let before = streams[usize::from(other)].last;
            let awaited = &mut streams[usize::from(item.stream)].awaited;
            before.iter().for_each(|&kind| awaited[kind as usize] = true);
        }
    }
}

fn price_of(
    profile: &Profile,
    from: OperationKind,
    to: OperationKind,
    tie: Tie,
) -> Result<Price, Unknown> {
    if tie == Tie::Graph {
        let ns = profile.node_hand_over(from, to)?;
        return Ok(Price { first: ns, queued: ns, ..Price::default() });
    }
    let latency = &profile.latency;
    let period = latency.look_period.filter(|_| from != to);
    let delay = latency.look_delay.filter(|_| to == OperationKind::Kernel);
    let price = |found: &HandOver| Price {
        first: found.first.ns.max(0.0),
        queued: found.queued.ns.max(0.0),
        period: period.map_or(0.0, |period| period.ns.max(0.0)),
        delay: delay.map_or(0.0, |delay| delay.ns.max(0.0)),
    };
    Ok(profile.hand_over(from, to, tie == Tie::Event)?.map_or(Price::default(), price))
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
