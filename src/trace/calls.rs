//! The calls that a trace keeps, and how they are found by their ids.

use super::draft::{Draft, NO_ID};

/// At most this many calls with the same id are told apart. A damaged file may give one id to all.
const MOST_ALIKE: usize = 16;

/// The place of a call in the trace.
pub(super) type Position = u32;

/// The calls that are kept, found by their correlation ids.
pub(super) struct Calls {
    /// Correlation id, process and position, sorted. A call made within another stands for the
    /// outer one.
    by_id: Vec<(u64, u64, Position)>,
}

impl Calls {
    /// Leaves out calls that the runtime made to the driver for a call that is there itself. They
    /// are sorted before.
    pub fn of(draft: &mut Draft) -> Self {
        let mut outer: Vec<Option<(Position, i64, u64)>> = vec![None; draft.threads.all.len()];
        let mut by_id = Vec::with_capacity(draft.calls.len());
        let mut kept: Position = 0;
        let Draft { calls, functions, threads, .. } = draft;
        calls.retain(|call| {
            let process = threads.process(call.thread);
            let outer = &mut outer[call.thread as usize];
            let is_driver = functions.of(call).is_driver;
            let inside = outer.filter(|&(_, end, correlation)| {
                // One that takes no time between two others belongs to neither.
                let within = call.begin < end && call.end <= end;
                is_driver && (within || (call.correlation == correlation && call.begin <= end))
            });
            let position = inside.map_or(kept, |(position, ..)| position);
            by_id.push((call.correlation, process, position));
            if inside.is_none() {
                kept += 1;
                if !is_driver {
                    *outer = Some((position, call.end, call.correlation));
                }
            }
            inside.is_none()
        });
        by_id.retain(|entry| entry.0 != NO_ID);
        by_id.sort_unstable();
        by_id.dedup();
        Self { by_id }
    }

    /// The call with an id; if several have it, the only one among them that `fits`. Which of
    /// more was meant is not guessed.
    pub fn find(
        &self,
        correlation: u64,
        process: Option<u64>,
        fits: impl Fn(Position) -> bool,
    ) -> Option<Position> {
        let key = |entry: &(u64, u64, Position)| (entry.0, process.map_or(0, |_| entry.1));
        let wanted = (correlation, process.unwrap_or(0));
        let begin = self.by_id.partition_point(|entry| key(entry) < wanted);
        let same = self.by_id[begin..].iter().take_while(|entry| key(entry) == wanted);
        let mut same = same.map(|entry| entry.2).take(MOST_ALIKE);
        let first = same.next()?;
        let Some(second) = same.next() else { return Some(first) };
        let mut fitting = [first, second].into_iter().chain(same).filter(|&one| fits(one));
        fitting.next().filter(|_| fitting.next().is_none())
    }
}
