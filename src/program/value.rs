//! The program itself: memory, streams, events and calls.

use super::call::Call;
use super::operands::{
    Allocation, AllocationId, MemoryChange, Place, Slice, StreamTraits, ThreadId,
};
use crate::files;
use crate::kernels::OwnKernel;
use crate::machine::{DeviceId, HostMemory, StreamId};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::io::{BufWriter, Write};

/// A complete program: set-up once, body as often as wanted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// What the program is called. It says nothing of what the program does.
    pub label: String,
    pub allocations: Vec<Allocation>,
    pub streams: Vec<StreamTraits>,
    /// What the streams are called, in their order. Empty if they have numbers. Like the label, it
    /// says nothing of what the program does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stream_names: Vec<String>,
    pub events: usize,
    /// Kernels that are not of the library. Calls name them by their places here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernels: Vec<OwnKernel>,
    pub setup: Vec<Call>,
    pub body: Vec<Call>,
    /// For each call of the body, the host thread that makes it. Empty if the main thread makes
    /// all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<ThreadId>,
    /// By which share all work on the host together is off at most, nine times out of ten, if that
    /// was stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_range: Option<f64>,
}

impl Program {
    /// The most calls that a pass may make. Simulating so many a hundred times takes some seconds.
    /// Beyond some hundreds, more calls of one kind change nothing in the answer.
    pub const MOST_CALLS: usize = 262_144;

    pub fn allocation(&self, id: AllocationId) -> &Allocation {
        &self.allocations[id.0]
    }

    /// All calls: those of the set-up, and those of the body.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.setup.iter().chain(&self.body)
    }

    /// Whether the program uses a GPU at all.
    pub fn needs_device(&self) -> bool {
        !self.streams.is_empty()
    }

    /// GPUs that the program uses.
    pub fn devices(&self) -> usize {
        self.streams.iter().map(|stream| stream.device.0 + 1).max().unwrap_or(0)
    }

    pub fn streams_of(&self, device: DeviceId) -> usize {
        self.streams.iter().filter(|stream| stream.device == device).count()
    }

    /// Whether the call at a position of the body copies pageable memory: the driver stages it
    /// through pinned memory of its own.
    pub fn is_staged(&self, call: usize) -> bool {
        self.body.get(call).is_some_and(|call| self.stages(call))
    }

    /// Whether a call, of the body or of the set-up, copies pageable memory.
    pub fn stages(&self, call: &Call) -> bool {
        call.crossing().is_some_and(|(_, direction, from, to)| {
            let ashore = self.allocation(direction.ashore(from, to).allocation);
            ashore.place == Place::Host(HostMemory::Pageable)
        })
    }

    /// The device of a stream.
    pub fn device_of(&self, stream: StreamId) -> DeviceId {
        self.streams[stream.0].device
    }

    /// The devices that a peer copy goes from and to.
    ///
    /// # Panics
    /// If the call is not a peer copy between devices.
    pub fn peers_of(&self, from: &Slice, to: &Slice) -> [DeviceId; 2] {
        [from, to].map(|side| match self.allocation(side.allocation).place {
            Place::Device(device) => device,
            Place::Host(_) => panic!("a peer copy is from device to device"),
        })
    }

    /// The most memory that the program takes of any device. Managed memory may all be there.
    pub fn device_bytes(&self) -> Bytes {
        let devices = (0..self.devices().max(1)).map(DeviceId);
        let own = devices.map(|device| self.bytes_in(Place::Device(device))).max();
        own.unwrap_or(Bytes::ZERO) + self.bytes_in(Place::Host(HostMemory::Managed))
    }

    /// All page-locked memory that the program takes.
    pub fn pinned_bytes(&self) -> Bytes {
        let kinds = [HostMemory::Pinned, HostMemory::WriteCombined].map(Place::Host);
        kinds.into_iter().map(|place| self.bytes_in(place)).sum()
    }

    /// Whether it page-locks host memory: by registering it, or by taking pinned memory of its own.
    /// Memory that the scenario says is pinned does not count: it is there already.
    pub fn pins(&self) -> bool {
        let registers = self.calls().any(|call| call.pinned().is_some());
        let is_combined = |one: &Allocation| one.place == Place::Host(HostMemory::WriteCombined);
        let mut is_taken = vec![false; self.allocations.len()];
        for call in &self.setup {
            if let Some((allocation, MemoryChange::Allocate)) = call.memory_change() {
                is_taken[allocation.0] = true;
            }
        }
        let takes = self.allocations.iter().zip(is_taken).any(|(one, is_taken)| {
            let is_own = one.holds.is_none() || is_taken;
            one.place.is_pinned() && (is_own || (is_combined(one) && !one.place.is_managed()))
        });
        registers || takes
    }

    /// Total size of the allocations in a place.
    pub fn bytes_in(&self, place: Place) -> Bytes {
        let here = self.allocations.iter().filter(|allocation| allocation.place == place);
        here.map(|allocation| allocation.bytes).sum()
    }

    /// Total size of the allocations in host memory.
    pub fn host_bytes(&self) -> Bytes {
        let hosts = self.allocations.iter().filter(|a| matches!(a.place, Place::Host(_)));
        hosts.map(|allocation| allocation.bytes).sum()
    }

    /// For each direction and allocation, whether copies read it on the host, or write it there.
    pub fn copied(&self) -> [Vec<bool>; 2] {
        let mut copied = [(); 2].map(|()| vec![false; self.allocations.len()]);
        for call in &self.body {
            if let Some((_, direction, from, to)) = call.crossing() {
                copied[direction as usize][direction.ashore(from, to).allocation.0] = true;
            }
        }
        copied
    }

    /// Whether the CPU does all the computing. A program that only copies is the GPU's.
    pub fn computes_on_cpu(&self) -> bool {
        let has = |is: fn(&Call) -> bool| self.body.iter().any(is);
        let launches = has(Call::is_launch);
        let computes = has(Call::is_compute);
        !launches && (computes || !self.needs_device())
    }

    /// Whether calls were captured as a graph, which the body launches.
    pub fn has_graphs(&self) -> bool {
        self.body.iter().any(|call| call.launched_calls().is_some())
    }

    /// Whether the driver stages any copy of the body.
    pub fn has_staged_copies(&self) -> bool {
        (0..self.body.len()).any(|call| self.is_staged(call))
    }
}

/// Version of what is digested. Kept runs name programs by their digests.
const FORMAT: u32 = 2;

/// What a program does, without what it is called.
#[derive(Serialize)]
struct Digested<'p> {
    hallway_program: u32,
    allocations: &'p [Allocation],
    streams: &'p [StreamTraits],
    events: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    kernels: Vec<OwnKernel>,
    setup: &'p [Call],
    body: &'p [Call],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    threads: &'p [ThreadId],
}

impl Program {
    /// A digest of everything that the program does. Programs that differ in their label alone, in
    /// the names of their streams, or in those of the files that their kernels come from, have one
    /// identity.
    pub fn identity(&self) -> String {
        let Self { allocations, streams, events, kernels, setup, body, threads, .. } = self;
        let digested = Digested {
            hallway_program: FORMAT,
            allocations,
            streams,
            events: *events,
            kernels: kernels.iter().map(OwnKernel::without_file).collect(),
            setup,
            body,
            threads,
        };
        // The text of a large program takes many megabytes, which need not be in memory at once.
        let mut digest = files::Digest::default();
        let mut text = BufWriter::new(&mut digest);
        serde_json::to_writer(&mut text, &digested).expect("a program is plain data");
        text.flush().expect("a digest takes all");
        drop(text);
        digest.finish()
    }
}
