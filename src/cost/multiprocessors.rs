//! How many blocks a kernel has, how much room each takes and how long it lasts.
//!
//! Until it ends, a block holds threads, registers, shared memory and a block slot of one
//! multiprocessor (CUDA C++ Programming Guide, "Hardware Implementation"; Amert et al., "GPU
//! Scheduling on the NVIDIA TX2", RTSS 2017).
//!
//! All blocks of a kernel last equally long: the time for which the kernel holds the device, over
//! the number of waves that it takes alone.
//!
//! A block cannot get more than its part of what all blocks share, above all memory bandwidth, even
//! if there is room. So it holds its part of that as well, like one more resource of a
//! multiprocessor. The time that a kernel takes beyond what keeps shared resources busy, above all
//! for its first loads, delays only itself: meanwhile blocks of other kernels have the room. (25 M
//! elements on an H200 took 71.8 us in 8 kernels of four streams, as in one kernel; in one stream,
//! the 8 took 94 us.)

use crate::kernels::Grid;
use crate::machine::MultiprocessorLimits;
use crate::units::Span;

/// The parts into which the capacity of a multiprocessor is divided.
const PARTS: u32 = 1 << 20;

/// How many blocks of a grid fit on one multiprocessor: its occupancy in blocks.
#[inline]
fn resident_blocks(grid: &Grid, limits: &MultiprocessorLimits) -> u32 {
    let MultiprocessorLimits { threads, blocks, registers: all_registers, shared_bytes } = *limits;
    let fit = |have: u32, needs: u32| have.checked_div(needs).unwrap_or(blocks);
    let registers = grid.registers_per_thread * grid.threads_per_block;
    blocks
        .min(fit(threads, grid.threads_per_block))
        .min(fit(all_registers, registers))
        .min(fit(shared_bytes, grid.shared_bytes_per_block))
        .max(1)
}

/// The parts of all multiprocessors of a device together.
#[inline]
pub(crate) fn all_parts(multiprocessors: u32) -> u64 {
    u64::from(multiprocessors.max(1)) * u64::from(PARTS)
}

/// The blocks of a launch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Blocks {
    pub count: u32,
    /// Parts of a multiprocessor that one block holds.
    pub parts: u32,
    /// Nanoseconds that one block lasts, exact and rounded.
    pub each: f64,
    pub whole: Span,
    /// How much later the kernel ends than its last block gives up its room.
    pub tail: Span,
}

impl Blocks {
    /// The blocks of a grid that takes `busy` when it has the device to itself. `at_best` is the
    /// part of that time for which it keeps what all blocks share busy.
    pub fn new(
        grid: &Grid,
        [busy, at_best]: [Span; 2],
        (multiprocessors, limits): (u32, &MultiprocessorLimits),
    ) -> Self {
        let mut blocks = Self::holding(grid, busy, (multiprocessors, limits));
        let (count, parts, waves) = (blocks.count, blocks.parts, blocks.waves(multiprocessors));
        let shared = at_best.nanos_f64();
        // Loads are compared to the nanosecond to which times are rounded.
        if blocks.load(multiprocessors) + 1.0 < shared {
            let side_by_side = (busy.nanos_f64() / shared).floor().max(1.0);
            let at_once = (f64::from(count) / waves).ceil() * side_by_side;
            blocks.parts = parts.max((all_parts(multiprocessors) as f64 / at_once) as u32);
        }
        blocks.each *= (shared / blocks.load(multiprocessors).max(1.0)).min(1.0);
        blocks.whole = Span::from_nanos_f64(blocks.each.max(0.0));
        blocks.tail = busy - Span::from_nanos_f64(blocks.each * waves).min(busy);
        blocks
    }

    /// The blocks of a grid that takes `busy` when it has the device to itself, and waits in that
    /// time for what is not the device's to share: its blocks hold their room, and nothing else.
    pub fn holding(
        grid: &Grid,
        busy: Span,
        (multiprocessors, limits): (u32, &MultiprocessorLimits),
    ) -> Self {
        let parts = PARTS / resident_blocks(grid, limits);
        let (count, each) = (grid.blocks, 0.0);
        let mut blocks = Self { count, parts, each, whole: Span::ZERO, tail: Span::ZERO };
        let waves = blocks.waves(multiprocessors);
        blocks.each = busy.nanos_f64() / waves;
        blocks.whole = Span::from_nanos_f64(blocks.each.max(0.0));
        blocks.tail = busy - Span::from_nanos_f64(blocks.each * waves).min(busy);
        blocks
    }

    /// How many waves the blocks take with the device to themselves.
    #[inline]
    fn waves(&self, multiprocessors: u32) -> f64 {
        let at_once = (all_parts(multiprocessors) / u64::from(self.parts)).max(1);
        u64::from(self.count).div_ceil(at_once).max(1) as f64
    }

    /// How long the blocks take with the device to themselves, rounded down.
    #[inline]
    pub fn alone(&self, multiprocessors: u32) -> Span {
        Span::from_nanos((self.waves(multiprocessors) * self.each) as u64) + self.tail
    }

    /// Nanoseconds that the blocks would take if they could fill the whole device all the time.
    #[inline]
    pub fn load(&self, multiprocessors: u32) -> f64 {
        f64::from(self.count) * f64::from(self.parts) * self.each
            / all_parts(multiprocessors) as f64
    }
}
