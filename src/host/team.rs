//! Who runs the twins: one thread for little work, all of them for much.

use super::HostError;
use super::cpu::last_level_cache;
use super::crew::{Crew, EAGER};
use super::cut::Cut;
use super::fft::Plans;
use super::twins::{BlockSums, Formula, Map, Polynomial, Saxpy, Scale, Stencil, Sum, UNROLL};
use super::vector::{MAX_LANES, on_widest_vectors};
use crate::kernels::{Arguments, BlackScholes, Effort, Kernel};
use crate::units::Bytes;
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::ops::Add;
use std::time::Duration;

/// An input of a kernel.
#[derive(Debug, Clone, Copy)]
pub enum Operand<'a> {
    Array(&'a [f32]),
    /// The same memory as the output: the kernel works in place.
    Output,
}

/// A team of threads that has been started and waits for work.
pub struct Team {
    pub(super) crew: Crew,
    last_level_cache: Bytes,
    pub(super) plans: Plans,
}

impl Team {
    /// Starts the threads and waits until they are up.
    pub fn new(threads: usize) -> Result<Self, HostError> {
        let crew = Crew::new(threads)?;
        let last_level_cache = last_level_cache().unwrap_or(Bytes::mib(32));
        Ok(Self { crew, last_level_cache, plans: Plans::default() })
    }

    pub fn threads(&self) -> usize {
        self.crew.members()
    }

    /// Runs a kernel over whole arrays.
    ///
    /// A map kernel computes `output[i]` from element `i + lead` of each input
    /// array: `lead` counts the input elements before the first output element,
    /// the left halo margin of a chunk. Beyond the ends of its input array the
    /// stencil sees the end element repeated. A sum goes to `output[0]`.
    ///
    /// # Panics
    /// If the operands do not fit the kernel; plans are checked before they run.
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

    /// The same where the arrays are part of so much memory that is gone round.
    ///
    /// # Panics
    /// As [`Team::run`].
    pub fn run_around(
        &self,
        footprint: Bytes,
        (kernel, arguments): (Kernel, &Arguments),
        inputs: &[Operand<'_>],
        output: &mut [f32],
        lead: usize,
    ) {
        let cost = Effort::of(kernel, arguments).around(footprint.get());
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
                assert_eq!(lead, 0, "a transposition is not cut");
                self.transpose(cost, x, output, arguments.extent as usize);
            }
            (Kernel::Histogram, &[Operand::Array(x)]) => self.histogram(cost, x, output),
            (Kernel::Sum, &[Operand::Array(x)]) => {
                assert_eq!(lead, 0, "a sum has no halo");
                output[0] = self.sum(cost, x);
            }
            _ => panic!("{kernel} over {} operands, or in place where it cannot", inputs.len()),
        }
    }

    /// Fills `values` with uniform numbers in [0, 1): the same for the same
    /// seed, whatever the number of threads.
    pub fn fill_random(&self, values: &mut [f32], seed: u64) {
        const BLOCK: usize = 1 << 14;
        let fill = |first: usize, block: &mut [f32]| {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            random.set_stream((first / BLOCK) as u64);
            for value in block {
                // The 24 bits of an `f32`'s significand.
                *value = (random.next_u32() >> 8) as f32 * (1.0 / 16_777_216.0);
            }
        };
        let parts = values.len().div_ceil(BLOCK);
        let blocks = Cut { parts, multiple: BLOCK, before: 0 };
        self.crew.each_piece(values, blocks, EAGER, fill);
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
                assert_eq!(lead, 0, "in place, elements stay where they are");
                output.cast_const()
            }
        });
        let in_place = inputs.iter().any(|input| matches!(input, Operand::Output));
        let streaming = !in_place && self.outgrows_caches(cost, count);
        let map = Map { formula, sources, output, count, streaming };
        // SAFETY: the slices above hold `count` elements, are borrowed throughout,
        // and the output overlaps an input only where it is that input.
        unsafe { self.map(map, cost) }
    }

    fn stencil(&self, cost: Effort, x: &[f32], output: &mut [f32], lead: usize) {
        assert!(lead + output.len() <= x.len(), "the stencil's input ends before its output");
        if output.is_empty() {
            return;
        }
        // An output element on an end of the input array has a neighbour missing.
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

    /// # Safety
    /// The map's pointers must be good for `count` elements, and its output must
    /// not overlap a source unless it is that source.
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
        // Shares begin where they do in a kernel that begins at the array's first element.
        let before = map.output.addr() / size_of::<f32>() % PIECE_MULTIPLE;
        let cut = Cut { before, ..self.cut(cost, map.count) };
        let (map, patience) = (&map, self.patience(cost, map.count));
        self.crew.each(cut.parts, patience, &|part| {
            let piece = cut.piece(part, map.count);
            // SAFETY: pieces lie inside the map and do not overlap.
            on_widest_vectors(unsafe { map.part(piece.start, piece.len()) });
        });
    }

    /// The same to the last bit for any number of threads: blocks of the same memory are
    /// always the same, and so is the order in which they are added.
    fn sum(&self, cost: Effort, x: &[f32]) -> f32 {
        // Short enough for a thread's share to be nearly where it is in a kernel that has no
        // blocks: what lies between comes from the caches of another core.
        const BLOCK: usize = 1 << 9;
        let shares = self.shares(cost, x.len());
        let (before, x) = x.split_at(until_aligned(cost, x.as_ptr(), x.len()));
        let mut total = Total { lanes: [0.0; Total::LANES] };
        if shares {
            let mut sums = vec![0.0; x.len().div_ceil(BLOCK)];
            let cut = Cut { multiple: 1, ..self.cut(cost, x.len()) };
            self.crew.each_piece(&mut sums, cut, self.patience(cost, x.len()), |first, sums| {
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

    /// Whether the work is worth sharing out.
    pub(super) fn shares(&self, cost: Effort, count: usize) -> bool {
        self.threads() > 1 && cost.is_shared(count)
    }

    /// How elements are shared out. All threads have equal shares, of as many pieces as are
    /// worth taking one by one, so that whoever is through early can help. Whatever a piece
    /// costs, a thread's share of as many elements is the same: it finds in its caches what
    /// it worked on in the kernel before.
    pub(super) fn cut(&self, cost: Effort, count: usize) -> Cut {
        let share = cost.nanos(count) / self.threads() as f64;
        let most = (share / SHORTEST_PIECE_NANOS).clamp(1.0, PIECES_PER_THREAD);
        let pieces = most.max(share / LONGEST_PIECE_NANOS).floor() as usize;
        Cut { parts: self.threads() * pieces, multiple: PIECE_MULTIPLE, before: 0 }
    }

    /// How long a thread that is through with its share leaves the others theirs. What takes
    /// longer to fetch from the caches of another core than to work on there is better left
    /// where it is, and whoever comes a little late still comes to it. Shares that hardly stay
    /// in a core's caches are not worth the wait.
    pub(super) fn patience(&self, cost: Effort, count: usize) -> Duration {
        if !cost.keeps_shares(count, self.threads()) {
            return EAGER;
        }
        LATE.min(Duration::from_nanos(cost.nanos_to_fetch(count, self.threads()) as u64))
    }

    /// Whether the arrays of a kernel pass through the caches without staying.
    /// Then reading the output before overwriting it, as ordinary stores do, is waste.
    pub(super) fn outgrows_caches(&self, cost: Effort, count: usize) -> bool {
        Bytes::new(cost.bytes) * count as u64 > self.last_level_cache
    }
}

/// A sum of sums, as many at a time as additions fit into the time that one takes to come out.
struct Total {
    lanes: [f64; Self::LANES],
}

impl Total {
    const LANES: usize = 8;

    /// Of one array, all but the last a multiple of the lanes at a time.
    fn add(&mut self, sums: &[f64]) {
        for sums in sums.chunks(Self::LANES) {
            self.lanes.iter_mut().zip(sums).for_each(|(lane, sum)| *lane += sum);
        }
    }
}

/// How many of so many elements come before the first that is aligned to any vector. Vectors
/// that lie across two cache lines make `scale` a tenth slower and `sum` two thirds. Most arrays
/// of a batch begin at the same place in a line, so that aligning one aligns them. Arithmetic is
/// not slower for it, and would be for the few that come first.
fn until_aligned(cost: Effort, start: *const f32, count: usize) -> usize {
    if count < WORTH_ALIGNING || !cost.is_bound_by_memory() {
        return 0;
    }
    start.align_offset(MAX_LANES * size_of::<f32>()).min(count)
}

/// So many elements make up for the first few, which take a way of their own.
const WORTH_ALIGNING: usize = 1 << 9;
const SHORTEST_PIECE_NANOS: f64 = 2_000.0;
const LONGEST_PIECE_NANOS: f64 = 100_000.0;
const PIECES_PER_THREAD: f64 = 8.0;
/// Pieces end on whole blocks of vectors: what is left over of one takes a kernel with much
/// arithmetic as long as a block.
const PIECE_MULTIPLE: usize = UNROLL * MAX_LANES;
/// A thread that comes by so much later than the others has lost its core to somebody else.
const LATE: Duration = Duration::from_micros(2);
