//! Several GPUs: copies between them, the links and memory that they share, and whether they are
//! alike.

use super::checked_numbers::{above_zero, not_negative, scatter};
use super::prices::priced;
use super::unknown::{Known, Unknown, Why, of_bytes};
use super::{Curve, Estimate, Profile};
use crate::machine::{DeviceId, Direction};
use crate::units::{Bandwidth, Bytes, Span};
use serde::{Deserialize, Serialize};

/// Costs of plans that use several GPUs. Only the first GPU is calibrated in full. The others are
/// compared with it, and plans use them only if they are alike.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MultiGpu {
    /// Host time of switching to another GPU's context.
    pub use_device: Option<Estimate>,
    /// Host time of the call of a copy from GPU to GPU.
    pub peer_copy: Option<Estimate>,
    /// Time from the return of the call of a peer copy, on idle GPUs, to the start of the copy.
    pub start_peer_copy: Option<Estimate>,
    /// How much longer it takes to wait for an event of another GPU than for one of another stream
    /// on the same GPU.
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
    /// Nanoseconds over bytes, for copies back to back with nothing in the other direction.
    pub time: Curve,
    /// What the two carry in both directions together.
    pub both_bytes_per_second: Option<Bandwidth>,
}

/// What several GPUs together copy from and to host memory. Each has a link of its own, but all
/// links meet at the root complex and in host memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RootModel {
    pub devices: usize,
    pub down_bytes_per_second: Option<Bandwidth>,
    pub up_bytes_per_second: Option<Bandwidth>,
    /// Both directions at once, added up.
    pub both_bytes_per_second: Option<Bandwidth>,
    /// How many times as fast as H2D copies D2H copies go while both fill the root. (Of two H200s,
    /// 1.6: writes to host memory are served before reads.)
    #[serde(default = "alike", deserialize_with = "above_zero")]
    pub up_over_down: f64,
    /// Relative scatter of the copies that these rates come from.
    #[serde(default, deserialize_with = "scatter")]
    pub scatter: f64,
}

const fn alike() -> f64 {
    1.0
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

priced! {
    MultiGpu {
        Usual: use_device, peer_copy, start_peer_copy, crossing, peers as "peer", roots as "root";
        No: others as "other";
    }
}

priced! {
    PeerModel {
        Usual: time;
        No: both_bytes_per_second;
    }
    besides from, to, direct
}

priced! {
    RootModel {
        Usual: down_bytes_per_second, up_bytes_per_second, both_bytes_per_second;
        No: up_over_down;
    }
    besides devices, scatter; by |root| root.scatter
}

priced! {
    OtherGpu { No: copy_in, copy_out, kernel; }
    besides device
}

/// What a calibration with more GPUs measures.
fn without(what: impl Into<String>) -> Unknown {
    Unknown::because(Why::NoSuchGpu, what)
}

/// GPUs whose times differ by no more than this share are alike.
const ALIKE: f64 = 0.05;

impl Profile {
    /// The numbers of GPUs above one that plans may use: those that were calibrated together.
    pub fn gpu_counts(&self) -> Vec<usize> {
        self.multi_gpu.roots.iter().map(|root| root.devices).collect()
    }

    /// Checks that the GPUs of a plan over `devices` of them are all like the first.
    ///
    /// # Errors
    /// If one of them differs or was not measured.
    pub fn alike(&self, devices: usize) -> Known {
        for device in (1..devices).map(DeviceId) {
            let found = self.multi_gpu.others.iter().find(|other| other.device == device);
            let other = found.ok_or_else(|| without(format!("GPU {}", device.0)))?;
            let OtherGpu { copy_in, copy_out, kernel, .. } = *other;
            let ratios = [("H2D copies", copy_in), ("D2H copies", copy_out), ("kernels", kernel)];
            let differs = |&(_, ratio): &(&str, f64)| (ratio - 1.0).abs() > ALIKE;
            if let Some((what, ratio)) = ratios.into_iter().find(differs) {
                return Err(Unknown::refused(format!(
                    "plans on unequal GPUs: {what} on GPU {} take {ratio:.2} times as long as on \
                     the first GPU, the only fully calibrated one",
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
    pub fn peer_copy(&self, way: [DeviceId; 2], bytes: Bytes) -> Known<Span> {
        let model = self.peer(way)?;
        let what = format!("copies from GPU {} to GPU {}", way[0].0, way[1].0);
        if !model.direct {
            return Err(Unknown::refused(format!(
                "the interference of {what} with other copies: these GPUs cannot access each \
                 other's memory, so the driver copies through host memory"
            )));
        }
        Ok(Span::from_nanos_f64(of_bytes(&model.time, bytes, &what)?.max(0.0)))
    }

    /// Bytes per nanosecond between two GPUs, both directions added up.
    ///
    /// # Errors
    /// If copies both ways at once were not calibrated.
    pub fn between_peers(&self, way: [DeviceId; 2]) -> Known<f64> {
        let [one, other] = way.map(|device| device.0);
        let what = format!("copies between GPUs {one} and {other} in both directions at once");
        let both = self.peer(way)?.both_bytes_per_second;
        Ok(both.ok_or_else(|| without(what))?.bytes_per_second() * 1e-9)
    }

    fn peer(&self, [from, to]: [DeviceId; 2]) -> Known<&PeerModel> {
        let found = self.multi_gpu.peers.iter().find(|peer| (peer.from, peer.to) == (from, to));
        found.ok_or_else(|| without(format!("copies from GPU {} to GPU {}", from.0, to.0)))
    }

    /// Bytes per nanosecond that this many GPUs together copy: in one direction, or both directions
    /// at once and added up.
    ///
    /// # Errors
    /// If that many were not calibrated.
    pub fn root(&self, devices: usize, direction: Option<Direction>) -> Known<f64> {
        let capacity = self.root_of(devices).and_then(|root| match direction {
            Some(Direction::HostToDevice) => root.down_bytes_per_second,
            Some(Direction::DeviceToHost) => root.up_bytes_per_second,
            None => root.both_bytes_per_second,
        });
        let unknown = || match direction {
            Some(direction) => without(format!("{direction} copies on {devices} GPUs at once")),
            None => without(format!("copies in both directions on {devices} GPUs at once")),
        };
        Ok(capacity.ok_or_else(unknown)?.bytes_per_second() * 1e-9)
    }

    /// How many times as fast as H2D copies D2H copies go while those of this many GPUs fill the
    /// root.
    pub fn up_over_down(&self, devices: usize) -> f64 {
        self.root_of(devices).map_or(1.0, |root| root.up_over_down)
    }

    fn root_of(&self, devices: usize) -> Option<&RootModel> {
        self.multi_gpu.roots.iter().find(|root| root.devices == devices)
    }

    /// Extra nanoseconds of waiting for an event of another GPU.
    ///
    /// # Errors
    /// If it was not measured.
    pub fn crossing(&self) -> Known<f64> {
        let crossing = self.multi_gpu.crossing.map(|crossing| crossing.ns.max(0.0));
        crossing.ok_or_else(|| without("the cost of waiting for another GPU's event"))
    }
}
