//! Allocating, pinning and touching memory.

use super::context::{MeasurementContext, clocked, timed};
use super::error::{CalibrateError, Calibrated};
use super::probe::{Counts, Probe, WarmUp};
use super::sizes::Sizes;
use super::transfers::COMBINED;
use crate::gpu::{AnyDevice, AnyMemory, AnyStream};
use crate::host::{Operand, PageMemory, Team};
use crate::kernels::{Kernel, Variant};
use crate::machine::Direction;
use crate::samples::{MemoryWork, Quantity};
use crate::units::{Bytes, Span};

pub(super) fn probes(sizes: &Sizes) -> Vec<Probe> {
    use MemoryWork::{
        CombinedRead, CombinedReadTeam, CombinedWrite, CombinedWriteTeam, DeviceAllocate,
        DeviceFree, FirstCopy, FirstRead, FirstTouch, FirstTouchTeam, PageableAllocate,
        PageableFree, PinnedAllocate, PinnedFree, Register, Renew, RenewTeam, SecondCopy,
        SecondRead, SecondTouch, SecondTouchTeam, Unregister,
    };
    let works: [&[MemoryWork]; 10] = [
        &[DeviceAllocate, DeviceFree],
        &[PinnedAllocate, PinnedFree],
        &[Register, Unregister],
        &[FirstTouch],
        &[SecondTouch],
        &[FirstTouchTeam],
        &[SecondTouchTeam],
        &[Renew],
        &[RenewTeam],
        &[PageableAllocate, PageableFree],
    ];
    // In KiB.
    let managed: &[u64] =
        sizes.either(&[64, 1 << 10, 8 << 10, MANY, 2 * MANY], &[64, 8 << 10, MANY]);
    let new_pages: &[u64] = sizes.either(&[4, 64, 1 << 10, 8 << 10, MANY], &[4, 64, 8 << 10]);
    let mut probes = Vec::new();
    for works in works {
        let takes_pages = works[0] != DeviceAllocate;
        let probe = |&kib: &u64| probe(works, Bytes::kib(kib), takes_pages && kib >= MANY);
        probes.extend(managed.iter().map(probe));
    }
    for works in [&[FirstCopy, SecondCopy], &[FirstRead, SecondRead]] {
        let probe = |&kib: &u64| probe(works, Bytes::kib(kib), kib >= MANY);
        probes.extend(new_pages.iter().map(probe));
    }
    // Less than a page costs as much as a page.
    let by_page = [FirstTouch, SecondTouch, FirstTouchTeam, SecondTouchTeam, Renew, RenewTeam];
    for work in by_page {
        probes.push(probe(&[work], Bytes::kib(4), false));
    }
    // Threads that fault in pages of one table of 2 MiB take turns.
    for work in [FirstTouchTeam, SecondTouchTeam, Renew, RenewTeam] {
        probes.push(probe(&[work], Bytes::mib(2), false));
    }
    for work in [CombinedRead, CombinedWrite, CombinedReadTeam, CombinedWriteTeam] {
        let some = [Bytes::kib(256), Bytes::mib(2)].into_iter().filter(|_| !sizes.is_quick);
        probes.extend(some.map(|bytes| probe(&[work], bytes, false)));
    }
    // The caches leave write-combined memory out, but not what is written there. (Reading so much
    // of it would take a second.)
    for work in [CombinedWrite, CombinedWriteTeam].into_iter().filter(|_| !sizes.is_quick) {
        probes.push(probe(&[work], Bytes::mib(32), false));
    }
    probes
}

/// From so many KiB on, pinning or touching memory takes tens of milliseconds.
const MANY: u64 = 64 << 10;

fn probe(works: &[MemoryWork], bytes: Bytes, is_long: bool) -> Probe {
    let (first, all) = (works[0], works.iter());
    let what: Vec<_> = all.map(|&work| Quantity::Memory { work, bytes }).collect();
    // Pinning 128 MiB takes a sixteenth of a second.
    // Mapping pages and giving them back varies little, and touching them in between takes long.
    let (share, fewest) = if first == MemoryWork::PageableAllocate { (0.15, 2) } else { (0.5, 3) };
    let probe = Probe::together(what, Counts::Once).limit(share, fewest);
    // Beside so many pages, what is set up at a first use does not matter.
    if is_long { probe.warm_up(WarmUp::None) } else { probe }
}

impl<D: AnyDevice> MeasurementContext<'_, D> {
    /// Time of one piece of memory management. Where it takes something, the time of
    /// giving it back follows.
    pub fn memory(&mut self, work: MemoryWork, bytes: Bytes) -> Calibrated<Vec<Span>> {
        let time = match work {
            MemoryWork::DeviceAllocate
            | MemoryWork::DeviceFree
            | MemoryWork::PinnedAllocate
            | MemoryWork::PinnedFree
            | MemoryWork::Register
            | MemoryWork::Unregister => {
                return Ok(self.taken_and_given_back(work, bytes, false)?.to_vec());
            }
            MemoryWork::PageableAllocate | MemoryWork::PageableFree => {
                let touch = |pages: Option<&mut PageMemory>| {
                    pages.into_iter().for_each(|pages| pages.as_mut_slice().fill(1.0));
                    Ok(())
                };
                return Ok(both::<D, _>(touch, || Ok(PageMemory::new(bytes)?))?.to_vec());
            }
            MemoryWork::CombinedRead
            | MemoryWork::CombinedReadTeam
            | MemoryWork::CombinedWrite
            | MemoryWork::CombinedWriteTeam => self.use_combined(work, bytes)?,
            MemoryWork::FirstTouch | MemoryWork::FirstTouchTeam => {
                let team = (work == MemoryWork::FirstTouchTeam).then_some(self.team);
                touch::<D>(PageMemory::new(bytes)?.as_mut_slice(), team)
            }
            MemoryWork::SecondTouch | MemoryWork::SecondTouchTeam => {
                let team = (work == MemoryWork::SecondTouchTeam).then_some(self.team);
                touch::<D>(self.touched(bytes), team)
            }
            MemoryWork::FirstCopy | MemoryWork::SecondCopy => {
                return self.copied_new(Direction::DeviceToHost, bytes);
            }
            MemoryWork::FirstRead | MemoryWork::SecondRead => {
                return self.copied_new(Direction::HostToDevice, bytes);
            }
            MemoryWork::ManagedAllocate => self.managed_anew(bytes)?,
            MemoryWork::Renew | MemoryWork::RenewTeam => {
                let team = (work == MemoryWork::RenewTeam).then_some(self.team);
                let mut pages = PageMemory::new(bytes)?;
                touch::<D>(pages.as_mut_slice(), team);
                clocked::<D, _, _>(|| pages.renew())?
            }
        };
        Ok(vec![time])
    }

    /// Times of taking something from the driver and of giving it back, each while the device
    /// `is_busy` or while it has nothing to do.
    pub(super) fn taken_and_given_back(
        &mut self,
        work: MemoryWork,
        bytes: Bytes,
        is_busy: bool,
    ) -> Calibrated<[Span; 2]> {
        let device = self.device;
        let touched = self.touched(bytes).as_mut_ptr();
        let begin = || if is_busy { Ok(self.keep_busy()?) } else { Ok(()) };
        match work {
            MemoryWork::DeviceAllocate | MemoryWork::DeviceFree => {
                both::<D, _>(|_| begin(), || Ok(device.allocate(bytes)?))
            }
            MemoryWork::PinnedAllocate | MemoryWork::PinnedFree => {
                both::<D, _>(|_| begin(), || Ok(device.allocate_pinned(bytes)?))
            }
            _ => {
                // SAFETY: the registration is dropped before the pool.
                let register = || unsafe { Ok(device.register(touched, bytes)?) };
                both::<D, _>(|_| begin(), register)
            }
        }
    }

    /// Times of a copy to or from new pages and of one to or from the same pages again, each until
    /// the copy is complete. Pages to copy from are written between the two.
    fn copied_new(&mut self, direction: Direction, bytes: Bytes) -> Calibrated<Vec<Span>> {
        let mut pages = PageMemory::new(bytes)?;
        let (stream, there) = (&self.streams[0], self.arrays[0].address());
        let copy = |ashore: *mut f32| {
            clocked::<D, _, _>(|| {
                // SAFETY: both sides hold so many bytes until the copy has been waited for.
                unsafe { stream.copy_across(direction, (ashore, there), bytes)? };
                stream.synchronize()
            })
        };
        let first = copy(pages.as_mut_ptr())?;
        if direction == Direction::HostToDevice {
            pages.as_mut_slice().fill(1.0);
        }
        Ok(vec![first, copy(pages.as_mut_ptr())?])
    }

    /// Time to sum a part of the write-combined memory, or to fill it from ordinary memory.
    fn use_combined(&mut self, work: MemoryWork, bytes: Bytes) -> Calibrated<Span> {
        let is_read = matches!(work, MemoryWork::CombinedRead | MemoryWork::CombinedReadTeam);
        let is_by_one = matches!(work, MemoryWork::CombinedRead | MemoryWork::CombinedWrite);
        let offset = self.window(COMBINED, bytes, self.turn);
        let start = self.combined()?.as_mut_ptr();
        let count = bytes.as_usize() / 4;
        // SAFETY: the window lies within the memory, and no copy uses that now.
        let combined = unsafe { std::slice::from_raw_parts_mut(start.add(offset), count) };
        let team = if is_by_one { &self.one_thread } else { self.team };
        let [from, .., out] = &mut self.pools;
        let (kernel, input, output) = if is_read {
            (Kernel::Sum, &*combined, &mut out.as_mut_slice()[..1])
        } else {
            (Kernel::Scale, &from.as_slice()[..count], combined)
        };
        let arguments = Variant { kernel, extent: 0 }.arguments();
        clocked::<D, _, _>(|| {
            team.run(kernel, &arguments, &[Operand::Array(input)], output, 0);
            Ok(())
        })
    }

    /// Memory whose pages have been touched. Allocating it for every sample would take
    /// longer than everything that is timed about memory.
    pub(super) fn touched(&mut self, bytes: Bytes) -> &mut [f32] {
        let [.., out] = &mut self.pools;
        &mut out.as_mut_slice()[..bytes.as_usize() / 4]
    }
}

/// Time to write everything once.
fn touch<D: AnyDevice>(values: &mut [f32], team: Option<&Team>) -> Span {
    let time = clocked::<D, _, _>(|| {
        match team {
            Some(team) => team.fill(values, 1.0),
            None => values.fill(1.0),
        }
        Ok::<_, std::convert::Infallible>(())
    });
    time.unwrap_or_else(|never| match never {})
}

/// Times of taking something and of giving it back. `before` comes before either: before it is
/// taken, there is nothing yet.
fn both<D: AnyDevice, T>(
    mut before: impl FnMut(Option<&mut T>) -> Calibrated,
    take: impl FnOnce() -> Calibrated<T>,
) -> Calibrated<[Span; 2]> {
    before(None)?;
    let (mut kept, taken) = timed::<D, _, _>(take)?;
    before(Some(&mut kept))?;
    let given_back = clocked::<D, _, _>(|| {
        drop(kept);
        Ok::<_, CalibrateError>(())
    })?;
    Ok([taken, given_back])
}
