//! Kinds of memory management.

use super::definition::{Definition, Work};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// A kind of memory management.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemoryWork {
    DeviceAllocate,
    PinnedAllocate,
    /// Page-locking memory that was touched before.
    Register,
    /// One thread writing to pages that were never touched.
    FirstTouch,
    /// One thread writing to pages that were touched before.
    SecondTouch,
    FirstTouchTeam,
    SecondTouchTeam,
    Renew,
    DeviceFree,
    PinnedFree,
    /// Releasing the page-lock of registered memory.
    Unregister,
    /// One thread summing write-combined memory.
    CombinedRead,
    /// One thread filling write-combined memory.
    CombinedWrite,
    CombinedReadTeam,
    CombinedWriteTeam,
    /// A D2H copy to pages that were never touched, until it is complete.
    FirstCopy,
    /// A D2H copy to the same pages again, until it is complete.
    SecondCopy,
    /// An H2D copy from pages that were never touched, until it is complete.
    FirstRead,
    /// An H2D copy from pages that were written before, until it is complete.
    SecondRead,
    /// Allocating managed memory, which one thread then fills.
    ManagedAllocate,
    /// Mapping pageable memory that nobody touches yet.
    PageableAllocate,
    /// Giving pageable memory back that was touched.
    PageableFree,
}

/// A part of what shows whether memory management waits for the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitPart {
    /// On an idle device.
    Idle,
    /// While the device works on a load that was just issued.
    Busy,
    /// The load by itself, until a synchronisation returns.
    Load,
}

impl WaitPart {
    pub const ALL: [Self; 3] = [Self::Idle, Self::Busy, Self::Load];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Idle => "on an idle device",
            Self::Busy => "on a busy device",
            Self::Load => "by what keeps the device busy",
        }
    }
}

impl MemoryWork {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::DeviceAllocate => "device allocation",
            Self::PinnedAllocate => "pinned allocation",
            Self::Register => "pinning",
            Self::FirstTouch => "first touch",
            Self::SecondTouch => "second touch",
            Self::FirstTouchTeam => "first touch by all threads",
            Self::SecondTouchTeam => "second touch by all threads",
            Self::Renew => "renewal",
            Self::DeviceFree => "freeing device memory",
            Self::PinnedFree => "freeing pinned memory",
            Self::Unregister => "unpinning",
            Self::CombinedRead => "reading write-combined memory",
            Self::CombinedWrite => "writing write-combined memory",
            Self::CombinedReadTeam => "reading write-combined memory by all threads",
            Self::CombinedWriteTeam => "writing write-combined memory by all threads",
            Self::FirstCopy => "first copy to memory",
            Self::SecondCopy => "second copy to memory",
            Self::FirstRead => "first copy from memory",
            Self::SecondRead => "second copy from memory",
            Self::ManagedAllocate => "allocating and filling managed memory",
            Self::PageableAllocate => "mapping pageable memory",
            Self::PageableFree => "freeing pageable memory",
        }
    }

    pub(super) fn definition(self, bytes: Bytes) -> Definition {
        let by_team = matches!(
            self,
            Self::FirstTouchTeam
                | Self::SecondTouchTeam
                | Self::CombinedReadTeam
                | Self::CombinedWriteTeam
        );
        Definition::new(Work::Memory).bytes(bytes).by_team(by_team)
    }
}
