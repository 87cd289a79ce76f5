//! Links that flows share: fair rates, updated as flows come and go.
//!
//! Rates are *weighted max-min fair*: no flow can go faster without slowing another flow whose rate
//! per unit of weight is no higher. They are found by filling (Bertsekas & Gallager, *Data
//! Networks*, 2nd ed., section 6.5.2): one level rises, every open flow runs at its weight times
//! the level, and a flow stops at its cap or when one of its links is full.
//!
//! Only what a change can affect is filled anew, as in the solver of SimGrid (Casanova et al.,
//! "Versatile, Scalable, and Accurate Simulation of Distributed Applications and Platforms", JPDC
//! 74(10), 2014). Two flows affect each other if they meet on a link that *can* fill up. A flow
//! alone cannot use more of a link than the link has, so that limit counts as a cap of the flow. A
//! link that its flows do not fill even when each runs at its cap connects nobody.
//!
//! Invariant: equal calls give equal rates, bit for bit. The only order is that of the calls, and
//! nothing is looked up in hash order. After the first simulation nothing is allocated, because all
//! lists keep their room.
//!
//! The caller chooses the units: a capacity is in amounts of the link (say, bytes) per time, a rate
//! in amounts of the flow per time, and a coefficient in amounts of the link per amount of the
//! flow.

use crate::cost::LinkId;

/// The most links that one flow uses.
pub const MOST_LINKS: usize = 4;

/// Links whose levels are this close, relative to the level, fill up at once, so that rounding does
/// not separate links that fill up together in exact arithmetic. The value is far above the
/// rounding of a sum of some hundred flows, and far below what can be measured. Rates are exact to
/// within it, and no link is overfull by more.
const TIE: f64 = 1e-12;

/// A whole link, in the units in which demand is added up. They are integers, so that what was
/// added and removed again leaves no rounding behind.
const WHOLE: u64 = 1 << 32;

/// A flow. The number of a removed flow is given to a later one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowId(u32);

impl FlowId {
    /// The number of the flow, as an index into a list of the caller's. It is less than the largest
    /// number of flows that existed at once.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a flow asks for.
#[derive(Debug, Clone, Copy)]
pub struct Flow<'a> {
    /// The flow's share relative to others on the same full link; above 0.
    pub weight: f64,
    /// The highest rate that the flow may have: at least 0, infinite for no limit.
    pub cap: f64,
    /// How much of each link the flow uses per unit of its rate: at least 0, each link once, and at
    /// most [`MOST_LINKS`] of them with more than 0. A flow that uses no link needs a finite cap.
    pub uses: &'a [(LinkId, f64)],
}

/// A flow on a link.
#[derive(Clone, Copy)]
struct LinkUse {
    flow: u32,
    /// How much of the link the flow uses per unit of its rate.
    coefficient: f64,
    /// How much of the link the flow uses at its cap, in parts of [`WHOLE`], rounded up.
    demand: u64,
}

struct SharedLink {
    capacity: f64,
    /// [`WHOLE`] divided by the capacity: multiplying by it is cheaper than dividing.
    parts: f64,
    /// The sum of the demands of `uses`.
    demand: u64,
    /// The flows on this link, in an order that depends only on the calls.
    uses: Vec<LinkUse>,
    /// Whether the link is in `Links::reached`.
    reached: bool,
    /// The level at which the link is full, used while flows are being filled.
    full: f64,
}

/// A flow, or the place of one that was removed.
struct Slot {
    weight: f64,
    /// The flow's own cap, or the highest rate that its links allow it alone, if that is less.
    cap: f64,
    /// The level at which the flow runs at its cap.
    full: f64,
    rate: f64,
    links: [u32; MOST_LINKS],
    used: u8,
    lives: bool,
    /// Whether the flow is in `Links::open`, so that its rate is still to be found.
    open: bool,
}

/// The links with the flows on them.
pub struct Links {
    links: Vec<SharedLink>,
    slots: Vec<Slot>,
    /// Places of removed flows; the last one is used first.
    free: Vec<u32>,
    /// Links whose flows have to be examined.
    reached: Vec<u32>,
    /// Flows whose rate is to be found.
    open: Vec<u32>,
    /// Flows that the last `share` gave a different rate.
    changed: Vec<u32>,
}

impl SharedLink {
    /// Whether the link's flows can fill it, all running at their caps.
    #[inline]
    fn can_fill_up(&self) -> bool {
        self.demand > WHOLE
    }

    /// The level at which the link is full: what its finished flows leave, divided by weight among
    /// its open flows. The sums are formed anew each time, since a running difference would keep
    /// the rounding of flows that have left.
    #[inline]
    fn full(&self, slots: &[Slot]) -> f64 {
        let mut left = self.capacity;
        let mut load = 0.0;
        for one in &self.uses {
            let slot = &slots[one.flow as usize];
            if slot.open {
                load += one.coefficient * slot.weight;
            } else {
                left -= one.coefficient * slot.rate;
            }
        }
        if load > 0.0 { left / load } else { f64::INFINITY }
    }
}

impl Slot {
    /// Ends the search for the flow's rate; returns whether the rate differs from the previous one.
    #[inline]
    fn finish(&mut self, rate: f64) -> bool {
        let changes = rate.to_bits() != self.rate.to_bits();
        self.rate = rate;
        self.open = false;
        changes
    }
}

impl Links {
    /// Links without flows.
    ///
    /// # Panics
    ///
    /// If a capacity is not a finite number above 0.
    pub fn new(capacities: &[f64]) -> Self {
        let link = |&capacity: &f64| {
            assert!(capacity > 0.0 && capacity.is_finite(), "a link's capacity is {capacity}");
            let parts = WHOLE as f64 / capacity;
            SharedLink { capacity, parts, demand: 0, uses: Vec::new(), reached: false, full: 0.0 }
        };
        Self {
            links: capacities.iter().map(link).collect(),
            slots: Vec::new(),
            free: Vec::new(),
            reached: Vec::new(),
            open: Vec::new(),
            changed: Vec::new(),
        }
    }

    /// Forgets all flows, as if the links were new.
    pub fn clear(&mut self) {
        for link in &mut self.links {
            link.uses.clear();
            link.demand = 0;
            link.reached = false;
        }
        self.slots.clear();
        self.free.clear();
        self.reached.clear();
        self.open.clear();
        self.changed.clear();
    }

    /// Adds a flow. It has a rate after the next [`Links::share`].
    ///
    /// # Panics
    ///
    /// If the flow violates what [`Flow`] demands.
    pub fn add(&mut self, flow: Flow<'_>) -> FlowId {
        assert!(flow.weight > 0.0 && flow.weight.is_finite(), "a flow's weight is {}", flow.weight);
        assert!(flow.cap >= 0.0, "a flow's cap is {}", flow.cap);
        let cap = flow.uses.iter().filter(|(_, coefficient)| *coefficient > 0.0);
        let cap = cap.fold(flow.cap, |cap, &(link, coefficient)| {
            cap.min(self.links[link.0 as usize].capacity / coefficient)
        });
        assert!(cap.is_finite(), "a flow on no link needs a cap");
        let id = self.free.pop().unwrap_or(self.slots.len() as u32);
        let (links, used) = self.enter(id, cap, flow.uses);
        // NaN equals no rate, so the first rate always counts as a change.
        let rate = f64::NAN;
        let (weight, full) = (flow.weight, cap / flow.weight);
        let slot = Slot { weight, cap, full, rate, links, used, lives: true, open: true };
        match self.slots.get_mut(id as usize) {
            Some(place) => *place = slot,
            None => self.slots.push(slot),
        }
        self.open.push(id);
        FlowId(id)
    }

    /// Puts a flow on its links; returns the links that it uses and their number.
    fn enter(&mut self, flow: u32, cap: f64, uses: &[(LinkId, f64)]) -> ([u32; MOST_LINKS], u8) {
        let mut links = [0; MOST_LINKS];
        let mut used = 0;
        for &(LinkId(id), coefficient) in uses {
            assert!(coefficient >= 0.0, "a flow's coefficient is {coefficient}");
            if coefficient > 0.0 {
                assert!(used < MOST_LINKS, "a flow uses at most {MOST_LINKS} links");
                debug_assert!(!links[..used].contains(&id), "a flow uses link {id} twice");
                links[used] = id;
                used += 1;
                let link = &mut self.links[id as usize];
                // Capped at a whole link: a flow that alone fills the link exactly, or by rounding
                // a bit more, is in nobody's way.
                let part = coefficient * cap * link.parts;
                let demand = (part as u64 + 1).min(WHOLE);
                link.uses.push(LinkUse { flow, coefficient, demand });
                link.demand += demand;
                self.reach(id);
            }
        }
        (links, used as u8)
    }

    /// Removes a flow. The others have new rates after the next [`Links::share`].
    ///
    /// # Panics
    ///
    /// If the flow was removed before.
    pub fn remove(&mut self, FlowId(flow): FlowId) {
        let Slot { links, used, open, .. } = self.slots[flow as usize];
        assert!(self.slots[flow as usize].lives, "flow {flow} was removed before");
        for &id in &links[..usize::from(used)] {
            // This comes before the flow's demand is subtracted: a link that could fill up until
            // now, and no longer can, lets its flows go faster.
            self.reach(id);
            let link = &mut self.links[id as usize];
            let place = link.uses.iter().position(|one| one.flow == flow);
            let gone = link.uses.swap_remove(place.expect("it is on its links"));
            link.demand -= gone.demand;
        }
        if open {
            self.open.retain(|other| *other != flow);
        }
        let slot = &mut self.slots[flow as usize];
        slot.lives = false;
        slot.open = false;
        self.free.push(flow);
    }

    /// Notes a link that can fill up, unless it is noted already.
    #[inline]
    fn reach(&mut self, id: u32) {
        let link = &mut self.links[id as usize];
        if !link.reached && link.can_fill_up() {
            link.reached = true;
            self.reached.push(id);
        }
    }

    /// Gives flows their rates after some were added or removed. One call serves for everything
    /// that happens at one moment. Flows that are not connected to those are left alone.
    #[inline]
    pub fn share(&mut self) {
        self.changed.clear();
        self.open_what_is_reached();
        let mut level = 0.0;
        while !self.open.is_empty() {
            level = self.fill(level);
        }
        self.reached.clear();
    }

    /// Opens the flows on all links that were reached, and reaches the links that these use, until
    /// there are no more. Afterwards only links that can fill up remain reached.
    fn open_what_is_reached(&mut self) {
        let Self { links, slots, reached, open, .. } = self;
        let mut examined = 0;
        while let Some(&id) = reached.get(examined) {
            examined += 1;
            for place in 0..links[id as usize].uses.len() {
                let flow = links[id as usize].uses[place].flow;
                let slot = &mut slots[flow as usize];
                if slot.open {
                    continue;
                }
                slot.open = true;
                open.push(flow);
                for &other in &slot.links[..usize::from(slot.used)] {
                    let link = &mut links[other as usize];
                    if !link.reached && link.can_fill_up() {
                        link.reached = true;
                        reached.push(other);
                    }
                }
            }
        }
        reached.retain(|id| {
            let link = &mut links[*id as usize];
            link.reached = false;
            link.can_fill_up()
        });
    }

    /// Raises the level until a link is full or, if flows reach their caps before that, finishes
    /// those flows. Returns the new level.
    ///
    /// Flows at their caps leave more for the others, so a link's own level never falls: all caps
    /// below the lowest link's level can be reached at once. Rounding may let a link's level fall a
    /// little, even to 0, but the returned level does not fall.
    fn fill(&mut self, level: f64) -> f64 {
        let Self { links, slots, reached, open, changed, .. } = self;
        let mut lowest = f64::INFINITY;
        for &id in &*reached {
            let full = links[id as usize].full(slots);
            links[id as usize].full = full;
            lowest = lowest.min(full);
        }
        let level = level.max(lowest);
        let before = open.len();
        let mut place = 0;
        while let Some(&flow) = open.get(place) {
            let slot = &mut slots[flow as usize];
            if slot.full > level {
                place += 1;
                continue;
            }
            open.swap_remove(place);
            if slot.finish(slot.cap) {
                changed.push(flow);
            }
        }
        if open.len() < before {
            return level;
        }
        for &id in &*reached {
            let link = &links[id as usize];
            if link.full <= level * (1.0 + TIE) {
                for &LinkUse { flow, .. } in &link.uses {
                    let slot = &mut slots[flow as usize];
                    if slot.open && slot.finish((slot.weight * level).min(slot.cap)) {
                        changed.push(flow);
                    }
                }
            }
        }
        open.retain(|&flow| slots[flow as usize].open);
        level
    }

    /// The rate that the flow has since the last [`Links::share`].
    pub fn rate(&self, FlowId(flow): FlowId) -> f64 {
        let slot = &self.slots[flow as usize];
        debug_assert!(slot.lives && !slot.open, "flow {flow} was removed or has no rate yet");
        slot.rate
    }

    /// The flows that the last [`Links::share`] gave a different rate, new flows included, with
    /// that rate. Their order is that in which they were found, which is the same for equal calls.
    ///
    /// Call it before another flow is removed.
    #[inline]
    pub fn changed(&self) -> impl ExactSizeIterator<Item = (FlowId, f64)> {
        self.changed.iter().map(|&flow| (FlowId(flow), self.rate(FlowId(flow))))
    }
}
