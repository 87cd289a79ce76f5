//! The multiprocessors, block by block.
//!
//! Kernels queue up. The first in the queue is dispatched until all of its blocks are; only then
//! does the next one get the room that is left, so the tail of one kernel and the head of the next
//! run side by side. A kernel of a higher priority goes to the front of the queue, but blocks that
//! were dispatched stay (CUDA C++ Programming Guide, "Stream Priorities"). Blocks that are
//! dispatched together end together, and form one batch here. How much room a block takes, and for
//! how long, is part of the kernel's cost.

use super::operation::Completion;
use crate::cost::{Blocks, EntryId, NONE, all_parts};
use crate::program::StreamTraits;
use crate::units::{Instant, Span};
use std::collections::VecDeque;

struct Kernel {
    entry: EntryId,
    priority: i32,
    before: EntryId,
    started: Instant,
    /// Blocks that are not dispatched yet, and blocks that run.
    waiting: u64,
    running: u64,
    blocks: Blocks,
    /// Nanoseconds that rounding has left over so far, carried to the next batch.
    rest: f64,
}

struct Batch {
    /// Parts of multiprocessors that the batch holds.
    parts: u64,
    /// How much later the batch's kernel ends if this is its last batch.
    tail: Span,
    of: BatchOf,
}

/// Which blocks a batch consists of.
#[derive(Clone, Copy)]
enum BatchOf {
    /// All blocks of a kernel that was dispatched at once, as most are.
    Whole(Completion),
    /// Some blocks of a kernel that was not dispatched at once.
    Part { kernel: usize, blocks: u64 },
}

/// Batches of a kernel go on as one if their ends differ by less than this part of a block's time.
/// Blocks take unequal times on a real device, so such differences mean nothing. But each kernel
/// takes over all of those of the kernel before it and adds one, so a thousand small kernels would
/// run in hundreds of batches.
const NEAR: u64 = 16;

/// The multiprocessors of a device.
struct Device {
    /// Parts of its multiprocessors that no batch holds.
    free: u64,
    kernels: Vec<Kernel>,
    /// Free places in `kernels`.
    vacant: Vec<usize>,
    queue: VecDeque<usize>,
    /// Batches that run, and when each ends: all of these are looked through again and again.
    batches: Vec<Batch>,
    ends: Vec<Instant>,
    last: EntryId,
    /// When the next batch ends.
    next: Instant,
}

/// The multiprocessors of all devices.
pub(super) struct Multiprocessors {
    devices: Vec<Device>,
    /// How many devices have been examined for kernels that end now.
    examined: usize,
    /// When the next batch of any device ends.
    pub next: Instant,
}

impl Multiprocessors {
    pub fn new(devices: usize, multiprocessors: u32) -> Self {
        let devices: Vec<Device> = (0..devices).map(|_| Device::new(multiprocessors)).collect();
        Self { examined: devices.len(), devices, next: Instant::NEVER }
    }

    /// Prepares for [`Multiprocessors::collect`] at the time `now`.
    #[inline(always)]
    pub fn prepare(&mut self, now: Instant) {
        if self.next <= now {
            (self.examined, self.next) = (0, Instant::NEVER);
        }
    }

    /// Queues a kernel behind those of its own or a higher priority and before those of a lower
    /// one, even if some blocks of these were dispatched already. As in CUDA, a lower number is a
    /// higher priority.
    #[inline(always)]
    pub fn start(
        &mut self,
        now: Instant,
        (entry, traits): (EntryId, &StreamTraits),
        blocks: &Blocks,
    ) {
        let device = &mut self.devices[traits.device.0];
        device.start(now, (entry, traits.priority), blocks);
        self.next = self.next.min(device.next);
    }

    /// Takes out the next kernel whose last block has ended. Call it until it returns `None`.
    #[inline(always)]
    pub fn collect(&mut self, now: Instant) -> Option<Completion> {
        for device in &mut self.devices[self.examined..] {
            if device.next <= now
                && let Some(ended) = device.collect(now)
            {
                return Some(ended);
            }
            self.next = self.next.min(device.next);
            self.examined += 1;
        }
        None
    }

    /// Whether a device runs or has queued any kernel.
    #[inline]
    pub fn is_busy(&self, device: usize) -> bool {
        self.devices[device].is_busy()
    }
}

impl Device {
    fn new(multiprocessors: u32) -> Self {
        Self {
            free: all_parts(multiprocessors),
            kernels: Vec::new(),
            vacant: Vec::new(),
            queue: VecDeque::new(),
            batches: Vec::new(),
            ends: Vec::new(),
            last: NONE,
            next: Instant::NEVER,
        }
    }

    #[inline(always)]
    fn start(&mut self, now: Instant, (entry, priority): (EntryId, i32), blocks: &Blocks) {
        let parts = u64::from(blocks.count) * u64::from(blocks.parts);
        if self.queue.is_empty() && parts <= self.free && parts > 0 {
            let ended = Completion { entry, started: now, before: self.last };
            let (end, of) = (now + blocks.whole, BatchOf::Whole(ended));
            self.run(end, Batch { parts, tail: blocks.tail, of });
        } else {
            self.queue_up((entry, priority), blocks);
            self.dispatch(now);
        }
    }

    /// Queues a kernel that is not dispatched at once.
    #[inline(never)]
    fn queue_up(&mut self, (entry, priority): (EntryId, i32), blocks: &Blocks) {
        let kernel = Kernel {
            entry,
            priority,
            before: NONE,
            started: Instant::NEVER,
            waiting: u64::from(blocks.count),
            running: 0,
            blocks: *blocks,
            rest: 0.0,
        };
        let place = match self.vacant.pop() {
            Some(place) => {
                self.kernels[place] = kernel;
                place
            }
            None => {
                self.kernels.push(kernel);
                self.kernels.len() - 1
            }
        };
        self.queue.push_back(place);
        let is_behind = |&other: &usize| self.kernels[other].priority <= priority;
        let mut at = self.queue.len() - 1;
        while at > 0 && !is_behind(&self.queue[at - 1]) {
            self.queue.swap(at - 1, at);
            at -= 1;
        }
    }

    /// Takes out a kernel whose last block has ended, if there is one; otherwise dispatches into
    /// the room that was freed.
    fn collect(&mut self, now: Instant) -> Option<Completion> {
        let mut place = 0;
        let mut next = Instant::NEVER;
        while let Some(&end) = self.ends.get(place) {
            if end > now {
                next = next.min(end);
                place += 1;
                continue;
            }
            // The last batch comes to this place.
            self.ends.swap_remove(place);
            let Batch { parts, tail, of } = self.batches.swap_remove(place);
            self.free += parts;
            let ended = match of {
                BatchOf::Whole(ended) => Some(ended),
                BatchOf::Part { kernel, blocks } => self.take_part(kernel, blocks),
            };
            match ended {
                Some(ended) if tail > Span::ZERO => {
                    let (end, of) = (end + tail, BatchOf::Whole(ended));
                    self.run(end, Batch { parts: 0, tail: Span::ZERO, of });
                }
                Some(ended) => {
                    self.last = ended.entry;
                    return Some(ended);
                }
                None => {}
            }
        }
        self.next = next;
        if !self.queue.is_empty() {
            self.dispatch(now);
        }
        None
    }

    #[inline]
    fn is_busy(&self) -> bool {
        !self.batches.is_empty() || !self.queue.is_empty()
    }

    /// Some blocks of a kernel have ended; returns the kernel if those were its last.
    #[inline]
    fn take_part(&mut self, place: usize, blocks: u64) -> Option<Completion> {
        let kernel = &mut self.kernels[place];
        kernel.running -= blocks;
        if kernel.running > 0 || kernel.waiting > 0 {
            return None;
        }
        self.vacant.push(place);
        let Kernel { entry, started, before, .. } = *kernel;
        Some(Completion { entry, started, before })
    }

    /// Gives a batch its room until it ends.
    #[inline(always)]
    fn run(&mut self, end: Instant, batch: Batch) {
        self.free -= batch.parts;
        self.next = self.next.min(end);
        self.batches.push(batch);
        self.ends.push(end);
    }

    #[inline(never)]
    fn dispatch(&mut self, now: Instant) {
        while let Some(&place) = self.queue.front() {
            if !self.give_room(now, place) {
                break;
            }
            self.queue.pop_front();
        }
    }

    /// Dispatches as many blocks of a kernel as there is room for; returns whether those were all
    /// that were left.
    fn give_room(&mut self, now: Instant, place: usize) -> bool {
        let kernel = &mut self.kernels[place];
        let parts = u64::from(kernel.blocks.parts);
        let fits = kernel.waiting * parts <= self.free;
        let blocks = if fits { kernel.waiting } else { self.free / parts };
        if blocks == 0 {
            return false;
        }
        if kernel.started == Instant::NEVER {
            (kernel.started, kernel.before) = (now, self.last);
        }
        kernel.waiting -= blocks;
        kernel.running += blocks;
        let exact = (kernel.blocks.each + kernel.rest).max(0.0);
        let whole = Span::from_nanos_f64(exact);
        kernel.rest = exact - whole.nanos_f64();
        let is_all = kernel.waiting == 0;
        let (end, tail) = (now + whole, kernel.blocks.tail);
        let near = Span::from_nanos(whole.nanos() / NEAR);
        if !self.join(place, (end, near), blocks) {
            let of = BatchOf::Part { kernel: place, blocks };
            self.run(end, Batch { parts: blocks * parts, tail, of });
        }
        is_all
    }

    /// Adds blocks of a kernel to a batch of the same kernel that ends near their own end, if there
    /// is one. All of them then end at their mean end, so they hold as many parts for as long.
    fn join(&mut self, place: usize, (end, near): (Instant, Span), blocks: u64) -> bool {
        let is_near = |other: &Instant| *other <= end && *other + near >= end;
        let same =
            |batch: &Batch| matches!(batch.of, BatchOf::Part { kernel, .. } if kernel == place);
        let mut running = self.ends.iter_mut().zip(&mut self.batches).rev();
        let Some((other, batch)) = running.find(|(end, batch)| is_near(end) && same(batch)) else {
            return false;
        };
        let BatchOf::Part { blocks: before, .. } = &mut batch.of else { return false };
        let later = end.since(*other).nanos();
        let all = *before + blocks;
        let share = later.checked_mul(blocks).map_or(later / all * blocks, |sum| sum / all);
        *other = *other + Span::from_nanos(share);
        let parts = batch.parts / *before * blocks;
        *before += blocks;
        batch.parts += parts;
        self.free -= parts;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_row_of_kernels_runs_in_few_batches() {
        let mut device = Device::new(100);
        let each = 2_000.0;
        let whole = Span::from_nanos_f64(each);
        // Eight blocks fill a multiprocessor.
        let parts = (all_parts(100) / 800) as u32;
        let blocks = Blocks { count: 1_096, parts, each, whole, tail: Span::ZERO };
        let mut now = Instant::START;
        let (mut started, mut ended, mut most) = (0, 0, 0);
        while ended < 1_000 {
            // Four streams have a kernel each.
            while started < 1_000 && started < ended + 4 {
                device.start(now, (started, 0), &blocks);
                started += 1;
            }
            most = most.max(device.batches.len());
            now = device.next;
            while device.collect(now).is_some() {
                ended += 1;
            }
        }
        assert!(most <= 2 * NEAR as usize, "{most} batches");
        assert_eq!((device.free, device.queue.len()), (all_parts(100), 0));
        let busy = 1_000.0 * each * 1_096.0 / 800.0;
        let took = now.since_start().nanos_f64();
        assert!((busy..1.01 * busy).contains(&took), "{took} of {busy}");
    }
}
