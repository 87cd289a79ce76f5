//! What a profile answers: every look-up that a plan may need, and [`Unknown`]
//! where nothing was measured to answer it from.

use super::caches::{blend, further, lost};
use super::{
    Contention, Curve, Estimate, HandOver, KernelModel, OperationKind, Profile, TwinModel, Warmth,
};
use crate::kernels::{Arguments, Effort, Kernel, Variant};
use crate::plan::Direction;
use crate::samples::MEANWHILE;
use crate::units::{Bytes, Span};
use std::borrow::Cow;

/// A question that the profile has no measurement to answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the profile does not know {what}; `hallway calibrate` or a row of a table tells it")]
pub struct Unknown {
    pub what: String,
}

impl Unknown {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into() }
    }
}

/// A host call whose cost depends on nothing but its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostCall {
    Launch,
    CopyIn,
    CopyOut,
    PeerCopy,
    Clear,
    Record,
    Wait,
    Synchronize,
    UseDevice,
}

/// Memory management that a host call asks for, or that a first use brings with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryCost {
    DeviceAllocate,
    PinnedAllocate,
    Register,
    FirstTouch,
    FirstTouchTeam,
    Renew,
}

/// The most arrays that a kernel works on: what it reads, and what it writes.
pub const MOST_OPERANDS: usize = Kernel::MOST_INPUTS + 1;

/// What a plan does with host memory between two uses of the same data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Around {
    /// Of each array that the kernel works on, its bytes, and the bytes of all memory that was
    /// used since it was, with what the kernel itself uses.
    pub reuse: [(Bytes, Bytes); MOST_OPERANDS],
    /// Bytes that the kernel reads, and those that it writes, which others used before it: all
    /// threads if one runs it, one thread if all do.
    pub handed: [Bytes; 2],
    /// The same of what all threads used in a kernel in which they helped each other, if each
    /// keeps to its share of this one.
    pub helped: [Bytes; 2],
}

impl Around {
    /// The mean of what holds for each byte, by the memory that was used since it was; `None`
    /// if that is not known.
    fn mean(&self, of: impl Fn(Bytes) -> Option<f64>) -> Option<f64> {
        let whole: Bytes = self.reuse.iter().map(|&(bytes, _)| bytes).sum();
        let used = self.reuse.iter().filter(|&&(bytes, _)| bytes > Bytes::ZERO);
        let parts = used.map(|&(bytes, since)| Some(of(since)? * bytes.as_f64()));
        Some(parts.sum::<Option<f64>>()? / whole.as_f64().max(1.0))
    }
}

/// Host cost, latencies and what happens between operations.
impl Profile {
    /// Host time of one call, from entry to return, when it need not wait.
    ///
    /// # Errors
    /// If the call was not measured.
    pub fn call(&self, call: HostCall) -> Result<Span, Unknown> {
        let calls = &self.calls;
        let (cost, name) = match call {
            HostCall::Launch => (&calls.launch, "a launch"),
            HostCall::CopyIn => (&calls.copy_in, "an H2D copy's call"),
            HostCall::CopyOut => (&calls.copy_out, "a D2H copy's call"),
            HostCall::PeerCopy => (&self.multi_gpu.peer_copy, "the call of a copy between GPUs"),
            HostCall::Clear => (&calls.clear, "clearing device memory"),
            HostCall::Record => (&calls.record, "recording an event"),
            HostCall::Wait => (&calls.wait, "making a stream wait for an event"),
            HostCall::Synchronize => (&calls.synchronize, "a synchronisation"),
            HostCall::UseDevice => (&self.multi_gpu.use_device, "going to another GPU's context"),
        };
        known(cost, || format!("the host cost of {name}"))
    }

    /// From the return of a call on an idle device to the start of its operation.
    ///
    /// # Errors
    /// If it was not measured.
    pub fn start(&self, kind: OperationKind) -> Result<Span, Unknown> {
        let latency = match kind {
            OperationKind::CopyIn => &self.latency.start_copy_in,
            OperationKind::CopyOut => &self.latency.start_copy_out,
            OperationKind::Kernel => &self.latency.start_kernel,
            OperationKind::PeerCopy => &self.multi_gpu.start_peer_copy,
        };
        known(latency, || format!("how long {} takes to start on an idle device", kind.name()))
    }

    /// From the end of an operation to the return of the waiting host.
    ///
    /// # Errors
    /// If it was not measured.
    pub fn wake_host(&self) -> Result<Span, Unknown> {
        known(&self.latency.wake_host, || "how long a waiting host takes to wake up".to_owned())
    }

    /// Nanoseconds that the smallest kernel takes on the device, one after the
    /// other in a stream.
    ///
    /// # Errors
    /// If it was not measured.
    pub fn kernel_gap(&self) -> Result<f64, Unknown> {
        let gap = self.latency.kernel_gap.as_ref().map(|gap| gap.ns.max(0.0));
        gap.ok_or_else(|| Unknown::new("the device time of the smallest kernel"))
    }

    /// What a hand-over costs; `None` where it is part of the service time: from
    /// one operation to another of its kind in the same stream.
    ///
    /// # Errors
    /// If it was not measured.
    pub fn hand_over(
        &self,
        from: OperationKind,
        to: OperationKind,
        across_streams: bool,
    ) -> Result<Option<&HandOver>, Unknown> {
        if from == to && !across_streams {
            return Ok(None);
        }
        let wanted = (from, to, across_streams);
        let found = self.hand_overs.iter().find(|h| (h.from, h.to, h.across_streams) == wanted);
        let where_to = if across_streams { " in another stream" } else { "" };
        let (from, to) = (from.name(), to.name());
        let unknown = || Unknown::new(format!("the hand-over from {from} to {to}{where_to}"));
        found.map(Some).ok_or_else(unknown)
    }

    /// What a kernel pays that follows another in its stream while `others`
    /// streams wait with theirs: nothing if none do. See [`Profile::knows_polling`].
    pub fn polling(&self, others: usize, copies: [bool; 2]) -> f64 {
        let found = self.polling.iter().find(|model| model.copies == copies);
        found.filter(|_| others > 0).map_or(0.0, |model| model.delay.at(others as f64).max(0.0))
    }

    /// Whether [`Profile::polling`] was measured, for a plan with `copies` to the
    /// device, and from it, that may or may not be under way.
    ///
    /// # Errors
    /// If it was not.
    pub fn knows_polling(&self, copies: [bool; 2]) -> Result<(), Unknown> {
        let may_be = |meanwhile: &&[bool; 2]| (0..2).all(|way| copies[way] || !meanwhile[way]);
        let measured = |wanted: &[bool; 2]| self.polling.iter().any(|m| m.copies == *wanted);
        let what = "what a kernel pays for kernels that wait in other streams";
        let known = MEANWHILE.iter().filter(may_be).all(measured);
        known.then_some(()).ok_or_else(|| Unknown::new(what))
    }

    /// Nanoseconds of memory management.
    ///
    /// # Errors
    /// If it was not measured.
    pub fn memory(&self, cost: MemoryCost, bytes: Bytes) -> Result<f64, Unknown> {
        let memory = &self.memory;
        let (curve, name) = match cost {
            MemoryCost::DeviceAllocate => (&memory.device_allocate, "allocating device memory"),
            MemoryCost::PinnedAllocate => (&memory.pinned_allocate, "allocating pinned memory"),
            MemoryCost::Register => (&memory.register, "pinning memory"),
            MemoryCost::FirstTouch => (&memory.first_touch, "the first touch of memory"),
            MemoryCost::FirstTouchTeam => {
                (&memory.first_touch_team, "the first touch of memory by all threads")
            }
            MemoryCost::Renew => (&memory.renew, "taking fresh memory"),
        };
        let curve = curve.as_ref().ok_or_else(|| Unknown::new(format!("the cost of {name}")))?;
        Ok(curve.at(bytes.as_f64()))
    }
}

/// Copies and the link.
impl Profile {
    /// Engine time of a copy of pinned memory, with nothing in the other direction.
    ///
    /// # Errors
    /// If copies of such a size were not calibrated.
    pub fn copy(&self, direction: Direction, bytes: Bytes) -> Result<Span, Unknown> {
        let what = format!("{direction} copies of pinned memory");
        let found = self.copies.iter().find(|copy| copy.direction == direction);
        let model = found.ok_or_else(|| Unknown::new(what.clone()))?;
        Ok(Span::from_nanos_f64(of_bytes(&model.time, bytes, &what)?.max(0.0)))
    }

    /// What the other direction costs copies of this one.
    ///
    /// # Errors
    /// If copies both ways at once were not calibrated.
    pub fn shared(&self, direction: Direction) -> Result<&Contention, Unknown> {
        let shared = match direction {
            Direction::HostToDevice => &self.link.down_shared,
            Direction::DeviceToHost => &self.link.up_shared,
        };
        let what = || Unknown::new(format!("{direction} copies while the other direction is busy"));
        shared.as_ref().ok_or_else(what)
    }

    /// Nanoseconds for which a copy engine stands still on going from one stream to another
    /// while so many keep it busy, or from one branch of a graph: where that was not
    /// measured, as between streams.
    ///
    /// # Errors
    /// If there are several, and neither was measured.
    pub fn switch(
        &self,
        direction: Direction,
        streams: usize,
        in_graph: bool,
    ) -> Result<f64, Unknown> {
        if streams < 2 {
            return Ok(0.0);
        }
        let (link, graph) = (&self.link, &self.graph);
        let (between_streams, in_graphs) = match direction {
            Direction::HostToDevice => (&link.down_switch, &graph.down_switch),
            Direction::DeviceToHost => (&link.up_switch, &graph.up_switch),
        };
        let curve = in_graphs.as_ref().filter(|_| in_graph).or(between_streams.as_ref());
        let what = || Unknown::new(format!("what {direction} copies of several streams pay"));
        Ok(curve.ok_or_else(what)?.at(streams as f64).max(0.0))
    }
}

/// Kernels, on the device and on the CPU.
impl Profile {
    /// Nanoseconds of a kernel on the device; `is_just_copied`: a copy has just brought what
    /// it reads, or some of that. Where it was not measured what that costs, it costs nothing.
    ///
    /// # Errors
    /// If the kernel was not calibrated at such a size.
    pub fn kernel(
        &self,
        kernel: Kernel,
        arguments: &Arguments,
        n: u64,
        is_just_copied: bool,
    ) -> Result<f64, Unknown> {
        let models = self.kernels.iter().map(|model| (model.variant, model.on(is_just_copied)));
        between(models, Variant::of(kernel, arguments), n, "on the GPU")
    }

    /// Nanoseconds of a kernel's CPU twin in a plan that used so much host memory
    /// since its data.
    ///
    /// # Errors
    /// If the twin was not calibrated at such a size.
    pub fn twin(
        &self,
        kernel: Kernel,
        arguments: &Arguments,
        n: u64,
        around: Around,
    ) -> Result<f64, Unknown> {
        let is_shared = Effort::of(kernel, arguments).is_shared(n as usize);
        let time = |found: Warmth| {
            let fits = |model: &&TwinModel| model.found == found;
            let models = self.twins.iter().filter(fits);
            let models = models.map(|model| (model.variant, model.branch(n, is_shared)));
            between(models, Variant::of(kernel, arguments), n, found.place())
        };
        let own = Bytes::new(Variant::of(kernel, arguments).bytes(n));
        let handing_over = self.caches.handing_over(&around, is_shared);
        if around.reuse.iter().all(|&(_, since)| since <= own) {
            return Ok(time(Warmth::Same)? + handing_over);
        }
        let near = if own < self.caches.shared_bytes {
            let threads = self.machine.cpu_threads.max(1) as u64;
            let misses = |bytes| self.caches.own(bytes, if is_shared { threads } else { 1 });
            let lost_since = |since: Bytes| {
                let times = since.as_f64() / own.as_f64().max(1.0);
                Some(lost(misses(own)?, misses(since)?, times))
            };
            let misses = around.mean(lost_since).unwrap_or(1.0);
            let near = blend(time(Warmth::Same)?, time(Warmth::Shared)?, misses);
            // What no core keeps any more is as far away for everybody.
            near + (1.0 - misses) * handing_over
        } else {
            time(Warmth::Same)?
        };
        let far = time(Warmth::Memory)?;
        let what = || Unknown::new("what the CPU finds in its caches of memory used before");
        let misses = |since| self.caches.twins(since);
        let there = misses(self.caches.shared_bytes.max(own)).ok_or_else(what)?;
        Ok(blend(near, far, further(there, around.mean(misses).ok_or_else(what)?)))
    }
}

impl KernelModel {
    /// Its time on data that was used before, or that a copy has just brought. Of twice
    /// the largest size at which that was measured, nothing is found near either way.
    fn on(&self, is_just_copied: bool) -> Cow<'_, Curve> {
        match &self.just_copied {
            Some(longer) if is_just_copied => Cow::Owned(self.time.plus(longer, 2.0)),
            _ => Cow::Borrowed(&self.time),
        }
    }
}

impl TwinModel {
    /// The curve that so many elements lie on: where work begins to be shared out,
    /// the time jumps, and each side goes on straight by itself. All of it where
    /// their side was not measured near enough.
    fn branch(&self, elements: u64, is_shared: bool) -> Cow<'_, Curve> {
        let effort = Effort::of(self.variant.kernel, &self.variant.arguments());
        let mut knots = self.time.knots.clone();
        knots.retain(|&(elements, _)| effort.is_shared(elements as usize) == is_shared);
        let side = Curve { knots, scatter: self.time.scatter };
        let reaches = !side.knots.is_empty() && side.known(elements as f64).is_ok();
        if reaches { Cow::Owned(side) } else { Cow::Borrowed(&self.time) }
    }
}

pub(super) fn known(
    estimate: &Option<Estimate>,
    what: impl Fn() -> String,
) -> Result<Span, Unknown> {
    estimate.as_ref().map(Estimate::span).ok_or_else(|| Unknown::new(what()))
}

/// A curve over bytes, as far as it reaches.
pub(super) fn of_bytes(curve: &Curve, bytes: Bytes, what: &str) -> Result<f64, Unknown> {
    let end = |size: f64| Bytes::new(size as u64).to_string();
    curve.known(bytes.as_f64()).map_err(|beyond| Unknown::new(beyond.of(what, end)))
}

/// Interpolates between the two calibrated extents around the wanted one, and
/// along the last two beyond: the time of a kernel is linear in its arithmetic
/// wherever arithmetic bounds it, and constant where memory does. One extent
/// alone says nothing of others.
fn between<'c>(
    models: impl Iterator<Item = (Variant, Cow<'c, Curve>)>,
    wanted: Variant,
    n: u64,
    place: &str,
) -> Result<f64, Unknown> {
    let what = format!("kernel `{}` {place}", wanted.kernel);
    let end = |size: f64| format!("{size} elements");
    let mut models: Vec<_> = models.filter(|(one, _)| one.kernel == wanted.kernel).collect();
    models.sort_by(|a, b| a.0.measure().total_cmp(&b.0.measure()));
    if let ([(only, _)], Some(extent)) = (&models[..], wanted.kernel.extent())
        && *only != wanted
    {
        let name = extent.name;
        return Err(Unknown::new(format!("{what} with other `{name}` than {}", only.extent)));
    }
    // Each extent has sizes of its own: what others lack need not be known.
    let after = models.partition_point(|(one, _)| one.measure() < wanted.measure());
    let around = match models.get(after) {
        None => models.len().saturating_sub(2)..models.len(),
        Some((next, _)) if *next == wanted => after..after + 1,
        Some(_) => after.saturating_sub(1)..after + 1,
    };
    let mut points = Vec::new();
    for (variant, curve) in &models[around] {
        let time = curve.known(n as f64).map_err(|beyond| Unknown::new(beyond.of(&what, end)))?;
        points.push((variant.measure(), time));
    }
    if points.is_empty() {
        return Err(Unknown::new(what));
    }
    Ok(crate::stats::interpolate(&points, wanted.measure()))
}
