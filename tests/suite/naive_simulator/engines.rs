//! What devices do: copy engines and the links that they share, and multiprocessors.

use super::super::links_are_shared_fairly::{Wish, filled, wish};
use super::simulator::{Op, Simulator};
use hallway::cost::{Blocks, Work};
use hallway::machine::OperationKind::{self, CopyIn, Kernel};
use hallway::machine::{DeviceId, Direction};
use hallway::program::StreamKind;
use hallway::units::{Bytes, Span};
use std::collections::BTreeSet;

pub const KINDS: usize = OperationKind::COUNT;

/// The engine of a device for one kind of operation.
#[derive(Default)]
pub struct Engine {
    /// Copies that wait, in the order in which they came, or kernels that are not over, by priority
    /// and then in that order.
    pub queue: Vec<usize>,
    /// The copy under way, and the lane of the latest one; since when the engine has gone from copy
    /// to copy, and until when.
    pub copy: Option<usize>,
    serving: Option<usize>,
    pub row: [u64; 2],
    pub batches: Vec<Batch>,
    /// When it was last busy or polled, and the latest arrival that it polled for.
    pub last: u64,
    pub back: Option<usize>,
    /// For how many calls a doorbell has rung, and how many have arrived.
    pub rung: usize,
    pub arrived: usize,
    /// Operations that may go on, which the next poll finds.
    pub missed: Vec<usize>,
    pub next_poll: Option<u64>,
}

/// Blocks of a kernel that end together; none if only the kernel's tail is left.
pub struct Batch {
    call: usize,
    pub end: u64,
    blocks: u64,
}

impl Engine {
    /// A copy is under way from now on, and at least until then.
    fn go_on(&mut self, now: u64, until: u64) {
        if self.row[1] < now && self.copy.is_none() {
            self.row[0] = now;
        }
        self.row[1] = self.row[1].max(until);
    }
}

/// Copies.
impl Simulator<'_> {
    pub fn under_way(&self) -> Vec<usize> {
        self.engines.iter().filter_map(|engine| engine.copy).collect()
    }

    /// When the next copy ends: rounded up, but for a thousandth that may be a rounding error.
    pub fn next_copy(&self) -> u64 {
        let left = |call: usize| self.ops[call].left / self.ops[call].speed;
        let nanos = |call| (left(call) - 1e-3).max(0.0).ceil() as u64;
        let next = self.under_way().into_iter().map(nanos).min();
        next.map_or(u64::MAX, |nanos| self.now + nanos)
    }

    /// Ends the copies that are due; with them, those with next to nothing left.
    pub fn end_copies(&mut self) {
        let is_due = self.next_copy() <= self.now;
        for call in self.under_way().into_iter().filter(|_| is_due) {
            if self.ops[call].left < 0.5 {
                let place = self.engine_of(call);
                let Engine { copy, row, .. } = &mut self.engines[place];
                (*copy, row[1]) = (None, row[1].max(self.now));
                self.finish(call);
            }
        }
    }

    /// Gives an operation to its copy engine, or lets it go on without one.
    pub fn join(&mut self, call: usize) {
        let (place, work) = (self.engine_of(call), self.costs[call].work);
        let (Work::Staged { duration, .. }
        | Work::Inline { duration }
        | Work::OnDevice { duration }) = work
        else {
            self.ops[call].joined = Some(self.now);
            // Copies that come at the same moment are taken in the order of their calls.
            let key = |&other: &usize| (self.ops[other].joined, other);
            let queue = &mut self.engines[place].queue;
            let behind = queue.partition_point(|other| key(other) <= key(&call));
            return queue.insert(behind, call);
        };
        // In a row of H2D copies, the host stages one while the last part of another is under way.
        let is_next = self.last(call).time == self.now && self.queues_behind_last(call);
        let is_in_row = is_next && self.ops[call].kind == Some(CopyIn);
        let since = if is_in_row { self.arrival(call) } else { self.now };
        let end = self.now.max(since + duration.nanos());
        let started = end.saturating_sub(duration.nanos()).max(self.cleared(call));
        self.ops[call].started = Some(started);
        self.schedule(end, Self::finish, call);
        if let Work::Staged { early, .. } = work {
            self.engines[place].go_on(self.now, end);
            let returns = since + duration.saturating_sub(early).nanos();
            self.schedule(returns.max(self.now), Self::return_from, call);
        }
    }

    /// Gives idle engines their next copies, and works out anew how fast copies go.
    pub fn fill_engines(&mut self) {
        self.run_beside_kernels();
        (0..self.engines.len()).for_each(|place| self.start_copy(place));
        (0..self.engines.len()).step_by(KINDS).for_each(|down| self.delay_beside_each_other(down));
        for (call, rate) in self.under_way().into_iter().zip(self.rates()) {
            self.ops[call].speed = rate;
        }
        self.run_beside_kernels();
    }

    /// Kernels slow copies, and lengthen each once, as far as the other direction did not.
    fn run_beside_kernels(&mut self) {
        let runs =
            |one: &&Op| one.launched.is_some_and(|at| at <= self.now) && one.ending.is_none();
        let devices: BTreeSet<usize> = self.ops.iter().filter(runs).map(|one| one.device).collect();
        for call in self.under_way() {
            let op = &mut self.ops[call];
            if let (true, &Work::Copy { direction, .. }) =
                (devices.contains(&op.device), &self.costs[call].work)
            {
                let longer = (op.beside_kernels * op.speed - op.delayed).max(0.0);
                (op.left, op.fixed) = (op.left + longer, op.fixed + longer);
                op.beside_kernels = 0.0;
                op.speed /= self.profile.kernel_slowdown(direction);
            }
        }
    }

    /// Starts the next copy of an engine that is idle: one of the lane that it serves, if it can.
    fn start_copy(&mut self, place: usize) {
        let Engine { queue, copy, serving, row, .. } = &self.engines[place];
        let stays = |call: &&usize| serving.is_none() || *serving == self.ops[**call].lane;
        let same = queue.iter().find(stays);
        let next = same.or(queue.first()).filter(|_| copy.is_none());
        let Some(&call) = next else { return };
        let (alone, beside_kernels, fixed) = match self.costs[call].work {
            Work::Copy { alone, beside_kernels, fixed, .. } => (alone, beside_kernels, fixed),
            Work::PeerCopy { alone, .. } => (alone, 0.0, alone),
            _ => return,
        };
        // Going to another lane takes time, which passes while the engine is idle, too.
        let idle = self.now.saturating_sub(row[1]) as f64;
        let switch = if same.is_some() { 0.0 } else { (self.switch(call) - idle).max(0.0) };
        let Op { lane, device, kind, .. } = self.ops[call];
        let longer = if kind == Some(CopyIn) { self.refetching(device) } else { 1.0 };
        let op = &mut self.ops[call];
        op.started = Some(self.now);
        (op.left, op.speed) = (alone.nanos_f64() * longer + switch, 1.0);
        (op.data, op.fixed) = (alone.saturating_sub(fixed).nanos_f64(), fixed.nanos_f64());
        op.beside_kernels = beside_kernels;
        let engine = &mut self.engines[place];
        engine.queue.retain(|&other| other != call);
        engine.go_on(self.now, self.now);
        (engine.serving, engine.copy) = (lane, Some(call));
    }

    /// What it costs an engine to go to another lane: the more, the more have copies for it.
    fn switch(&self, call: usize) -> f64 {
        let Op { device, usual, .. } = self.ops[call];
        let Work::Copy { direction, .. } = self.costs[call].work else { return 0.0 };
        let is_like_it =
            |one: usize| (self.ops[one].device, self.ops[one].usual) == (device, usual);
        let calls: Vec<usize> = (0..self.ops.len()).filter(|&one| is_like_it(one)).collect();
        let lanes: BTreeSet<_> = calls.iter().map(|&call| self.ops[call].lane).collect();
        let in_graphs = calls.iter().all(|&call| self.costs[call].in_graph);
        self.profile.switch(direction, lanes.len(), in_graphs).expect("known")
    }

    /// Copies that have just begun wait for data of the other direction that is ahead of theirs.
    fn delay_beside_each_other(&mut self, down: usize) {
        let [down, up] = [&self.engines[down], &self.engines[down + 1]];
        let (Some(one), Some(other)) = (down.copy, up.copy) else { return };
        let are_in_rows = [(down, one), (up, other)].into_iter().all(|(engine, copy)| {
            self.costs[copy].in_graph || Some(engine.row[0]) < self.ops[copy].started
        });
        let ahead = |op: Op| (op.left - op.fixed).clamp(0.0, op.data);
        let ahead = [other, one].map(|copy| ahead(self.ops[copy]));
        for (copy, ahead) in [one, other].into_iter().zip(ahead) {
            let Work::Copy { delay, slowdown, .. } = self.costs[copy].work else { continue };
            let op = &mut self.ops[copy];
            if op.started == Some(self.now) {
                let delay = delay / slowdown;
                op.delayed = if are_in_rows { delay } else { delay.min(ahead) };
                op.left += op.delayed;
            }
        }
    }

    /// How fast copies go: they share links. Each device has a link of its own, which lets both
    /// directions go half as fast if each alone takes all of it. If several devices copy, there are
    /// links behind these for each direction and for both; and there is one between two devices.
    fn rates(&self) -> Vec<f64> {
        let (devices, profile) = (self.program.devices(), self.profile);
        let all = || (0..self.ops.len()).map(|call| (call, self.prices.cost_of(call).work));
        let copying = all().filter(|(_, work)| matches!(work, Work::Copy { .. }));
        let copying: BTreeSet<usize> = copying.map(|(call, _)| self.ops[call].device).collect();
        let [down, up] = Direction::BOTH.map(|way| profile.root(devices, Some(way)));
        let between = profile.between_peers([0, 1].map(DeviceId));
        // What is not known is not used.
        let others = [down, up, profile.root(devices, None), between].map(|one| one.unwrap_or(1.0));
        let capacities = [&vec![1.0; devices][..], &others].concat();
        let link = |link: usize, bytes: Bytes, alone: Span| {
            ((devices + link) as u32, bytes.as_f64() / alone.nanos_f64().max(1.0))
        };
        let wish = |call: usize| match self.costs[call].work {
            Work::Copy { direction, alone, slowdown, bytes, .. } => {
                let slowdown = slowdown.min(2.0);
                let own = (self.ops[call].device as u32, slowdown / 2.0);
                if copying.len() == 1 {
                    return wish(1.0 / slowdown, 1.0, &[own]);
                }
                let is_up = direction == Direction::DeviceToHost;
                let favour = if is_up { profile.up_over_down(devices) } else { 1.0 };
                let [way, both] = [direction as usize, 2].map(|one| link(one, bytes, alone));
                wish(favour / slowdown, 1.0, &[own, way, both])
            }
            Work::PeerCopy { way: [from, to], alone, bytes } => {
                let back = [to, from];
                let is_back = |work| matches!(work, Work::PeerCopy { way, .. } if way == back);
                let meets = all().any(|(_, work)| is_back(work));
                wish(1.0, 1.0, &[link(3, bytes, alone)][..usize::from(meets)])
            }
            _ => panic!("only copies use links"),
        };
        let wishes: Vec<Wish> = self.under_way().into_iter().map(wish).collect();
        filled(&capacities, &wishes)
    }
}

/// Kernels.
impl Simulator<'_> {
    fn blocks_of(&self, call: usize) -> Blocks {
        let Work::Kernel { blocks, .. } = self.costs[call].work else {
            panic!("a kernel has some")
        };
        blocks
    }

    /// Queues a kernel behind all of its own or a higher priority.
    pub fn dispatch(&mut self, call: usize) {
        let place = self.engine_of(call);
        let priority = |call: usize| self.ops[call].lane.map(|lane| self.traits[lane].priority);
        let queue = &self.engines[place].queue;
        let behind = queue.partition_point(|&other| priority(other) <= priority(call));
        self.engines[place].queue.insert(behind, call);
        self.ops[call].blocks = u64::from(self.blocks_of(call).count);
        self.fill_multiprocessors(place);
    }

    /// Dispatches the blocks of the first kernel that has any left, and so on, while there is room.
    fn fill_multiprocessors(&mut self, place: usize) {
        for call in self.engines[place].queue.clone() {
            let Blocks { parts, each, .. } = self.blocks_of(call);
            let held = |batch: &Batch| batch.blocks * u64::from(self.blocks_of(batch.call).parts);
            let held: u64 = self.engines[place].batches.iter().map(held).sum();
            let free = (u64::from(self.profile.machine.multiprocessors.max(1)) << 20) - held;
            let (op, batches) = (&mut self.ops[call], &mut self.engines[place].batches);
            let blocks = op.blocks.min(free / u64::from(parts));
            op.blocks -= blocks;
            if blocks > 0 {
                op.started.get_or_insert(self.now);
                let exact = (each + op.rest).max(0.0);
                let whole = Span::from_nanos_f64(exact).nanos();
                op.rest = exact - whole as f64;
                // Blocks of one kernel go on together if their ends are near each other.
                let (end, near) = (self.now + whole, whole / 16);
                let is_near = |one: &&mut Batch| one.call == call && one.end + near >= end;
                match batches.iter_mut().rev().filter(|one| one.end <= end).find(is_near) {
                    None => batches.push(Batch { call, end, blocks }),
                    Some(batch) => {
                        batch.blocks += blocks;
                        batch.end += (end - batch.end) * blocks / batch.blocks;
                    }
                }
            }
            if op.blocks > 0 {
                return;
            }
        }
    }

    /// Ends the blocks that are due, and kernels with the last of theirs.
    pub fn end_blocks(&mut self) {
        let now = self.now;
        for place in (Kernel as usize..self.engines.len()).step_by(KINDS) {
            let is_due = |one: &Batch| one.end <= now;
            while let Some(due) = self.engines[place].batches.iter().position(is_due) {
                let Batch { call, blocks, .. } = self.engines[place].batches.swap_remove(due);
                let tail = self.blocks_of(call).tail.nanos();
                let Engine { queue, batches, .. } = &mut self.engines[place];
                if self.ops[call].blocks > 0 || batches.iter().any(|one| one.call == call) {
                    continue;
                }
                if blocks > 0 && tail > 0 {
                    batches.push(Batch { call, end: now + tail, blocks: 0 });
                } else {
                    queue.retain(|&other| other != call);
                    self.finish(call);
                }
            }
            self.fill_multiprocessors(place);
        }
    }

    /// For each lane of a device with kernels that count, two numbers of kernels that have been
    /// launched and are not over: all, and those that wait for nothing but each other.
    fn held(&self, device: usize, counts: impl Fn(usize) -> bool) -> Vec<[usize; 2]> {
        let is_kernel = |call: &usize| self.ops[*call].usual == Some(Kernel);
        let is_launched = |call: &usize| self.ops[*call].issued.is_some_and(|at| at <= self.now);
        let has_barrier = self.traits.iter().any(|one| one.kind == StreamKind::LegacyDefault);
        let is_record = |call: &usize| !has_barrier && self.costs[*call].work == Work::Record;
        let is_here = |lane: &usize| self.traits[*lane].device.0 == device;
        let lanes = (0..self.traits.len()).filter(is_here);
        let lanes =
            lanes.filter(|&lane| self.calls(lane).any(|one| is_kernel(&one) && counts(one)));
        let held = |lane| {
            let left = self.calls(lane).filter(|&call| !self.is_over(call)).take_while(is_launched);
            let left: Vec<usize> = left.collect();
            let row = left.iter().take_while(|call| is_kernel(call) || is_record(call));
            let row = row.filter(|call| is_kernel(call)).count();
            [left.iter().filter(|call| is_kernel(call)).count(), row]
        };
        lanes.map(held).collect()
    }

    /// What lanes that wait cost a kernel behind another kernel.
    pub fn beside_waiting(&self, device: usize) -> f64 {
        let held = self.held(device, |_| true);
        let waits = held.into_iter().filter(|&[held, running]| held > 0 && running == 0);
        let copies = [0, 1].map(|kind| self.engines[device * KINDS + kind].copy.is_some());
        self.profile.polling(waits.count(), copies)
    }

    /// How many times longer copies to a device take for kernels that wait outside of graphs.
    fn refetching(&self, device: usize) -> f64 {
        let held = self.held(device, |call| !self.costs[call].in_graph);
        let waiting = held.into_iter().map(|[held, running]| held - running);
        let waiting: Vec<usize> = waiting.filter(|&kernels| kernels > 0).collect();
        let mean = waiting.iter().sum::<usize>() as f64 / waiting.len().max(1) as f64;
        self.profile.link.refetching(waiting.len(), mean)
    }
}
