//! What calls name: memory, streams, events, and kernels over byte ranges.

use crate::machine::{DeviceId, Direction, HostMemory, StreamId};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Index of an allocation in [`Program::allocations`](super::Program::allocations).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AllocationId(pub usize);

/// A buffer of the workload that a program carries out, counted from 0: an index into
/// `Workload::buffers`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BufferId(pub usize);

/// An event of the program, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EventId(pub usize);

/// A host thread that makes calls, counted from 0.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct ThreadId(pub u16);

impl ThreadId {
    /// The thread that makes the set-up, and all calls that name no other.
    pub const MAIN: Self = Self(0);
}

/// How a stream stands to the legacy default stream (CUDA Runtime API, "Stream
/// synchronization behavior").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum StreamKind {
    /// Does not synchronise with the default stream.
    #[default]
    NonBlocking,
    /// Work issued here waits for all work issued to the default stream before it, and the
    /// default stream's work waits for this stream's.
    Blocking,
    /// The legacy default stream itself: a barrier for every blocking stream.
    LegacyDefault,
}

/// What a stream is created as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamTraits {
    pub kind: StreamKind,
    /// Blocks of the lowest number that waits are dispatched first, as in CUDA.
    pub priority: i32,
    /// The device whose engines do the stream's work.
    pub device: DeviceId,
}

impl StreamTraits {
    /// Whether work issued to one of the two streams waits for work issued to the other before:
    /// so it is between a device's legacy default stream and its blocking streams.
    pub fn waits_for(&self, other: &Self) -> bool {
        use StreamKind::{Blocking, LegacyDefault};
        let kinds = (self.kind, other.kind);
        self.device == other.device
            && matches!(kinds, (Blocking, LegacyDefault) | (LegacyDefault, Blocking))
    }
}

/// Where memory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    Host(HostMemory),
    Device(DeviceId),
}

impl Place {
    /// The memory of the only device of most programs.
    pub const FIRST_DEVICE: Self = Self::Device(DeviceId::FIRST);

    /// Whether it is page-locked memory of the host.
    pub const fn is_pinned(self) -> bool {
        matches!(self, Self::Host(memory) if memory.is_pinned())
    }

    pub const fn is_managed(self) -> bool {
        matches!(self, Self::Host(HostMemory::Managed))
    }
}

/// A piece of memory that the program uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Allocation {
    pub name: String,
    pub place: Place,
    pub bytes: Bytes,
    /// The workload's buffer whose contents live here before and after the
    /// program, all batches one after the other. `None`: the program's own memory.
    pub holds: Option<BufferId>,
}

/// A range of bytes of one allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slice {
    pub allocation: AllocationId,
    pub offset: Bytes,
    pub length: Bytes,
}

impl Slice {
    pub fn end(&self) -> Bytes {
        self.offset + self.length
    }

    pub fn overlaps(&self, other: &Self) -> bool {
        self.allocation == other.allocation
            && self.offset < other.end()
            && other.offset < self.end()
    }
}

/// Rows that a copy moves. Both sides have the slices from the first byte of the first row to the
/// last byte of the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rows {
    /// Bytes of a row.
    pub row: Bytes,
    /// From the start of a row to the start of the next, where it is read and where it is written.
    pub pitch: [Bytes; 2],
}

impl Rows {
    /// The bytes from the first row's start to the last row's end, at a pitch.
    pub fn span(row: Bytes, pitch: Bytes, count: u64) -> Option<Bytes> {
        let before = count.checked_sub(1)?.checked_mul(pitch.get())?;
        before.checked_add(row.get()).map(Bytes::new)
    }

    /// How many rows a slice has on the side that is read.
    pub const fn count(&self, from: &Slice) -> u64 {
        (from.length.get() - self.row.get()) / self.pitch[0].get() + 1
    }
}

/// Bytes of one allocation that a call uses: a range, or rows in it that lie `pitch` apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Touched {
    pub slice: Slice,
    row: u64,
    pitch: u64,
}

impl From<Slice> for Touched {
    fn from(slice: Slice) -> Self {
        let length = slice.length.get();
        Self { slice, row: length, pitch: length.max(1) }
    }
}

impl Touched {
    /// A side of a copy: 0 is the one that is read, 1 the one that is written.
    pub fn side(slice: Slice, rows: Option<Rows>, side: usize) -> Self {
        let Some(Rows { row, pitch }) = rows else { return slice.into() };
        Self { slice, row: row.get(), pitch: pitch[side].get() }
    }

    /// Whether it is a range, with nothing left out.
    pub fn is_whole(&self) -> bool {
        self.row == self.slice.length.get()
    }

    /// The bytes of rows that lie apart, each rounded up to whole grains.
    pub fn bytes_of_rows(&self, grain: Bytes) -> Option<Bytes> {
        let row = Bytes::new(self.row.next_multiple_of(grain.get()));
        (!self.is_whole()).then(|| row * self.count())
    }

    /// Where each row begins.
    fn starts(&self) -> impl Iterator<Item = u64> + use<> {
        let (first, pitch) = (self.slice.offset.get(), self.pitch);
        (0..self.count()).map(move |row| first + row * pitch)
    }

    /// The rows, one by one.
    pub fn each_row(&self) -> impl Iterator<Item = Slice> + use<> {
        let (allocation, length) = (self.slice.allocation, Bytes::new(self.row));
        self.starts().map(move |start| Slice { allocation, offset: Bytes::new(start), length })
    }

    fn count(&self) -> u64 {
        self.slice.length.get().saturating_sub(self.row) / self.pitch + 1
    }

    /// Whether both have a byte in common.
    pub fn overlaps(&self, other: &Self) -> bool {
        if !self.slice.overlaps(&other.slice) {
            return false;
        }
        if self.pitch == other.pitch {
            return self.overlaps_in_step(other);
        }
        let (few, many) = if self.count() <= other.count() { (self, other) } else { (other, self) };
        few.starts().any(|start| many.has_any_of(start, few.row))
    }

    /// Whether any of the bytes from `start` on lie in a row.
    fn has_any_of(&self, start: u64, length: u64) -> bool {
        let (first, end) = (self.slice.offset.get(), start + length);
        // The last row that begins before the end reaches farthest.
        let Some(before) = end.checked_sub(first + 1) else { return false };
        let row = (before / self.pitch).min(self.count() - 1);
        first + row * self.pitch + self.row > start
    }

    /// [`Touched::overlaps`] for rows of one pitch: some row of one, moved by whole pitches, meets
    /// a row of the other.
    fn overlaps_in_step(&self, other: &Self) -> bool {
        let (mine, theirs) = (self.slice.offset.get(), other.slice.offset.get());
        let (low, high, apart) = if mine <= theirs {
            (self, other, theirs - mine)
        } else {
            (other, self, mine - theirs)
        };
        let (whole, rest) = (apart / self.pitch, apart % self.pitch);
        // Row `whole` of the lower one begins at or before the first row of the higher one.
        let meets = |row: u64, apart: u64| row < low.count() && apart < low.row;
        meets(whole, rest) || (whole + 1 < low.count() && rest + high.row > self.pitch)
    }

    /// Whether every byte of the other is one of these.
    pub fn covers(&self, other: &Self) -> bool {
        let holds =
            self.slice.offset <= other.slice.offset && other.slice.end() <= self.slice.end();
        self == other || (self.is_whole() && holds)
    }
}

/// Who makes a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CopyBy {
    /// The CPU, within host memory, and the host waits for it.
    Host(Threads),
    /// The device of a stream.
    Stream(StreamId, Route),
}

impl CopyBy {
    /// The engine of a stream's device, between it and the host.
    pub const fn crossing(stream: StreamId, direction: Direction) -> Self {
        Self::Stream(stream, Route::Crossing(direction))
    }
}

/// Which way a device copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Route {
    Crossing(Direction),
    /// Inside the memory of the stream's device.
    OnDevice,
    /// From the memory of the stream's device to that of another.
    ToPeer,
}

impl Route {
    /// The direction, if it is between host and device.
    pub const fn crossing(self) -> Option<Direction> {
        match self {
            Self::Crossing(direction) => Some(direction),
            Self::OnDevice | Self::ToPeer => None,
        }
    }
}

/// Who copies host memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Threads {
    /// The thread that makes the calls.
    One,
    /// All threads of the CPU, each its part.
    All,
}

/// The memory that a copy goes from and to, that a memset goes to, or that a prefetch moves: what
/// it moves stays as it is.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sides<'c> {
    /// Who makes a copy.
    pub by: Option<CopyBy>,
    pub from: Option<&'c Slice>,
    pub to: Option<&'c Slice>,
    /// Which bytes of both sides it uses, if not all.
    pub rows: Option<Rows>,
}

/// What a call does to memory as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryChange {
    Allocate,
    Free,
    Pin,
    Unpin,
    Renew,
}

impl MemoryChange {
    /// Whether the memory has new pages afterwards, with nothing in them.
    pub const fn is_new(self) -> bool {
        matches!(self, Self::Allocate | Self::Renew)
    }
}

/// What the host waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Awaited {
    /// Everything that was issued to a stream.
    Stream(StreamId),
    /// The latest record of an event.
    Event(EventId),
    /// Everything that was issued to the streams of a device.
    Device(DeviceId),
    /// All calls of another host thread that come before this one.
    Thread(ThreadId),
}
