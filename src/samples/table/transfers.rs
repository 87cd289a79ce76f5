//! Rows about copies other than those of pinned or pageable memory, and about host calls.

use super::row::{MEMORIES, Memory, Row};
use super::words::CALLS;
use crate::machine::Direction;
use crate::samples::{Quantity, TransferPath};
use crate::units::Bytes;

impl Row<'_> {
    /// A D2D copy, or a copy of write-combined or mapped memory.
    pub(super) fn transfer(
        &self,
        direction: Option<Direction>,
        bytes: Bytes,
    ) -> Result<Quantity, String> {
        let path = |path| Ok(Quantity::Transfer { path, bytes });
        self.leave_empty(&["gpu", "gpus"], "only for H2D and D2H copies of pinned memory")?;
        let Some(direction) = direction else {
            self.leave_empty(
                &["memory", "until", "footprint", "concurrent"],
                "not for D2D copies",
            )?;
            return path(TransferPath::OnDevice);
        };
        let memory = self.one_of("memory", &MEMORIES)?;
        self.leave_empty(&["until", "footprint"], "only for pageable memory")?;
        if memory != Memory::Mapped {
            self.leave_empty(&["concurrent"], "only for `pinned` and `mapped` memory")?;
        }
        match (memory, direction) {
            (Memory::WriteCombined, Direction::HostToDevice) => path(TransferPath::WriteCombined),
            (Memory::WriteCombined, Direction::DeviceToHost) => {
                Err("column `memory`: write-combined memory is only for H2D; set `path` to H2D"
                    .into())
            }
            (Memory::Mapped, _) if self.is_beside_the_other(direction)? => {
                path(TransferPath::MappedBoth)
            }
            (Memory::Mapped, Direction::HostToDevice) => path(TransferPath::MappedRead),
            (Memory::Mapped, Direction::DeviceToHost) => path(TransferPath::MappedWrite),
            (Memory::Pinned | Memory::Pageable, _) => unreachable!("those are plain copies"),
        }
    }

    /// A host call to a stream that has work.
    pub(super) fn call(&self) -> Result<Quantity, String> {
        let call = self.one_of("call", &CALLS.map(|call| (call.word(), call)))?;
        if self.get("device").is_some() {
            self.one_of("device", &[("busy", ())])?;
        }
        Ok(Quantity::Call { call })
    }
}
