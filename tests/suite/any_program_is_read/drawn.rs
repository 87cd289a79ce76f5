//! Programs that no family makes: random calls in random streams, with a wait wherever two of them
//! need one.

mod others;
mod own;
mod threads;

use super::order::race;
use hallway::kernels::{Arguments, Grid, Kernel};
use hallway::machine::{DeviceId, Direction, HostMemory, Residence, StreamId};
use hallway::program::{
    Allocation, AllocationId, BufferId, Call, CopyBy, EventId, LibraryStep, Place, Program, Route,
    Slice, StreamKind, StreamTraits, captured,
};
use hallway::units::Bytes;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use threads::over_threads;

/// Buffers of the workload that allocations may hold.
pub const BUFFERS: usize = 2;

/// Events of a program before any that graphs add. Few, so that they are recorded again.
const EVENTS: usize = 4;

const KERNELS: [Kernel; 6] = [
    Kernel::Scale,
    Kernel::Saxpy,
    Kernel::Polynomial,
    Kernel::Stencil,
    Kernel::Sum,
    Kernel::BlackScholes,
];

/// Host memory that copies may name.
fn is_copied(place: Place) -> bool {
    matches!(place, Place::Host(_)) && !place.is_managed()
}

struct Drawing {
    random: ChaCha8Rng,
    program: Program,
    /// Elements of each allocation, but for workspaces.
    elements: u64,
    /// The first and the last workspace, one for each device.
    workspaces: Vec<AllocationId>,
    current: DeviceId,
    /// What the body takes or pins, with the stream in whose order it is taken.
    taken: Vec<(AllocationId, Option<StreamId>)>,
    pinned: Vec<AllocationId>,
}

/// The program of a seed.
pub fn drawn(seed: u64) -> Program {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let elements = [64, 1_000, 4_096, 30_000, 100_000][random.random_range(0..5)];
    let program = Program {
        label: format!("drawn {seed}"),
        allocations: Vec::new(),
        streams: streams(&mut random),
        stream_names: Vec::new(),
        work_range: None,
        events: EVENTS,
        kernels: own::kernels(),
        setup: Vec::new(),
        body: Vec::new(),
        threads: Vec::new(),
    };
    let (workspaces, current) = (Vec::new(), DeviceId::FIRST);
    let (taken, pinned) = (Vec::new(), Vec::new());
    let mut drawing = Drawing { random, program, elements, workspaces, current, taken, pinned };
    drawing.allocate();
    if drawing.program.body.is_empty() && drawing.chance(0.05) {
        drawing.add_copy();
        let copied = drawing.program.body.split_off(drawing.program.body.len() - 1);
        drawing.program.setup.extend(copied);
    }
    let has_others = drawing.chance(0.4);
    for _ in 0..drawing.random.random_range(2..=14) {
        if has_others && drawing.chance(0.4) {
            drawing.add_other();
        } else {
            drawing.add_any();
        }
    }
    drawing.finish();
    // A graph of it, where one can be captured.
    let Drawing { mut random, program, .. } = drawing;
    if random.random_bool(0.3) {
        return captured(program.clone()).unwrap_or(program);
    }
    if random.random_bool(0.3) && program.devices() == 1 {
        return over_threads(&mut random, program);
    }
    program
}

fn streams(random: &mut ChaCha8Rng) -> Vec<StreamTraits> {
    let devices = if random.random_bool(0.25) { 2 } else { 1 };
    let more = random.random_range(0..=2);
    let with_default = random.random_bool(0.15);
    let stream = |at: usize| {
        let device = DeviceId(if at < devices { at } else { random.random_range(0..devices) });
        let kind = match (with_default, at) {
            (true, 0) => StreamKind::LegacyDefault,
            (true, _) if random.random_bool(0.7) => StreamKind::Blocking,
            _ => StreamKind::NonBlocking,
        };
        let priority = if random.random_bool(0.2) { -1 } else { 0 };
        StreamTraits { kind, priority, device }
    };
    (0..devices + more).map(stream).collect()
}

impl Drawing {
    fn chance(&mut self, probability: f64) -> bool {
        self.random.random_bool(probability)
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.random.random_range(0..all.len())]
    }

    fn allocate(&mut self) {
        let mut hosts = vec![HostMemory::Pinned, HostMemory::Pageable];
        for rare in [HostMemory::WriteCombined, HostMemory::Managed] {
            hosts.extend(self.chance(0.2).then_some(rare));
        }
        let hosts: Vec<Place> = hosts.into_iter().map(Place::Host).collect();
        let devices = (0..self.program.devices()).map(|id| Place::Device(DeviceId(id)));
        let places: Vec<Place> = hosts.into_iter().chain(devices.clone()).collect();
        for place in places {
            let is_device = matches!(place, Place::Device(_));
            for _ in 0..self.random.random_range(1..=2) + usize::from(is_device) {
                self.take(place, self.elements);
            }
        }
        let needs = Grid::workspace(Kernel::Sum, &Arguments::default()).expect("a reduction");
        for place in devices {
            let id = self.take(place, needs);
            self.workspaces.push(id);
            let stream = self.streams_on(place)[0];
            let target = self.whole(id);
            self.program.setup.push(Call::Clear { stream, target });
        }
    }

    fn take(&mut self, place: Place, elements: u64) -> AllocationId {
        let at = self.program.allocations.len();
        let is_host = matches!(place, Place::Host(_));
        let is_usual = place.is_pinned() || place == Place::Host(HostMemory::Pageable);
        let holds =
            (is_host && is_usual && at < BUFFERS && self.chance(0.6)).then_some(BufferId(at));
        let (name, bytes) = (format!("m{at}"), Bytes::of_f32(elements));
        self.program.allocations.push(Allocation { name, place, bytes, holds });
        let id = AllocationId(at);
        if holds.is_none() {
            let is_workspace = elements != self.elements;
            if !is_workspace && self.chance(0.03) {
                self.take_in_body(id);
            } else {
                self.program.setup.push(Call::allocate(id));
            }
        } else if place == Place::Host(HostMemory::Pinned) && self.chance(0.7) {
            let in_body = self.chance(0.04);
            if in_body {
                self.pinned.push(id);
            }
            let part = if in_body { &mut self.program.body } else { &mut self.program.setup };
            part.push(Call::Pin(id));
        }
        id
    }

    fn take_in_body(&mut self, id: AllocationId) {
        let place = self.program.allocation(id).place;
        let streams = self.streams_on(place);
        let stream = (!streams.is_empty() && self.chance(0.5)).then(|| self.one_of(&streams));
        self.taken.push((id, stream));
        self.add(Call::Allocate { allocation: id, stream });
    }

    fn give_back(&mut self, (allocation, stream): (AllocationId, Option<StreamId>)) {
        self.add(Call::Free { allocation, stream });
    }

    fn streams_on(&self, place: Place) -> Vec<StreamId> {
        let all = (0..self.program.streams.len()).map(StreamId);
        all.filter(|&id| Place::Device(self.program.device_of(id)) == place).collect()
    }

    fn whole(&self, allocation: AllocationId) -> Slice {
        let length = self.program.allocation(allocation).bytes;
        Slice { allocation, offset: Bytes::ZERO, length }
    }

    /// Allocations in places like this, without workspaces.
    fn memory(&self, is_wanted: impl Fn(Place) -> bool) -> Vec<AllocationId> {
        let all = (0..self.program.allocations.len()).map(AllocationId);
        all.filter(|id| !self.workspaces.contains(id))
            .filter(|&id| is_wanted(self.program.allocation(id).place))
            .collect()
    }

    /// So many elements of one of these allocations, at a multiple of their number.
    fn part(&mut self, of: &[AllocationId], elements: u64) -> Slice {
        let allocation = self.one_of(of);
        let at = self.random.random_range(0..self.elements / elements);
        let [offset, length] = [at * elements, elements].map(Bytes::of_f32);
        Slice { allocation, offset, length }
    }

    fn length(&mut self) -> u64 {
        let (all, part) = (self.elements, self.random.random_range(0..4));
        [all, all, all / 2, all / 4][part]
    }

    fn stream(&mut self) -> StreamId {
        StreamId(self.random.random_range(0..self.program.streams.len()))
    }

    /// An event that the device of a stream records.
    fn event_of(&mut self, stream: StreamId) -> EventId {
        let (DeviceId(device), devices) = (self.program.device_of(stream), self.program.devices());
        EventId(self.random.random_range(0..EVENTS / devices) * devices + device)
    }

    fn add_any(&mut self) {
        match self.random.random_range(0..22) {
            0..8 => self.add_copy(),
            8..14 => self.add_launch(),
            14 => self.add_clear(),
            15 if self.chance(0.3) => self.add_prefetch(),
            15 => self.add_compute(),
            20 | 21 => self.add_own(),
            16 => {
                let pageable = self.memory(|place| place == Place::Host(HostMemory::Pageable));
                let id = self.one_of(&pageable);
                self.add(Call::Renew(id));
            }
            17 if self.program.devices() > 1 => self.add_peer_copy(),
            // Events and waits that nothing needs.
            17 | 18 => {
                let (stream, event) = (self.stream(), EventId(self.random.random_range(0..EVENTS)));
                let call = if self.chance(0.5) {
                    Call::Record { stream, event: self.event_of(stream) }
                } else {
                    Call::Wait { stream, event }
                };
                self.add(call);
            }
            _ => {
                let stream = self.stream();
                self.add(Call::Synchronize { stream });
            }
        }
    }

    fn add_copy(&mut self) {
        let (stream, length) = (self.stream(), self.length());
        let device = Place::Device(self.program.device_of(stream));
        let (there, here) = (self.memory(|place| place == device), self.memory(is_copied));
        let (host, device) = (self.part(&here, length), self.part(&there, length));
        let direction = self.one_of(&Direction::BOTH);
        let (from, to) = match direction {
            Direction::HostToDevice => (host, device),
            Direction::DeviceToHost => (device, host),
        };
        self.add(Call::copy(CopyBy::crossing(stream, direction), from, to));
    }

    fn add_peer_copy(&mut self) {
        let length = self.length();
        let (from, to) = if self.chance(0.7) { (0, 1) } else { (1, 0) };
        let [from, to] = [from, to].map(|id| Place::Device(DeviceId(id)));
        // The stream belongs to the device that sends, or to the one that receives.
        let issuer = if self.chance(0.8) { from } else { to };
        let streams = self.streams_on(issuer);
        let stream = self.one_of(&streams);
        let (from, to) = (self.memory(|place| place == from), self.memory(|place| place == to));
        let (from, to) = (self.part(&from, length), self.part(&to, length));
        self.add(Call::copy(CopyBy::Stream(stream, Route::ToPeer), from, to));
    }

    fn add_prefetch(&mut self) {
        let managed = self.memory(Place::is_managed);
        if managed.is_empty() {
            return;
        }
        let (stream, length) = (self.stream(), self.length());
        let target = self.part(&managed, length);
        let to = self.one_of(&[Residence::Host, Residence::Device]);
        self.add(Call::Prefetch { stream, target, to });
    }

    fn add_clear(&mut self) {
        let (stream, length) = (self.stream(), self.length());
        let device = Place::Device(self.program.device_of(stream));
        let there = self.memory(|place| place == device);
        let target = self.part(&there, length);
        self.add(Call::Clear { stream, target });
    }

    fn add_launch(&mut self) {
        let stream = self.stream();
        let DeviceId(device) = self.program.device_of(stream);
        let here = Place::Device(DeviceId(device));
        // Some kernels use the host's memory across the link.
        let reaches_out = self.chance(0.15);
        let is_seen = |place: Place| place.is_pinned() || place.is_managed();
        let there = self.memory(|place| place == here || reaches_out && is_seen(place));
        let mut step = self.step(&there);
        step.workspace = (step.kernel == Kernel::Sum).then(|| self.whole(self.workspaces[device]));
        self.add(Call::Launch { stream, step: step.into() });
    }

    fn add_compute(&mut self) {
        let here = self.memory(|place| matches!(place, Place::Host(_)));
        let step = self.step(&here);
        self.add(Call::Compute { step: step.into() });
    }

    fn step(&mut self, memory: &[AllocationId]) -> LibraryStep {
        let (kernel, length) = (self.one_of(&KERNELS), self.length());
        let reduces = kernel == Kernel::Sum;
        let output = self.part(memory, if reduces { 1 } else { length });
        let others: Vec<AllocationId> =
            memory.iter().copied().filter(|&id| id != output.allocation).collect();
        let inputs = (0..kernel.inputs()).map(|_| {
            let in_place = kernel.works_in_place() && self.chance(0.3);
            if in_place { output } else { self.part(&others, length) }
        });
        let inputs = inputs.collect();
        let arguments = Arguments::default();
        LibraryStep { kernel, arguments, inputs, output, workspace: None, lead: 0 }
    }

    /// Adds a call, after all waits that it needs.
    fn add(&mut self, call: Call) {
        loop {
            self.enter(&call);
            self.program.body.push(call.clone());
            let second = self.program.body.len() - 1;
            // What the host has not waited for at the end comes later.
            let Some((first, _)) = race(&self.program).filter(|&(_, other)| other == second) else {
                break;
            };
            self.program.body.pop();
            let stream = self.program.body[first].stream().expect("the host waits for its own");
            match call.stream() {
                Some(waiting) if self.chance(0.7) => {
                    let event = self.event_of(stream);
                    self.issue(Call::Record { stream, event });
                    self.issue(Call::Wait { stream: waiting, event });
                }
                _ => self.wait_on_host(stream),
            }
        }
    }

    /// Has the host wait for all that was issued to a stream.
    fn wait_on_host(&mut self, stream: StreamId) {
        match self.random.random_range(0..8) {
            0 => {
                let event = self.event_of(stream);
                self.issue(Call::Record { stream, event });
                self.issue(Call::SynchronizeEvent { event });
            }
            1 => {
                let device = self.program.device_of(stream);
                self.make_current(device);
                self.issue(Call::SynchronizeDevice(device));
            }
            _ => self.issue(Call::Synchronize { stream }),
        }
    }

    fn issue(&mut self, call: Call) {
        self.enter(&call);
        self.program.body.push(call);
    }

    /// Makes the context current in which a call has to be made.
    fn enter(&mut self, call: &Call) {
        if let Some(device) = call.stream().map(|stream| self.program.device_of(stream)) {
            self.make_current(device);
        }
    }

    fn make_current(&mut self, device: DeviceId) {
        if std::mem::replace(&mut self.current, device) != device {
            self.program.body.push(Call::Use(device));
        }
    }

    /// Waits for everything that the host has not waited for.
    fn finish(&mut self) {
        while let Some(one) = self.taken.pop() {
            self.give_back(one);
        }
        while let Some(id) = self.pinned.pop() {
            self.add(Call::Unpin(id));
        }
        while let Some((first, _)) = race(&self.program) {
            let stream = self.program.body[first].stream().expect("work of a stream");
            self.issue(Call::Synchronize { stream });
        }
        self.make_current(DeviceId::FIRST);
    }
}
