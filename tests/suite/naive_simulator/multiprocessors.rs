//! The multiprocessors of one device.

use hallway::cost::Blocks;
use hallway::units::Span;

/// A kernel whose blocks are not all over.
struct Kernel {
    call: usize,
    started: Option<u64>,
    priority: i32,
    blocks: Blocks,
    waiting: u64,
    running: u64,
    /// What rounding has left over.
    rest: f64,
}

/// Blocks of a kernel that end together; none if only the kernel's tail is left.
struct Batch {
    call: usize,
    end: u64,
    blocks: u64,
}

pub struct Multiprocessors {
    parts: u64,
    /// By priority, and then in the order in which they came.
    kernels: Vec<Kernel>,
    batches: Vec<Batch>,
}

impl Multiprocessors {
    pub fn new(count: u32) -> Self {
        let parts = u64::from(count.max(1)) << 20;
        Self { parts, kernels: Vec::new(), batches: Vec::new() }
    }

    pub fn is_busy(&self) -> bool {
        !self.kernels.is_empty()
    }

    pub fn next(&self) -> u64 {
        self.batches.iter().map(|batch| batch.end).min().unwrap_or(u64::MAX)
    }

    /// Queues a kernel behind all of its own or a higher priority.
    pub fn queue_up(&mut self, call: usize, priority: i32, blocks: Blocks, now: u64) {
        let (waiting, running) = (u64::from(blocks.count), 0);
        let at = self.kernels.partition_point(|kernel| kernel.priority <= priority);
        let (started, rest) = (None, 0.0);
        let kernel = Kernel { call, started, priority, blocks, waiting, running, rest };
        self.kernels.insert(at, kernel);
        self.dispatch(now);
    }

    /// Dispatches the blocks of the first kernel that has any left, and so on, while there is room.
    pub fn dispatch(&mut self, now: u64) {
        while let Some(first) = self.kernels.iter().position(|kernel| kernel.waiting > 0) {
            let parts = |kernel: &Kernel| kernel.running * u64::from(kernel.blocks.parts);
            let free = self.parts - self.kernels.iter().map(parts).sum::<u64>();
            let kernel = &mut self.kernels[first];
            let blocks = kernel.waiting.min(free / u64::from(kernel.blocks.parts));
            if blocks == 0 {
                return;
            }
            kernel.started.get_or_insert(now);
            kernel.waiting -= blocks;
            kernel.running += blocks;
            let exact = (kernel.blocks.each + kernel.rest).max(0.0);
            let whole = Span::from_nanos_f64(exact).nanos();
            kernel.rest = exact - whole as f64;
            // Blocks of one kernel go on together if their ends are near each other.
            let (call, end) = (kernel.call, now + whole);
            let is_near =
                |one: &&mut Batch| one.call == call && (end - whole / 16..=end).contains(&one.end);
            match self.batches.iter_mut().rev().find(is_near) {
                Some(batch) => {
                    batch.blocks += blocks;
                    batch.end += (end - batch.end) * blocks / batch.blocks;
                }
                None => self.batches.push(Batch { call, end, blocks }),
            }
        }
    }

    /// Takes out a kernel that ends now, and when it started.
    pub fn end(&mut self, now: u64) -> Option<(usize, u64)> {
        loop {
            let due = self.batches.iter().position(|batch| batch.end <= now)?;
            let Batch { call, blocks, .. } = self.batches.swap_remove(due);
            let place = self.kernels.iter().position(|kernel| kernel.call == call)?;
            let kernel = &mut self.kernels[place];
            kernel.running -= blocks;
            if kernel.running > 0 || kernel.waiting > 0 {
                continue;
            }
            let tail = std::mem::take(&mut kernel.blocks.tail).nanos();
            if tail == 0 {
                return self.kernels.remove(place).started.map(|started| (call, started));
            }
            self.batches.push(Batch { call, end: now + tail, blocks: 0 });
        }
    }
}
