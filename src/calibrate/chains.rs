//! Chains of small operations on the device.

use super::rig::Rig;
use crate::gpu::{GpuError, Launch, Stream};
use crate::samples::Link;
use crate::units::{Bytes, Span};

/// The size of a chain's copies: latency, not bandwidth.
pub(super) const CHAIN_BYTES: Bytes = Bytes::kib(4);

impl Rig<'_> {
    pub fn issue(&self, stream: &Stream, link: Link, tiny: &Launch) -> Result<(), GpuError> {
        let array = self.arrays[0].address();
        // SAFETY: all memory is the rig's and outlives the stream's work.
        unsafe {
            match link {
                Link::CopyIn => stream.copy_in(self.pinned[0].as_mut_ptr(), array, CHAIN_BYTES),
                Link::CopyOut => stream.copy_out(array, self.pinned[1].as_mut_ptr(), CHAIN_BYTES),
                Link::Kernel => stream.launch(tiny),
            }
        }
    }

    /// Device time of the pattern, `count` times, each operation after the one
    /// before; across streams through an event each.
    pub fn chain(&mut self, links: &[Link], across: bool, count: u64) -> Result<Span, GpuError> {
        let tiny = self.tiny()?;
        self.held(|rig| {
            let mut at = 0;
            for _ in 0..count {
                for &link in links {
                    rig.issue(&rig.streams[at % 2 * usize::from(across)], link, &tiny)?;
                    if across {
                        let event = &rig.ordering[at % rig.ordering.len()];
                        rig.streams[at % 2].record(event)?;
                        rig.streams[(at + 1) % 2].wait(event)?;
                    }
                    at += 1;
                }
            }
            rig.rejoin(across)
        })
    }

    /// Device time of independent operations dealt over two streams.
    pub fn alternating(&mut self, link: Link, count: u64) -> Result<Span, GpuError> {
        let tiny = self.tiny()?;
        self.held(|rig| {
            rig.streams[0].record(&rig.ordering[0])?;
            rig.streams[1].wait(&rig.ordering[0])?;
            for at in 0..count as usize {
                rig.issue(&rig.streams[at % 2], link, &tiny)?;
            }
            rig.rejoin(true)
        })
    }

    /// Makes the first stream wait for the second, which the clock is not on.
    fn rejoin(&self, across: bool) -> Result<(), GpuError> {
        if !across {
            return Ok(());
        }
        let last = &self.ordering[self.ordering.len() - 1];
        self.streams[1].record(last)?;
        self.streams[0].wait(last)
    }
}
