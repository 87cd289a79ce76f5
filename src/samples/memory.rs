//! Kinds of memory management.

use super::definition::{Definition, Work};
use super::named::named;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

named! {
    /// A kind of memory management.
    pub enum MemoryWork {
        DeviceAllocate = "device-allocate", "allocating device memory";
        PinnedAllocate = "pinned-allocate", "allocating pinned memory";
        /// Page-locking memory that was touched before.
        Register = "register", "pinning memory";
        /// One thread writing to pages that were never touched.
        FirstTouch = "first-touch", "the first touch of memory";
        /// One thread writing to pages that were touched before.
        SecondTouch = "second-touch", "the second touch of memory";
        FirstTouchTeam = "first-touch-team", "the first touch of memory by all threads";
        SecondTouchTeam = "second-touch-team", "the second touch of memory by all threads";
        Renew = "renew", "allocating fresh memory";
        DeviceFree = "device-free", "freeing device memory";
        PinnedFree = "pinned-free", "freeing pinned memory";
        /// Releasing the page-lock of registered memory.
        Unregister = "unregister", "unpinning memory";
        /// One thread summing write-combined memory.
        CombinedRead = "combined-read", "reading write-combined memory";
        /// One thread filling write-combined memory.
        CombinedWrite = "combined-write", "writing write-combined memory";
        CombinedReadTeam = "combined-read-team", "all threads reading write-combined memory";
        CombinedWriteTeam = "combined-write-team", "all threads writing write-combined memory";
        /// A D2H copy to pages that were never touched, until it is complete.
        FirstCopy = "first-copy", "the first copy to new memory";
        /// A D2H copy to the same pages again, until it is complete.
        SecondCopy = "second-copy", "the second copy to memory";
        /// An H2D copy from pages that were never touched, until it is complete.
        FirstRead = "first-read", "the first copy from new memory";
        /// An H2D copy from pages that were written before, until it is complete.
        SecondRead = "second-read", "the second copy from memory";
        /// Allocating managed memory, which one thread then fills.
        ManagedAllocate = "managed-allocate", "allocating managed memory";
        /// Mapping pageable memory that nobody touches yet.
        PageableAllocate = "pageable-allocate", "allocating pageable memory";
        /// Giving pageable memory back that was touched.
        PageableFree = "pageable-free", "freeing pageable memory";
        /// All threads have just written to the pages: they may still have them in their lists of
        /// translations, from which the system then has to take them.
        RenewTeam = "renew-team", "allocating fresh memory that all threads used before";
    }
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
}

impl MemoryWork {
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
