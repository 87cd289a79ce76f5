//! The process that runs a program: whether it has used the GPU before.

use crate::units::{Span, words};
use serde::{Deserialize, Serialize};

/// The process that runs the programs of a scenario. What it pays for a first use depends on it
/// alone, so that all programs of a scenario are asked the same.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Process {
    pub state: ProcessState,
    /// Why it is in that state.
    pub reason: StateReason,
    /// What loading a framework takes, in a new process. Every program that uses a GPU pays it
    /// once; a running process has paid it.
    pub start: Span,
}

words! {
    /// Whether a process has used the GPU before.
    #[derive(Default, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "kebab-case")]
    pub enum ProcessState {
        /// The process has not used the GPU. It pays for a CUDA context, for loading its kernels,
        /// for the first launch of each kernel, and for the first touch of memory.
        #[default]
        New = "new",
        /// The process has used the GPU: the context exists, the kernels have been loaded and
        /// launched, and the buffers in host memory have been touched. It still pays for set-up.
        Running = "running",
    }
}

/// Why a process is in its state.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum StateReason {
    /// Nobody said otherwise.
    #[default]
    Default,
    /// The scenario, or whoever asks, says so.
    Stated,
    /// This buffer is in the GPU's memory before the workload, so the process has used the GPU.
    AtHomeOnDevice(String),
}

impl Process {
    /// The process in the state that somebody asks for.
    #[must_use]
    pub fn in_state(self, state: ProcessState) -> Self {
        let reason = if state == self.state { self.reason } else { StateReason::Stated };
        Self { state, reason, ..self }
    }

    pub fn is_new(&self) -> bool {
        self.state == ProcessState::New
    }
}
