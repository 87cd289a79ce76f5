//! Managed memory, whose pages move to the side that uses them.

use super::builder::{Builder, room};
use super::chunk::{Chunk, cut};
use super::crossing::refuse_rows;
use super::definition::{Definition, Division, Traits};
use super::on_cpu::OnCpu;
use crate::machine::{HostMemory, Residence};
use crate::program::{BufferId, Call, CopyBy, Place, Program, Threads};
use crate::scenario::{FamilyName, Home, Workload};
use crate::units::Bytes;

/// The CPU copies inputs into managed memory and results out of it; in between, the GPU uses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Managed {
    /// Whether pages are sent ahead, rather than fetched by whoever misses them.
    pub prefetch: bool,
}

/// The most managed memory of a plan. Page faults of more take minutes on some machines.
const MOST: Bytes = Bytes::mib(256);

impl Definition for Managed {
    fn traits(&self) -> Traits {
        Traits { is_on_request: true, tries_pinned: false, ..Traits::of(FamilyName::Managed) }
    }

    fn smallest() -> Self {
        Self { prefetch: false }
    }

    fn choices(_: &Workload, division: Division) -> Vec<Self> {
        if division != Division::Whole {
            return Vec::new();
        }
        [false, true].map(|prefetch| Self { prefetch }).into()
    }

    fn build(&self, mut builder: Builder<'_>) -> Result<Program, String> {
        let workload = builder.workload;
        let is_host = |id: BufferId| match workload.buffer(id).home {
            Home::Host(_) => !workload.is_only_on_cpu(id),
            Home::Scratch => workload.goes_to_cpu(id),
            Home::Device => false,
        };
        if !workload.buffer_ids().any(is_host) {
            return Err("no buffer has its home on the host".to_owned());
        }
        refuse_rows(workload, |_| true)?;
        let chunks = cut(workload, 1)?;
        let stream = builder.stream();
        let on_cpu = OnCpu::new(&mut builder, &chunks)?;
        let room = room(&chunks);
        let managed = builder.storage(&room, Place::Host(HostMemory::Managed), is_host);
        let takes = builder.program.bytes_in(Place::Host(HostMemory::Managed));
        if takes > MOST {
            return Err(format!("needs {takes} of managed memory; the limit is {MOST}"));
        }
        let slot = builder.storage(&room, Place::FIRST_DEVICE, |id| !is_host(id)).or(managed);
        let slot = builder.equipped(slot, &room);
        let (comes, goes) = (builder.copied_in(), builder.copied_out());
        let there = |builder: &Builder<'_>, chunk: &Chunk, id: BufferId| {
            let here = builder.location(&slot, chunk, id);
            let home = builder.home(chunk, id).expect("the host is its home");
            let parts = workload.crossing(id, &chunk.needs[id]).into_iter();
            parts.map(move |part| [home, here].map(|one| one.slice(&part.span())))
        };
        let others = goes.iter().filter(|id| !comes.contains(id));
        let used: Vec<BufferId> = comes.iter().chain(others).copied().collect();
        let send = |builder: &mut Builder<'_>, chunk: &Chunk, ids: &[BufferId], to| {
            for &id in ids.iter().filter(|_| self.prefetch) {
                for [_, target] in there(builder, chunk, id) {
                    builder.issue(Call::Prefetch { stream, target, to });
                }
            }
        };
        for chunk in &chunks {
            on_cpu.compute(&mut builder, chunk, &on_cpu.before, &[])?;
            for &id in &comes {
                for [from, to] in there(&builder, chunk, id) {
                    builder.issue(Call::copy(CopyBy::Host(Threads::All), from, to));
                }
            }
            send(&mut builder, chunk, &used, Residence::Device);
            builder.launch_all(stream, &slot, chunk)?;
            send(&mut builder, chunk, &goes, Residence::Host);
            builder.synchronize(stream);
            for &id in &goes {
                for [to, from] in there(&builder, chunk, id) {
                    builder.issue(Call::copy(CopyBy::Host(Threads::All), from, to));
                }
            }
            on_cpu.compute(&mut builder, chunk, &on_cpu.behind, &[])?;
        }
        Ok(builder.finish())
    }

    fn in_words(&self, _: &Workload) -> Vec<String> {
        let pages = if self.prefetch {
            "Its pages are prefetched to the GPU before the kernels, and back to the host after \
             them."
        } else {
            "Pages migrate on page faults."
        };
        vec![
            "All CPU threads copy inputs into managed memory and results out of it. Kernels \
             work on managed memory."
                .to_owned(),
            pages.to_owned(),
        ]
    }

    fn parameters(&self) -> Option<String> {
        self.prefetch.then(|| "prefetch".to_owned())
    }
}
