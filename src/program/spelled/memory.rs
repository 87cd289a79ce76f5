//! Calls on memory as a whole: pinning, renewing, prefetching.

use super::expand::Expansion;
use crate::files::{Fault, Spanned};
use crate::machine::{HostMemory, Residence};
use crate::program::{AllocationId, Call, Place};
use std::ops::Range;

impl Expansion {
    pub(super) fn renew(
        &mut self,
        memory: &Spanned<String>,
        span: &Range<usize>,
    ) -> Result<(), Fault> {
        let id = self.pageable(memory, "renewed", "renew pageable memory")?;
        self.push(Call::Renew(id), span)
    }

    pub(super) fn pin(
        &mut self,
        memory: &Spanned<String>,
        span: &Range<usize>,
    ) -> Result<(), Fault> {
        let id = self.pageable(memory, "pinned", "pin pageable memory, once")?;
        if !self.in_setup {
            let help = "pin it in `setup`";
            let message = format!("`{memory}` is pinned inside the pass");
            return Err(Fault::new(message, span.clone(), "not supported yet", help));
        }
        self.scope.allocations[id.0].place = Place::Host(HostMemory::Pinned);
        self.push(Call::Pin(id), span)
    }

    fn pageable(
        &mut self,
        memory: &Spanned<String>,
        what: &str,
        help: &str,
    ) -> Result<AllocationId, Fault> {
        let id = self.scope.whole(memory, &self.indices)?;
        if self.scope.allocations[id.0].place != Place::Host(HostMemory::Pageable) {
            let message = format!("`{memory}` is not pageable memory");
            return Err(Fault::new(message, memory.span(), format!("cannot be {what}"), help));
        }
        Ok(id)
    }

    pub(super) fn prefetch(
        &mut self,
        (memory, to): (&Spanned<String>, &Spanned<String>),
        stream: Option<&Spanned<String>>,
        span: &Range<usize>,
    ) -> Result<(), Fault> {
        let target = self.scope.slice(memory, &self.indices)?;
        if !self.place(&target).is_managed() {
            let message = format!("`{memory}` is not managed memory");
            let help = "declare it in `memory` with `kind = \"managed\"`, or copy it";
            return Err(Fault::new(message, memory.span(), "cannot be prefetched", help));
        }
        let to = match to.get_ref().as_str() {
            "gpu" => Residence::Device,
            "host" => Residence::Host,
            other => {
                let message = format!("a `prefetch` to `{other}`");
                let help = "write `to = \"gpu\"`, for the GPU of the stream, or `to = \"host\"`";
                return Err(Fault::new(message, to.span(), "no side", help));
            }
        };
        let stream = self.stream(stream, &target)?;
        self.push(Call::Prefetch { stream, target, to }, span)
    }
}
