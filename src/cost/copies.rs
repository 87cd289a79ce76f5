//! What changing streams costs copy engines, and which copies kernels slow.
//!
//! Each device has a copy engine for each direction. Copies to other devices have an engine of
//! their own: of the copy engines that a device exposes, some serve links between GPUs and others
//! system memory (NVIDIA open-gpu-kernel-modules, `kernel_ce.c`: `kceGetP2PCes` and
//! `kceGetSysmemRWLCEs`).

use super::layout::Layout;
use super::work::{CallCost, Work};
use crate::machine::Direction;
use crate::profile::{Known, Profile, Unknown};

/// Copy engines of a device: one for each direction, and one for copies to other devices.
pub(crate) const ENGINES: usize = 3;
pub(crate) const PEER_ENGINE: usize = 2;

#[derive(Debug, Clone)]
pub(crate) struct CopyEngines {
    /// By device, the nanoseconds for which each copy engine pauses to change streams: the more,
    /// the more streams it takes copies from.
    pub switch: Vec<[f64; ENGINES]>,
    /// Whether any copy takes longer beside kernels.
    pub slow_beside_kernels: bool,
    /// By engine, at which share of its speed a copy goes on while kernels run.
    pub speed_beside_kernels: [f64; ENGINES],
}

impl CopyEngines {
    /// # Errors
    /// If the profile does not know what changing streams costs.
    pub fn new((copying, costs): (&[Copying], &[CallCost]), profile: &Profile) -> Known<Self> {
        let slow_beside_kernels = costs.iter().any(
            |cost| matches!(cost.work, Work::Copy { beside_kernels, .. } if beside_kernels > 0.0),
        );
        let [down, up] =
            Direction::BOTH.map(|direction| slowed_by_kernels(costs, profile, direction));
        Ok(Self {
            switch: switches(copying, profile)?,
            slow_beside_kernels: slow_beside_kernels || down.max(up) > 1.0,
            speed_beside_kernels: [1.0 / down, 1.0 / up, 1.0],
        })
    }

    /// Halves the costs of changing streams.
    pub fn halve(&mut self) {
        self.switch.as_flattened_mut().iter_mut().for_each(|switch| *switch /= 2.0);
    }

    /// Whether changing streams takes any time.
    #[inline]
    pub fn take_time_to_switch(&self) -> bool {
        self.switch.as_flattened().iter().any(|&switch| switch > 0.0)
    }
}

/// How many times as long the copies of a direction take while kernels run; 1 if the program has
/// none of either.
fn slowed_by_kernels(costs: &[CallCost], profile: &Profile, wanted: Direction) -> f64 {
    let has = |is_it: &dyn Fn(&Work) -> bool| costs.iter().any(|cost| is_it(&cost.work));
    let has_kernels = has(&|work| matches!(work, Work::Kernel { .. }));
    let has_copies =
        has(&|work| matches!(*work, Work::Copy { direction, .. } if direction == wanted));
    if has_kernels && has_copies { profile.kernel_slowdown(wanted) } else { 1.0 }
}

fn switches(copying: &[Copying], profile: &Profile) -> Known<Vec<[f64; ENGINES]>> {
    let of_device = |copying: &Copying| {
        if copying.streams[PEER_ENGINE] > 1 {
            let what = "copies from one GPU to others in several streams";
            return Err(Unknown::refused(what));
        }
        let [down, up] = Direction::BOTH.map(|direction| {
            let engine = direction as usize;
            profile.switch(direction, copying.streams[engine], !copying.outside_graphs[engine])
        });
        Ok([down?, up?, 0.0])
    };
    copying.iter().map(of_device).collect()
}

/// What the copy engines of a device serve.
#[derive(Debug, Clone, Default)]
pub(crate) struct Copying {
    /// From how many streams each engine takes copies.
    streams: [usize; ENGINES],
    /// Whether any of each engine's copies is outside of graphs.
    outside_graphs: [bool; ENGINES],
}

impl Copying {
    /// What those of all devices serve.
    pub fn of_devices(layout: &Layout, costs: &[CallCost]) -> Vec<Self> {
        let mut devices = vec![Self::default(); layout.devices()];
        let mut copying = vec![[false; ENGINES]; layout.streams()];
        for call in &layout.calls {
            let cost = &costs[call.cost as usize];
            if let Some(engine) = engine_of(&cost.work) {
                let device = &mut devices[layout.device_of(call.stream)];
                let copies = &mut copying[usize::from(call.stream)][engine];
                device.streams[engine] += usize::from(!std::mem::replace(copies, true));
                device.outside_graphs[engine] |= !cost.in_graph;
            }
        }
        devices
    }
}

/// The copy engine, within its device, that an operation keeps busy.
#[inline]
const fn engine_of(work: &Work) -> Option<usize> {
    match work {
        Work::Copy { direction, .. } | Work::Staged { direction, .. } => Some(*direction as usize),
        Work::PeerCopy { .. } => Some(PEER_ENGINE),
        _ => None,
    }
}
