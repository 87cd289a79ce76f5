//! What a trace shows, as JSON.

use super::explain::times_on_critical_path;
use crate::compare::Replay;
use crate::program::Program;
use crate::timeline::Timeline;
use crate::trace::{Account, CopySite, MemoryKind, Pass, Reason, Trace, WorkKind};
use crate::units::{Bytes, Span};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a trace shows: its loop, where the time of a pass goes, and why copies were not hidden.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TraceReport {
    /// The tool that wrote the trace, with its version.
    pub origin: String,
    /// Names of the GPUs, if the trace contains them.
    pub gpus: Vec<String>,
    /// Number of host calls in the trace.
    pub calls: u64,
    /// Number of kernels in the trace.
    pub kernels: u64,
    /// Number of copies in the trace.
    pub copies: u64,
    /// Duration of the trace.
    pub trace_ns: Span,
    /// Number of passes of the loop that make the same calls. `null` if no loop was found.
    pub passes: Option<u64>,
    /// The pass of median duration, counted from 1. `null` if no loop was found: the figures below
    /// are then for the whole trace.
    pub pass: Option<u64>,
    /// Duration of this pass.
    pub pass_ns: Span,
    /// Time during which only kernels run.
    pub kernels_alone_ns: Span,
    /// Time during which only copies between host and GPU run.
    pub copies_alone_ns: Span,
    /// Time during which kernels and copies run at once.
    pub both_ns: Span,
    /// Time during which no GPU does anything.
    pub idle_ns: Span,
    /// Copies of this pass, grouped by place in the program, kind and size, longest exposed time
    /// first.
    pub sites: Vec<SiteReport>,
    /// Operations that use the same memory without anything ordering them, and copies whose source
    /// changes too early.
    pub missing_waits: Vec<MissingWait>,
    /// Number of copies to GPUs in the trace whose bytes had already been sent, if their bytes were
    /// recorded.
    pub sent_again: u64,
    /// Times along the critical path of this pass, as simulated. `null` if it cannot be simulated.
    pub critical_path_ns: Option<BTreeMap<String, Span>>,
    /// Simulated duration of the whole trace, to be compared with `trace_ns`. `null` if it cannot
    /// be simulated.
    pub simulated_ns: Option<Span>,
}

/// Copies of one kind, made in one place of the program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SiteReport {
    /// `H2D` or `D2H`.
    pub direction: String,
    /// Kind of memory on the host.
    pub memory: MemoryKind,
    /// Bytes of each copy. `null` if they differ.
    pub bytes: Option<Bytes>,
    /// Name of the innermost range around the copies. `null` if there is none.
    pub range: Option<String>,
    /// Number of copies.
    pub copies: u64,
    /// Total time of the copies.
    pub time_ns: Span,
    /// The part of this time during which a kernel runs on the same GPU.
    pub hidden_ns: Span,
    /// Why most of the rest is not hidden. `null` if that is not known, or if all is hidden.
    pub reason: Option<Reason>,
}

/// A wait that is missing, or may be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MissingWait {
    /// The operations that nothing orders. A single one is a copy whose source the host changes
    /// before it has waited for the copy.
    pub operations: Vec<String>,
    /// Whether it is certain that one of them writes.
    pub is_sure: bool,
    /// How often it happens in the trace.
    pub times: u64,
}

impl TraceReport {
    pub fn new(
        trace: &Trace,
        pass: Option<&Pass>,
        account: &Account,
        played: Option<(&Program, &Timeline)>,
        replay: Option<&Replay>,
    ) -> Self {
        let count = |wanted: fn(&WorkKind) -> bool| {
            trace.work.iter().filter(|work| wanted(&work.kind)).count() as u64
        };
        let on_path = |(program, timeline)| {
            let times = times_on_critical_path(program, timeline).into_iter();
            times.map(|(what, time)| (what.to_owned(), time)).collect()
        };
        Self {
            origin: trace.origin.to_string(),
            gpus: trace.gpus.iter().filter_map(|gpu| gpu.name.clone()).collect(),
            calls: trace.calls.len() as u64,
            kernels: count(|kind| matches!(kind, WorkKind::Kernel { .. })),
            copies: count(|kind| matches!(kind, WorkKind::Copy { .. })),
            trace_ns: trace.end().since_start(),
            passes: pass.map(|pass| pass.turns.len() as u64),
            pass: pass.map(|pass| pass.steady as u64 + 1),
            pass_ns: account.span,
            kernels_alone_ns: account.kernels.saturating_sub(account.both),
            copies_alone_ns: account.copies.saturating_sub(account.both),
            both_ns: account.both,
            idle_ns: account.idle,
            sites: account.sites.iter().map(SiteReport::from).collect(),
            missing_waits: missing_waits(trace),
            sent_again: trace.sent().again as u64,
            critical_path_ns: played.map(on_path),
            simulated_ns: replay.map(|replay| replay.simulated),
        }
    }
}

impl From<&CopySite> for SiteReport {
    fn from(site: &CopySite) -> Self {
        Self {
            direction: site.direction.to_string(),
            memory: site.memory,
            bytes: site.bytes,
            range: site.range.as_deref().map(str::to_owned),
            copies: site.copies as u64,
            time_ns: site.time,
            hidden_ns: site.hidden,
            reason: site.reason,
        }
    }
}

fn missing_waits(trace: &Trace) -> Vec<MissingWait> {
    let races = trace.races().into_iter().map(|race| MissingWait {
        operations: race.pair.iter().map(|&work| trace.named(work)).collect(),
        is_sure: race.is_sure,
        times: race.times as u64,
    });
    let early = trace.early_changes().into_iter().map(|early| MissingWait {
        operations: vec![trace.named(early.copy)],
        is_sure: early.is_sure,
        times: early.times as u64,
    });
    races.chain(early).collect()
}
