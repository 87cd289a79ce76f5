//! The copy engines and the multiprocessors of one device, stepped in the plainest way.

use hallway::cost::{Blocks, Work};
use hallway::units::Span;

/// The parts of a multiprocessor.
const PARTS: u64 = 1 << 20;

/// A copy that an engine carries.
pub struct Copy {
    pub call: usize,
    pub started: u64,
    pub end: u64,
    /// Nanoseconds left at `since`, of which `speed` pass per nanosecond.
    pub left: f64,
    since: u64,
    speed: f64,
    slowdown: f64,
    delay: f64,
    delayed: f64,
    beside_kernels: f64,
    data: f64,
    fixed: f64,
}

impl Copy {
    /// Brings what is left up to date.
    pub fn go_on(&mut self, now: u64) {
        self.left -= (now - self.since) as f64 * self.speed;
        self.since = now;
    }

    fn data_left(&self) -> f64 {
        (self.left - self.fixed).clamp(0.0, self.data)
    }

    /// Kernels that run lengthen a copy once, as far as the other direction did not.
    pub fn run_beside_kernels(&mut self) {
        let longer = (self.beside_kernels * self.speed - self.delayed).max(0.0);
        self.beside_kernels = 0.0;
        self.fixed += longer;
        self.left += longer;
    }

    /// Rounds up, but for a thousandth that may be a rounding error.
    pub fn predict_end(&mut self) {
        let left = (self.left / self.speed - 1e-3).max(0.0).ceil();
        self.end = self.since + left as u64;
    }
}

/// The copy engine of a direction.
#[derive(Default)]
pub struct CopyEngine {
    pub switch: f64,
    /// Calls that wait, with their streams.
    pub queue: Vec<(usize, usize)>,
    serving: Option<usize>,
    pub copy: Option<Copy>,
    /// Since when the engine has gone from copy to copy, and until when.
    row: [u64; 2],
}

impl CopyEngine {
    /// Starts the next copy if the engine is idle; returns whether it did.
    pub fn start<'w>(&mut self, now: u64, longer: f64, work: impl Fn(usize) -> &'w Work) -> bool {
        if self.copy.is_some() || self.queue.is_empty() {
            return false;
        }
        let same = self.queue.iter().position(|&(_, stream)| self.serving == Some(stream));
        let (call, stream) = self.queue.remove(same.unwrap_or(0));
        let stays = same.is_some() || self.serving.is_none();
        let idle = now.saturating_sub(self.row[1]) as f64;
        let switch = if stays { 0.0 } else { (self.switch - idle).max(0.0) };
        let &Work::Copy { alone, delay, beside_kernels, slowdown, fixed, .. } = work(call) else {
            panic!("only copies use copy engines")
        };
        if self.row[1] < now {
            self.row[0] = now;
        }
        self.row[1] = self.row[1].max(now);
        self.serving = Some(stream);
        self.copy = Some(Copy {
            call,
            started: now,
            end: now,
            left: alone.nanos_f64() * longer + switch,
            since: now,
            speed: 1.0,
            slowdown: slowdown.min(2.0),
            delay: delay / slowdown,
            delayed: 0.0,
            beside_kernels,
            data: alone.saturating_sub(fixed).nanos_f64(),
            fixed: fixed.nanos_f64(),
        });
        true
    }

    pub fn finish(&mut self, now: u64) -> Option<Copy> {
        self.row[1] = self.row[1].max(now);
        self.copy.take()
    }

    /// If copies were under way at a past time: since when, and until when if they are over.
    pub fn under_way(&self, then: u64) -> Option<(u64, Option<u64>)> {
        let [since, until] = self.row;
        let until = self.copy.is_none().then_some(until);
        (since <= then && until.is_none_or(|until| then < until)).then_some((since, until))
    }

    fn is_in_row(&self) -> bool {
        self.copy.as_ref().is_some_and(|copy| self.row[0] < copy.started)
    }
}

/// Copies that have just begun wait for data of the other direction that is ahead of theirs. Then
/// both share the link: each goes on as much slower as was measured.
pub fn share_link(engines: &mut [CopyEngine; 2], began: [bool; 2], kernels: bool) {
    let are_in_rows = engines.iter().all(CopyEngine::is_in_row);
    let ahead = [1, 0].map(|other: usize| engines[other].copy.as_ref().map(Copy::data_left));
    for (side, engine) in engines.iter_mut().enumerate() {
        let Some(copy) = &mut engine.copy else { continue };
        if let (Some(ahead), true) = (ahead[side], began[side]) {
            copy.delayed = if are_in_rows { copy.delay } else { copy.delay.min(ahead) };
            copy.left += copy.delayed;
        }
        copy.speed = if ahead[side].is_some() { 1.0 / copy.slowdown } else { 1.0 };
        if kernels {
            copy.run_beside_kernels();
        }
        copy.predict_end();
    }
}

/// A kernel whose blocks are not all over.
pub struct Kernel {
    pub call: usize,
    pub started: Option<u64>,
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

#[derive(Default)]
pub struct Multiprocessors {
    pub count: u64,
    kernels: Vec<Kernel>,
    /// Kernels with blocks that are not dispatched.
    queue: Vec<usize>,
    batches: Vec<Batch>,
}

impl Multiprocessors {
    pub fn is_busy(&self) -> bool {
        !self.kernels.is_empty()
    }

    pub fn next(&self) -> u64 {
        self.batches.iter().map(|batch| batch.end).min().unwrap_or(u64::MAX)
    }

    fn kernel(&mut self, call: usize) -> &mut Kernel {
        self.kernels.iter_mut().find(|kernel| kernel.call == call).expect("it is under way")
    }

    fn free(&self) -> u64 {
        let parts = |batch: &Batch| {
            let of = self.kernels.iter().find(|kernel| kernel.call == batch.call);
            batch.blocks * u64::from(of.expect("it runs").blocks.parts)
        };
        self.count.max(1) * PARTS - self.batches.iter().map(parts).sum::<u64>()
    }

    /// Queues a kernel behind all of its own or a higher priority.
    pub fn queue_up(&mut self, (call, priority): (usize, i32), blocks: &Blocks) {
        let waiting = u64::from(blocks.count);
        let (started, running, rest) = (None, 0, 0.0);
        let kernel = Kernel { call, started, priority, blocks: *blocks, waiting, running, rest };
        self.kernels.push(kernel);
        let mut at = self.queue.len();
        while at > 0 && self.kernel(self.queue[at - 1]).priority > priority {
            at -= 1;
        }
        self.queue.insert(at, call);
    }

    /// Dispatches the blocks of the first kernel in the queue, and so on, while there is room.
    pub fn dispatch(&mut self, now: u64) {
        while let Some(&call) = self.queue.first() {
            let free = self.free();
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
            let is_all = kernel.waiting == 0;
            self.run(call, (now + whole, whole / 16), blocks);
            if !is_all {
                return;
            }
            self.queue.remove(0);
        }
    }

    /// Runs blocks until `end`, together with others of their kernel that end `near` that.
    fn run(&mut self, call: usize, (end, near): (u64, u64), blocks: u64) {
        let is_near =
            |one: &&mut Batch| one.call == call && one.end <= end && one.end + near >= end;
        match self.batches.iter_mut().rev().find(is_near) {
            Some(batch) => {
                let all = batch.blocks + blocks;
                batch.end += (end - batch.end) * blocks / all;
                batch.blocks = all;
            }
            None => self.batches.push(Batch { call, end, blocks }),
        }
    }

    /// Takes out a kernel that ends now.
    pub fn end(&mut self, now: u64) -> Option<Kernel> {
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
            let place = self.kernels.iter().position(|kernel| kernel.call == call);
            return place.map(|place| self.kernels.remove(place));
        }
        None
    }
}
