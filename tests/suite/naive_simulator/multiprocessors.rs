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
    kernels: Vec<Kernel>,
    /// Kernels with blocks that are not dispatched.
    queue: Vec<usize>,
    batches: Vec<Batch>,
}

impl Multiprocessors {
    pub fn new(count: u32) -> Self {
        let parts = u64::from(count.max(1)) << 20;
        Self { parts, kernels: Vec::new(), queue: Vec::new(), batches: Vec::new() }
    }

    pub fn is_busy(&self) -> bool {
        !self.kernels.is_empty()
    }

    pub fn next(&self) -> u64 {
        self.batches.iter().map(|batch| batch.end).min().unwrap_or(u64::MAX)
    }

    fn kernel(&mut self, call: usize) -> &mut Kernel {
        self.kernels.iter_mut().find(|kernel| kernel.call == call).expect("it is under way")
    }

    /// Queues a kernel behind all of its own or a higher priority.
    pub fn queue_up(&mut self, call: usize, priority: i32, blocks: &Blocks, now: u64) {
        let waiting = u64::from(blocks.count);
        let (started, running, rest) = (None, 0, 0.0);
        let kernel = Kernel { call, started, priority, blocks: *blocks, waiting, running, rest };
        self.kernels.push(kernel);
        let mut at = self.queue.len();
        while at > 0 && self.kernel(self.queue[at - 1]).priority > priority {
            at -= 1;
        }
        self.queue.insert(at, call);
        self.dispatch(now);
    }

    /// Dispatches the blocks of the first kernel in the queue, and so on, while there is room.
    pub fn dispatch(&mut self, now: u64) {
        while let Some(&call) = self.queue.first() {
            let parts = |kernel: &Kernel| kernel.running * u64::from(kernel.blocks.parts);
            let free = self.parts - self.kernels.iter().map(parts).sum::<u64>();
            let kernel = self.kernel(call);
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
            if kernel.waiting == 0 {
                self.queue.remove(0);
            }
            // Blocks of one kernel go on together if their ends are near each other.
            let end = now + whole;
            let is_near =
                |one: &&mut Batch| one.call == call && (end - whole / 16..=end).contains(&one.end);
            match self.batches.iter_mut().rev().find(is_near) {
                Some(batch) => {
                    let all = batch.blocks + blocks;
                    batch.end += (end - batch.end) * blocks / all;
                    batch.blocks = all;
                }
                None => self.batches.push(Batch { call, end, blocks }),
            }
        }
    }

    /// Takes out a kernel that ends now, and when it started.
    pub fn end(&mut self, now: u64) -> Option<(usize, u64)> {
        while let Some(place) = self.batches.iter().position(|batch| batch.end <= now) {
            let Batch { call, blocks, .. } = self.batches.swap_remove(place);
            let kernel = self.kernel(call);
            kernel.running -= blocks;
            if kernel.running > 0 || kernel.waiting > 0 {
                continue;
            }
            let tail = std::mem::take(&mut kernel.blocks.tail).nanos();
            if tail > 0 {
                self.batches.push(Batch { call, end: now + tail, blocks: 0 });
                continue;
            }
            let place = self.kernels.iter().position(|kernel| kernel.call == call)?;
            return self.kernels.remove(place).started.map(|started| (call, started));
        }
        None
    }
}
