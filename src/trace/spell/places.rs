//! The memory of calls that are spelled out.

use super::Writer;
use super::blocks::{Space, space};
use super::spelling::SpelledMemory;
use crate::trace::{
    CallKind, CopyPlaces, DeviceWork, MemoryKind, PointerAccess, StreamKey, WorkKind,
};
use crate::units::Bytes;

impl Writer<'_> {
    /// Whether a copy goes to memory on the host that nobody had touched.
    ///
    /// The trace's own prices have the time for its pages in that of the copy.
    pub(super) fn goes_to_new_memory(&self, work: usize) -> bool {
        let is_new = self.places(&self.trace.work[work]).is_some_and(|places| places.to_new);
        let is_pinned = self.how.memory == SpelledMemory::Pinned;
        is_new && !is_pinned && !self.how.each_call && self.graph_stream.is_none()
    }

    /// The call that gives a copy's target new pages, if they were new.
    pub(super) fn renewal(&mut self, at: usize) -> Option<String> {
        let work = &self.trace.work[at];
        let WorkKind::Copy { to, bytes: Some(bytes), .. } = work.kind else { return None };
        if !to.is_on_host() || to == MemoryKind::Pinned || !self.goes_to_new_memory(at) {
            return None;
        }
        let (stream, address) = (self.stream(work.stream), self.places(work)?.to?);
        let name = match self.how.memory {
            // Other copies may use the rest of a block.
            SpelledMemory::ByAddress => {
                self.blocks.filled_by(space(to, stream.device), address, bytes)?
            }
            _ => self.memory.new_name(stream, bytes),
        };
        Some(format!("renew = \"{name}\""))
    }

    pub(super) fn places(&self, work: &DeviceWork) -> Option<CopyPlaces> {
        match self.trace.calls[work.call?].kind {
            CallKind::Copy { places, .. } => Some(places),
            _ => None,
        }
    }

    /// The blocks that a kernel's pointers point into and that it may access in a way, as a list in
    /// the order of the pointers.
    pub(super) fn used_by(&mut self, work: &DeviceWork, access: PointerAccess) -> String {
        let device = Space::Device(self.stream(work.stream).device);
        let trace = self.trace;
        let mut used: Vec<String> = Vec::new();
        for (at, &pointer) in trace.pointers(work).iter().enumerate() {
            if trace.stated_use(work, at, access) == Some(false) {
                continue;
            }
            let name = self.blocks.whole(device, pointer).map(|name| format!("\"{name}\""));
            used.extend(name.filter(|name| !used.contains(name)));
        }
        used.join(", ")
    }

    /// What a memset clears, by its address.
    pub(super) fn cleared(&mut self, work: &DeviceWork, bytes: Bytes) -> Option<String> {
        let call = work.call.map(|at| &self.trace.calls[at].kind);
        let Some(CallKind::Clear { target: Some(target), .. }) = call else { return None };
        let device = Space::Device(self.stream(work.stream).device);
        self.blocks.range(device, *target, bytes)
    }

    /// The ranges of memory that a copy goes from and to.
    pub(super) fn sides(
        &mut self,
        work: &DeviceWork,
        stream: StreamKey,
        kinds: [MemoryKind; 2],
        bytes: Bytes,
        is_new: bool,
    ) -> [String; 2] {
        let is_inside = !kinds.into_iter().any(MemoryKind::is_on_host);
        let places = self.places(work).unwrap_or_default();
        let addresses = [places.from, places.to];
        let mut side = |second: bool| {
            let kind = kinds[usize::from(second)];
            let space = space(kind, stream.device);
            let address = addresses[usize::from(second)];
            if let Some(range) = address.and_then(|one| self.blocks.range(space, one, bytes)) {
                return range;
            }
            if !kind.is_on_host() {
                return self.memory.device(stream, bytes, second && is_inside);
            }
            let is_pinned = self.how.memory == SpelledMemory::Pinned || kind == MemoryKind::Pinned;
            let kind = if is_pinned { MemoryKind::Pinned } else { MemoryKind::Pageable };
            match second && is_new && kind == MemoryKind::Pageable {
                true => self.memory.new_target(stream, bytes),
                false => self.memory.host(stream, kind, bytes, second),
            }
        };
        [side(false), side(true)]
    }
}
