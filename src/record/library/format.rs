//! What a recording is made of: blocks, numbers and codes. The page `docs/reference/recording.md`
//! says what they mean.

/// The first bytes of a file, up to its version.
pub const MAGIC: &[u8] = b"hallway recording ";
/// The version that this hallway writes and reads, with the line feed that ends the first line.
pub const VERSION: &[u8] = b"2\n";

/// A block's kind, the length of its payload and its checksum.
pub const HEADER: usize = 9;
/// A longer payload is not one of ours.
pub const LONGEST_BLOCK: usize = 1 << 20;

/// Kinds of blocks.
pub const PROCESS: u8 = 1;
pub const FUNCTIONS: u8 = 2;
pub const THREAD: u8 = 3;
pub const CALLS: u8 = 4;
pub const DEVICE: u8 = 5;
pub const TOTALS: u8 = 6;
pub const NOTE: u8 = 7;
pub const END: u8 = 8;
pub const RANGES: u8 = 9;
pub const GPU: u8 = 10;
/// What recording adds between two calls, and what a kernel that does nothing takes.
pub const COSTS: u8 = 11;
/// Stands among costs in place of the form of a call: the GPU's time for a kernel that does
/// nothing.
pub const EMPTY_KERNEL: u8 = 255;

/// Flags of a call, below the number of its function.
pub const FAILED: u64 = 1;
pub const OTHER_CONTEXT: u64 = 2;
pub const FLAG_BITS: u32 = 2;
/// Stands in place of a call: something about a call follows.
pub const REMARK: u64 = 0;

/// What a remark says of a copy.
///
/// A checksum of what it transfers: eight bytes.
pub const DIGEST: u8 = 1;
/// How many of [`PLACES`] pages of its target, in host memory, had never been touched: a byte.
pub const NEW_PAGES: u8 = 2;
/// The host changed its source before it knew that the copy was done.
pub const CHANGED: u8 = 3;
/// How many pages of a target are looked at.
pub const PLACES: u64 = 8;

/// Records of a block of what the GPUs did.
pub const NAME: u8 = 0;
pub const SHAPE: u8 = 1;
pub const STREAM: u8 = 2;
pub const KERNEL: u8 = 3;
pub const COPY: u8 = 4;
pub const CLEAR: u8 = 5;
pub const CREATED: u8 = 6;
pub const DROPPED: u8 = 7;
/// Added to the kind of a record if a graph did it.
pub const OF_GRAPH: u8 = 16;

/// Entries of a block of ranges.
pub const RANGE_NAME: u8 = 0;
pub const RANGE_BEGIN: u8 = 1;
pub const RANGE_END: u8 = 2;
/// Nothing was recorded outside of ranges of this name.
pub const RANGE_CHOSEN: u8 = 3;

/// The name that stands for what a program does between `cudaProfilerStart` and `cudaProfilerStop`,
/// where a range is chosen.
pub const PROFILER: &str = "profiler";

/// More pointers of one launch are left out.
pub const MOST_POINTERS: usize = 32;

/// Notes by what they mean for the recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Note {
    /// Nothing was recorded: CUPTI is not there.
    NoCupti = 1,
    /// Only what the GPUs did was recorded: another tool has CUPTI's callbacks.
    Taken = 2,
    /// Nothing was recorded: this user may not.
    Forbidden = 3,
    /// Recording ended early, because something failed.
    Failed = 4,
    /// Something was left out.
    Partly = 5,
    /// Only what the GPUs did was recorded, as it was asked for.
    DeviceOnly = 6,
}

impl Note {
    pub const fn from_code(code: u8) -> Option<Self> {
        Some(match code {
            1 => Self::NoCupti,
            2 => Self::Taken,
            3 => Self::Forbidden,
            4 => Self::Failed,
            5 => Self::Partly,
            6 => Self::DeviceOnly,
            _ => return None,
        })
    }
}

/// What a function does, which says what is recorded of its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Form {
    /// Nothing but the time.
    Other = 0,
    /// To, from, bytes, stream.
    Copy = 1,
    /// Like a copy, but it waits by definition.
    BlockingCopy = 2,
    /// Target, bytes, stream.
    Clear = 3,
    /// Stream, number of pointers, pointers.
    Launch = 4,
    /// Stream.
    LaunchGraph = 5,
    /// Event, stream.
    Record = 6,
    /// Event, stream.
    Wait = 7,
    /// Stream.
    Synchronize = 8,
    /// Event.
    SynchronizeEvent = 9,
    SynchronizeDevice = 10,
    /// Address, bytes.
    AllocateDevice = 11,
    /// Address, bytes.
    AllocatePinned = 12,
    /// Address, bytes.
    AllocateManaged = 13,
    /// Address, bytes, stream.
    AllocateAsync = 14,
    /// Address.
    Free = 15,
    /// Address, stream.
    FreeAsync = 16,
    /// Address, bytes.
    Register = 17,
    /// Address.
    Unregister = 18,
    /// Address, bytes, stream.
    Prefetch = 19,
}

impl Form {
    pub const ALL: [Self; 20] = [
        Self::Other,
        Self::Copy,
        Self::BlockingCopy,
        Self::Clear,
        Self::Launch,
        Self::LaunchGraph,
        Self::Record,
        Self::Wait,
        Self::Synchronize,
        Self::SynchronizeEvent,
        Self::SynchronizeDevice,
        Self::AllocateDevice,
        Self::AllocatePinned,
        Self::AllocateManaged,
        Self::AllocateAsync,
        Self::Free,
        Self::FreeAsync,
        Self::Register,
        Self::Unregister,
        Self::Prefetch,
    ];

    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }
}

/// Writes a number seven bits at a time, the lowest first.
pub fn put(to: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

/// Writes the difference of two numbers, small if they are close.
pub fn put_step(to: &mut Vec<u8>, from: u64, number: u64) {
    let step = number.wrapping_sub(from) as i64;
    put(to, ((step << 1) ^ (step >> 63)) as u64);
}

/// Writes a text with its length in front.
pub fn put_text(to: &mut Vec<u8>, text: &[u8]) {
    put(to, text.len() as u64);
    to.extend_from_slice(text);
}

/// A checksum that tells two contents apart, not one that withstands an attack.
///
/// Four lanes take a word each in turn, so that a processor works on several at once.
#[derive(Clone)]
pub struct Checksum {
    lanes: [u64; 4],
    length: u64,
}

const STIR: u64 = 0x9e37_79b9_7f4a_7c15;

impl Checksum {
    pub const fn new() -> Self {
        Self { lanes: [1, 2, 3, 4], length: 0 }
    }

    /// Takes bytes in. All parts of a content but the last are multiples of 32 bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        self.length = self.length.wrapping_add(bytes.len() as u64);
        let (chunks, rest) = bytes.as_chunks::<32>();
        for chunk in chunks {
            self.stir(chunk);
        }
        if !rest.is_empty() {
            let mut last = [0; 32];
            last[..rest.len()].copy_from_slice(rest);
            self.stir(&last);
        }
    }

    #[inline]
    fn stir(&mut self, chunk: &[u8; 32]) {
        let (words, _) = chunk.as_chunks::<8>();
        for (lane, word) in self.lanes.iter_mut().zip(words) {
            *lane = (*lane ^ u64::from_le_bytes(*word)).wrapping_mul(STIR).rotate_left(29);
        }
    }

    pub fn finish(&self) -> u64 {
        let mut sum = self.length;
        for lane in self.lanes {
            sum = (sum ^ lane).wrapping_mul(STIR);
            sum ^= sum >> 32;
        }
        sum
    }
}

impl Default for Checksum {
    fn default() -> Self {
        Self::new()
    }
}

/// The checksum of a block: of its kind and its payload.
pub fn block_checksum(kind: u8, payload: &[u8]) -> u32 {
    let mut sum = Checksum::new();
    sum.add(payload);
    (sum.finish() ^ u64::from(kind)) as u32
}
