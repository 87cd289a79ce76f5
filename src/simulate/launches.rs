//! How long each single call takes.
//!
//! Launches behind each other in one plan, with nothing else about them changed, take from two
//! thirds to one and a half of what they take in the mean. Plans go through their engines' looks
//! with these, not with the mean: where that would miss each look by a little, or catch it,
//! launches of different length miss some and catch others.
//!
//! And they take longer while a copy's data is on the link: on an H200, by 0.4 to 0.7 us beside
//! copies to the device and by up to 0.2 beside copies from it, in proportion to the time that
//! the data takes of a copy. The calls that begin copies, record events or wait for them take the
//! same beside any.
//!
//! Right behind a wait in their streams, launches take longer (there by 0.1 to 0.2 us) and so do
//! copies to the host (by 0.05 to 0.1): it is they who find the stream waiting.

use super::antithetic::Antithetic;
use super::operation::Work;
use super::program::{Class, Waits};
use crate::plan::Direction;
use crate::profile::{Estimate, Profile};
use crate::units::{Bandwidth, Span};
use rand::Rng;
use std::collections::BTreeSet;

/// Goes through the calls of a plan and tells how long each keeps the host, if any takes
/// anything else than its class says.
pub(super) struct Launches<'p> {
    spread: Option<(Antithetic, &'p [(f64, f64)])>,
    /// Beside data of each direction: by how many nanoseconds launches take longer, and how many
    /// nanoseconds a byte is on the link.
    beside: [Option<(f64, f64)>; 2],
    /// By how much longer launches and copies to the host take behind a wait.
    behind_wait: [Option<Span>; 2],
    /// The streams that were made to wait, and have nothing behind that.
    waiting: BTreeSet<u16>,
    /// When the host makes the next call, if it never waits.
    time: Span,
    /// By device and direction.
    copying: Vec<[Copying; 2]>,
}

/// When an engine is at its copies, if it takes each as it comes.
#[derive(Clone, Copy, Default)]
struct Copying {
    /// When the last of its copies without a gap between them begin and end.
    from: Span,
    until: Span,
    /// When those before them end.
    before: Span,
    /// For what share of the time the data of the last one is on the link.
    share: f64,
}

impl<'p> Launches<'p> {
    /// With the times of launches drawn one after the other, or all the same.
    pub fn new(profile: &'p Profile, random: Option<Antithetic>, devices: usize) -> Self {
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
            behind_wait: [calls.launch_behind_wait, calls.copy_out_behind_wait]
                .map(|longer| longer.map(|longer| longer.span())),
            waiting: BTreeSet::new(),
            time: Span::ZERO,
            copying: vec![Default::default(); devices],
        }
    }

    /// How long the next call keeps the host, from entry to return, when it need not wait;
    /// `None` if all calls take what their classes say.
    pub fn host_of(&mut self, class: &Class, place: (u16, usize), is_launch: bool) -> Option<Span> {
        if self.spread.is_none() && self.beside == [None; 2] && self.behind_wait == [None; 2] {
            return None;
        }
        let (stream, device) = place;
        let mut host = class.host;
        if is_launch {
            host = self.drawn(class.host) + self.longer(class.host, device);
        }
        if !class.in_graph {
            host += self.behind_wait(&class.work, stream, is_launch);
            self.time += host;
            self.note(class, place);
        }
        Some(host)
    }

    /// By how much longer it takes if its stream was made to wait right before.
    fn behind_wait(&mut self, work: &Work, stream: u16, is_launch: bool) -> Span {
        let [launch, copy_out] = self.behind_wait.map(Option::unwrap_or_default);
        match work {
            Work::Nothing | Work::Record => Span::ZERO,
            Work::Wait => {
                self.waiting.insert(stream);
                Span::ZERO
            }
            _ if !self.waiting.remove(&stream) => Span::ZERO,
            _ if is_launch => launch,
            Work::Copy { direction: Direction::DeviceToHost, .. } => copy_out,
            _ => Span::ZERO,
        }
    }

    /// What the next launch takes that usually takes so long.
    fn drawn(&mut self, usual: Span) -> Span {
        let Some((random, spread)) = &mut self.spread else { return usual };
        let factor = crate::stats::interpolate(spread, random.random());
        Span::from_nanos_f64((usual.nanos_f64() * factor).max(0.0))
    }

    /// By how much longer it takes for the copies beside it. Both directions together are no
    /// worse than the worse of them.
    fn longer(&self, usual: Span, device: usize) -> Span {
        let all = usual.nanos_f64().max(1.0);
        let longer = self.copying[device].iter().zip(self.beside).map(|(copying, beside)| {
            let part = copying.within(self.time, self.time + usual).nanos_f64() / all;
            beside.map_or(0.0, |(longer, _)| longer * part * copying.share)
        });
        Span::from_nanos_f64(longer.fold(0.0, f64::max))
    }

    fn note(&mut self, class: &Class, (stream, device): (u16, usize)) {
        if let Waits::Stream(_) = class.waits {
            self.waiting.remove(&stream);
            // Taken to be over, in whichever stream they are.
            let over = Copying { until: self.time, ..Copying::default() };
            self.copying[device] = [over; 2];
        }
        if let Work::Copy { direction, alone, bytes, .. } = class.work {
            let per_byte = self.beside[direction as usize].map_or(0.0, |(_, per_byte)| per_byte);
            let copying = &mut self.copying[device][direction as usize];
            let comes = self.time + class.latency;
            if comes > copying.until {
                *copying = Copying { before: copying.until, from: comes, until: comes, ..*copying };
            }
            copying.until += alone;
            copying.share = (bytes.as_f64() * per_byte / alone.nanos_f64().max(1.0)).min(1.0);
        }
    }
}

impl Copying {
    /// For how long it copies between two moments.
    fn within(&self, start: Span, end: Span) -> Span {
        let now = end.min(self.until).saturating_sub(start.max(self.from));
        now + end.min(self.before).saturating_sub(start)
    }
}
