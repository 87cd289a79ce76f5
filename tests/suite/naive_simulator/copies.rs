//! The copy engines, and the links that their copies share.

use super::simulator::Simulator;
use hallway::cost::Work;
use hallway::machine::Direction;
use hallway::units::Bytes;

/// A copy that an engine carries.
pub struct Copy {
    pub call: usize,
    started: u64,
    end: u64,
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
    fn predict_end(&mut self) {
        self.end = self.since + (self.left / self.speed - 1e-3).max(0.0).ceil() as u64;
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

/// How much of links of some capacities a copy uses at full speed, and its weight in sharing them.
struct Flow {
    weight: f64,
    uses: Vec<(usize, f64, f64)>,
}

/// Weighted max-min fair speeds: a level rises until a link is full or a flow at full speed.
fn fair_speeds(flows: &[Flow]) -> Vec<f64> {
    let mut speeds = vec![None; flows.len()];
    let most = |flow: &Flow| {
        let alone = flow.uses.iter().map(|(_, capacity, part)| capacity / part);
        alone.fold(1.0, f64::min)
    };
    while speeds.contains(&None) {
        let full = |&(link, capacity, _): &(usize, f64, f64)| {
            let (mut free, mut weights) = (capacity, 0.0);
            for (flow, speed) in flows.iter().zip(&speeds) {
                let part = flow.uses.iter().find(|one| one.0 == link).map_or(0.0, |one| one.2);
                match speed {
                    Some(speed) => free -= speed * part,
                    None => weights += flow.weight * part,
                }
            }
            free.max(0.0) / weights
        };
        let levels = flows.iter().map(|flow| flow.uses.iter().map(full).fold(f64::MAX, f64::min));
        let levels: Vec<f64> = levels.collect();
        let open: Vec<usize> = (0..flows.len()).filter(|&at| speeds[at].is_none()).collect();
        let lowest = open.iter().map(|&at| levels[at]).fold(f64::MAX, f64::min);
        let is_capped = |at: &usize| most(&flows[*at]) / flows[*at].weight <= lowest;
        let has_capped = open.iter().any(is_capped);
        for at in open {
            let Flow { weight, .. } = flows[at];
            if is_capped(&at) {
                speeds[at] = Some(most(&flows[at]));
            } else if !has_capped && levels[at] <= lowest * (1.0 + 1e-12) {
                speeds[at] = Some((weight * lowest).min(most(&flows[at])));
            }
        }
    }
    speeds.into_iter().flatten().collect()
}

impl Simulator<'_> {
    fn copies(&mut self) -> impl Iterator<Item = &mut Copy> {
        self.engines.as_flattened_mut().iter_mut().filter_map(|engine| engine.copy.as_mut())
    }

    pub fn next_copy(&mut self) -> u64 {
        self.copies().map(|copy| copy.end).min().unwrap_or(u64::MAX)
    }

    /// Ends the copies that are due; with them, those with next to nothing left.
    pub fn end_copies(&mut self) {
        let now = self.now;
        if self.next_copy() > now {
            return;
        }
        for copy in self.copies() {
            copy.go_on(now);
            copy.end = if copy.left < 0.5 { copy.end.min(now) } else { copy.end };
        }
        for place in 0..3 * self.engines.len() {
            let engine = &mut self.engines.as_flattened_mut()[place];
            if let Some(copy) = engine.copy.take_if(|copy| copy.end <= now) {
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
            copy.predict_end();
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
        let flows: Vec<Flow> = calls.iter().map(|&call| self.flow(call)).collect();
        let slower = calls.iter().map(|&call| self.slower_beside_kernels(call));
        let slower: Vec<Option<f64>> = slower.collect();
        let speeds = fair_speeds(&flows).into_iter().zip(slower);
        for (copy, (speed, slower)) in self.copies().zip(speeds) {
            copy.speed = speed;
            if let Some(slower) = slower {
                copy.run_beside_kernels();
                copy.speed /= slower;
            }
            copy.predict_end();
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
        let (now, lane) = (self.now, self.lanes[call]);
        let engine = &mut self.engines[device][side];
        engine.queue.retain(|&other| other != call);
        engine.go_on(now, now);
        engine.serving = lane;
        let (data, fixed) = (alone.saturating_sub(fixed).nanos_f64(), fixed.nanos_f64());
        let (started, end, since, speed, delayed) = (now, now, now, 1.0, 0.0);
        let copy =
            Copy { call, started, end, left, since, speed, delayed, beside_kernels, data, fixed };
        engine.copy = Some(copy);
        true
    }

    /// What it costs an engine to go to another stream: the more, the more have copies for it.
    fn switch(&self, device: usize, side: usize) -> f64 {
        let Some(&way) = Direction::BOTH.get(side) else { return 0.0 };
        let is_it = |&call: &usize| {
            let cost = self.prices.cost_of(call);
            match cost.work {
                Work::Copy { direction, .. } | Work::Staged { direction, .. } => direction == way,
                _ => false,
            }
        };
        let here = self.streams.iter().filter(|stream| stream.traits.device.0 == device);
        let copies: Vec<Vec<usize>> = here
            .map(|stream| stream.calls.iter().copied().filter(is_it).collect())
            .filter(|copies: &Vec<usize>| !copies.is_empty())
            .collect();
        let in_graphs = copies.iter().flatten().all(|&call| self.prices.cost_of(call).in_graph);
        self.profile.switch(way, copies.len(), in_graphs).expect("known")
    }

    /// Copies that have just begun wait for data of the other direction that is ahead of theirs.
    fn delay_beside_each_other(&mut self, device: usize, began: [bool; 3]) {
        let in_graph = |call: usize| self.prices.cost_of(call).in_graph;
        let is_in_row = |engine: &CopyEngine| {
            let copy = engine.copy.as_ref();
            copy.is_some_and(|copy| engine.row[0] < copy.started || in_graph(copy.call))
        };
        let [down, up, _] = &self.engines[device];
        let are_in_rows = is_in_row(down) && is_in_row(up);
        let data_left = |copy: &Copy| (copy.left - copy.fixed).clamp(0.0, copy.data);
        let ahead = [up, down].map(|engine| engine.copy.as_ref().map(data_left));
        for side in 0..2 {
            let Some(call) = self.engines[device][side].copy.as_ref().map(|copy| copy.call) else {
                continue;
            };
            let Work::Copy { delay, slowdown, .. } = self.work(call) else { continue };
            if let (Some(ahead), true, Some(copy)) =
                (ahead[side], began[side], &mut self.engines[device][side].copy)
            {
                let delay = delay / slowdown;
                copy.delayed = if are_in_rows { delay } else { delay.min(ahead) };
                copy.left += copy.delayed;
            }
        }
    }

    /// How many times slower a copy is for kernels that run now, if there are any.
    fn slower_beside_kernels(&self, call: usize) -> Option<f64> {
        let way = match self.work(call) {
            Work::Copy { direction, .. } => Some(direction),
            _ => None,
        };
        let slower = way.map_or(1.0, |way| self.profile.kernel_slowdown(way));
        (self.kernels[self.device_of(call)] > 0).then_some(slower)
    }

    fn flow(&self, call: usize) -> Flow {
        let (device, devices) = (self.device_of(call), self.engines.len());
        let rate = |bytes: Bytes, alone: f64| bytes.as_f64() / alone.max(1.0);
        let all = || (0..self.lanes.len()).map(|call| (call, self.prices.cost_of(call).work));
        match self.work(call) {
            Work::Copy { direction, alone, slowdown, bytes, .. } => {
                let slowdown = slowdown.min(2.0);
                let own = (device, 1.0, slowdown / 2.0);
                let meets = |(call, work): (usize, Work)| {
                    matches!(work, Work::Copy { .. }) && self.device_of(call) != device
                };
                if !all().any(meets) {
                    return Flow { weight: 1.0 / slowdown, uses: vec![own] };
                }
                let part = rate(bytes, alone.nanos_f64());
                let way = self.profile.root(devices, direction).expect("known");
                let both = self.profile.root_both(devices).expect("known");
                let root = [(devices + direction as usize, way, part), (devices + 2, both, part)];
                let is_up = direction == Direction::DeviceToHost;
                let favour = if is_up { self.profile.up_over_down(devices) } else { 1.0 };
                Flow { weight: favour / slowdown, uses: [vec![own], root.to_vec()].concat() }
            }
            Work::PeerCopy { way: [from, to], alone, bytes } => {
                let back = [to, from];
                let is_back = |(_, work)| matches!(work, Work::PeerCopy { way, .. } if way == back);
                let between = all().any(is_back).then(|| {
                    let capacity = self.profile.between_peers([from.min(to), from.max(to)]);
                    let link = devices * (3 + from.0.min(to.0)) + from.0.max(to.0);
                    (link, capacity.expect("known"), rate(bytes, alone.nanos_f64()))
                });
                Flow { weight: 1.0, uses: between.into_iter().collect() }
            }
            _ => panic!("only copies use links"),
        }
    }
}
