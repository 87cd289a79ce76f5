//! From a call to its operation on an idle device, and from there back to the host.

use super::prices::priced;
use super::unknown::{Known, Unknown, known};
use super::{Curve, Estimate, OperationKind, Profile, SemaphorePolling};
use crate::units::{Bytes, Span};
use serde::{Deserialize, Serialize};

/// From the return of a call on an idle device to the start of its operation,
/// and from the end of an operation to the return of the waiting host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Latencies {
    pub start_kernel: Option<Estimate>,
    pub start_copy_in: Option<Estimate>,
    pub start_copy_out: Option<Estimate>,
    pub wake_host: Option<Estimate>,
    /// Device time of the smallest kernel when many run back to back in a stream: what a launch
    /// costs the device before its blocks run.
    pub kernel_gap: Option<Estimate>,
    /// When engines poll for work that arrived too early. Left out: such work starts after its
    /// [`HandOver`](super::HandOver).
    pub semaphore_polling: Option<SemaphorePolling>,
}

priced! {
    Latencies {
        First: start_kernel, start_copy_in, start_copy_out, wake_host, kernel_gap;
        Usual: semaphore_polling;
    }
}

/// Copies of pinned memory to the device whose data the driver sends along with the
/// commands, because nothing else is left to do in their stream: no copy engine is
/// needed, and the call takes longer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InlineCopies {
    /// The largest copy that is sent this way.
    pub most_bytes: Bytes,
    /// The largest copy in a graph that is sent this way behind other nodes of the graph. Left out:
    /// none is.
    pub most_bytes_behind_nodes: Option<Bytes>,
    /// Nanoseconds over bytes from entry until the call returns.
    pub until_return: Curve,
    /// Nanoseconds over bytes from entry until the copy is complete.
    pub until_complete: Curve,
}

priced! {
    InlineCopies { Usual: until_return, until_complete; }
    besides most_bytes, most_bytes_behind_nodes; by |copies| copies.until_complete.scatter
}

impl Profile {
    /// Time from the return of a call on an idle device to the start of its operation.
    ///
    /// # Errors
    /// If it was not measured.
    pub fn start(&self, kind: OperationKind) -> Known<Span> {
        let latency = match kind {
            OperationKind::CopyIn => &self.latency.start_copy_in,
            OperationKind::CopyOut => &self.latency.start_copy_out,
            OperationKind::Kernel => &self.latency.start_kernel,
            OperationKind::PeerCopy => &self.multi_gpu.start_peer_copy,
        };
        known(latency, || format!("the start latency of {} on an idle device", kind.name()))
    }

    /// Time from the end of an operation to the return of the host call that waits for it.
    ///
    /// # Errors
    /// If it was not measured.
    pub fn wake_host(&self) -> Known<Span> {
        known(&self.latency.wake_host, || "the wake-up latency of a waiting host".to_owned())
    }

    /// Nanoseconds that the smallest kernel takes on the device when many run back to back in a
    /// stream.
    ///
    /// # Errors
    /// If it was not measured.
    pub fn kernel_gap(&self) -> Known<f64> {
        let gap = self.latency.kernel_gap.as_ref().map(|gap| gap.ns.max(0.0));
        gap.ok_or_else(|| Unknown::new("the device time of the smallest kernel"))
    }
}
