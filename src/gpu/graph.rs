//! CUDA graphs: work that is captured from streams once, and then launched as a whole.

use super::device::Device;
use super::error::{GpuResult, check};
use super::vendor::AnyGraph;
use cudarc::driver::sys;

/// A captured graph: nodes and their dependencies. Null if the capture failed.
pub struct Graph(pub(super) sys::CUgraph);

/// An instantiated graph, ready to be launched.
pub struct ExecutableGraph(pub(super) sys::CUgraphExec);

impl AnyGraph<Device> for Graph {
    fn instantiate(&self) -> GpuResult<ExecutableGraph> {
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
            // SAFETY: a stream captured the graph, and it is destroyed only here.
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
