//! The links that copies share, and how much of each a copy uses:
//!
//! - Each device's own link to the host, which carries less than both directions ask for. A copy
//!   that calibration saw run `s` times slower beside another has a weight of 1/s for its share,
//!   and uses s/2 of the link at full speed. So two such copies fill the link at exactly the speeds
//!   that were measured, and one alone does not. An `s` above 2 counts as 2, because copies that
//!   take turns would be faster.
//! - Where several devices copy, the root of those links with the host's memory behind it: down,
//!   up, and both ways together. A full root serves one direction before the other, as calibration
//!   saw. A copy has one weight for all of its links, so D2H copies keep that advantage on their
//!   device's own link, too, while no other device copies.
//! - Between two devices, what goes both ways. The limit of one way alone is in the copy's own
//!   time.

use super::copies::CopyEngines;
use super::layout::Layout;
use super::work::{CallCost, Work};
use crate::machine::{DeviceId, Direction};
use crate::profile::{Known, Profile, Unknown};
use crate::units::{Bytes, Span};

/// A link, by its place among the capacities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkId(pub u32);

/// Copies that run at once are at most this much slower than alone, since copies that take turns
/// would be no slower.
const MOST_SLOWDOWN: f64 = 2.0;

/// The links that the copies of a program share.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct CopyLinks {
    /// The capacities of all links. Those of the devices' own links come first, each 1; the others
    /// are in bytes per nanosecond. Empty if neither copies nor kernels slow any copy.
    pub capacities: Vec<f64>,
    /// The place of the root's three links: down, up, and both together.
    root: Option<u32>,
    /// How many times as much of a full root a D2H copy gets as an H2D copy.
    up_over_down: f64,
    /// The place of the links between pairs of devices, and those pairs: the ones between which
    /// copies go both ways.
    between: u32,
    pairs: Vec<[DeviceId; 2]>,
}

impl CopyLinks {
    /// # Errors
    /// If the profile does not know how much one of them carries.
    pub fn new(
        (meetings, devices, costs): (&Meetings, usize, &[CallCost]),
        profile: &Profile,
        copies: &CopyEngines,
    ) -> Known<Self> {
        let Meetings { at_root: meet_at_root, ref pairs } = *meetings;
        let pairs = pairs.clone()?;
        let slow_each_other = costs.iter().any(|cost| match cost.work {
            Work::Copy { delay, slowdown, .. } => delay > 0.0 || slowdown > 1.0,
            _ => false,
        });
        let are_slowed = slow_each_other || copies.slow_beside_kernels;
        if !are_slowed && !meet_at_root && pairs.is_empty() {
            return Ok(Self::default());
        }
        let capacities = vec![1.0; devices];
        let mut links = Self { capacities, pairs, up_over_down: 1.0, ..Self::default() };
        if meet_at_root {
            links.root = Some(devices as u32);
            for direction in Direction::BOTH.map(Some).into_iter().chain([None]) {
                links.capacities.push(profile.root(devices, direction)?);
            }
            links.up_over_down = profile.up_over_down(devices);
        }
        links.between = links.capacities.len() as u32;
        for &[one, other] in &links.pairs {
            links.capacities.push(profile.between_peers([one, other])?);
        }
        Ok(links)
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.capacities.is_empty()
    }

    /// How much of each link a copy of a device uses at full speed.
    pub fn uses(&self, device: usize, work: &Work) -> [(LinkId, f64); 3] {
        match *work {
            Work::Copy { direction, alone, slowdown, bytes, .. } => {
                let own = (LinkId(device as u32), slowdown.min(MOST_SLOWDOWN) / 2.0);
                let Some(root) = self.root else { return [own, NOTHING, NOTHING] };
                let rate = rate(bytes, alone);
                [own, (LinkId(root + direction as u32), rate), (LinkId(root + 2), rate)]
            }
            Work::PeerCopy { mut way, alone, bytes } => {
                way.sort_unstable();
                let place = self.pairs.iter().position(|pair| *pair == way);
                let own = place.map(|at| (LinkId(self.between + at as u32), rate(bytes, alone)));
                [own.unwrap_or(NOTHING), NOTHING, NOTHING]
            }
            _ => [NOTHING; 3],
        }
    }

    /// The weight with which a copy shares full links.
    #[inline]
    pub fn weight(&self, work: &Work) -> f64 {
        let Work::Copy { direction, slowdown, .. } = *work else { return 1.0 };
        let own = 1.0 / slowdown.min(MOST_SLOWDOWN);
        match (self.root, direction) {
            (Some(_), Direction::DeviceToHost) => own * self.up_over_down,
            _ => own,
        }
    }
}

/// The use of no link.
const NOTHING: (LinkId, f64) = (LinkId(0), 0.0);

fn rate(bytes: Bytes, alone: Span) -> f64 {
    bytes.as_f64() / alone.nanos_f64().max(1.0)
}

/// Where the copies of several devices meet.
#[derive(Debug)]
pub(crate) struct Meetings {
    /// Whether copies of pinned memory use several devices.
    at_root: bool,
    /// The pairs of devices between which peer copies go both ways.
    pairs: Known<Vec<[DeviceId; 2]>>,
}

impl Default for Meetings {
    fn default() -> Self {
        Self { at_root: false, pairs: Ok(Vec::new()) }
    }
}

impl Meetings {
    pub fn new(layout: &Layout, costs: &[CallCost]) -> Self {
        if layout.devices() == 1 {
            return Self::default();
        }
        let is_copy = |work: &Work| matches!(work, Work::Copy { .. });
        let copies = layout.calls.iter().filter(|call| is_copy(&costs[call.cost as usize].work));
        let mut devices = copies.map(|call| layout.device_of(call.stream));
        let at_root = devices.next().is_some_and(|first| devices.any(|device| device != first));
        Self { at_root, pairs: pairs(layout, costs) }
    }
}

/// The pairs of devices between which peer copies go both ways, each pair once.
///
/// # Errors
/// If a copy is issued elsewhere than on the device that it comes from, or if one device takes
/// copies of several: neither was measured.
fn pairs(layout: &Layout, costs: &[CallCost]) -> Known<Vec<[DeviceId; 2]>> {
    let mut ways: Vec<[DeviceId; 2]> = Vec::new();
    for call in &layout.calls {
        let Work::PeerCopy { way, .. } = costs[call.cost as usize].work else { continue };
        if layout.device_of(call.stream) != way[0].0 {
            let what = "copies between GPUs in a stream of the receiving GPU";
            return Err(Unknown::refused(what));
        }
        if ways.iter().any(|other| other[0] != way[0] && other[1] == way[1]) {
            return Err(Unknown::refused("copies from several GPUs to one"));
        }
        if !ways.contains(&way) {
            ways.push(way);
        }
    }
    let goes_back = |&[from, to]: &[DeviceId; 2]| from < to && ways.contains(&[to, from]);
    Ok(ways.iter().copied().filter(goes_back).collect())
}
