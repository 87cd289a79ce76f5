//! What the GPUs did: CUPTI's records, in the order in which it hands them over.
//!
//! Places within records are the same from CUPTI 11.8 to 13.4; later versions only append.

use super::cupti::demangled;
use super::format::{
    CLEAR, COPY, CREATED, DEVICE, DROPPED, KERNEL, NAME, OF_GRAPH, SHAPE, STREAM, put, put_step,
    put_text,
};
use super::output::Output;
use std::collections::{BTreeSet, HashMap};
use std::ffi::{CStr, c_char};
use std::io;

/// CUPTI's kinds of records.
pub const OF_COPIES: u32 = 1;
pub const OF_CLEARS: u32 = 2;
pub const OF_KERNELS: u32 = 10;
pub const OF_PEER_COPIES: u32 = 22;

/// A block is written when it is longer than this.
const FULL: usize = 64 << 10;
const LONGEST_NAME: usize = 1_000;

/// What all launches of a kernel with one configuration have in common.
#[derive(PartialEq, Eq, Hash)]
struct Shape {
    name: u64,
    grid: [u32; 3],
    block: [u32; 3],
    registers: u16,
    shared: u64,
}

/// Writes records, with what many of them share only once.
#[derive(Default)]
pub struct DeviceRecords {
    block: Vec<u8>,
    names: HashMap<Vec<u8>, u64>,
    shapes: HashMap<Shape, u64>,
    streams: HashMap<[u32; 3], u64>,
    start: u64,
    call: u64,
    node: u64,
    pub kernels: u64,
    pub copies: u64,
    pub copied: u64,
    devices: BTreeSet<u32>,
    /// Devices whose names have not been written.
    pub unnamed: Vec<u32>,
}

/// Where the fields of a record are.
struct Places {
    start: usize,
    device: usize,
    call: usize,
    node: usize,
}

/// A record of CUPTI.
#[derive(Clone, Copy)]
pub struct Raw(*const u8);

impl Raw {
    /// # Safety
    /// CUPTI has handed this record over, whole.
    pub const unsafe fn new(record: *const u8) -> Self {
        Self(record)
    }

    /// The number of its call, if it is of a kind that is read.
    pub fn correlation(self) -> Option<u32> {
        match self.read::<u32>(0) {
            OF_COPIES | OF_CLEARS => Some(self.read(44)),
            OF_PEER_COPIES => Some(self.read(60)),
            OF_KERNELS => Some(self.read(92)),
            _ => None,
        }
    }

    fn read<T: Copy>(self, at: usize) -> T {
        // SAFETY: records of the kinds that are read have their fields in these places.
        unsafe { self.0.add(at).cast::<T>().read_unaligned() }
    }
}

impl DeviceRecords {
    /// Takes a record over. One of another kind is left out.
    pub fn add(&mut self, record: Raw, output: &mut Output) -> io::Result<()> {
        let places = |start, device, call, node| Places { start, device, call, node };
        match record.read::<u32>(0) {
            OF_COPIES => self.copy(record, &places(16, 32, 44, 64)),
            OF_PEER_COPIES => self.copy(record, &places(16, 32, 60, 72)),
            OF_CLEARS => {
                let stream = self.stream(record, 32);
                self.begin(CLEAR, record, &places(16, 32, 44, 64), stream);
                put(&mut self.block, record.read(8));
            }
            OF_KERNELS => {
                let shape = self.shape(record);
                let stream = self.stream(record, 40);
                self.begin(KERNEL, record, &places(16, 40, 92, 144), stream);
                put(&mut self.block, shape);
                self.kernels += 1;
            }
            _ => {}
        }
        if self.block.len() > FULL { self.write(output) } else { Ok(()) }
    }

    /// Notes which number a new stream has, by its handle.
    pub fn created(&mut self, now: u64, handle: u64, context: u32, stream: u32) {
        self.block.push(CREATED);
        put(&mut self.block, now);
        put(&mut self.block, handle);
        put(&mut self.block, u64::from(context));
        put(&mut self.block, u64::from(stream));
    }

    /// Notes that CUPTI has dropped records.
    pub fn dropped(&mut self, count: u64) {
        if count > 0 {
            self.block.push(DROPPED);
            put(&mut self.block, count);
        }
    }

    /// Writes what has come.
    pub fn write(&mut self, output: &mut Output) -> io::Result<()> {
        if self.block.is_empty() {
            return Ok(());
        }
        let written = output.block(DEVICE, &self.block);
        self.block.clear();
        (self.start, self.call, self.node) = (0, 0, 0);
        written
    }

    fn copy(&mut self, record: Raw, places: &Places) {
        let stream = self.stream(record, places.device);
        self.begin(COPY, record, places, stream);
        self.block.extend([4, 5, 6].map(|at| record.read::<u8>(at)));
        let bytes = record.read(8);
        put(&mut self.block, bytes);
        self.copies += 1;
        self.copied = self.copied.saturating_add(bytes);
    }

    /// Writes what records of all kinds begin with.
    fn begin(&mut self, kind: u8, record: Raw, places: &Places, stream: u64) {
        let [start, end] = [0, 8].map(|at| record.read::<u64>(places.start + at));
        let call = u64::from(record.read::<u32>(places.call));
        let node: u64 = record.read(places.node);
        self.block.push(if node == 0 { kind } else { kind | OF_GRAPH });
        put(&mut self.block, stream);
        put_step(&mut self.block, self.start, start);
        put_step(&mut self.block, start, end);
        put_step(&mut self.block, self.call, call);
        if node != 0 {
            put_step(&mut self.block, self.node, node);
            self.node = node;
        }
        (self.start, self.call) = (start, call);
    }

    fn stream(&mut self, record: Raw, at: usize) -> u64 {
        self.stream_number([0, 4, 8].map(|further| record.read(at + further)))
    }

    /// The number of a stream by its device, context and number in CUPTI, defined before its first
    /// use.
    fn stream_number(&mut self, stream: [u32; 3]) -> u64 {
        let next = self.streams.len() as u64;
        if self.devices.insert(stream[0]) {
            self.unnamed.push(stream[0]);
        }
        *self.streams.entry(stream).or_insert_with(|| {
            self.block.push(STREAM);
            stream.iter().for_each(|part| put(&mut self.block, u64::from(*part)));
            next
        })
    }

    fn shape(&mut self, record: Raw) -> u64 {
        let name = self.name(record.read(104));
        let shared = [76, 80].map(|at| u64::from(record.read::<u32>(at)));
        let shape = Shape {
            name,
            grid: [52, 56, 60].map(|at| record.read(at)),
            block: [64, 68, 72].map(|at| record.read(at)),
            registers: record.read(6),
            shared: shared[0] + shared[1],
        };
        let next = self.shapes.len() as u64;
        if let Some(known) = self.shapes.get(&shape) {
            return *known;
        }
        self.block.push(SHAPE);
        put(&mut self.block, shape.name);
        shape.grid.iter().chain(&shape.block).for_each(|n| put(&mut self.block, u64::from(*n)));
        put(&mut self.block, u64::from(shape.registers));
        put(&mut self.block, shape.shared);
        self.shapes.insert(shape, next);
        next
    }

    fn name(&mut self, name: *const c_char) -> u64 {
        // SAFETY: CUPTI keeps the names of kernels, each with a zero at its end.
        let name = if name.is_null() { c"" } else { unsafe { CStr::from_ptr(name) } };
        if let Some(known) = self.names.get(name.to_bytes()) {
            return *known;
        }
        let next = self.names.len() as u64;
        let mut shown = demangled(name);
        shown.truncate(LONGEST_NAME);
        self.block.push(NAME);
        put_text(&mut self.block, String::from_utf8_lossy(&shown).as_bytes());
        self.names.insert(name.to_bytes().to_vec(), next);
        next
    }
}
