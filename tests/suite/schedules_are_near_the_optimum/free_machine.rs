//! A machine without friction: calls, hand-overs and waits take no time, and nothing slows what
//! goes on beside it. A link carries four bytes each nanosecond, in each direction.

use super::super::machines::{machine, per_element_of_bytes};
use hallway::machine::{DeviceId, Direction};
use hallway::profile::{
    CallCosts, CopyModel, Curve, Estimate, HandOver, Latencies, MultiGpu, OperationKind, OtherGpu,
    PeerModel, Profile, RootModel,
};
use hallway::units::Bandwidth;

const NOTHING: Estimate = Estimate::new(0.0, 0.0);

/// The machine with so many GPUs.
pub fn free_machine(gpus: usize) -> Profile {
    let mut free = machine();
    let link = &mut free.link;
    link.down_bytes_per_second = Some(Bandwidth::from_bytes_per_second(4e9));
    link.up_bytes_per_second = link.down_bytes_per_second;
    (link.down_shared, link.up_shared) =
        (super::super::machines::FREE, super::super::machines::FREE);
    (link.scatter, link.refetches) = (0.0, Vec::new());
    let exact = |direction| CopyModel { direction, time: line(1.0) };
    free.copies = Direction::BOTH.map(exact).to_vec();
    // No kernel uses the host's memory across the link.
    free.transfers.clear();
    free.interference.clear();
    // Kernels that wait in other streams slow none, as on the machine it is made from.
    free.latency = Latencies {
        start_kernel: Some(NOTHING),
        start_copy_in: Some(NOTHING),
        start_copy_out: Some(NOTHING),
        wake_host: Some(NOTHING),
        kernel_gap: Some(NOTHING),
        semaphore_polling: None,
    };
    free.calls = free_calls();
    free.hand_overs = hand_overs();
    if gpus > 1 {
        free.multi_gpu = several(gpus);
    }
    free
}

fn free_calls() -> CallCosts {
    CallCosts {
        launch: Some(NOTHING),
        copy_in: Some(NOTHING),
        copy_out: Some(NOTHING),
        clear: Some(NOTHING),
        record: Some(NOTHING),
        wait: Some(NOTHING),
        synchronize: Some(NOTHING),
        ..CallCosts::default()
    }
}

fn hand_overs() -> Vec<HandOver> {
    let kinds = || OperationKind::ALL.into_iter();
    let pairs = kinds().flat_map(|from| kinds().map(move |to| (from, to)));
    let both = pairs.flat_map(|(from, to)| [false, true].map(|across| (from, to, across)));
    both.map(|(from, to, across_streams)| HandOver {
        from,
        to,
        across_streams,
        first: NOTHING,
        queued: NOTHING,
    })
    .collect()
}

fn several(gpus: usize) -> MultiGpu {
    let wide = Some(Bandwidth::from_bytes_per_second(1e15));
    let devices = || (0..gpus).map(DeviceId);
    let pairs = devices().flat_map(|from| devices().map(move |to| (from, to)));
    let peer = |(from, to)| PeerModel {
        from,
        to,
        direct: true,
        time: line(0.001),
        both_bytes_per_second: wide,
    };
    let same = |device| OtherGpu { device, copy_in: 1.0, copy_out: 1.0, kernel: 1.0 };
    MultiGpu {
        use_device: Some(NOTHING),
        peer_copy: Some(NOTHING),
        start_peer_copy: Some(NOTHING),
        crossing: Some(NOTHING),
        peers: pairs.filter(|(from, to)| from != to).map(peer).collect(),
        roots: vec![RootModel {
            devices: gpus,
            down_bytes_per_second: wide,
            up_bytes_per_second: wide,
            both_bytes_per_second: wide,
            up_over_down: 1.0,
            scatter: 0.0,
        }],
        others: devices().skip(1).map(same).collect(),
    }
}

/// So many nanoseconds for each element of four bytes.
fn line(slope: f64) -> Curve {
    Curve { scatter: 0.0, ..per_element_of_bytes(0.0, slope) }
}
