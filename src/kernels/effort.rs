//! How much work a kernel is on the CPU, roughly.

use super::{Arguments, Kernel};

/// Sharing out takes 2 to 5 us and must pay for itself.
const SHARED_FROM_NANOS: f64 = 15_000.0;
/// What a core reads of lines that another one has written, a few at a time.
const BYTES_PER_NANO_FROM_OTHERS: f64 = 10.0;
/// No vector counts several values at once. An H200's host takes 1.1 to 1.5 ns a value, others may
/// take longer.
const NANOS_TO_COUNT: f64 = 2.0;
/// Of a block with counters of its own, so that adding these up is little work beside counting.
pub const VALUES_PER_BIN: usize = 16;
/// What a core's own caches hold at most. One thread that goes round more reads and writes all of
/// it from farther away, and more of them at once are that much faster.
pub const CORE_KEEPS: u64 = 2 << 20;
/// What one thread gets through of what is farther away: an H200's host, 9 to 14.
const BYTES_PER_NANO_FROM_FAR: f64 = 8.0;
/// A quarter of a core's own cache where that is large: whoever shares the core with us, and
/// the kernels before and after, need some of it.
const MOST_THAT_STAYS: f64 = 512.0 * 1024.0;

/// A rough price of an element on one thread whose data is in a near cache: only for
/// deciding how to share work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effort {
    pub bytes: u64,
    flops: f64,
    /// Nanoseconds to count a value.
    counting: f64,
    /// Fewer elements are no two blocks.
    fewest: usize,
    /// Whether kernels of as many elements give a thread the same ones. Products and
    /// transpositions are shared out by rectangles, so that threads read what others wrote.
    is_along: bool,
    /// Whether the data is farther away than a core's own caches.
    is_far: bool,
}

impl Effort {
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

    /// The same where so many bytes of memory are gone round.
    #[must_use]
    pub fn around(self, footprint: u64) -> Self {
        Self { is_far: footprint > CORE_KEEPS, ..self }
    }

    /// Nanoseconds of so many elements.
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

    /// Whether what a thread of a team works on is better left to it: it worked on the same
    /// before, another one would take longer to fetch than to work on it, and it stays in a
    /// core's own caches.
    pub fn keeps_shares(self, count: usize, threads: usize) -> bool {
        self.is_along
            && self.nanos_to_fetch(count, threads) > self.nanos(count) / threads as f64
            && self.share_bytes(count, threads) <= MOST_THAT_STAYS
    }

    /// How long it takes to fetch what another thread of a team works on.
    pub fn nanos_to_fetch(self, count: usize, threads: usize) -> f64 {
        self.share_bytes(count, threads) / BYTES_PER_NANO_FROM_OTHERS
    }

    fn share_bytes(self, count: usize, threads: usize) -> f64 {
        self.bytes as f64 * count as f64 / threads as f64
    }

    /// Whether a team of threads shares out so many elements; one does the work if not.
    pub fn is_shared(self, count: usize) -> bool {
        let from_far = self.bytes as f64 * count as f64 / BYTES_PER_NANO_FROM_FAR;
        let nanos = self.nanos(count).max(if self.is_far { from_far } else { 0.0 });
        nanos > SHARED_FROM_NANOS && count >= self.fewest
    }
}
