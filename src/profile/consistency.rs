//! Whether numbers of a profile that are each possible make a machine together.

use super::{Curve, FirstPoll, Profile};
use crate::machine::FASTEST_MEMORY;
use std::collections::BTreeSet;

/// Measured times of neighbouring sizes scatter, but a larger size does not take less than this
/// share of the time of a smaller one.
const FALLEN: f64 = 0.5;

/// A curve, what it is a curve of, and how far it may come down.
struct Timed<'p> {
    what: String,
    time: &'p Curve,
    /// On how many threads: from some size on, all of them share the work, and that takes as many
    /// times less at best.
    threads: usize,
    /// Bytes of memory that each unit of its size is at least.
    bytes_per_unit: f64,
}

/// Each element of a kernel of the library is read.
const ELEMENT: f64 = 4.0;

impl Profile {
    /// The first contradiction, in words.
    pub(super) fn problem(&self) -> Option<String> {
        let machine = || self.machine.problem().map(|(_, problem)| format!("[machine]: {problem}"));
        let fallen = || self.times().find_map(|timed| timed.problem());
        machine()
            .or_else(|| self.threads())
            .or_else(|| self.gpus())
            .or_else(|| self.rates())
            .or_else(|| self.twice())
            .or_else(fallen)
    }

    /// What runs on all threads of the CPU was measured with some.
    fn threads(&self) -> Option<String> {
        let is_missing = self.machine.cpu_threads == 0 && !self.twins.is_empty();
        is_missing.then(|| {
            "`cpu_threads` in [machine] is 0, but there are [[twin]] tables: set it to the \
             number of threads they were measured with"
                .to_owned()
        })
    }

    /// A table about GPUs that the machine does not have.
    fn gpus(&self) -> Option<String> {
        let (several, devices) = (&self.multi_gpu, self.machine.devices);
        let others = several.others.iter().map(|other| ("other", other.device));
        let peers = several.peers.iter().map(|peer| ("peer", peer.from.max(peer.to)));
        let roots = several.roots.iter().map(|root| root.devices);
        let has = format!("but [machine] has `devices = {devices}`");
        let foreign = others.chain(peers).find(|(_, device)| device.0 >= devices);
        let foreign = foreign.map(|(table, device)| {
            format!(
                "a table [[multi_gpu.{table}]] refers to GPU {}, counted from 0, {has}",
                device.0
            )
        });
        foreign.or_else(|| {
            let more = roots.into_iter().find(|root| !(1..=devices).contains(root))?;
            Some(format!("a table [[multi_gpu.root]] is for {more} GPUs, {has}"))
        })
    }

    /// A rate of a link beyond that of any memory.
    fn rates(&self) -> Option<String> {
        let link = [
            ("down_bytes_per_second", self.link.down_bytes_per_second),
            ("up_bytes_per_second", self.link.up_bytes_per_second),
        ];
        let rates =
            link.into_iter().filter_map(|(key, rate)| Some((key, rate?.bytes_per_second())));
        let mut beyond = rates.filter(|(_, rate)| *rate > FASTEST_MEMORY);
        let (key, rate) = beyond.next()?;
        Some(format!("`{key} = {rate:e}` of [link] is over 50 TB/s: no memory is so fast"))
    }

    /// Two tables about one thing: it would depend on their order which is believed.
    fn twice(&self) -> Option<String> {
        let several = &self.multi_gpu;
        let polling = || self.latency.semaphore_polling.iter();
        let after = polling().flat_map(|polling| &polling.first_polls);
        let in_graphs = polling().flat_map(|polling| &polling.first_polls_in_graphs);
        let pair = |one: &FirstPoll| (one.from, one.to);
        let hand_overs = self.hand_overs.iter().map(|one| (one.from, one.to, one.across_streams));
        let twice = [
            twice("copy", self.copies.iter().map(|one| one.direction)),
            twice("registered_copy", self.registered_copies.iter().map(|one| one.direction)),
            twice("staging", self.staging.iter().map(|one| (one.direction, one.found))),
            twice("transfer", self.transfers.iter().map(|one| one.path)),
            twice("kernel", self.kernels.iter().map(|one| one.variant)),
            twice("twin", self.twins.iter().map(|one| (one.variant, one.found))),
            twice("polling", self.polling.iter().map(|one| one.copies)),
            twice("handover", hand_overs),
            twice("graph.handover", self.graph.hand_overs.iter().map(|one| (one.from, one.to))),
            twice("latency.semaphore_polling.first_poll", after.map(pair)),
            twice("latency.semaphore_polling.first_poll_in_graph", in_graphs.map(pair)),
            twice("link.refetches", self.link.refetches.iter().map(|one| one.streams)),
            twice("interference", self.interference.iter().map(|one| (one.load, one.direction))),
            twice("multi_gpu.peer", several.peers.iter().map(|one| (one.from, one.to))),
            twice("multi_gpu.root", several.roots.iter().map(|one| one.devices)),
            twice("multi_gpu.other", several.others.iter().map(|one| one.device)),
        ];
        twice.into_iter().flatten().next()
    }

    /// Every curve that is the whole time of something.
    fn times(&self) -> impl Iterator<Item = Timed<'_>> {
        let of = |what: String, time| Timed { what, time, threads: 1, bytes_per_unit: 1.0 };
        let copies = self.copies.iter();
        let copies = copies.map(move |m| of(format!("[[copy]] of {}", m.direction), &m.time));
        let registered = self.registered_copies.iter().map(move |model| {
            of(format!("[[registered_copy]] of {}", model.direction), &model.time)
        });
        let inline =
            self.inline.iter().flat_map(|model| [&model.until_return, &model.until_complete]);
        let inline = inline.map(move |time| of("[inline]".to_owned(), time));
        let staged = self.staging.iter().flat_map(move |model| {
            let times = model.until_return.iter().chain([&model.until_complete]);
            times.map(move |time| of(format!("[[staging]] of {}", model.direction), time))
        });
        let transfers = self.transfers.iter();
        let transfers =
            transfers.map(move |m| of(format!("[[transfer]] of a {}", m.path.name()), &m.time));
        let kernels = self.kernels.iter();
        let kernels = kernels.map(move |m| Timed {
            bytes_per_unit: ELEMENT,
            ..of(format!("[[kernel]] of `{}`", m.variant.kernel), &m.time)
        });
        let peers = self.multi_gpu.peers.iter();
        let peers = peers.map(move |m| of("[[multi_gpu.peer]]".to_owned(), &m.time));
        let twins = self.twins.iter().map(|model| Timed {
            what: format!("[[twin]] of `{}`", model.variant.kernel),
            time: &model.time,
            threads: self.machine.cpu_threads.max(1),
            bytes_per_unit: ELEMENT,
        });
        copies
            .chain(registered)
            .chain(inline)
            .chain(staged)
            .chain(transfers)
            .chain(kernels)
            .chain(peers)
            .chain(twins)
    }
}

impl Timed<'_> {
    fn problem(&self) -> Option<String> {
        let knots = &self.time.knots;
        let &(largest, longest) = knots.last()?;
        let what = &self.what;
        if longest <= 0.0 {
            return Some(format!("{what}: all times up to the largest size, {largest}, are 0"));
        }
        let bytes = largest * self.bytes_per_unit;
        if bytes > FASTEST_MEMORY * 1e-9 * longest {
            return Some(format!(
                "the times of a {what} end with {longest} ns for {bytes} bytes, over 50 TB/s: no \
                 memory is so fast"
            ));
        }
        let fallen = FALLEN / self.threads as f64;
        (0..knots.len()).find_map(|at| {
            let (size, ns) = knots[at];
            let before = knots[..at].iter().find(|before| ns < fallen * before.1)?;
            Some(format!(
                "{what}: the time falls to {ns} ns at {size}, from {} ns at {}",
                before.1, before.0
            ))
        })
    }
}

/// The complaint if two tables of an array are about the same.
fn twice<K: Ord>(table: &str, mut keys: impl Iterator<Item = K>) -> Option<String> {
    let mut seen = BTreeSet::new();
    let is_twice = keys.any(|key| !seen.insert(key));
    is_twice.then(|| format!("two [[{table}]] tables describe the same thing; remove one"))
}
