//! What a profile answers about several GPUs.

use crate::machine::{DeviceId, Direction};
use crate::profile::unknown::of_bytes;
use crate::profile::{OtherGpu, PeerModel, Profile, RootModel, Unknown};
use crate::units::{Bandwidth, Bytes, Span};

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
        Ok(Span::from_nanos_f64(of_bytes(&model.time, bytes, &what)?.max(0.0)))
    }

    /// Bytes per nanosecond between two GPUs, both directions added up.
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

    /// Bytes per nanosecond that this many GPUs together copy in one direction.
    ///
    /// # Errors
    /// If that many were not calibrated.
    pub fn root(&self, devices: usize, direction: Direction) -> Result<f64, Unknown> {
        self.shared_by(devices, &format!("{direction} copies"), |root| match direction {
            Direction::HostToDevice => root.down_bytes_per_second,
            Direction::DeviceToHost => root.up_bytes_per_second,
        })
    }

    /// Bytes per nanosecond that this many GPUs together copy, both directions at once and added
    /// up.
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

    /// Extra nanoseconds of waiting for an event of another GPU.
    ///
    /// # Errors
    /// If it was not measured.
    pub fn crossing(&self) -> Result<f64, Unknown> {
        let crossing = self.multi_gpu.crossing.map(|crossing| crossing.ns.max(0.0));
        crossing.ok_or_else(|| Unknown::new("what waiting for an event of another GPU costs"))
    }
}
