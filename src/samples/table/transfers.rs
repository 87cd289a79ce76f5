//! Rows of copies that are no plain copies of pinned or pageable memory.

use super::{MEMORIES, Memory, PATHS, Row};
use crate::plan::Direction;
use crate::samples::{Quantity, TransferPath};
use crate::units::Bytes;

impl Row<'_> {
    /// A copy on the device, or of memory of that kind.
    pub(super) fn transfer(
        &self,
        direction: Option<Direction>,
        bytes: Bytes,
    ) -> Result<Quantity, String> {
        let empty = |columns: &[&str], of: &str| {
            let filled = columns.iter().find(|column| self.get(column).is_some());
            let complaint = |column| format!("column `{column}`: leave it empty in a row of {of}");
            filled.map_or(Ok(()), |column| Err(complaint(column)))
        };
        let path = |path| Ok(Quantity::Transfer { path, bytes });
        let Some(direction) = direction else {
            empty(&["memory", "until", "footprint", "concurrent"], "D2D copies")?;
            return path(TransferPath::OnDevice);
        };
        let memory = self.one_of("memory", &MEMORIES)?;
        empty(&["until", "footprint"], "page-locked memory")?;
        if memory != Memory::Mapped {
            empty(&["concurrent"], "memory that is not `pinned` or `mapped`")?;
        }
        match (memory, direction) {
            (Memory::Registered, _) => Ok(Quantity::Copy { direction, bytes, registered: true }),
            (Memory::WriteCombined, Direction::HostToDevice) => path(TransferPath::WriteCombined),
            (Memory::WriteCombined, Direction::DeviceToHost) => {
                Err("column `memory`: the CPU can hardly read write-combined memory; \
                     write H2D as its `path`"
                    .into())
            }
            (Memory::Mapped, _) if self.get("concurrent").is_some() => {
                match self.one_of("concurrent", &PATHS)? {
                    Some(other) if other != direction => path(TransferPath::MappedBoth),
                    _ => Err("column `concurrent`: write the other direction, or nothing".into()),
                }
            }
            (Memory::Mapped, Direction::HostToDevice) => path(TransferPath::MappedRead),
            (Memory::Mapped, Direction::DeviceToHost) => path(TransferPath::MappedWrite),
            (Memory::Pinned | Memory::Pageable, _) => unreachable!("those are plain copies"),
        }
    }

    /// A call on the host: to a stream that has work, or one at a time.
    pub(super) fn call(&self) -> Result<Quantity, String> {
        let call = self.one_of("call", &super::CALLS)?;
        let idle = match self.get("device") {
            None => false,
            Some(_) => self.one_of("device", &[("busy", false), ("idle", true)])?,
        };
        Ok(if idle { Quantity::IdleCall { call } } else { Quantity::Call { call } })
    }
}
