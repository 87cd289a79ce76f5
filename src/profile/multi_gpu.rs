//! What a machine with several GPUs has besides one of them: copies between
//! them, and what they share.

use super::checked::not_negative;
use super::{Curve, Estimate, Profile, Unknown};
use crate::plan::{DeviceId, Direction};
use crate::units::{Bandwidth, Bytes, Span};
use serde::{Deserialize, Serialize};

/// Costs of plans that use several GPUs. Only the first is calibrated in full; the
/// others count as like it if they were found so.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MultiGpu {
    /// Host time of making the context of another GPU the current one.
    pub use_device: Option<Estimate>,
    /// Host time of the call of a copy from GPU to GPU.
    pub peer_copy: Option<Estimate>,
    /// From the return of that call on idle GPUs to the start of the copy.
    pub start_peer_copy: Option<Estimate>,
    /// What waiting for an event of another GPU takes longer than waiting for one of
    /// another stream of the same.
    pub crossing: Option<Estimate>,
    #[serde(default, rename = "peer")]
    pub peers: Vec<PeerModel>,
    #[serde(default, rename = "root")]
    pub roots: Vec<RootModel>,
    #[serde(default, rename = "other")]
    pub others: Vec<OtherGpu>,
}

/// Copies from one GPU's memory to another's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeerModel {
    pub from: DeviceId,
    pub to: DeviceId,
    /// Whether they reach each other's memory; if not, the driver takes the data
    /// through host memory.
    pub direct: bool,
    /// Nanoseconds over bytes, one copy after the other, nothing in the opposite
    /// direction.
    pub time: Curve,
    /// What the two carry in both directions together.
    pub both_bytes_per_second: Option<Bandwidth>,
}

/// What host memory and the links' common root carry for so many GPUs at once:
/// each has a link of its own, but they meet there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RootModel {
    pub devices: usize,
    pub down_bytes_per_second: Option<Bandwidth>,
    pub up_bytes_per_second: Option<Bandwidth>,
    /// Both directions together.
    pub both_bytes_per_second: Option<Bandwidth>,
    /// Relative scatter of the copies behind these.
    #[serde(default, deserialize_with = "not_negative")]
    pub scatter: f64,
}

/// How another GPU compares with the first: its time over that of the first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OtherGpu {
    pub device: DeviceId,
    #[serde(deserialize_with = "not_negative")]
    pub copy_in: f64,
    #[serde(deserialize_with = "not_negative")]
    pub copy_out: f64,
    #[serde(deserialize_with = "not_negative")]
    pub kernel: f64,
}

/// GPUs whose times differ by no more than this share are alike.
const ALIKE: f64 = 0.05;

impl MultiGpu {
    /// Nothing was measured: there is one GPU.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Several GPUs.
impl Profile {
    /// How many GPUs plans may use besides one: so many were calibrated together.
    pub fn gpu_counts(&self) -> Vec<usize> {
        self.multi_gpu.roots.iter().map(|root| root.devices).collect()
    }

    /// Whether the other GPUs of a plan with so many are like the first.
    ///
    /// # Errors
    /// If they are not, or were not looked at.
    pub fn alike(&self, devices: usize) -> Result<(), Unknown> {
        for device in (1..devices).map(DeviceId) {
            let found = self.multi_gpu.others.iter().find(|other| other.device == device);
            let other = found.ok_or_else(|| Unknown::new(format!("GPU {}", device.0)))?;
            let OtherGpu { copy_in, copy_out, kernel, .. } = *other;
            let ratios = [("H2D copies", copy_in), ("D2H copies", copy_out), ("kernels", kernel)];
            let differs = |&(_, ratio): &(&str, f64)| (ratio - 1.0).abs() > ALIKE;
            if let Some((what, ratio)) = ratios.into_iter().find(differs) {
                return Err(Unknown::new(format!(
                    "plans over GPUs that are not alike: {what} on GPU {} take {ratio:.2} times as \
                     long as on the first, which alone was calibrated in full",
                    device.0
                )));
            }
        }
        Ok(())
    }

    /// Engine time of a copy from GPU to GPU, with nothing in the other direction.
    ///
    /// # Errors
    /// If such copies were not calibrated, or go through host memory.
    pub fn peer_copy(&self, way: [DeviceId; 2], bytes: Bytes) -> Result<Span, Unknown> {
        let model = self.peer(way)?;
        let what = format!("copies from GPU {} to GPU {}", way[0].0, way[1].0);
        if !model.direct {
            return Err(Unknown::new(format!(
                "what {what} cost other copies: these GPUs do not reach each other's memory, and \
                 the driver takes the data through the host's"
            )));
        }
        Ok(Span::from_nanos_f64(super::answers::of_bytes(&model.time, bytes, &what)?.max(0.0)))
    }

    /// Bytes a nanosecond that go between two GPUs, in both directions together.
    ///
    /// # Errors
    /// If copies both ways at once were not calibrated.
    pub fn between_peers(&self, way: [DeviceId; 2]) -> Result<f64, Unknown> {
        let [one, other] = way.map(|device| device.0);
        let what = || Unknown::new(format!("copies between GPUs {one} and {other} both ways"));
        let both = self.peer(way)?.both_bytes_per_second;
        Ok(both.ok_or_else(what)?.bytes_per_second() * 1e-9)
    }

    fn peer(&self, [from, to]: [DeviceId; 2]) -> Result<&PeerModel, Unknown> {
        let found = self.multi_gpu.peers.iter().find(|peer| (peer.from, peer.to) == (from, to));
        let what = || Unknown::new(format!("copies from GPU {} to GPU {}", from.0, to.0));
        found.ok_or_else(what)
    }

    /// Bytes a nanosecond that so many GPUs together copy in a direction.
    ///
    /// # Errors
    /// If that many were not calibrated.
    pub fn root(&self, devices: usize, direction: Direction) -> Result<f64, Unknown> {
        self.shared_by(devices, &format!("{direction} copies"), |root| match direction {
            Direction::HostToDevice => root.down_bytes_per_second,
            Direction::DeviceToHost => root.up_bytes_per_second,
        })
    }

    /// The same in both directions together.
    ///
    /// # Errors
    /// If that many were not calibrated.
    pub fn root_both(&self, devices: usize) -> Result<f64, Unknown> {
        self.shared_by(devices, "copies both ways", |root| root.both_bytes_per_second)
    }

    fn shared_by(
        &self,
        devices: usize,
        what: &str,
        capacity: impl Fn(&RootModel) -> Option<Bandwidth>,
    ) -> Result<f64, Unknown> {
        let found = self.multi_gpu.roots.iter().find(|root| root.devices == devices);
        let what = || Unknown::new(format!("{what} of {devices} GPUs at once"));
        Ok(found.and_then(capacity).ok_or_else(what)?.bytes_per_second() * 1e-9)
    }

    /// Nanoseconds that waiting for an event of another GPU takes longer.
    ///
    /// # Errors
    /// If it was not measured.
    pub fn crossing(&self) -> Result<f64, Unknown> {
        let crossing = self.multi_gpu.crossing.map(|crossing| crossing.ns.max(0.0));
        crossing.ok_or_else(|| Unknown::new("what waiting for an event of another GPU costs"))
    }
}
