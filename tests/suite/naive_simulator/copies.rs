//! The copy engines, and the links that their copies share.

use super::super::links_are_shared_fairly::{Wish, filled, wish};
use super::simulator::Simulator;
use hallway::cost::Work;
use hallway::machine::Direction;
use hallway::profile::Unknown;
use hallway::units::Bytes;
use std::collections::BTreeSet;

/// A copy that an engine carries.
pub struct Copy {
    call: usize,
    started: u64,
    /// Nanoseconds left at `since`, of which `speed` pass per nanosecond.
    left: f64,
    since: u64,
    speed: f64,
    /// How much later it started for the other direction, what kernels will cost it, and for how
    /// long its data is on the link and is not.
    delayed: f64,
    beside_kernels: f64,
    data: f64,
    fixed: f64,
}

impl Copy {
    fn go_on(&mut self, now: u64) {
        self.left -= (now - self.since) as f64 * self.speed;
        self.since = now;
    }

    /// Kernels that run lengthen a copy once, as far as the other direction did not.
    fn run_beside_kernels(&mut self) {
        let longer = (self.beside_kernels * self.speed - self.delayed).max(0.0);
        self.beside_kernels = 0.0;
        self.fixed += longer;
        self.left += longer;
    }

    /// Rounds up, but for a thousandth that may be a rounding error.
    fn end(&self) -> u64 {
        self.since + (self.left / self.speed - 1e-3).max(0.0).ceil() as u64
    }
}

/// The copy engine of a direction, or for copies to other devices.
#[derive(Default)]
pub struct CopyEngine {
    pub queue: Vec<usize>,
    serving: Option<usize>,
    pub copy: Option<Copy>,
    /// Since when the engine has gone from copy to copy, and until when.
    row: [u64; 2],
}

impl CopyEngine {
    /// A copy is under way from now on, and at least until then.
    pub fn go_on(&mut self, now: u64, until: u64) {
        if self.row[1] < now && self.copy.is_none() {
            self.row[0] = now;
        }
        self.row[1] = self.row[1].max(until);
    }

    /// If copies were under way at a past time: since when, and until when if they are over.
    pub fn under_way(&self, then: u64) -> Option<(u64, Option<u64>)> {
        let [since, until] = self.row;
        let until = self.copy.is_none().then_some(until);
        (since <= then && until.is_none_or(|until| then < until)).then_some((since, until))
    }
}

impl Simulator<'_> {
    fn copies(&mut self) -> impl Iterator<Item = &mut Copy> {
        self.engines.as_flattened_mut().iter_mut().filter_map(|engine| engine.copy.as_mut())
    }

    pub fn next_copy(&mut self) -> u64 {
        self.copies().map(|copy| copy.end()).min().unwrap_or(u64::MAX)
    }

    /// Ends the copies that are due; with them, those with next to nothing left.
    pub fn end_copies(&mut self) {
        let now = self.now;
        if self.next_copy() > now {
            return;
        }
        self.copies().for_each(|copy| copy.go_on(now));
        for place in 0..3 * self.engines.len() {
            let engine = &mut self.engines.as_flattened_mut()[place];
            if let Some(copy) = engine.copy.take_if(|copy| copy.left < 0.5) {
                engine.row[1] = engine.row[1].max(now);
                self.finish(copy.call, copy.started);
            }
        }
    }

    /// A kernel has been taken up: it costs the copies under way.
    pub fn begin_kernel(&mut self, device: usize) {
        self.kernels[device] += 1;
        for copy in self.engines[device].iter_mut().filter_map(|engine| engine.copy.as_mut()) {
            copy.go_on(self.now);
            copy.run_beside_kernels();
        }
    }

    /// Gives idle engines their next copies, and works out anew how fast copies go.
    pub fn fill_engines(&mut self) {
        let now = self.now;
        self.copies().for_each(|copy| copy.go_on(now));
        for device in 0..self.engines.len() {
            let began = [0, 1, 2].map(|side| self.start_copy(device, side));
            self.delay_beside_each_other(device, began);
        }
        let calls: Vec<usize> = self.copies().map(|copy| copy.call).collect();
        let mut capacities = vec![1.0; self.engines.len() * (self.engines.len() + 3)];
        let wishes = calls.iter().map(|&call| self.wish(call, &mut capacities));
        let wishes: Vec<Wish> = wishes.collect();
        let slower = calls.iter().map(|&call| self.slower_beside_kernels(call));
        let slower: Vec<Option<f64>> = slower.collect();
        let speeds = filled(&capacities, &wishes).into_iter().zip(slower);
        for (copy, (speed, slower)) in self.copies().zip(speeds) {
            copy.speed = speed;
            if let Some(slower) = slower {
                copy.run_beside_kernels();
                copy.speed /= slower;
            }
        }
    }

    /// Starts an engine's next copy if it is idle; returns whether it did.
    fn start_copy(&mut self, device: usize, side: usize) -> bool {
        let CopyEngine { queue, serving, copy, row } = &self.engines[device][side];
        if copy.is_some() || queue.is_empty() {
            return false;
        }
        let same = queue.iter().position(|&call| *serving == self.lanes[call]);
        let call = queue[same.unwrap_or(0)];
        let stays = same.is_some() || serving.is_none();
        let idle = self.now.saturating_sub(row[1]) as f64;
        let switch = if stays { 0.0 } else { (self.switch(device, side) - idle).max(0.0) };
        let (alone, beside_kernels, fixed) = match self.work(call) {
            Work::Copy { alone, beside_kernels, fixed, .. } => (alone, beside_kernels, fixed),
            Work::PeerCopy { alone, .. } => (alone, 0.0, alone),
            _ => panic!("only copies use copy engines"),
        };
        let is_down = side == Direction::HostToDevice as usize;
        let longer = if is_down { self.refetching(device) } else { 1.0 };
        let left = alone.nanos_f64() * longer + switch;
        let (data, fixed) = (alone.saturating_sub(fixed).nanos_f64(), fixed.nanos_f64());
        let (started, since, speed, delayed) = (self.now, self.now, 1.0, 0.0);
        let lane = self.lanes[call];
        let engine = &mut self.engines[device][side];
        engine.queue.retain(|&other| other != call);
        engine.go_on(started, started);
        engine.serving = lane;
        engine.copy =
            Some(Copy { call, started, left, since, speed, delayed, beside_kernels, data, fixed });
        true
    }

    /// What it costs an engine to go to another stream: the more, the more have copies for it.
    fn switch(&self, device: usize, side: usize) -> f64 {
        let Some(&way) = Direction::BOTH.get(side) else { return 0.0 };
        let is_it = |&call: &usize| match self.prices.cost_of(call).work {
            Work::Copy { direction, .. } | Work::Staged { direction, .. } => {
                direction == way && self.device_of(call) == device
            }
            _ => false,
        };
        let calls: Vec<usize> = (0..self.lanes.len()).filter(is_it).collect();
        let lanes: BTreeSet<_> = calls.iter().map(|&call| self.lanes[call]).collect();
        let in_graphs = calls.iter().all(|&call| self.prices.cost_of(call).in_graph);
        self.profile.switch(way, lanes.len(), in_graphs).expect("known")
    }

    /// Copies that have just begun wait for data of the other direction that is ahead of theirs.
    fn delay_beside_each_other(&mut self, device: usize, began: [bool; 3]) {
        let [down, up, _] = &self.engines[device];
        let (Some(one), Some(other)) = (&down.copy, &up.copy) else { return };
        let in_row = [(down, one), (up, other)].map(|(engine, copy)| {
            engine.row[0] < copy.started || self.prices.cost_of(copy.call).in_graph
        });
        let ahead = [other, one].map(|copy| (copy.left - copy.fixed).clamp(0.0, copy.data));
        for side in (0..2).filter(|&side| began[side]) {
            let copy = self.engines[device][side].copy.as_ref().expect("it began");
            let Work::Copy { delay, slowdown, .. } = self.work(copy.call) else { continue };
            let delay = delay / slowdown;
            let delay = if in_row == [true; 2] { delay } else { delay.min(ahead[side]) };
            let copy = self.engines[device][side].copy.as_mut().expect("it began");
            copy.delayed = delay;
            copy.left += delay;
        }
    }

    /// How many times slower a copy is for kernels that run now, if there are any.
    fn slower_beside_kernels(&self, call: usize) -> Option<f64> {
        let slower = match self.work(call) {
            Work::Copy { direction, .. } => self.profile.kernel_slowdown(direction),
            _ => 1.0,
        };
        (self.kernels[self.device_of(call)] > 0).then_some(slower)
    }

    /// How much of which links a copy uses at full speed, and its weight in sharing them. Fills in
    /// the capacities of those links. Each device has a link of its own, which lets both directions
    /// go half as fast if each alone takes all of it.
    fn wish(&self, call: usize, capacities: &mut [f64]) -> Wish {
        let (device, devices) = (self.device_of(call), self.engines.len());
        let mut has = |link: usize, capacity: Result<f64, Unknown>| {
            capacities[link] = capacity.expect("known");
            link as u32
        };
        let mut works = (0..self.lanes.len()).map(|call| (call, self.prices.cost_of(call).work));
        let rate = |bytes: Bytes, alone: f64| bytes.as_f64() / alone.max(1.0);
        match self.work(call) {
            Work::Copy { direction, alone, slowdown, bytes, .. } => {
                let slowdown = slowdown.min(2.0);
                let own = (device as u32, slowdown / 2.0);
                let meets = |(call, work): (usize, Work)| {
                    matches!(work, Work::Copy { .. }) && self.device_of(call) != device
                };
                if !works.any(meets) {
                    return wish(1.0 / slowdown, 1.0, &[own]);
                }
                let part = rate(bytes, alone.nanos_f64());
                let way = self.profile.root(devices, Some(direction));
                let way = (has(devices + direction as usize, way), part);
                let both = (has(devices + 2, self.profile.root(devices, None)), part);
                let is_up = direction == Direction::DeviceToHost;
                let favour = if is_up { self.profile.up_over_down(devices) } else { 1.0 };
                wish(favour / slowdown, 1.0, &[own, way, both])
            }
            Work::PeerCopy { way: [from, to], alone, bytes } => {
                let back = [to, from];
                let is_back = |(_, work)| matches!(work, Work::PeerCopy { way, .. } if way == back);
                if !works.any(is_back) {
                    return wish(1.0, 1.0, &[]);
                }
                let [low, high] = [from.min(to), from.max(to)];
                let capacity = self.profile.between_peers([low, high]);
                let between = has(devices * (3 + low.0) + high.0, capacity);
                wish(1.0, 1.0, &[(between, rate(bytes, alone.nanos_f64()))])
            }
            _ => panic!("only copies use links"),
        }
    }
}
