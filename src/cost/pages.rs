//! Which calls use pages of host memory that nobody has used since the memory was taken.
//!
//! The system gives a process a page when something uses it for the first time, and that waits for
//! it. How long depends on who it is: threads of the CPU, or the driver, which stages a copy.

use super::caches::{Locality, NewPages};
use super::uses::Uses;
use crate::profile::MemoryWork;
use crate::program::{Access, Program, Slice};
use crate::units::Bytes;

/// Which pages of memory have been used.
pub(super) struct Pages {
    page: Bytes,
    /// The size of each allocation that has pages which count as new until they are used.
    renewed: Vec<Option<Bytes>>,
    read: Uses<()>,
    /// A page that was only read is a page of zeros that others read, too: whoever writes to it
    /// first gets another one.
    written: Uses<()>,
}

impl Pages {
    /// All pages of all allocations have been used.
    pub fn new(program: &Program, page: Bytes) -> Self {
        let renewed = vec![None; program.allocations.len()];
        Self { page, renewed, read: Uses::default(), written: Uses::default() }
    }

    /// An allocation, all of it, gets new pages.
    pub fn renew(&mut self, whole: &Slice) {
        self.renewed[whole.allocation.0] = Some(whole.length);
        self.read.forget(whole);
        self.written.forget(whole);
    }

    /// Notes a use of memory. If new pages cost whoever uses it something, they are found.
    pub fn note(&mut self, access: &Access, cost: Option<MemoryWork>, found: &mut Locality) {
        let allocation = access.allocation();
        let Some(whole) = self.renewed[allocation.0] else { return };
        let pages = self.pages_of(&access.touched.slice, whole);
        let known = if access.writes() { &self.written } else { &self.read };
        let new = pages.length - known.covered(&pages);
        // Rows far apart leave pages between them alone.
        let new = access.touched.bytes_of_rows(self.page).map_or(new, |most| most.min(new));
        self.read.note(&pages, ());
        if access.writes() {
            self.written.note(&pages, ());
        }
        if let Some(cost) = cost.filter(|_| new > Bytes::ZERO) {
            let before = found.new_pages.map_or(Bytes::ZERO, |other| other.bytes);
            let allocation = found.new_pages.map_or(allocation, |other| other.allocation);
            found.new_pages = Some(NewPages { allocation, cost, bytes: before + new });
        }
    }

    /// A slice with the rest of its first and its last page. Memory begins with a page; of its last
    /// one, only what belongs to it counts.
    fn pages_of(&self, slice: &Slice, whole: Bytes) -> Slice {
        let page = self.page.get();
        let offset = Bytes::new(slice.offset.get() / page * page);
        let end = Bytes::new(slice.end().get().next_multiple_of(page)).min(whole);
        Slice { offset, length: end - offset, ..*slice }
    }
}
