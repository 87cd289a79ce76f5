//! Links that flows share: fair rates, kept up to date as flows come and go.
//!
//! Rates are the *weighted max-min fair* ones: no flow can go faster without
//! making another go slower that has no more than it per unit of weight. They
//! are found by filling (Bertsekas & Gallager, *Data Networks*, 2nd ed., section
//! 6.5.2): one level rises, every flow that is still open runs at its weight
//! times the level, and a flow stops at its cap or when a link of its is full.
//!
//! Only what a change can reach is filled anew, as in the solver of SimGrid
//! (Casanova et al., "Versatile, Scalable, and Accurate Simulation of
//! Distributed Applications and Platforms", JPDC 74(10), 2014). Two flows hang
//! together if they meet on a link that *can* fill up. A flow alone never fills
//! a link beyond what it can use by itself, so that counts as a cap of its own;
//! and a link whose flows do not fill it even when each runs at its cap ties
//! nobody to anybody.
//!
//! Invariant: the same calls give the same rates, bit for bit. There is one
//! order, that of the calls, and nothing is looked up in hash order. After the
//! first simulation nothing is allocated: all lists keep their room.
//!
//! Units are the caller's: a capacity is in amounts of the link (say, bytes)
//! per time, a rate in amounts of the flow per the same time, and a coefficient
//! in amounts of the link per amount of the flow.

/// Most links that one flow uses.
pub const MOST_LINKS: usize = 4;

/// Links that fill up this close to each other, relative to the level, fill up
/// at once: where they would in exact arithmetic, rounding does not part them.
/// It is far above the rounding of a sum of some hundred flows and far below
/// what can be measured. Rates are as exact as this, and no link is overfull by
/// more.
const TIE: f64 = 1e-12;

/// A whole link, in the units in which the demand for it is added up. They are
/// integers so that what was added and taken away again leaves no trace.
const WHOLE: u64 = 1 << 32;

/// A link, by its place among the capacities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkId(pub u32);

/// A flow. The number of one that was removed is given to a later one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowId(u32);

impl FlowId {
    /// Less than the largest number of flows there ever were at once: a place
    /// in a list of the caller's.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a flow asks for.
#[derive(Debug, Clone, Copy)]
pub struct Flow<'a> {
    /// How large its rate is beside others on the same full link; above 0.
    pub weight: f64,
    /// The most its rate may be: at least 0, infinite for no limit.
    pub cap: f64,
    /// How much of which links it uses per unit of its rate: at least 0, each
    /// link once, at most [`MOST_LINKS`] of them with more than 0. A flow that
    /// uses none needs a finite cap.
    pub uses: &'a [(LinkId, f64)],
}

/// A flow on a link.
#[derive(Clone, Copy)]
struct Entry {
    flow: u32,
    /// What it uses of the link per unit of its rate.
    coefficient: f64,
    /// What it uses at its cap, in parts of [`WHOLE`], rounded up.
    demand: u64,
}

struct Link {
    capacity: f64,
    /// [`WHOLE`] over the capacity: a product is cheaper than a quotient.
    parts: f64,
    /// The sum over `entries`.
    demand: u64,
    /// Its flows; which comes first is the calls' doing.
    entries: Vec<Entry>,
    /// Is it in `Links::reached`?
    reached: bool,
    /// The level at which it is full, while the flows are being filled.
    full: f64,
}

/// A flow, or the place of one that was removed.
struct Slot {
    weight: f64,
    /// Its own cap, or what it can have with its links to itself if that is less.
    cap: f64,
    /// The level at which it runs at its cap.
    full: f64,
    rate: f64,
    links: [u32; MOST_LINKS],
    used: u8,
    lives: bool,
    /// Is it in `Links::open`: is its rate still to be found?
    open: bool,
}

/// The links with the flows on them.
pub struct Links {
    links: Vec<Link>,
    slots: Vec<Slot>,
    /// Places of removed flows; the last one is taken first.
    free: Vec<u32>,
    /// Links whose flows have to be looked at, or are being looked at.
    reached: Vec<u32>,
    /// Flows whose rate is to be found.
    open: Vec<u32>,
    /// Flows to which the last `share` gave another rate.
    changed: Vec<u32>,
}

impl Link {
    /// Can its flows fill it, going by their caps?
    fn can_fill_up(&self) -> bool {
        self.demand > WHOLE
    }

    /// The level at which it is full: what its finished flows leave, shared by
    /// weight among its open ones. Summed anew each time, for a difference of
    /// sums keeps the rounding of what has left it.
    fn full(&self, slots: &[Slot]) -> f64 {
        let mut left = self.capacity;
        let mut load = 0.0;
        for entry in &self.entries {
            let slot = &slots[entry.flow as usize];
            if slot.open {
                load += entry.coefficient * slot.weight;
            } else {
                left -= entry.coefficient * slot.rate;
            }
        }
        if load > 0.0 { left / load } else { f64::INFINITY }
    }
}

impl Slot {
    /// Ends the search for its rate, and says whether it is another than before.
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
            Link { capacity, parts, demand: 0, entries: Vec::new(), reached: false, full: 0.0 }
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
            link.entries.clear();
            link.demand = 0;
            link.reached = false;
        }
        self.slots.clear();
        self.free.clear();
        self.reached.clear();
        self.open.clear();
        self.changed.clear();
    }

    /// Lets a flow in. It has a rate after the next [`Links::share`].
    ///
    /// # Panics
    ///
    /// If the flow is none that [`Flow`] describes.
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
        // No rate equals this one, so that the first is always a change.
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

    /// Puts a flow on its links.
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
                // Whether alone it fills the link just so or by rounding more
                // is all the same: it is not in anybody's way.
                let part = coefficient * cap * link.parts;
                let demand = (part as u64 + 1).min(WHOLE);
                link.entries.push(Entry { flow, coefficient, demand });
                link.demand += demand;
                self.reach(id);
            }
        }
        (links, used as u8)
    }

    /// Takes a flow out. The others have new rates after the next
    /// [`Links::share`].
    ///
    /// # Panics
    ///
    /// If the flow is not there any more.
    pub fn remove(&mut self, FlowId(flow): FlowId) {
        let Slot { links, used, open, .. } = self.slots[flow as usize];
        assert!(self.slots[flow as usize].lives, "flow {flow} was removed before");
        for &id in &links[..usize::from(used)] {
            // While it is still there: a link that can fill up until now, and
            // no more, lets its flows go faster.
            self.reach(id);
            let link = &mut self.links[id as usize];
            let place = link.entries.iter().position(|entry| entry.flow == flow);
            let entry = link.entries.swap_remove(place.expect("it is on its links"));
            link.demand -= entry.demand;
        }
        if open {
            self.open.retain(|other| *other != flow);
        }
        let slot = &mut self.slots[flow as usize];
        slot.lives = false;
        slot.open = false;
        self.free.push(flow);
    }

    /// Notes a link whose flows hang together, unless that is already noted.
    fn reach(&mut self, id: u32) {
        let link = &mut self.links[id as usize];
        if !link.reached && link.can_fill_up() {
            link.reached = true;
            self.reached.push(id);
        }
    }

    /// Gives flows their rates after some were added or removed: one call does
    /// for all that happens at one moment. Flows that nothing ties to those are
    /// not touched.
    pub fn share(&mut self) {
        self.changed.clear();
        self.open_what_is_reached();
        let mut level = 0.0;
        while !self.open.is_empty() {
            level = self.fill(level);
        }
        self.reached.clear();
    }

    /// Opens the flows on the links that were reached, and reaches what those
    /// use, until that is all. What stays reached are the links that can fill up.
    fn open_what_is_reached(&mut self) {
        let Self { links, slots, reached, open, .. } = self;
        let mut looked_at = 0;
        while let Some(&id) = reached.get(looked_at) {
            looked_at += 1;
            for place in 0..links[id as usize].entries.len() {
                let flow = links[id as usize].entries[place].flow;
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

    /// Raises the level from where it is until a link is full or, if any flow
    /// reaches its cap before, until those have. Returns the level.
    ///
    /// Flows at their caps leave more for the others, so that a link's level
    /// only ever rises: all caps below the lowest link can be reached at once.
    /// By rounding it may fall a little, even to 0; the level does not.
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
                for &Entry { flow, .. } in &link.entries {
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

    /// The rate that the last [`Links::share`] gave or left to a flow.
    pub fn rate(&self, FlowId(flow): FlowId) -> f64 {
        let slot = &self.slots[flow as usize];
        debug_assert!(slot.lives && !slot.open, "flow {flow} was removed or has no rate yet");
        slot.rate
    }

    /// The flows to which the last [`Links::share`] gave another rate than they
    /// had, new ones included, with that rate: in the order in which they were
    /// found, which is the same for the same calls.
    ///
    /// To be asked for before another flow is removed.
    pub fn changed(&self) -> impl ExactSizeIterator<Item = (FlowId, f64)> {
        self.changed.iter().map(|&flow| (FlowId(flow), self.rate(FlowId(flow))))
    }
}
