//! Calls on memory as a whole: taking it, giving it back, pinning, renewing, prefetching.

use super::call::{RawCall, needed};
use super::expand::Expansion;
use crate::files::{Fault, Spanned};
use crate::machine::{HostMemory, Residence, StreamId};
use crate::program::{AllocationId, Call, Place, Slice};
use crate::units::Bytes;
use std::ops::Range;

impl Expansion<'_> {
    /// The memory of a name, and the stream in whose order it is taken or given back, if one is
    /// named: only a GPU's memory can be.
    pub(super) fn in_stream(
        &mut self,
        memory: &Spanned<String>,
        stream: Option<&Spanned<String>>,
    ) -> Result<(AllocationId, Option<StreamId>), Fault> {
        let allocation = self.scope.whole(memory)?;
        let Some(stream) = stream else { return Ok((allocation, None)) };
        let slice = self.of_device(memory, allocation)?;
        Ok((allocation, Some(self.stream(Some(stream), &slice)?)))
    }

    /// All of a GPU's memory of this name.
    fn of_device(&self, memory: &Spanned<String>, id: AllocationId) -> Result<Slice, Fault> {
        let one = &self.scope.allocations[id.0];
        if let Place::Host(_) = one.place {
            let message = format!(
                "`{memory}` is host memory, which cannot be allocated or freed in a stream"
            );
            let help = "remove `stream`";
            return Err(Fault::new(message, memory.span(), "not on a GPU", help));
        }
        Ok(Slice { allocation: id, offset: Bytes::ZERO, length: one.bytes })
    }

    pub(super) fn pin(
        &mut self,
        memory: &Spanned<String>,
        span: &Range<usize>,
    ) -> Result<(), Fault> {
        let id = self.scope.whole(memory)?;
        if !self.pinned.contains(&id) {
            self.check_pageable(memory, id, "pinned", "pin pageable memory")?;
            self.scope.allocations[id.0].place = Place::Host(HostMemory::Pinned);
            self.pinned.insert(id);
        }
        self.push(Call::Pin(id), span)
    }

    pub(super) fn renew(
        &mut self,
        memory: &Spanned<String>,
        span: &Range<usize>,
    ) -> Result<(), Fault> {
        let id = self.scope.whole(memory)?;
        self.check_pageable(memory, id, "renewed", "renew pageable memory")?;
        self.push(Call::Renew(id), span)
    }

    fn check_pageable(
        &self,
        memory: &Spanned<String>,
        id: AllocationId,
        what: &str,
        help: &str,
    ) -> Result<(), Fault> {
        if self.scope.allocations[id.0].place == Place::Host(HostMemory::Pageable) {
            return Ok(());
        }
        let message = format!("`{memory}` is not pageable memory");
        Err(Fault::new(message, memory.span(), format!("cannot be {what}"), help))
    }

    pub(super) fn prefetch(
        &mut self,
        memory: &Spanned<String>,
        call: &RawCall,
        span: &Range<usize>,
    ) -> Result<(), Fault> {
        let target = self.scope.slice(memory)?;
        if !self.place(&target).is_managed() {
            let message = format!("`{memory}` is not managed memory");
            let help = "declare it in `memory` with `kind = \"managed\"`, or use a copy";
            return Err(Fault::new(message, memory.span(), "cannot be prefetched", help));
        }
        let to = needed(&call.to);
        let to = match to.get_ref().as_str() {
            "gpu" => Residence::Device,
            "host" => Residence::Host,
            other => {
                let message = format!("a `prefetch` cannot go to `{other}`");
                let help = "write `to = \"gpu\"` (the GPU of the stream) or `to = \"host\"`";
                return Err(Fault::new(message, to.span(), "not a target", help));
            }
        };
        let stream = self.stream(call.stream.as_ref(), &target)?;
        self.push(Call::Prefetch { stream, target, to }, span)
    }
}
