//! Kinds of memory management.

use super::definition::{Definition, Work};
use super::named::named;
use crate::units::Bytes;

named! {
    /// A kind of memory management.
    pub enum MemoryWork {
        DeviceAllocate = "device-allocate", "device allocation";
        PinnedAllocate = "pinned-allocate", "pinned allocation";
        /// Page-locking memory that was touched before.
        Register = "register", "pinning";
        /// One thread writing to pages that were never touched.
        FirstTouch = "first-touch", "first touch";
        /// One thread writing to pages that were touched before.
        SecondTouch = "second-touch", "second touch";
        FirstTouchTeam = "first-touch-team", "first touch by all threads";
        SecondTouchTeam = "second-touch-team", "second touch by all threads";
        Renew = "renew", "renewal";
        DeviceFree = "device-free", "freeing device memory";
        PinnedFree = "pinned-free", "freeing pinned memory";
        /// Releasing the page-lock of registered memory.
        Unregister = "unregister", "unpinning";
        /// One thread summing write-combined memory.
        CombinedRead = "combined-read", "reading write-combined memory";
        /// One thread filling write-combined memory.
        CombinedWrite = "combined-write", "writing write-combined memory";
        CombinedReadTeam = "combined-read-team", "reading write-combined memory by all threads";
        CombinedWriteTeam = "combined-write-team", "writing write-combined memory by all threads";
        /// A D2H copy to pages that were never touched, until it is complete.
        FirstCopy = "first-copy", "first copy to memory";
        /// A D2H copy to the same pages again, until it is complete.
        SecondCopy = "second-copy", "second copy to memory";
        /// An H2D copy from pages that were never touched, until it is complete.
        FirstRead = "first-read", "first copy from memory";
        /// An H2D copy from pages that were written before, until it is complete.
        SecondRead = "second-read", "second copy from memory";
        /// Allocating managed memory, which one thread then fills.
        ManagedAllocate = "managed-allocate", "allocating and filling managed memory";
        /// Mapping pageable memory that nobody touches yet.
        PageableAllocate = "pageable-allocate", "mapping pageable memory";
        /// Giving pageable memory back that was touched.
        PageableFree = "pageable-free", "freeing pageable memory";
    }
}

named! {
    /// A part of what shows whether memory management waits for the device.
    pub enum WaitPart {
        /// On an idle device.
        Idle = "idle", "on an idle device";
        /// While the device works on a load that was just issued.
        Busy = "busy", "on a busy device";
        /// The load by itself, until a synchronisation returns.
        Load = "load", "by what keeps the device busy";
    }
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
