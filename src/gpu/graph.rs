//! CUDA graphs: work that is captured from streams once, and then launched as a whole.

use super::error::{GpuError, check};
use super::stream::{Event, Stream};
use cudarc::driver::sys;

/// A captured graph: nodes and their dependencies.
pub struct Graph(sys::CUgraph);

/// An instantiated graph, ready to be launched.
pub struct ExecutableGraph(sys::CUgraphExec);

impl Graph {
    /// Captures the work that `issue` puts into `origin`, and into streams that it makes
    /// wait for `origin`. The work is recorded and not executed.
    ///
    /// # Errors
    /// What `issue` returns. Otherwise what the driver reports: some call cannot be
    /// captured, or `origin` was not made to wait for all the other streams again.
    pub fn capture<E: From<GpuError>>(
        origin: &Stream,
        issue: impl FnOnce() -> Result<(), E>,
    ) -> Result<Self, E> {
        // Relaxed, because libraries may make calls at their first use that stricter
        // modes forbid.
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: the stream is alive.
        check("cuStreamBeginCapture", unsafe { sys::cuStreamBeginCapture_v2(origin.raw(), mode) })?;
        let issued = issue();
        let mut graph = std::ptr::null_mut();
        // SAFETY: the stream is alive, and `graph` is written; it is null after a
        // failure.
        let ended = unsafe { sys::cuStreamEndCapture(origin.raw(), &raw mut graph) };
        let graph = Self(graph);
        issued?;
        check("cuStreamEndCapture", ended)?;
        Ok(graph)
    }

    /// Instantiates the graph.
    ///
    /// # Errors
    /// If the driver refuses, or has too little memory left.
    pub fn instantiate(&self) -> Result<ExecutableGraph, GpuError> {
        let mut executable = std::ptr::null_mut();
        // SAFETY: the graph is alive, and `executable` is written on success.
        let result = unsafe { sys::cuGraphInstantiateWithFlags(&raw mut executable, self.0, 0) };
        check("cuGraphInstantiate", result)?;
        Ok(ExecutableGraph(executable))
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: the graph was captured in `capture` and is destroyed only here.
            unsafe { sys::cuGraphDestroy(self.0) };
        }
    }
}

impl Drop for ExecutableGraph {
    fn drop(&mut self) {
        // SAFETY: the graph was instantiated in `instantiate` and is destroyed only here.
        // A launch in flight keeps what it needs (CUDA Driver API, `cuGraphExecDestroy`).
        unsafe { sys::cuGraphExecDestroy(self.0) };
    }
}

impl Stream {
    /// Launches a graph. It starts after everything issued to the stream before, and what
    /// is issued to the stream later starts after the whole graph.
    ///
    /// # Safety
    /// The memory that the graph's nodes access must stay valid until the stream has
    /// executed it.
    ///
    /// # Errors
    /// If the driver refuses, or reports an earlier failure.
    pub unsafe fn replay(&self, graph: &ExecutableGraph) -> Result<(), GpuError> {
        // SAFETY: both handles are alive; the caller promises that the nodes' memory is
        // valid.
        check("cuGraphLaunch", unsafe { sys::cuGraphLaunch(graph.0, self.raw()) })
    }

    /// Adds a node to the graph under capture that records `event` at every launch.
    /// During capture, [`Stream::record`] adds no node; it only orders others.
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
