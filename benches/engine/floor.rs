//! The pipeline of `pipeline.rs`, simulated without any rule of the hardware.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// What a chunk takes at each of three servers, in nanoseconds.
const SERVICE: [u64; 3] = [51_000, 50_000, 51_000];

/// Three servers in a row, each with its queue; chunks are all there at the
/// start. Gives the time at which the last one leaves.
pub fn floor(chunks: usize) -> u64 {
    let mut queues =
        [(0..chunks as u32).collect::<VecDeque<u32>>(), VecDeque::new(), VecDeque::new()];
    let mut busy = [false; 3];
    let mut heap = BinaryHeap::new();
    let mut now = 0;
    let mut start = |now: u64,
                     server: usize,
                     queues: &mut [VecDeque<u32>; 3],
                     heap: &mut BinaryHeap<Reverse<(u64, usize, u32)>>| {
        busy[server] = false;
        if let Some(chunk) = queues[server].pop_front() {
            busy[server] = true;
            heap.push(Reverse((now + SERVICE[server], server, chunk)));
        }
        busy
    };
    start(0, 0, &mut queues, &mut heap);
    while let Some(Reverse((time, server, chunk))) = heap.pop() {
        now = time;
        let busy = start(now, server, &mut queues, &mut heap);
        if server < 2 {
            queues[server + 1].push_back(chunk);
            if !busy[server + 1] {
                start(now, server + 1, &mut queues, &mut heap);
            }
        }
    }
    now
}
