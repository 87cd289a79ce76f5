//! Chunks dealt over several GPUs.

use super::builder::Builder;
use super::by_chunk::{Issue, by_chunk};
use super::by_engine::{STREAMS, by_engine};
use super::dealt::{Dealing, Spread, chunks_in_words};
use super::definition::{Definition, Division, Traits};
use crate::program::Program;
use crate::scenario::{FamilyName, Home, Workload};

/// How each of several GPUs does its chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Each {
    /// Deals its chunks over so many streams, depth first.
    ByChunk { streams: usize },
    /// One stream per engine.
    ByEngine,
}

/// Chunks dealt over several GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct MultiGpu {
    /// Pieces of one batch.
    pub chunks: u64,
    pub devices: usize,
    pub each: Each,
    pub spread: Spread,
}

impl Definition for MultiGpu {
    fn traits(&self) -> Traits {
        Traits { chunks: self.chunks, devices: self.devices, ..Traits::of(FamilyName::MultiGpu) }
    }

    fn smallest() -> Self {
        Self { chunks: 1, devices: 2, each: Each::ByEngine, spread: Spread::Host }
    }

    /// Numbers of chunks that cannot be dealt evenly are left out.
    fn choices(workload: &Workload, division: Division) -> Vec<Self> {
        let Division::OverGpus { chunks, devices } = division else { return Vec::new() };
        let evenly = chunks == 1 || chunks.is_multiple_of(devices as u64);
        if !evenly || chunks * workload.batches < devices as u64 {
            return Vec::new();
        }
        let is_common = |id| {
            let whole = chunks > 1 && workload.is_read_whole(id);
            workload.is_input(id) && (whole || workload.buffer(id).shared)
        };
        let has_common = workload.buffer_ids().any(is_common);
        let with = |each| {
            let peers = has_common.then_some(Spread::Peers);
            let spreads = [Spread::Host].into_iter().chain(peers);
            spreads.map(move |spread| Self { chunks, devices, each, spread })
        };
        [Each::ByEngine, Each::ByChunk { streams: 2 }].into_iter().flat_map(with).collect()
    }

    fn build(&self, builder: Builder<'_>) -> Result<Program, String> {
        let Self { chunks, devices, each, spread } = *self;
        self.check(builder.workload)?;
        let dealing = Dealing { chunks, devices, spread };
        match each {
            Each::ByChunk { streams } => {
                by_chunk(builder, dealing, streams * devices, Issue::DepthFirst)
            }
            Each::ByEngine => by_engine(builder, dealing, None),
        }
    }

    fn in_words(&self, _: &Workload) -> Vec<String> {
        let dealt = format!("Chunks are assigned to {} GPUs in turn.", self.devices);
        let each = match self.each {
            Each::ByChunk { streams } => {
                format!("On each GPU, they are assigned to {streams} streams in turn.")
            }
            Each::ByEngine => format!("On each GPU: {STREAMS}"),
        };
        let spread = match self.spread {
            Spread::Host => "Inputs that all chunks read are copied from the host to each GPU.",
            Spread::Peers => {
                "Inputs that all chunks read are copied from the host to the first GPU, and \
                 from there to the others."
            }
        };
        vec![chunks_in_words(self.chunks), dealt, each, spread.to_owned()]
    }

    fn parameters(&self) -> Option<String> {
        let Self { chunks, devices, each, spread } = self;
        let each = match each {
            Each::ByChunk { streams } => format!("by-chunk x{streams}"),
            Each::ByEngine => "by-engine".to_owned(),
        };
        let spread = if *spread == Spread::Peers { " peers" } else { "" };
        Some(format!("{chunks} on {devices} {each}{spread}"))
    }
}

impl MultiGpu {
    /// Checks that all GPUs get equally many chunks of each batch, or whole batches.
    fn check(&self, workload: &Workload) -> Result<(), String> {
        let Self { chunks, devices, .. } = *self;
        let stays = workload.buffers.iter().find(|buffer| buffer.home == Home::Device);
        if let Some(buffer) = stays {
            return Err(format!("`{}` stays on one GPU", buffer.name));
        }
        if chunks > 1 && !chunks.is_multiple_of(devices as u64) {
            return Err(format!("{chunks} chunks cannot be divided evenly among {devices} GPUs"));
        }
        if chunks * workload.batches < devices as u64 {
            return Err(format!("there are fewer chunks than GPUs ({devices})"));
        }
        Ok(())
    }
}
