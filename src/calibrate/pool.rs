//! Allocating in the order of a stream.

use super::context::{MeasurementContext, clocked};
use crate::gpu::{AnyBlocker, AnyDevice, AnyStream, GpuError};
use crate::samples::TimedCall;
use crate::units::{Bytes, Span};

/// What is allocated in a stream.
const POOLED: Bytes = Bytes::mib(1);

impl<D: AnyDevice> MeasurementContext<'_, D> {
    /// Host time of `count` allocations in a held stream, or of giving as many back there.
    pub(super) fn pooled(&mut self, call: TimedCall, count: u64) -> Result<Span, GpuError> {
        self.device.keep_pool()?;
        let stream = &self.streams[0];
        let take = || (0..count).map(|_| stream.allocate(POOLED)).collect::<Result<Vec<_>, _>>();
        // The pool grows now: to grow, it might wait for a stream that is held.
        take()?.into_iter().try_for_each(|memory| stream.free(memory))?;
        stream.synchronize()?;
        let mut memory = Vec::new();
        if call == TimedCall::FreeInStream {
            memory = take()?;
            stream.synchronize()?;
        }
        self.blocker.hold(stream)?;
        let time = clocked::<D, _, _>(|| {
            if call == TimedCall::FreeInStream {
                return memory.drain(..).try_for_each(|memory| stream.free(memory));
            }
            memory = take()?;
            Ok(())
        });
        let given_back = memory.into_iter().try_for_each(|memory| stream.free(memory));
        self.blocker.end(&[stream])?;
        given_back?;
        time
    }
}
