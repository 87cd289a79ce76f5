//! Graphs: work that is captured from streams, and launched as one.

use super::error::{GpuError, check};
use super::stream::{Event, Stream};
use cudarc::driver::sys;

/// Nodes with their dependencies, as captured.
pub struct Graph(sys::CUgraph);

/// A graph made ready to be launched.
pub struct ExecutableGraph(sys::CUgraphExec);

impl Graph {
    /// Captures what `issue` puts into the stream, and into streams that it makes
    /// wait for this one, instead of doing it.
    ///
    /// # Errors
    /// What `issue` returns. Otherwise what the driver says: if something cannot
    /// be captured, or the stream was not made to wait for all others again.
    pub fn capture<E: From<GpuError>>(
        origin: &Stream,
        issue: impl FnOnce() -> Result<(), E>,
    ) -> Result<Self, E> {
        // Libraries may do at a first use what other modes forbid.
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: the stream is alive.
        check("cuStreamBeginCapture", unsafe { sys::cuStreamBeginCapture_v2(origin.raw(), mode) })?;
        let issued = issue();
        let mut graph = std::ptr::null_mut();
        // SAFETY: the stream is alive; the handle is written, null after a failure.
        let ended = unsafe { sys::cuStreamEndCapture(origin.raw(), &raw mut graph) };
        let graph = Self(graph);
        issued?;
        check("cuStreamEndCapture", ended)?;
        Ok(graph)
    }

    /// Makes it ready to be launched.
    ///
    /// # Errors
    /// If the driver refuses, or has not enough memory left.
    pub fn instantiate(&self) -> Result<ExecutableGraph, GpuError> {
        let mut executable = std::ptr::null_mut();
        // SAFETY: the graph is alive; the handle is written on success.
        let result = unsafe { sys::cuGraphInstantiateWithFlags(&raw mut executable, self.0, 0) };
        check("cuGraphInstantiate", result)?;
        Ok(ExecutableGraph(executable))
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: captured in `capture` and destroyed once.
            unsafe { sys::cuGraphDestroy(self.0) };
        }
    }
}

impl Drop for ExecutableGraph {
    fn drop(&mut self) {
        // SAFETY: made in `instantiate` and destroyed once; a launch that is under
        // way keeps what it needs (CUDA Driver API, `cuGraphExecDestroy`).
        unsafe { sys::cuGraphExecDestroy(self.0) };
    }
}

impl Stream {
    /// Launches a graph: it comes behind everything in the stream, and what
    /// follows in the stream behind all of it.
    ///
    /// # Safety
    /// The memory that its nodes name must be valid until the stream has done it.
    ///
    /// # Errors
    /// If the driver refuses, or reports an earlier failure.
    pub unsafe fn replay(&self, graph: &ExecutableGraph) -> Result<(), GpuError> {
        // SAFETY: both handles are alive; the rest is the caller's promise.
        check("cuGraphLaunch", unsafe { sys::cuGraphLaunch(graph.0, self.raw()) })
    }

    /// Makes recording an event a node of the graph that is being captured: every
    /// launch records it. [`Stream::record`] only orders the nodes.
    ///
    /// # Errors
    /// If the stream is not being captured.
    pub fn mark(&self, event: &Event) -> Result<(), GpuError> {
        let flags = sys::CUevent_record_flags::CU_EVENT_RECORD_EXTERNAL as u32;
        // SAFETY: both handles are alive.
        let result = unsafe { sys::cuEventRecordWithFlags(event.raw(), self.raw(), flags) };
        check("cuEventRecordWithFlags", result)
    }
}
