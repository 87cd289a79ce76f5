//! The links that copies share, and how much each carries:
//!
//! - Each device's own link to the host, which carries less than both directions ask for: see
//!   `copies`.
//! - Where several devices copy, the root of those links with the host's memory behind it: down,
//!   up, and both ways together.
//! - Between two devices, what goes both ways. The limit of one way alone is in the copy's own
//!   time.

use super::links::LinkId;
use super::needs;
use super::operation::Work;
use super::program::CompiledProgram;
use crate::machine::{DeviceId, Direction};
use crate::profile::Unknown;
use crate::units::{Bytes, Span};

/// Copies that run at once are at most this much slower than alone, since copies that take turns
/// would be no slower.
pub(super) const MOST_SLOWDOWN: f64 = 2.0;

/// The links of a program.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Shares {
    /// The capacities of all links. Those of the devices' own links come first, each 1; the others
    /// are in bytes per nanosecond. Empty if nothing slows a copy.
    pub capacities: Vec<f64>,
    /// The place of the root's three links: down, up, and both together.
    root: Option<u32>,
    /// The place of the links between pairs of devices, and those pairs: the ones between which
    /// copies go both ways.
    between: u32,
    pairs: Vec<[DeviceId; 2]>,
}

impl Shares {
    /// # Errors
    /// If the profile does not know how much one of them carries.
    pub fn new(program: &CompiledProgram<'_>) -> Result<Self, Unknown> {
        let (profile, devices) = (program.profile, program.devices());
        let pairs = needs::pairs(program)?;
        let meet_at_root = several_copy(program);
        let slow_each_other = program.classes.iter().any(|class| match class.work {
            Work::Copy { delay, slowdown, beside_kernels, .. } => {
                delay > 0.0 || slowdown > 1.0 || beside_kernels > 0.0
            }
            _ => false,
        });
        if !slow_each_other && !meet_at_root && pairs.is_empty() {
            return Ok(Self::default());
        }
        let mut shares = Self { capacities: vec![1.0; devices], pairs, ..Self::default() };
        if meet_at_root {
            shares.root = Some(devices as u32);
            for direction in Direction::BOTH {
                shares.capacities.push(profile.root(devices, direction)?);
            }
            shares.capacities.push(profile.root_both(devices)?);
        }
        shares.between = shares.capacities.len() as u32;
        for &[one, other] in &shares.pairs {
            shares.capacities.push(profile.between_peers([one, other])?);
        }
        Ok(shares)
    }

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
}

/// The use of no link.
const NOTHING: (LinkId, f64) = (LinkId(0), 0.0);

fn rate(bytes: Bytes, alone: Span) -> f64 {
    bytes.as_f64() / alone.nanos_f64().max(1.0)
}

/// Whether copies of page-locked memory use several devices.
fn several_copy(program: &CompiledProgram<'_>) -> bool {
    let copies = program
        .items
        .iter()
        .filter(|item| matches!(program.classes[item.class as usize].work, Work::Copy { .. }));
    let mut devices = copies.map(|item| program.device_of(item.stream));
    devices.next().is_some_and(|first| devices.any(|device| device != first))
}
