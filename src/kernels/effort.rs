//! A rough estimate of how much CPU work a kernel is. It decides only whether and how a team of
//! threads shares the work; no predicted time comes from it.

use super::{Arguments, Kernel};

/// A kernel estimated to take at most this long stays on one thread: to share work among threads
/// costs 2 to 5 us, which must pay for itself.
const SHARED_FROM_NANOS: f64 = 15_000.0;
/// The rate, in bytes per nanosecond, at which a core reads cache lines that another core has
/// written, when it reads a few at a time.
const BYTES_PER_NANO_FROM_OTHERS: f64 = 10.0;
/// Nanoseconds to count one value of a histogram, which does not vectorise. An H200's host takes
/// 1.1 to 1.5 ns; other hosts may take longer.
const NANOS_TO_COUNT: f64 = 2.0;
/// The fewest values per bin for which a block of a histogram gets counters of its own. With so
/// many, adding up the counters of all blocks is little work beside counting.
pub const VALUES_PER_BIN: usize = 16;
/// The most bytes that a core's private caches hold. A thread whose working set is larger fetches
/// all of it from farther away, and several threads do that proportionally faster.
pub const CORE_KEEPS: u64 = 2 << 20;
/// The rate, in bytes per nanosecond, at which one thread works on data beyond its private caches.
/// An H200's host reaches 9 to 14.
const BYTES_PER_NANO_FROM_FAR: f64 = 8.0;
/// The most bytes of a thread's share that are taken to stay in its core's private cache until it
/// works on them again: a quarter of a large one. The other hardware thread of the core, and the
/// kernels before and after, need some of the rest.
const MOST_THAT_STAYS: f64 = 512.0 * 1024.0;

/// A rough cost of one element on one thread whose data is in a near cache. It serves only to
/// decide how work is shared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effort {
    pub bytes: u64,
    flops: f64,
    /// Nanoseconds to count one value; 0 unless the kernel is a histogram.
    counting: f64,
    /// With fewer elements than this, the work does not fill two blocks.
    fewest: usize,
    /// Whether kernels over equally many elements give each thread equal parts of the arrays.
    /// Matrix products and transpositions are divided into rectangles, so their threads read what
    /// other threads wrote.
    is_along: bool,
    /// Whether the working set is larger than a core's private caches.
    is_far: bool,
}

impl Effort {
    /// The effort of one element, with the data in a near cache.
    pub fn of(kernel: Kernel, arguments: &Arguments) -> Self {
        let counts = kernel == Kernel::Histogram;
        let bins = if counts { arguments.extent as usize } else { 0 };
        Self {
            bytes: kernel.bytes_per_element(),
            flops: kernel.flops_per_element(arguments),
            counting: if counts { NANOS_TO_COUNT } else { 0.0 },
            fewest: 2 * VALUES_PER_BIN * bins,
            is_along: !matches!(kernel, Kernel::Matmul | Kernel::Transpose),
            is_far: false,
        }
    }

    /// The effort of the kernel in a plan whose working set on the host is `footprint` bytes.
    #[must_use]
    pub fn with_footprint(self, footprint: u64) -> Self {
        Self { is_far: footprint > CORE_KEEPS, ..self }
    }

    /// Nanoseconds that one thread takes for `count` elements.
    pub fn nanos(self, count: usize) -> f64 {
        let [bytes, flops] = self.nanos_of_one();
        bytes.max(flops) * count as f64
    }

    /// Whether loading and storing takes longer than arithmetic.
    pub fn is_bound_by_memory(self) -> bool {
        let [bytes, flops] = self.nanos_of_one();
        bytes > flops
    }

    fn nanos_of_one(self) -> [f64; 2] {
        const BYTES_PER_NANO: f64 = 40.0;
        const FLOPS_PER_NANO: f64 = 100.0;
        [self.bytes as f64 / BYTES_PER_NANO, (self.flops / FLOPS_PER_NANO).max(self.counting)]
    }

    /// Whether each thread of a team should get the part that it worked on before. That pays if the
    /// part is still in its core's private caches, and if another thread would take longer to fetch
    /// the data than to work on it.
    pub fn keeps_shares(self, count: usize, threads: usize) -> bool {
        self.is_along
            && self.nanos_to_fetch(count, threads) > self.nanos(count) / threads as f64
            && self.share_bytes(count, threads) <= MOST_THAT_STAYS
    }

    /// Nanoseconds that a thread takes to fetch the part that another thread of the team worked on.
    pub fn nanos_to_fetch(self, count: usize, threads: usize) -> f64 {
        self.share_bytes(count, threads) / BYTES_PER_NANO_FROM_OTHERS
    }

    fn share_bytes(self, count: usize, threads: usize) -> f64 {
        self.bytes as f64 * count as f64 / threads as f64
    }

    /// Whether a team of threads shares `count` elements; if not, one thread does all the work.
    pub fn is_shared(self, count: usize) -> bool {
        let from_far = self.bytes as f64 * count as f64 / BYTES_PER_NANO_FROM_FAR;
        let nanos = self.nanos(count).max(if self.is_far { from_far } else { 0.0 });
        nanos > SHARED_FROM_NANOS && count >= self.fewest
    }
}
