//! The interface of the CPU twins: it runs a kernel on one thread or on all of them.

use super::HostError;
use super::cpu::last_level_cache;
use super::cut::Cut;
use super::fft_plans::FftPlans;
use super::fork_join::{EAGER, ForkJoinPool};
use super::twins::{BlockSums, Formula, Map, Polynomial, Saxpy, Scale, Stencil, Sum, UNROLL};
use super::vector::{MAX_LANES, on_widest_vectors};
use crate::kernels::{Arguments, BlackScholes, Effort, Kernel};
use crate::units::Bytes;
use rand::rngs::ChaCha8Rng;
use rand::{Rng, SeedableRng};
use std::ops::Add;
use std::time::Duration;

/// Bytes that cores take from each other as one.
const CACHE_LINE: usize = 64;

/// An input of a kernel.
#[derive(Debug, Clone, Copy)]
pub enum Operand<'a> {
    Array(&'a [f32]),
    /// The output's own memory: the kernel works in place.
    Output,
}

/// A team of started threads that wait for kernels to run.
pub struct Team {
    pub(super) pool: ForkJoinPool,
    last_level_cache: Bytes,
    pub(super) plans: FftPlans,
}

impl Team {
    /// Starts `threads` threads, the caller's included, and waits until they are up.
    ///
    /// # Errors
    /// [`HostError::Threads`] if the system refuses a thread.
    pub fn new(threads: usize) -> Result<Self, HostError> {
        let pool = ForkJoinPool::new(threads)?;
        let last_level_cache = last_level_cache().unwrap_or(Bytes::mib(32));
        Ok(Self { pool, last_level_cache, plans: FftPlans::default() })
    }

    /// The number of threads, the calling one included.
    pub fn threads(&self) -> usize {
        self.pool.members()
    }

    /// Runs a kernel over whole arrays.
    ///
    /// A map kernel computes `output[i]` from element `i + lead` of each input array.
    /// `lead` counts the input elements in front of the first output element: the left
    /// halo of a chunk. Beyond the ends of its input, a stencil sees the end element
    /// repeated. A sum is written to `output[0]`.
    ///
    /// # Panics
    /// If the operands do not fit the kernel. Plans are checked before they run.
    pub fn run(
        &self,
        kernel: Kernel,
        arguments: &Arguments,
        inputs: &[Operand<'_>],
        output: &mut [f32],
        lead: usize,
    ) {
        self.run_around(Bytes::ZERO, (kernel, arguments), inputs, output, lead);
    }

    /// Like [`Team::run`], for arrays that are part of a working set of `footprint`
    /// bytes, all of which is used before any of it is used again.
    ///
    /// # Panics
    /// If the operands do not fit the kernel.
    pub fn run_around(
        &self,
        footprint: Bytes,
        (kernel, arguments): (Kernel, &Arguments),
        inputs: &[Operand<'_>],
        output: &mut [f32],
        lead: usize,
    ) {
        let cost = Effort::of(kernel, arguments).with_footprint(footprint.get());
        match (kernel, inputs) {
            (Kernel::Scale, &[x]) => {
                self.elementwise(Scale(arguments.a), cost, [x], output, lead);
            }
            (Kernel::Saxpy, &[x, y]) => {
                self.elementwise(Saxpy(arguments.a), cost, [x, y], output, lead);
            }
            (Kernel::Polynomial, &[x]) => {
                let formula = Polynomial { degree: arguments.extent };
                self.elementwise(formula, cost, [x], output, lead);
            }
            (Kernel::BlackScholes, &[price, strike, years]) => {
                self.elementwise(BlackScholes, cost, [price, strike, years], output, lead);
            }
            (Kernel::Convolution, &[Operand::Array(x), Operand::Array(weights)]) => {
                self.convolve(cost, (x, weights), output, lead);
            }
            (Kernel::Stencil, &[Operand::Array(x)]) => self.stencil(cost, x, output, lead),
            (Kernel::Matmul, &[Operand::Array(x), Operand::Array(y)]) => {
                let x = &x[lead..][..output.len()];
                self.matmul(cost, (x, y), output, arguments.extent as usize);
            }
            (Kernel::Fft, &[Operand::Array(x)]) => {
                let x = &x[lead..][..output.len()];
                self.fft(cost, x, output, arguments.extent as usize);
            }
            (Kernel::Transpose, &[Operand::Array(x)]) => {
                assert_eq!(lead, 0, "a transposition is never cut into chunks");
                self.transpose(cost, x, output, arguments.extent as usize);
            }
            (Kernel::Histogram, &[Operand::Array(x)]) => self.histogram(cost, x, output),
            (Kernel::Sum, &[Operand::Array(x)]) => {
                assert_eq!(lead, 0, "a sum has no halo");
                output[0] = self.sum(cost, x);
            }
            _ => panic!("{kernel} takes no {} operands, or cannot work in place", inputs.len()),
        }
    }

    /// Fills `values` with uniform random numbers in [0, 1). They depend on the seed
    /// alone, not on the number of threads.
    pub fn fill_random(&self, values: &mut [f32], seed: u64) {
        const BLOCK: usize = 1 << 14;
        let fill = |first: usize, block: &mut [f32]| {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            random.set_stream((first / BLOCK) as u64);
            for value in block {
                // 24 bits, as many as an `f32`'s significand has.
                *value = (random.next_u32() >> 8) as f32 * (1.0 / 16_777_216.0);
            }
        };
        let parts = values.len().div_ceil(BLOCK);
        let blocks = Cut { parts, multiple: BLOCK, before: 0 };
        self.pool.each_piece(values, blocks, EAGER, fill);
    }

    /// Writes the same value everywhere, all threads a part each.
    pub fn fill(&self, values: &mut [f32], value: f32) {
        let multiple = CACHE_LINE / size_of::<f32>();
        let parts = Cut { parts: self.threads(), multiple, before: 0 };
        self.pool.each_piece(values, parts, EAGER, |_, piece| piece.fill(value));
    }

    /// Copies bytes, all threads a part each.
    ///
    /// # Panics
    /// If there are not as many on both sides.
    pub fn copy(&self, from: &[u8], to: &mut [u8]) {
        assert_eq!(from.len(), to.len(), "a copy has two sides of one size");
        let parts = Cut { parts: self.threads(), multiple: CACHE_LINE, before: 0 };
        self.pool.each_piece(to, parts, EAGER, |first, piece| {
            piece.copy_from_slice(&from[first..][..piece.len()]);
        });
    }

    fn elementwise<F: Formula<N>, const N: usize>(
        &self,
        formula: F,
        cost: Effort,
        inputs: [Operand<'_>; N],
        output: &mut [f32],
        lead: usize,
    ) {
        let count = output.len();
        let output = output.as_mut_ptr();
        let sources = inputs.map(|input| match input {
            Operand::Array(array) => array[lead..][..count].as_ptr(),
            Operand::Output => {
                assert_eq!(lead, 0, "a kernel that works in place has no halo");
                output.cast_const()
            }
        });
        let in_place = inputs.iter().any(|input| matches!(input, Operand::Output));
        let streaming = !in_place && self.outgrows_caches(cost, count);
        let map = Map { formula, sources, output, count, streaming };
        // SAFETY: the slices above hold `count` elements and are borrowed throughout. The
        // output overlaps an input only where it is that input.
        unsafe { self.map(map, cost) }
    }

    fn stencil(&self, cost: Effort, x: &[f32], output: &mut [f32], lead: usize) {
        assert!(lead + output.len() <= x.len(), "the stencil's input ends before its output");
        if output.is_empty() {
            return;
        }
        // An output element at an end of the input array lacks one neighbour.
        let first = usize::from(lead == 0);
        let end = output.len() - usize::from(lead + output.len() == x.len());
        for i in (0..first).chain(end.max(first)..output.len()) {
            let (left, right) = ((i + lead).saturating_sub(1), (i + lead + 1).min(x.len() - 1));
            output[i] = (x[left] + x[i + lead] + x[right]) * (1.0 / 3.0);
        }
        let Some(count @ 1..) = end.checked_sub(first) else {
            return;
        };
        let shifted = |by: usize| x[first + lead - 1 + by..][..count].as_ptr();
        let map = Map {
            formula: Stencil,
            sources: [shifted(0), shifted(1), shifted(2)],
            output: output[first..].as_mut_ptr(),
            count,
            streaming: self.outgrows_caches(cost, count),
        };
        // SAFETY: the slices above hold `count` elements and are borrowed throughout.
        unsafe { self.map(map, cost) }
    }

    /// Runs a map on one thread or on all.
    ///
    /// # Safety
    /// The map's pointers must be valid for `count` elements, and its output must not
    /// overlap a source unless it is that source.
    unsafe fn map<F: Formula<N>, const N: usize>(&self, map: Map<F, N>, cost: Effort) {
        let (shares, before) =
            (self.shares(cost, map.count), until_aligned(cost, map.output, map.count));
        // SAFETY: both parts lie inside the map.
        let map = unsafe {
            if before > 0 {
                on_widest_vectors(map.part(0, before));
            }
            map.part(before, map.count - before)
        };
        if !shares {
            return on_widest_vectors(map);
        }
        // Pieces are cut as if the map began at an aligned address, so each thread gets
        // the range that it has in other kernels on the array.
        let before = map.output.addr() / size_of::<f32>() % PIECE_MULTIPLE;
        let cut = Cut { before, ..self.cut(cost, map.count) };
        let (map, patience) = (&map, self.patience(cost, map.count));
        self.pool.each(cut.parts, patience, &|part| {
            let piece = cut.piece(part, map.count);
            // SAFETY: pieces lie inside the map and do not overlap.
            on_widest_vectors(unsafe { map.part(piece.start, piece.len()) });
        });
    }

    /// Sums an array. The result is the same to the last bit for any number of threads: the blocks
    /// of an array are fixed, and so is the order in which their sums are added.
    fn sum(&self, cost: Effort, x: &[f32]) -> f32 {
        // Blocks are short, so that a thread's share is nearly the range that it has in
        // kernels without blocks. The difference has to come from another core's caches.
        const BLOCK: usize = 1 << 9;
        let shares = self.shares(cost, x.len());
        let (before, x) = x.split_at(until_aligned(cost, x.as_ptr(), x.len()));
        let mut total = Total { lanes: [0.0; Total::LANES] };
        if shares {
            let mut sums = vec![0.0; x.len().div_ceil(BLOCK)];
            let cut = Cut { multiple: 1, ..self.cut(cost, x.len()) };
            self.pool.each_piece(&mut sums, cut, self.patience(cost, x.len()), |first, sums| {
                on_widest_vectors(BlockSums { x: &x[first * BLOCK..], block: BLOCK, sums });
            });
            total.add(&sums);
        } else {
            const AT_ONCE: usize = 8 * Total::LANES;
            for x in x.chunks(AT_ONCE * BLOCK) {
                let mut sums = [0.0; AT_ONCE];
                on_widest_vectors(BlockSums { x, block: BLOCK, sums: &mut sums });
                total.add(&sums);
            }
        }
        total.lanes.into_iter().fold(on_widest_vectors(Sum(before)), f64::add) as f32
    }

    /// Whether the work is large enough to be shared among threads.
    pub(super) fn shares(&self, cost: Effort, count: usize) -> bool {
        self.threads() > 1 && cost.is_shared(count)
    }

    /// How elements are shared out. All threads have equal shares. A share is cut into as
    /// many pieces as are worth taking one by one, so that a thread that finishes early
    /// can help. A thread's share is the same range whatever a piece costs, so that its
    /// caches hold the data of the kernel before.
    pub(super) fn cut(&self, cost: Effort, count: usize) -> Cut {
        let share = cost.nanos(count) / self.threads() as f64;
        let most = (share / SHORTEST_PIECE_NANOS).clamp(1.0, PIECES_PER_THREAD);
        let pieces = most.max(share / LONGEST_PIECE_NANOS).floor() as usize;
        Cut { parts: self.threads() * pieces, multiple: PIECE_MULTIPLE, before: 0 }
    }

    /// How long a thread that has finished its share leaves the others theirs. Data that
    /// takes longer to fetch from another core's caches than to work on is better left
    /// where it is; a thread that is only a little late still gets to it. Where shares
    /// barely stay in a core's caches, waiting does not pay.
    pub(super) fn patience(&self, cost: Effort, count: usize) -> Duration {
        if !cost.keeps_shares(count, self.threads()) {
            return EAGER;
        }
        LATE.min(Duration::from_nanos(cost.nanos_to_fetch(count, self.threads()) as u64))
    }

    /// Whether a kernel's arrays exceed the last-level cache. Then stores should bypass
    /// the caches: ordinary ones would read the output before overwriting it.
    pub(super) fn outgrows_caches(&self, cost: Effort, count: usize) -> bool {
        Bytes::new(cost.bytes) * count as u64 > self.last_level_cache
    }
}

/// A running sum of many numbers, in several lanes. There are as many lanes as additions
/// are in flight at once.
struct Total {
    lanes: [f64; Self::LANES],
}

impl Total {
    const LANES: usize = 8;

    /// Adds the next part of one array's sums. Every part but the last must be a multiple
    /// of the lanes.
    fn add(&mut self, sums: &[f64]) {
        for sums in sums.chunks(Self::LANES) {
            self.lanes.iter_mut().zip(sums).for_each(|(lane, sum)| *lane += sum);
        }
    }
}

/// How many elements come before the first one that is aligned for any vector. Vectors that
/// straddle two cache lines make `scale` a tenth slower and `sum` two thirds slower. Most arrays of
/// a batch start at the same offset within a line, so aligning one aligns them all. Kernels bound
/// by arithmetic gain nothing from it, and would lose by the few elements in front.
fn until_aligned(cost: Effort, start: *const f32, count: usize) -> usize {
    if count < WORTH_ALIGNING || !cost.is_bound_by_memory() {
        return 0;
    }
    start.align_offset(MAX_LANES * size_of::<f32>()).min(count)
}

/// From this many elements on, alignment makes up for handling the first few separately.
const WORTH_ALIGNING: usize = 1 << 9;
const SHORTEST_PIECE_NANOS: f64 = 2_000.0;
const LONGEST_PIECE_NANOS: f64 = 100_000.0;
const PIECES_PER_THREAD: f64 = 8.0;
/// Pieces end on whole blocks of vectors: for a kernel with much arithmetic, the
/// remainder of a block takes as long as a block.
const PIECE_MULTIPLE: usize = UNROLL * MAX_LANES;
/// A thread that is this much later than the others has lost its core to somebody else.
const LATE: Duration = Duration::from_micros(2);
