//! The rules of the simulator by name, and a machine without one of them.
//!
//! A rule is a mechanism that the hardware or the driver has; `docs/simulator.md` describes each
//! under its name. Most have prices of their own in the profile: without the rule, these cost
//! nothing. The others are asked for where the simulator applies them, by [`Profile::follows`].

use super::prices::{Amount, Price};
use super::{InlineCopies, Interference, LinkModel, Profile, SemaphorePolling};
use crate::samples::{Load, TransferPath};
use crate::units::{Bandwidth, words};
use serde::{Deserialize, Serialize};

words! {
    /// A rule of the simulator that can be switched off.
    #[derive(Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "kebab-case")]
    pub enum Rule {
        /// Launches take longer while a copy is under way.
        LaunchesBesideCopies = "launches-beside-copies",
        /// Single launches take shorter or longer than the mean.
        LaunchSpread = "launch-spread",
        /// Calls that free or pin memory wait for the device.
        ImplicitWaits = "implicit-waits",
        /// Whoever uses new pages first waits for them.
        NewPages = "new-pages",
        /// Threads that stream through memory and copies slow each other.
        ThreadsBesideCopies = "threads-beside-copies",
        /// A copy engine that changes streams idles for a while.
        StreamSwitches = "stream-switches",
        /// A copy starts later if the other direction is busy.
        StartsBesideCopies = "starts-beside-copies",
        /// Copies in both directions share the link.
        SharedLink = "shared-link",
        /// Data that the host's caches keep costs copies in the other direction less.
        KeptResults = "kept-results",
        /// Data that the CPU has just written takes longer to copy.
        JustWritten = "just-written",
        /// Small H2D copies travel along with their commands.
        InlineCopies = "inline-copies",
        /// Small H2D copies in a graph, behind other nodes, do as well.
        InlineNodes = "inline-nodes",
        /// A copy takes longer beside a kernel, once.
        CopiesBesideKernels = "copies-beside-kernels",
        /// Kernels slow copies for as long as they run.
        KernelsSlowCopies = "kernels-slow-copies",
        /// Kernels that wait in several streams slow H2D copies.
        Refetches = "refetches",
        /// The end of a kernel leaves room for the next one.
        KernelTails = "kernel-tails",
        /// The first kernel that reads what a copy has brought takes longer.
        JustCopied = "just-copied",
        /// Between two kernels, the device looks at other streams that wait.
        WaitingStreams = "waiting-streams",
        /// More streams than channels wait for each other.
        Channels = "channels",
        /// Going from one engine to another takes time.
        HandOvers = "hand-overs",
        /// Engines poll for work that came too early.
        SemaphorePolling = "semaphore-polling",
        /// Work that comes too early by very little need not wait for a poll.
        ArrivalTolerance = "arrival-tolerance",
        /// The longer a copy has been under way, the later is the first poll.
        LatePolls = "late-polls",
        /// Engines also poll when other work arrives for them.
        Doorbells = "doorbells",
        /// Work behind a waiting operation restarts the period, half the time.
        RestartedPeriods = "restarted-periods",
        /// Engines also poll when they have finished a node of a graph.
        PollsAtNodes = "polls-at-nodes",
        /// Kernels behind the joints of a graph's branches start later.
        GapsAtBranches = "gaps-at-branches",
        /// The links of several GPUs meet.
        SharedRoot = "shared-root",
        /// Waiting for another GPU's event takes longer.
        Crossings = "crossings",
        /// Each core has caches of its own.
        CoreCaches = "core-caches",
        /// All cores share a last cache, and what does not fit is in memory.
        LastCache = "last-cache",
        /// Data that other threads used last is in their caches.
        OtherThreads = "other-threads",
        /// The driver finds what it stages in caches, or in memory.
        StagingCaches = "staging-caches",
        /// The device has caches, and what does not fit is in its memory.
        DeviceCaches = "device-caches",
    }
}

impl Rule {
    /// How the keys of the prices that only this rule has begin in the profile's file. Without the
    /// rule they are nothing.
    const fn prices(self) -> &'static [&'static str] {
        match self {
            Self::LaunchesBesideCopies => &["calls.launch_beside_copy"],
            Self::NewPages => &["memory.first_"],
            Self::StreamSwitches => {
                &["link.down_switch", "link.up_switch", "graph.down_switch", "graph.up_switch"]
            }
            Self::StartsBesideCopies => &[
                "link.down_shared.per_copy",
                "link.down_shared.per_small",
                "link.down_shared_kept.per_copy",
                "link.down_shared_kept.per_small",
                "link.up_shared.per_copy",
                "link.up_shared.per_small",
                "link.up_shared_kept.per_copy",
                "link.up_shared_kept.per_small",
            ],
            Self::SharedLink => &[
                "link.down_shared.per_byte",
                "link.down_shared.at_best",
                "link.down_shared_kept.per_byte",
                "link.down_shared_kept.at_best",
                "link.up_shared.per_byte",
                "link.up_shared.at_best",
                "link.up_shared_kept.per_byte",
                "link.up_shared_kept.at_best",
            ],
            Self::CopiesBesideKernels => &["link.down_beside_kernels", "link.up_beside_kernels"],
            Self::Refetches => &["link.refetches."],
            Self::JustCopied => &["kernel.just_copied"],
            Self::WaitingStreams => &["polling."],
            Self::HandOvers => &["handover.", "graph.handover."],
            Self::GapsAtBranches => &["graph.gap_behind_"],
            Self::Crossings => &["multi_gpu.crossing"],
            Self::CoreCaches => &["caches.own_"],
            Self::LastCache => &["caches.twin_misses"],
            Self::OtherThreads => &["caches.handed_"],
            Self::StagingCaches => &["caches.staging_misses"],
            Self::DeviceCaches => &["caches.device_misses"],
            _ => &[],
        }
    }
}

impl Profile {
    /// Whether the simulator applies a rule. One whose prices are nothing counts as applied.
    pub fn follows(&self, rule: Rule) -> bool {
        !self.switched_off.contains(&rule)
    }

    /// The machine without a rule, to see what the rule is worth.
    #[must_use]
    pub fn without(&self, rule: Rule) -> Self {
        let mut machine = self.clone();
        if machine.follows(rule) {
            machine.switched_off.push(rule);
        }
        for price in machine.prices_mut() {
            let key = price.key.dotted();
            if rule.prices().iter().any(|begins| key.starts_with(begins)) {
                nothing(price);
            }
        }
        machine.forget(rule);
        machine
    }

    /// Takes out what a rule has besides prices that can be nothing.
    fn forget(&mut self, rule: Rule) {
        match rule {
            Rule::LaunchSpread => self.calls.launch_spread = None,
            Rule::ImplicitWaits => self.memory.waits_for_device = Some(Vec::new()),
            Rule::ThreadsBesideCopies => self.no_interference(Load::Cpu),
            Rule::KernelsSlowCopies => self.no_interference(Load::Kernel),
            Rule::KeptResults => {
                let LinkModel { down_shared_kept, up_shared_kept, .. } = &mut self.link;
                (*down_shared_kept, *up_shared_kept) = (None, None);
            }
            Rule::JustWritten => {
                self.transfers.retain(|model| !TransferPath::WRITTEN.contains(&model.path));
            }
            Rule::InlineCopies => self.inline = None,
            Rule::InlineNodes => {
                let no = |copies: &mut InlineCopies| copies.most_bytes_behind_nodes = None;
                self.inline.iter_mut().for_each(no);
            }
            Rule::SemaphorePolling => self.latency.semaphore_polling = None,
            Rule::ArrivalTolerance => {
                self.latency.semaphore_polling.iter_mut().for_each(no_tolerance);
            }
            Rule::LatePolls => {
                let polling = self.latency.semaphore_polling.iter_mut();
                let polls = polling.flat_map(|polling| &mut polling.first_polls);
                polls.for_each(|poll| poll.under_way = None);
            }
            Rule::SharedRoot => {
                // Faster than any link.
                let free = Some(Bandwidth::from_bytes_per_second(1e15));
                for root in &mut self.multi_gpu.roots {
                    root.down_bytes_per_second = free;
                    root.up_bytes_per_second = free;
                    root.both_bytes_per_second = free;
                }
            }
            _ => {}
        }
    }

    fn no_interference(&mut self, load: Load) {
        let of_load = |found: &&mut Interference| found.load == load;
        for found in self.interference.iter_mut().filter(of_load) {
            (found.copy_slowdown, found.load_slowdown) = (1.0, 1.0);
        }
    }
}

fn nothing(mut price: Price<'_>) {
    if let Amount::Shares(shares) = &mut price.amount {
        shares.iter_mut().for_each(|share| share.1 = 0.0);
    }
    price.scale(0.0);
}

fn no_tolerance(polling: &mut SemaphorePolling) {
    polling.arrival_tolerance.ns = 0.0;
    let pairs = polling.first_polls.iter_mut().chain(&mut polling.first_polls_in_graphs);
    pairs.flat_map(|pair| &mut pair.arrival_tolerance).for_each(|tolerance| tolerance.ns = 0.0);
}
