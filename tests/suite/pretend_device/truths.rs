//! What is true of the pretend device.

use hallway::units::Bytes;

/// A time that rises with a size: nanoseconds, and nanoseconds an element of four bytes.
#[derive(Clone, Copy)]
pub struct Rising {
    pub fixed: u64,
    pub per_element: f64,
}

impl Rising {
    pub fn of(self, elements: u64) -> u64 {
        self.fixed + (self.per_element * elements as f64) as u64
    }

    pub fn of_bytes(self, bytes: Bytes) -> u64 {
        self.of(bytes.get() / 4)
    }
}

/// All in nanoseconds. Three numbers in a row are those of copies in, copies out and kernels.
#[derive(Clone, Copy)]
pub struct Truths {
    pub memory: Bytes,
    /// What the call takes of the host.
    pub calls: [u64; 3],
    /// From the call's return until an idle device starts.
    pub starts: [u64; 3],
    pub wake_host: u64,
    pub synchronize: u64,
    pub record: u64,
    pub wait: u64,
    /// Copies of pinned memory, and kernels, each with what comes before it on its engine.
    pub lasts: [Rising; 3],
    /// No kernel works on fewer elements at once than this in less time.
    pub fewest_elements: u64,
    /// From the end of an operation to the start of one that waits for it: by the engine of the
    /// first, then by that of the next. Within a stream, and across streams.
    pub hand_overs: [[[u64; 2]; 3]; 3],
    /// Copies of pageable memory, in and out, on an idle device: from the call until it returns,
    /// and until the copy is complete. The host stages what it copies in, and waits for what it
    /// copies out.
    pub staged: [[Rising; 2]; 2],
    /// What setting bytes to zero takes of the host.
    pub clear: u64,
    pub stream: u64,
    pub event: u64,
    pub device_allocate: u64,
    pub device_free: u64,
    pub pinned_allocate: Rising,
    pub pinned_free: Rising,
    pub register: Rising,
    pub unregister: Rising,
}
