//! Taking, pinning and touching memory.

use super::rig::{Rig, clocked};
use super::run::CalibrateError;
use crate::gpu::{DeviceMemory, PinnedMemory, Registration};
use crate::host::PageMemory;
use crate::samples::MemoryWork;
use crate::units::{Bytes, Span};

impl Rig<'_> {
    /// Time of one piece of memory management; what it took is given back untimed.
    pub fn memory(&mut self, work: MemoryWork, bytes: Bytes) -> Result<Span, CalibrateError> {
        let device = self.device;
        let mut kept = None;
        let mut locked = None;
        let mut registered = None;
        Ok(match work {
            MemoryWork::DeviceAllocate => clocked(|| {
                kept = Some(DeviceMemory::new(device, bytes)?);
                Ok::<_, CalibrateError>(())
            })?,
            MemoryWork::PinnedAllocate => clocked(|| {
                locked = Some(PinnedMemory::new(device, bytes)?);
                Ok::<_, CalibrateError>(())
            })?,
            MemoryWork::Register => {
                let mut pages = PageMemory::new(bytes)?;
                pages.as_mut_slice().fill(1.0);
                let time = clocked(|| {
                    // SAFETY: the registration is dropped first, just below.
                    registered =
                        Some(unsafe { Registration::new(device, pages.as_mut_ptr(), bytes)? });
                    Ok::<_, CalibrateError>(())
                })?;
                drop(registered.take());
                time
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
