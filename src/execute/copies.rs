//! Copies, each with its addresses.

use super::error::ExecuteError;
use super::handles::Handles;
use super::memory::{Memories, need};
use crate::gpu::{AnyDevice, AnyStream, RowShape, RowSide};
use crate::host::Team;
use crate::machine::{DeviceId, Direction};
use crate::program::{Call, CopyBy, Program, Route, Sides, Slice, Threads};
use crate::units::Bytes;

/// A copy with its addresses.
pub(super) enum PreparedCopy<'d, D> {
    In { stream: usize, from: *const f32, to: u64, bytes: Bytes },
    Out { stream: usize, from: u64, to: *mut f32, bytes: Bytes },
    ToPeer { stream: usize, from: u64, to: (&'d D, u64), bytes: Bytes },
    OnDevice { stream: usize, from: u64, to: u64, bytes: Bytes },
    Rows { stream: usize, from: RowSide, to: RowSide, shape: RowShape },
    OnHost { from: *const u8, to: *mut u8, count: usize, threads: Threads },
}

impl<'d, D: AnyDevice> PreparedCopy<'d, D> {
    /// # Panics
    /// If the call is no copy.
    pub fn new(
        (program, call): (&Program, &Call),
        device: Option<&'d D>,
        memories: &mut Memories<D>,
    ) -> Result<Self, ExecuteError> {
        let Sides { by, from, to, rows } = call.sides();
        let (Some(by), Some(from), Some(to)) = (by, from, to) else {
            unreachable!("{call:?} is no copy");
        };
        let (stream, route) = match by {
            CopyBy::Stream(stream, route) => (stream.0, route),
            CopyBy::Host(threads) => {
                return Ok(Self::OnHost {
                    from: memories.on_host(from).cast_const().cast(),
                    to: memories.on_host(to).cast(),
                    count: from.length.as_usize(),
                    threads,
                });
            }
        };
        let bytes = from.length;
        if let Some(rows) = rows {
            let on_host = match route {
                Route::Crossing(Direction::HostToDevice) => [true, false],
                Route::Crossing(Direction::DeviceToHost) => [false, true],
                Route::OnDevice | Route::ToPeer => [false; 2],
            };
            let mut side = |slice: &Slice, on_host: bool| match on_host {
                true => RowSide::Host(memories.on_host(slice)),
                false => RowSide::Device(memories.on_device(slice)),
            };
            let shape = RowShape { row: rows.row, count: rows.count(from), pitch: rows.pitch };
            let (from, to) = (side(from, on_host[0]), side(to, on_host[1]));
            return Ok(Self::Rows { stream, from, to, shape });
        }
        Ok(match route {
            Route::Crossing(Direction::HostToDevice) => {
                let (from, to) = (memories.on_host(from), memories.on_device(to));
                Self::In { stream, from, to, bytes }
            }
            Route::Crossing(Direction::DeviceToHost) => {
                let (from, to) = (memories.on_device(from), memories.on_host(to));
                Self::Out { stream, from, to, bytes }
            }
            Route::ToPeer => {
                let [_, DeviceId(there)] = program.peers_of(from, to);
                let to = (need(device)?.nth(there)?, memories.on_device(to));
                Self::ToPeer { stream, from: memories.on_device(from), to, bytes }
            }
            Route::OnDevice => {
                let (from, to) = (memories.on_device(from), memories.on_device(to));
                Self::OnDevice { stream, from, to, bytes }
            }
        })
    }

    /// Makes the copy.
    ///
    /// # Safety
    /// The memory must be valid until the stream has executed the copy, and a pass must wait for
    /// it.
    #[inline]
    pub unsafe fn make(&self, handles: &Handles<D>, team: &Team) -> Result<(), ExecuteError> {
        let of = |stream: usize| &handles.streams[stream];
        // SAFETY: the caller promises that the memory is valid; a checked plan copies nothing onto
        // itself, and nothing else uses the two sides of a host's copy while the host copies.
        unsafe {
            match *self {
                Self::In { stream, from, to, bytes } => of(stream).copy_in(from, to, bytes)?,
                Self::Out { stream, from, to, bytes } => of(stream).copy_out(from, to, bytes)?,
                Self::ToPeer { stream, from, to, bytes } => {
                    of(stream).copy_to_peer(from, to, bytes)?;
                }
                Self::OnDevice { stream, from, to, bytes } => {
                    of(stream).copy_on_device(from, to, bytes)?;
                }
                Self::Rows { stream, from, to, shape } => {
                    of(stream).copy_rows(from, to, shape)?;
                }
                Self::OnHost { from, to, count, threads } => {
                    let from = std::slice::from_raw_parts(from, count);
                    let to = std::slice::from_raw_parts_mut(to, count);
                    match threads {
                        Threads::One => to.copy_from_slice(from),
                        Threads::All => team.copy(from, to),
                    }
                }
            }
        }
        Ok(())
    }
}
