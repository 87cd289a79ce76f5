//! Which calls of a body use bytes that other calls write.

use super::hazards::{LatestAccesses, OrderedAccess};
use super::value::Program;

/// For each call of the body, positions of calls that it has to follow because of its data: earlier
/// ones that use the same bytes, at least one of the two writing. In ascending order. Of reads in
/// one stream, only the latest is listed, and so is only the latest write of a byte.
pub fn dependences(program: &Program) -> Vec<Vec<usize>> {
    let mut accesses: Vec<LatestAccesses> =
        program.allocations.iter().map(|_| LatestAccesses::default()).collect();
    let mut found = Vec::with_capacity(program.body.len());
    let lanes = program.lanes();
    let host = lanes.count();
    for (index, (call, lane)) in program.body.iter().zip(lanes.iter()).enumerate() {
        let mut before = Vec::new();
        for one in program.accesses(call) {
            let (touched, writes) = (one.touched, one.writes());
            let lane = lane.unwrap_or(host);
            let access = OrderedAccess { touched, writes, call: index, lane, number: 0 };
            let earlier = &mut accesses[one.allocation().0];
            before.extend(earlier.before(&access).map(|old| old.call));
            earlier.add(access);
        }
        before.retain(|&call| call != index);
        before.sort_unstable();
        before.dedup();
        found.push(before);
    }
    found
}
