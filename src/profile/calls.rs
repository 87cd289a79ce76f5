//! What host calls cost.

use super::checked_numbers::spread;
use super::prices::priced;
use super::unknown::{Known, Unknown, known};
use super::{Estimate, Profile, TimedCall};
use crate::kernels::{Kernel, Library};
use crate::units::Span;
use serde::{Deserialize, Serialize};

/// Host time of one call, from entry to return, when it need not wait.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallCosts {
    /// A kernel launch while no copy is under way.
    pub launch: Option<Estimate>,
    /// How many times as long as its estimate a single launch takes, over the share of
    /// launches that take less.
    #[serde(default, deserialize_with = "spread")]
    pub launch_spread: Option<Vec<(f64, f64)>>,
    /// How much longer a launch takes while an H2D copy is under way.
    pub launch_beside_copy_in: Option<Estimate>,
    /// How much longer a launch takes while a D2H copy is under way.
    pub launch_beside_copy_out: Option<Estimate>,
    /// How much longer a launch takes if cuBLAS makes it: cuBLAS chooses a kernel for the shapes,
    /// and may launch two.
    pub launch_by_cublas: Option<Estimate>,
    pub launch_by_cufft: Option<Estimate>,
    pub copy_in: Option<Estimate>,
    pub copy_out: Option<Estimate>,
    pub clear: Option<Estimate>,
    pub record: Option<Estimate>,
    pub wait: Option<Estimate>,
    /// Synchronising a stream that has nothing left to do.
    pub synchronize: Option<Estimate>,
    /// A copy inside a device.
    pub copy_on_device: Option<Estimate>,
    /// A copy of rows.
    pub copy_rows: Option<Estimate>,
    /// Allocating device memory in the order of a stream, from a pool that keeps what is freed.
    pub allocate_in_stream: Option<Estimate>,
    pub free_in_stream: Option<Estimate>,
}

priced! {
    CallCosts {
        First: launch, copy_in, copy_out, clear, record, wait, synchronize;
        Usual: launch_beside_copy_in, launch_beside_copy_out, launch_by_cublas,
            launch_by_cufft;
        SpelledOut: copy_on_device, copy_rows, allocate_in_stream, free_in_stream;
        No: launch_spread;
    }
}

impl Profile {
    /// Host time of one call, from entry to return, when it need not wait; of a launch by a
    /// library, how much longer it takes than a plain one.
    ///
    /// # Errors
    /// If the call was not measured.
    pub fn call(&self, call: TimedCall) -> Known<Span> {
        let calls = &self.calls;
        let cost = match call {
            TimedCall::Launch => &calls.launch,
            TimedCall::Multiply => &calls.launch_by_cublas,
            TimedCall::Transform => &calls.launch_by_cufft,
            TimedCall::CopyIn => &calls.copy_in,
            TimedCall::CopyOut => &calls.copy_out,
            TimedCall::PeerCopy => &self.multi_gpu.peer_copy,
            TimedCall::Clear => &calls.clear,
            TimedCall::Record => &calls.record,
            TimedCall::Wait => &calls.wait,
            TimedCall::Synchronize => &calls.synchronize,
            TimedCall::UseDevice => &self.multi_gpu.use_device,
            TimedCall::CopyOnDevice => &calls.copy_on_device,
            TimedCall::CopyRows => &calls.copy_rows,
            TimedCall::AllocateInStream => &calls.allocate_in_stream,
            TimedCall::FreeInStream => &calls.free_in_stream,
            // These only help to find what the others cost.
            TimedCall::LaunchAndRecord | TimedCall::WaitAndLaunch => &None,
        };
        known(cost, || format!("the host cost of {}", call.name()))
    }

    /// Host time of launching a kernel, from entry to return; a library may launch it.
    ///
    /// # Errors
    /// If it was not measured.
    pub fn launch(&self, kernel: Kernel) -> Known<Span> {
        let usual = self.call(TimedCall::Launch);
        let longer = match kernel.library() {
            None => return usual,
            Some(Library::Cublas) => self.call(TimedCall::Multiply),
            Some(Library::Cufft) => self.call(TimedCall::Transform),
        };
        let (usual, longer) = Unknown::both(usual, longer)?;
        Ok(usual + longer)
    }
}
