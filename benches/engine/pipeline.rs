//! The pipeline that is raced: every chunk in, through a kernel, and out.

use hallway::kernels::{Arguments, Kernel};
use hallway::machine::{Direction, HostMemory, StreamId};
use hallway::program::{
    Allocation, AllocationId, Call, CopyBy, EventId, LibraryStep, Place, Program, Slice,
    StreamTraits,
};
use hallway::units::Bytes;

/// Elements of a chunk.
pub const ELEMENTS: u64 = 50_000;

/// The by-engine plan of as many chunks: three streams, joined by two events a chunk.
pub fn by_engine(chunks: usize) -> Program {
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
        body.push(Call::copy(CopyBy::crossing(inward, direction), from, to));
        body.push(Call::Record { stream: inward, event: came });
        body.push(Call::Wait { stream: compute, event: came });
        let step = LibraryStep {
            kernel: Kernel::Scale,
            arguments: Arguments::default(),
            inputs: vec![slice(input)],
            output: slice(output),
            workspace: None,
            lead: 0,
        };
        body.push(Call::Launch { stream: compute, step: step.into() });
        body.push(Call::Record { stream: compute, event: computed });
        body.push(Call::Wait { stream: outward, event: computed });
        let (direction, from, to) = (Direction::DeviceToHost, slice(output), slice(home));
        body.push(Call::copy(CopyBy::crossing(outward, direction), from, to));
    }
    body.push(Call::Synchronize { stream: outward });
    Program {
        label: format!("by-engine {chunks}"),
        allocations: vec![
            allocation("home", Place::Host(HostMemory::Pinned)),
            allocation("input", Place::FIRST_DEVICE),
            allocation("output", Place::FIRST_DEVICE),
        ],
        streams: vec![StreamTraits::default(); 3],
        stream_names: Vec::new(),
        work_range: None,
        events: 2 * chunks,
        kernels: Vec::new(),
        setup: Vec::new(),
        body,
        threads: Vec::new(),
    }
}
