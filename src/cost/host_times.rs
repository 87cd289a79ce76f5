//! How long each single call keeps the host.
//!
//! Launches in a row, with nothing else about them changed, take from two thirds to one and a half
//! times their mean. A program is simulated with single launches drawn from that spread, not with
//! the mean. Where the mean would narrowly miss or narrowly catch every poll of an engine, launches
//! of different length miss some and catch others.
//!
//! Launches take longer while a copy's data is on the link: on an H200, by 0.4 to 0.7 us beside
//! copies to the device and by up to 0.2 us beside copies from it, in proportion to the share of
//! the copy's time for which its data is on the link. Calls that begin copies, record events or
//! wait for events are no slower beside copies.
//!
//! Calls in which the CPU streams through memory take longer beside copies: see `streaming`.

use super::antithetic::Antithetic;
use super::work::{CallCost, Waits, Work};
use crate::machine::Direction;
use crate::profile::{Estimate, Profile};
use crate::program::Program;
use crate::units::{Bandwidth, Span};

/// Walks through the calls of a program and says how long each keeps the host, if any call differs
/// from what its cost says.
pub(super) struct HostTimes<'p> {
    spread: Option<(Antithetic, &'p [(f64, f64)])>,
    /// For data of each direction, how many nanoseconds longer launches take beside it, and how
    /// many nanoseconds each of its bytes is on the link.
    beside: [Option<(f64, f64)>; 2],
    /// How many times as long the host takes that streams through memory beside copies of each
    /// direction; 1 if that was not measured.
    streaming: [f64; 2],
    /// When each host thread makes its next call, if it never waits for the device.
    times: Vec<Span>,
    /// When the copy engines work, by device and direction.
    copying: Vec<[Copying; 2]>,
}

/// Where a call is made.
#[derive(Clone, Copy)]
pub(super) struct CallSite {
    pub thread: usize,
    pub stream: u16,
    pub device: usize,
    /// Whether the call is a synchronisation after which no copy of the device is under way.
    pub ends_copies: bool,
}

/// When an engine works on its copies, if it takes each as it arrives.
#[derive(Clone, Copy, Default)]
struct Copying {
    /// When the engine's last row of copies without a pause begins; `until` is when that row ends.
    from: Span,
    until: Span,
    /// When the row before that ends.
    before: Span,
    /// For what share of the last copy's time its data is on the link.
    share: f64,
}

impl<'p> HostTimes<'p> {
    /// With launch times drawn one by one from `random`, or, without it, all equal to their
    /// estimate.
    pub fn new(profile: &'p Profile, random: Option<Antithetic>, program: &Program) -> Self {
        let (calls, link) = (&profile.calls, &profile.link);
        let beside = |longer: Option<Estimate>, rate: Option<Bandwidth>| {
            Some((longer?.ns, 1e9 / rate?.bytes_per_second()))
        };
        Self {
            spread: random.zip(calls.launch_spread.as_deref()),
            beside: [
                beside(calls.launch_beside_copy_in, link.down_bytes_per_second),
                beside(calls.launch_beside_copy_out, link.up_bytes_per_second),
            ],
            streaming: Direction::BOTH.map(|way| {
                profile.beside_cpu(way).map_or(1.0, |found| found.load_slowdown.max(1.0))
            }),
            times: vec![Span::ZERO; program.thread_count()],
            copying: vec![Default::default(); program.devices().max(1)],
        }
    }

    /// How long the next call keeps the host, from entry to return, when it need not wait. `None`
    /// if every call takes what its cost says.
    pub fn host_of(&mut self, cost: &CallCost, site: CallSite, is_launch: bool) -> Option<Span> {
        let is_usual = self.spread.is_none() && self.beside == [None; 2];
        if is_usual && self.streaming == [1.0; 2] {
            return None;
        }
        let mut host = cost.host;
        if is_launch {
            host = self.drawn(cost.host) + self.longer(cost.host, site);
        }
        if cost.streams > 0.0 {
            host += self.slowed((self.times[site.thread], cost.host), cost.streams);
        }
        if !cost.in_graph {
            self.times[site.thread] += host;
            self.note(cost, site);
        }
        Some(host)
    }

    /// The drawn time of a launch that usually takes `usual`.
    fn drawn(&mut self, usual: Span) -> Span {
        let Some((random, spread)) = &mut self.spread else { return usual };
        let factor = crate::stats::interpolate(spread, random.uniform());
        Span::from_nanos_f64((usual.nanos_f64() * factor).max(0.0))
    }

    /// How much longer a launch takes because of copies beside it. Copies in both directions cost
    /// no more than the costlier direction alone.
    fn longer(&self, usual: Span, CallSite { thread, device, .. }: CallSite) -> Span {
        let time = self.times[thread];
        let all = usual.nanos_f64().max(1.0);
        let longer = self.copying[device].iter().zip(self.beside).map(|(copying, beside)| {
            let part = copying.within(time, time + usual).nanos_f64() / all;
            beside.map_or(0.0, |(longer, _)| longer * part * copying.share)
        });
        Span::from_nanos_f64(longer.fold(0.0, f64::max))
    }

    /// How much longer a call takes that streams through memory for a share of its time, because of
    /// copies beside it. Copies in both directions cost no more than the costlier direction alone.
    fn slowed(&self, (from, usual): (Span, Span), share: f64) -> Span {
        let longer = |copying: &Copying, slowdown: f64| {
            let slowdown = 1.0 + (slowdown - 1.0) * share;
            let at_most = Span::from_nanos_f64(usual.nanos_f64() * slowdown);
            let beside = copying.within(from, from + at_most).nanos_f64();
            beside * (1.0 - 1.0 / slowdown)
        };
        let all = self.copying.iter().flat_map(|ways| ways.iter().zip(self.streaming));
        let longer = all.map(|(copying, slowdown)| longer(copying, slowdown));
        Span::from_nanos_f64(longer.fold(0.0, f64::max))
    }

    fn note(&mut self, cost: &CallCost, site: CallSite) {
        let CallSite { thread, device, ends_copies, .. } = site;
        if let Waits::Thread(other) = cost.waits {
            self.times[thread] = self.times[thread].max(self.times[usize::from(other)]);
        }
        let time = self.times[thread];
        if ends_copies {
            let over = Copying { until: time, ..Copying::default() };
            self.copying[device] = [over; 2];
        }
        if let Work::Copy { direction, alone, bytes, .. } = cost.work {
            let per_byte = self.beside[direction as usize].map_or(0.0, |(_, per_byte)| per_byte);
            let copying = &mut self.copying[device][direction as usize];
            let comes = time + cost.latency;
            if comes > copying.until {
                *copying = Copying { before: copying.until, from: comes, until: comes, ..*copying };
            }
            copying.until += alone;
            copying.share = (bytes.as_f64() * per_byte / alone.nanos_f64().max(1.0)).min(1.0);
        }
    }
}

impl Copying {
    /// For how long the engine copies between two moments.
    fn within(&self, start: Span, end: Span) -> Span {
        let now = end.min(self.until).saturating_sub(start.max(self.from));
        now + end.min(self.before).saturating_sub(start)
    }
}
