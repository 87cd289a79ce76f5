//! What a profile answers: every look-up that a plan may need, and [`Unknown`]
//! where nothing was measured to answer it from.

mod graphs;
mod several;

use super::caches::blend;
use super::unknown::{Unknown, known, of_bytes};
use super::{Contention, HandOver, OperationKind, Profile};
use crate::kernels::{Kernel, Library};
use crate::machine::Direction;
use crate::samples::MEANWHILE;
use crate::units::{Bytes, Span};

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

/// Memory management: done by a host call, or by the first use of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryCost {
    DeviceAllocate,
    PinnedAllocate,
    Register,
    FirstTouch,
    FirstTouchTeam,
    Renew,
}

/// Host calls, latencies and what happens between operations.
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

    /// Host time of launching a kernel, from entry to return; a library may launch it.
    ///
    /// # Errors
    /// If it was not measured.
    pub fn launch(&self, kernel: Kernel) -> Result<Span, Unknown> {
        let usual = self.call(HostCall::Launch);
        let Some(library) = kernel.library() else { return usual };
        let longer = match library {
            Library::Cublas => &self.calls.launch_by_cublas,
            Library::Cufft => &self.calls.launch_by_cufft,
        };
        let longer = known(longer, || format!("the host cost of a launch by {}", library.name()));
        let (usual, longer) = Unknown::both(usual, longer)?;
        Ok(usual + longer)
    }

    /// Time from the return of a call on an idle device to the start of its operation.
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

    /// Time from the end of an operation to the return of the host call that waits for it.
    ///
    /// # Errors
    /// If it was not measured.
    pub fn wake_host(&self) -> Result<Span, Unknown> {
        known(&self.latency.wake_host, || "how long a waiting host takes to wake up".to_owned())
    }

    /// Nanoseconds that the smallest kernel takes on the device when many run back to back in a
    /// stream.
    ///
    /// # Errors
    /// If it was not measured.
    pub fn kernel_gap(&self) -> Result<f64, Unknown> {
        let gap = self.latency.kernel_gap.as_ref().map(|gap| gap.ns.max(0.0));
        gap.ok_or_else(|| Unknown::new("the device time of the smallest kernel"))
    }

    /// What it costs to go from one operation to the next; `None` between two of a kind in one
    /// stream, where it is part of their own time.
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

    /// Extra nanoseconds of a kernel that follows another in its stream while `others` streams
    /// wait; 0 if none do. See [`Profile::knows_polling`].
    pub fn polling(&self, others: usize, copies: [bool; 2]) -> f64 {
        let found = self.polling.iter().find(|model| model.copies == copies);
        found.filter(|_| others > 0).map_or(0.0, |model| model.delay.at(others as f64).max(0.0))
    }

    /// Checks that [`Profile::polling`] was measured for a plan in which H2D `copies`, and D2H
    /// ones, may be under way.
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
    /// Engine time of a copy of pinned memory while the other direction is idle.
    ///
    /// # Errors
    /// If copies of such a size were not calibrated.
    pub fn copy(&self, direction: Direction, bytes: Bytes) -> Result<Span, Unknown> {
        let what = format!("{direction} copies of pinned memory");
        let found = self.copies.iter().find(|copy| copy.direction == direction);
        let model = found.ok_or_else(|| Unknown::new(what.clone()))?;
        Ok(Span::from_nanos_f64(of_bytes(&model.time, bytes, &what)?.max(0.0)))
    }

    /// How much longer copies of a direction take while the other direction is busy.
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

    /// The most nanoseconds that the other direction adds to a copy, for the copy itself and for
    /// its bytes, in a plan whose D2H copies write `written` bytes. The second figure depends on
    /// whether caches keep what they write. Copies smaller than any measured with caches count as
    /// without: on an H100, 127 KB copies took the same whether 16 MB or 256 MB were used in turn.
    ///
    /// # Errors
    /// As for [`Profile::shared`].
    pub fn beside_the_other(
        &self,
        (direction, bytes): (Direction, Bytes),
        written: Bytes,
    ) -> Result<[f64; 2], Unknown> {
        let of = |shared: &Contention| [shared.of_copy(bytes), shared.of_bytes(bytes)];
        let through = of(self.shared(direction)?);
        let kept = match direction {
            Direction::HostToDevice => &self.link.down_shared_kept,
            Direction::DeviceToHost => &self.link.up_shared_kept,
        };
        let is_known = |kept: &&Contention| {
            let sizes = kept.per_byte.as_ref().and_then(|curve| curve.knots.first());
            sizes.is_some_and(|&(smallest, _)| bytes.as_f64() >= smallest)
        };
        let kept = kept.as_ref().filter(is_known);
        let Some((kept, misses)) = kept.zip(self.caches.written(written)) else {
            return Ok(through);
        };
        let kept = of(kept);
        Ok([0, 1].map(|part| blend(kept[part], through[part], misses)))
    }

    /// Nanoseconds that a copy engine idles when it switches between `streams` streams that keep it
    /// busy, or between branches of a graph. Where branches were not measured, they count as
    /// streams.
    ///
    /// # Errors
    /// If there are several and neither was measured.
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

impl Profile {
    /// Whether [`super::LinkModel::refetching`] was measured.
    ///
    /// # Errors
    /// If it was not.
    pub fn knows_refetching(&self) -> Result<(), Unknown> {
        let unknown = || Unknown::new("what H2D copies pay for kernels that wait in other streams");
        (!self.link.refetches.is_empty()).then_some(()).ok_or_else(unknown)
    }
}
