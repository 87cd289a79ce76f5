//! The pipeline that both run: every chunk in, through a kernel, and out.

use hallway::kernels::{Arguments, Kernel};
use hallway::plan::{
    Allocation, AllocationId, Call, Direction, EventId, Family, Place, Plan, Slice, Step, Strategy,
    StreamId,
};
use hallway::scenario::HostMemory;
use hallway::units::Bytes;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

const ELEMENTS: u64 = 50_000;

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

/// The by-engine plan of as many chunks: three streams, joined by two events a chunk.
pub fn by_engine(chunks: usize) -> Plan {
    let [home, input, output] = [0, 1, 2].map(AllocationId);
    let allocation = |name: &str, place| Allocation {
        name: name.to_owned(),
        place,
        bytes: Bytes::of_f32(ELEMENTS),
        holds: None,
    };
    let slice =
        |allocation| Slice { allocation, offset: Bytes::ZERO, length: Bytes::of_f32(ELEMENTS) };
    let [inward, compute, outward] = [0, 1, 2].map(StreamId);
    let mut body = Vec::with_capacity(7 * chunks + 1);
    for chunk in 0..chunks {
        let [came, computed] = [2 * chunk, 2 * chunk + 1].map(EventId);
        let (direction, from, to) = (Direction::HostToDevice, slice(home), slice(input));
        body.push(Call::Copy { stream: inward, direction, from, to });
        body.push(Call::Record { stream: inward, event: came });
        body.push(Call::Wait { stream: compute, event: came });
        let step = Step {
            kernel: Kernel::Scale,
            arguments: Arguments::default(),
            inputs: vec![slice(input)],
            output: slice(output),
            workspace: None,
            lead: 0,
        };
        body.push(Call::Launch { stream: compute, step });
        body.push(Call::Record { stream: compute, event: computed });
        body.push(Call::Wait { stream: outward, event: computed });
        let (direction, from, to) = (Direction::DeviceToHost, slice(output), slice(home));
        body.push(Call::Copy { stream: outward, direction, from, to });
    }
    body.push(Call::Synchronize { stream: outward });
    Plan {
        strategy: Strategy {
            family: Family::ByEngine { chunks: chunks as u64 },
            memory: HostMemory::Pinned,
        },
        allocations: vec![
            allocation("home", Place::Host(HostMemory::Pinned)),
            allocation("input", Place::Device),
            allocation("output", Place::Device),
        ],
        streams: 3,
        events: 2 * chunks,
        setup: Vec::new(),
        body,
    }
}
