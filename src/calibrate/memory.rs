//! Taking, pinning and touching memory.

use super::rig::{Rig, clocked};
use super::run::CalibrateError;
use super::transfers::COMBINED;
use crate::gpu::{DeviceMemory, PinnedMemory, Registration};
use crate::host::{Operand, PageMemory};
use crate::kernels::{Kernel, Variant};
use crate::samples::MemoryWork;
use crate::units::{Bytes, Span};

impl Rig<'_> {
    /// Time of one piece of memory management; where it takes something, that of
    /// giving it back as well.
    pub fn memory(&mut self, work: MemoryWork, bytes: Bytes) -> Result<Vec<Span>, CalibrateError> {
        let device = self.device;
        let time = match work {
            MemoryWork::DeviceAllocate | MemoryWork::DeviceFree => {
                return taken_and_given_back(|| Ok(DeviceMemory::new(device, bytes)?));
            }
            MemoryWork::PinnedAllocate | MemoryWork::PinnedFree => {
                return taken_and_given_back(|| Ok(PinnedMemory::new(device, bytes)?));
            }
            MemoryWork::Register | MemoryWork::Unregister => {
                let mut pages = PageMemory::new(bytes)?;
                pages.as_mut_slice().fill(1.0);
                // SAFETY: the registration is given back before the pages go.
                return taken_and_given_back(|| unsafe {
                    Ok(Registration::new(device, pages.as_mut_ptr(), bytes)?)
                });
            }
            MemoryWork::CombinedRead | MemoryWork::CombinedReadTeam => {
                self.use_combined(bytes, Access::Read, work == MemoryWork::CombinedReadTeam)?
            }
            MemoryWork::CombinedWrite | MemoryWork::CombinedWriteTeam => {
                self.use_combined(bytes, Access::Write, work == MemoryWork::CombinedWriteTeam)?
            }
            MemoryWork::FirstTouch | MemoryWork::FirstTouchTeam => {
                let mut pages = PageMemory::new(bytes)?;
                self.touch(&mut pages, work == MemoryWork::FirstTouchTeam)
            }
            MemoryWork::SecondTouch | MemoryWork::SecondTouchTeam => {
                let mut pages = PageMemory::new(bytes)?;
                let team = work == MemoryWork::SecondTouchTeam;
                self.touch(&mut pages, team);
                self.touch(&mut pages, team)
            }
            MemoryWork::Renew => {
                let mut pages = PageMemory::new(bytes)?;
                pages.as_mut_slice().fill(1.0);
                clocked(|| pages.renew())?
            }
        };
        Ok(vec![time])
    }

    /// Time to add up a part of the write-combined memory, or to fill it out of
    /// ordinary memory.
    fn use_combined(
        &mut self,
        bytes: Bytes,
        access: Access,
        team: bool,
    ) -> Result<Span, CalibrateError> {
        let offset = self.window(COMBINED, bytes, self.turn);
        let start = self.combined()?.as_mut_ptr();
        let count = bytes.as_usize() / 4;
        // SAFETY: the window lies within the memory, which no copy uses now.
        let combined = unsafe { std::slice::from_raw_parts_mut(start.add(offset), count) };
        let team = if team { self.team } else { &self.one_thread };
        let [from, .., out] = &mut self.pools;
        let (kernel, input, output) = match access {
            Access::Read => (Kernel::Sum, &*combined, &mut out.as_mut_slice()[..1]),
            Access::Write => (Kernel::Scale, &from.as_slice()[..count], combined),
        };
        let arguments = Variant { kernel, extent: 0 }.arguments();
        clocked(|| {
            team.run(kernel, &arguments, &[Operand::Array(input)], output, 0);
            Ok(())
        })
    }

    /// Time to write once to everything.
    fn touch(&self, pages: &mut PageMemory, team: bool) -> Span {
        let values = pages.as_mut_slice();
        let time = clocked(|| {
            if team {
                self.team.fill_random(values, 1);
            } else {
                values.fill(1.0);
            }
            Ok::<_, std::convert::Infallible>(())
        });
        time.unwrap_or_else(|never| match never {})
    }
}

/// What the CPU does with memory.
#[derive(Debug, Clone, Copy)]
enum Access {
    Read,
    Write,
}

/// Times of taking something and of giving it back.
fn taken_and_given_back<T>(
    take: impl FnOnce() -> Result<T, CalibrateError>,
) -> Result<Vec<Span>, CalibrateError> {
    let mut kept = None;
    let taken = clocked(|| {
        kept = Some(take()?);
        Ok::<_, CalibrateError>(())
    })?;
    let given_back = clocked(|| {
        drop(kept);
        Ok::<_, CalibrateError>(())
    })?;
    Ok(vec![taken, given_back])
}
