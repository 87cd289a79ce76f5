//! Copies that stay on their side of the link, and copies of rows.

use super::error::ExecuteError;
use super::handles::Handles;
use super::memory::Memories;
use crate::gpu::{AnyDevice, AnyStream, RowShape, RowSide};
use crate::host::Team;
use crate::machine::Direction;
use crate::program::{Call, CopyBy, Route, Sides, Slice, Threads};
use crate::units::Bytes;

/// A copy with its addresses.
pub(super) enum LocalCopy {
    OnDevice { stream: usize, from: u64, to: u64, bytes: Bytes },
    Rows { stream: usize, from: RowSide, to: RowSide, shape: RowShape },
    OnHost { from: *const u8, to: *mut u8, count: usize, threads: Threads },
}

impl LocalCopy {
    /// # Panics
    /// If the call is no copy.
    pub fn new<D: AnyDevice>(call: &Call, memories: &mut Memories<D>) -> Self {
        let Sides { by, from, to, rows } = call.sides();
        let (Some(by), Some(from), Some(to)) = (by, from, to) else {
            unreachable!("{call:?} is no copy");
        };
        match (by, rows) {
            (CopyBy::Stream(stream, _), None) => Self::OnDevice {
                stream: stream.0,
                from: memories.on_device(from),
                to: memories.on_device(to),
                bytes: from.length,
            },
            (CopyBy::Stream(stream, route), Some(rows)) => {
                let on_host = match route {
                    Route::Crossing(Direction::HostToDevice) => [true, false],
                    Route::Crossing(Direction::DeviceToHost) => [false, true],
                    Route::OnDevice | Route::ToPeer => [false; 2],
                };
                let mut side = |slice: &Slice, on_host: bool| match on_host {
                    true => RowSide::Host(memories.on_host(slice)),
                    false => RowSide::Device(memories.on_device(slice)),
                };
                let (from_side, to_side) = (side(from, on_host[0]), side(to, on_host[1]));
                let shape = RowShape { row: rows.row, count: rows.count(from), pitch: rows.pitch };
                Self::Rows { stream: stream.0, from: from_side, to: to_side, shape }
            }
            (CopyBy::Host(threads), _) => Self::OnHost {
                from: memories.on_host(from).cast_const().cast(),
                to: memories.on_host(to).cast(),
                count: from.length.as_usize(),
                threads,
            },
        }
    }

    /// Makes the copy.
    ///
    /// # Safety
    /// The memory must be valid until the stream has executed the copy, and a pass must wait for
    /// it.
    pub unsafe fn make<D: AnyDevice>(
        &self,
        handles: &Handles<D>,
        team: &Team,
    ) -> Result<(), ExecuteError> {
        match *self {
            // SAFETY: the caller promises that the memory is valid; a checked plan copies nothing
            // onto itself.
            Self::OnDevice { stream, from, to, bytes } => unsafe {
                handles.streams[stream].copy_on_device(from, to, bytes)?;
            },
            // SAFETY: as above.
            Self::Rows { stream, from, to, shape } => unsafe {
                handles.streams[stream].copy_rows(from, to, shape)?;
            },
            Self::OnHost { from, to, count, threads } => {
                // SAFETY: both sides lie within live allocations and do not overlap in a checked
                // plan, and nothing else uses them while the host copies.
                let (from, to) = unsafe {
                    let from = std::slice::from_raw_parts(from, count);
                    (from, std::slice::from_raw_parts_mut(to, count))
                };
                match threads {
                    Threads::One => to.copy_from_slice(from),
                    Threads::All => team.copy(from, to),
                }
            }
        }
        Ok(())
    }
}
