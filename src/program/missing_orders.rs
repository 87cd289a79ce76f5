//! Which waits a body needs: every order between two of its calls that nothing gives yet.
//!
//! It is the walk of [`super::check_hazards`], which goes on where that ends: it notes the order
//! that is missing, and takes it for given from there on.

use super::hazards::{LatestAccesses, OrderedAccess};
use super::order::{Clock, Order};
use super::value::Program;

/// An order that a body lacks. Calls are given by their positions in the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct MissingOrder {
    pub first: usize,
    pub second: usize,
}

/// What a body lacks to be free of races.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MissingOrders {
    /// In the order of the calls that come second.
    pub between: Vec<MissingOrder>,
    /// Streams with operations that the host does not know to be done when the body ends.
    pub at_the_end: Vec<usize>,
}

/// Finds every order that a body of one host thread lacks: each pair of calls that touch the same
/// bytes, one of them writing, of which nothing says that the first is done before the second. A
/// pair is left out if earlier pairs imply it.
pub fn missing_orders(program: &Program) -> MissingOrders {
    let mut order = Order::new(program);
    let mut accesses: Vec<LatestAccesses> =
        program.allocations.iter().map(|_| LatestAccesses::default()).collect();
    // What was done when each call was, for calls that do something themselves.
    let mut done: Vec<Option<Clock>> = vec![None; program.body.len()];
    let mut found = MissingOrders::default();
    for index in 0.. {
        let Some((call, passed)) = order.pass() else { break };
        let (lane, number) = (passed.lane, passed.number);
        let mut known = passed.known.clone();
        let Some(number) = number else { continue };
        let uses: Vec<OrderedAccess> = program
            .accesses(call)
            .map(|one| OrderedAccess {
                touched: one.touched,
                writes: one.writes(),
                call: index,
                lane,
                number,
            })
            .collect();
        // The latest first: it stands for what comes before it in its lane.
        let mut before: Vec<(usize, usize, usize)> = uses
            .iter()
            .flat_map(|one| accesses[one.touched.slice.allocation.0].before(one))
            .filter(|old| old.call != index)
            .map(|old| (old.call, old.lane, old.number))
            .collect();
        before.sort_unstable();
        before.dedup();
        for (first, of_lane, number) in before.into_iter().rev() {
            if known[of_lane] >= number {
                continue;
            }
            found.between.push(MissingOrder { first, second: index });
            if let Some(clock) = &done[first] {
                known.iter_mut().zip(clock).for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
            }
        }
        order.learn_clock(lane, &known);
        uses.into_iter().for_each(|one| accesses[one.touched.slice.allocation.0].add(one));
        done[index] = Some(known);
    }
    let streams = program.streams.len().max(1);
    found.at_the_end = order.unfinished().map(|lane| lane % streams).collect();
    found.at_the_end.dedup();
    found
}
