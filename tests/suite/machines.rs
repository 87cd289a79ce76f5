//! An invented machine, with numbers that are easy to add up.
//!
//! Everything that depends on a size is a straight line in *elements* of four bytes, so that one
//! element takes one nanosecond wherever possible.

use hallway::kernels::{Kernel, Variant};
use hallway::machine::{DeviceId, Direction, MultiprocessorLimits};
use hallway::profile::{
    CacheModel, CallCosts, Contention, CopyModel, Curve, Estimate, GraphCosts, HandOver,
    HostCopyModel, Interference, KernelModel, Latencies, LinkModel, MemoryCosts, MultiGpu,
    NodeHandOver, OperationKind, OtherGpu, PeerModel, PerNode, Polling, Profile, Refetch,
    RootModel, RowModel, SetupCosts, StagingModel, TransferModel, TwinModel, Warmth,
};
use hallway::samples::{CalibrationExtent, Load, MEANWHILE, Provenance, RowPath, TransferPath};
use hallway::units::{Bandwidth, Bytes};

/// The scatter of every model, wide enough for seeds to make a difference.
const SCATTER: f64 = 0.05;

const MIB: f64 = (1 << 20) as f64;

/// Copies that the other direction does not slow.
pub const FREE: Option<Contention> = Some(Contention::NONE);

/// Nanoseconds that a copy, and each of its bytes, takes longer beside the other direction.
pub const fn contention(per_copy_ns: f64, per_byte_ns: f64) -> Contention {
    Contention { per_copy_ns, per_byte_ns, ..Contention::NONE }
}

fn latencies() -> Latencies {
    Latencies {
        start_kernel: Some(time(4_000.0)),
        start_copy_in: Some(time(3_000.0)),
        start_copy_out: Some(time(5_000.0)),
        wake_host: Some(time(6_000.0)),
        kernel_gap: Some(time(1_000.0)),
        semaphore_polling: None,
    }
}

fn calls() -> CallCosts {
    CallCosts {
        launch: Some(time(2_000.0)),
        launch_by_cublas: Some(time(3_000.0)),
        launch_by_cufft: Some(time(500.0)),
        copy_in: Some(time(1_000.0)),
        copy_out: Some(time(1_500.0)),
        clear: Some(time(2_000.0)),
        record: Some(time(100.0)),
        wait: Some(time(200.0)),
        synchronize: Some(time(300.0)),
        copy_on_device: Some(time(1_300.0)),
        copy_rows: Some(time(1_700.0)),
        allocate_in_stream: Some(time(600.0)),
        free_in_stream: Some(time(400.0)),
        ..CallCosts::default()
    }
}

pub fn machine() -> Profile {
    Profile {
        schema_version: 2,
        model_error: None,
        borrowed: Vec::new(),
        switched_off: Vec::new(),
        machine: provenance(),
        calls: calls(),
        latency: latencies(),
        // The link carries an element each nanosecond. Beside the other direction, an element takes
        // a quarter longer down and twice as long up, and a copy takes 250 and 1000 longer.
        link: LinkModel {
            down_bytes_per_second: Some(bytes_per_nanosecond(4.0)),
            up_bytes_per_second: Some(bytes_per_nanosecond(4.0)),
            down_shared: Some(contention(250.0, 0.0625)),
            down_shared_kept: None,
            up_shared_kept: None,
            up_shared: Some(contention(1_000.0, 0.25)),
            scatter: SCATTER,
            down_switch: Some(constant(0.0)),
            up_switch: Some(constant(0.0)),
            down_beside_kernels: None,
            up_beside_kernels: None,
            refetches: vec![Refetch { streams: 2, slowdown: constant(1.0) }],
        },
        inline: None,
        own_kernels: Vec::new(),
        own_commands: Vec::new(),
        hand_overs: hand_overs(),
        polling: MEANWHILE.map(|copies| Polling { copies, delay: constant(0.0) }).to_vec(),
        copies: Direction::BOTH
            .map(|direction| CopyModel { direction, time: per_element_of_bytes(1_000.0, 1.0) })
            .to_vec(),
        transfers: transfers(),
        rows: rows(),
        host_copies: host_copies(),
        interference: interference(),
        setup: SetupCosts {
            stream: Some(time(5_000.0)),
            event: Some(time(400.0)),
            context: Some(time(100_000_000.0)),
            module: Some(time(2_000_000.0)),
            ..SetupCosts::default()
        },
        staging: staging(),
        kernels: variants().map(kernel).collect(),
        twins: variants().flat_map(twins).collect(),
        // Copies begin to miss the caches at 1 MiB, and twins at 2 MiB. One MiB later they always
        // miss.
        caches: CacheModel {
            staging_misses: Some(vec![(MIB, 0.0), (2.0 * MIB, 1.0)]),
            twin_misses: Some(vec![(2.0 * MIB, 0.0), (3.0 * MIB, 1.0)]),
            shared_bytes: Bytes::mib(1),
            ..CacheModel::default()
        },
        memory: memory(),
        graph: graphs(),
        multi_gpu: MultiGpu::default(),
        accuracy: None,
        conditions: None,
        intervals: None,
    }
}

/// The machine with a link that is wide enough for both directions.
pub fn wide_machine() -> Profile {
    let mut machine = machine();
    (machine.link.down_shared, machine.link.up_shared) = (FREE, FREE);
    machine
}

/// Two such devices, which share a root. A copy between them starts 3500 after its call and takes
/// 1000, and a quarter of a nanosecond for each element; the link between them carries three
/// quarters of what both directions ask for. Waiting for an event of the other device takes 2000
/// longer. `root` has the bytes per nanosecond that the root carries down, up and both ways
/// together. The devices ask for at most 8, 8 and 16.
pub fn machine_of_two(root: [f64; 3]) -> Profile {
    let peer = |from, to| PeerModel {
        from: DeviceId(from),
        to: DeviceId(to),
        direct: true,
        time: per_element_of_bytes(1_000.0, 0.25),
        both_bytes_per_second: Some(bytes_per_nanosecond(16.0)),
    };
    let [down, up, both] = root.map(|rate| Some(bytes_per_nanosecond(rate)));
    let mut machine = machine();
    machine.multi_gpu = MultiGpu {
        use_device: Some(time(50.0)),
        peer_copy: Some(time(1_200.0)),
        start_peer_copy: Some(time(3_500.0)),
        crossing: Some(time(2_000.0)),
        peers: vec![peer(0, 1), peer(1, 0)],
        roots: vec![RootModel {
            devices: 2,
            down_bytes_per_second: down,
            up_bytes_per_second: up,
            both_bytes_per_second: both,
            up_over_down: 1.0,
            scatter: SCATTER,
        }],
        others: vec![OtherGpu { device: DeviceId(1), copy_in: 1.0, copy_out: 1.0, kernel: 1.0 }],
    };
    let kinds = OperationKind::ALL.into_iter();
    for (from, to) in kinds.flat_map(|from| OperationKind::ALL.map(|to| (from, to))) {
        if [from, to].contains(&OperationKind::PeerCopy) {
            for across_streams in [false, true] {
                let (first, queued) = (time(0.0), time(0.0));
                machine.hand_overs.push(HandOver { from, to, across_streams, first, queued });
            }
        }
    }
    machine
}

fn memory() -> MemoryCosts {
    MemoryCosts {
        device_allocate: Some(constant(10_000.0)),
        pinned_allocate: Some(per_element_of_bytes(100_000.0, 1.0)),
        register: Some(per_element_of_bytes(50_000.0, 1.0)),
        first_touch: Some(per_element_of_bytes(0.0, 3.0)),
        first_touch_team: Some(per_element_of_bytes(0.0, 1.0)),
        first_copy: None,
        first_read: None,
        renew: Some(constant(20_000.0)),
        renew_team: Some(constant(20_000.0)),
        device_free: Some(constant(15_000.0)),
        pinned_free: Some(per_element_of_bytes(80_000.0, 0.5)),
        unregister: Some(per_element_of_bytes(40_000.0, 0.5)),
        pageable_allocate: Some(constant(3_000.0)),
        pageable_free: Some(constant(7_000.0)),
        waits_for_device: None,
        combined_read: Some(per_element_of_bytes(0.0, 20.0)),
        combined_write: Some(per_element_of_bytes(0.0, 0.5)),
        combined_read_team: Some(per_element_of_bytes(0.0, 10.0)),
        combined_write_team: Some(per_element_of_bytes(0.0, 0.25)),
        managed_allocate: Some(per_element_of_bytes(30_000.0, 1.0)),
    }
}

/// Each path takes 900, and 100 for each row besides its elements.
fn rows() -> Vec<RowModel> {
    let model = |path| RowModel {
        path,
        per_row: per_element_of_bytes(100.0, 1.0),
        besides: constant(900.0),
    };
    RowPath::ALL.map(model).to_vec()
}

/// One thread takes 2 for each element, all threads a half; twice as much from memory.
fn host_copies() -> Vec<HostCopyModel> {
    let model = |(by_all, each)| HostCopyModel {
        by_all,
        near: per_element_of_bytes(0.0, each),
        into_cache: None,
        far: per_element_of_bytes(0.0, 2.0 * each),
    };
    [(false, 2.0), (true, 0.5)].map(model).to_vec()
}

/// Each path takes a microsecond, and for each element as many nanoseconds as its place in the
/// list.
fn transfers() -> Vec<TransferModel> {
    let model = |(place, path)| TransferModel {
        path,
        time: per_element_of_bytes(1_000.0, f64::from(place)),
    };
    (1..).zip(TransferPath::ALL).map(model).collect()
}

/// Beside each other, copies take half as long again, and loads a quarter longer.
fn interference() -> Vec<Interference> {
    let pairs = Load::ALL.into_iter().flat_map(|load| Direction::BOTH.map(|way| (load, way)));
    let model = |(load, direction)| Interference {
        load,
        direction,
        // By so little, copies are not slowed.
        copy_slowdown: if load == Load::Kernel { 1.125 } else { 1.5 },
        load_slowdown: 1.25,
        scatter: SCATTER,
    };
    pairs.map(model).collect()
}

/// The machine with `times` the bandwidth of its link and copies.
pub fn machine_with_bandwidth(times: f64) -> Profile {
    let mut machine = machine();
    let link = &mut machine.link;
    let rates = [&mut link.down_bytes_per_second, &mut link.up_bytes_per_second];
    for rate in rates.into_iter().flatten() {
        *rate = Bandwidth::from_bytes_per_second(rate.bytes_per_second() * times);
    }
    for model in &mut machine.copies {
        model.time = per_element_of_bytes(1_000.0, 1.0 / times);
    }
    machine
}

fn provenance() -> Provenance {
    Provenance {
        multiprocessor: MultiprocessorLimits::default(),
        gpu: "Round Numbers 1000".to_owned(),
        gpu_uuid: None,
        compute_capability: "9.0".to_owned(),
        multiprocessors: 100,
        device_memory_bytes: Bytes::mib(80 << 10),
        host_memory_bytes: Some(Bytes::mib(256 << 10)),
        copy_engines: 2,
        link: "32.0 GT/s PCIe x16".to_owned(),
        driver: "0.0".to_owned(),
        cuda: "13.0".to_owned(),
        cpu: "Round CPU".to_owned(),
        cpu_threads: 2,
        numa_nodes: 1,
        unix_time: 1_000_000_000,
        hallway_version: env!("CARGO_PKG_VERSION").to_owned(),
        seed: 1,
        extent: CalibrationExtent::Full,
        managed_bytes: Bytes::ZERO,
        nvml: None,
        gpu_cpus: None,
        gpu_numa_nodes: None,
        devices: 1,
        peer_access: false,
        host_pages: None,
    }
}

/// Hand-overs from copies in to kernels, and from kernels to copies out, cost time; all others are
/// free.
fn hand_overs() -> Vec<HandOver> {
    use OperationKind::{CopyIn, CopyOut, Kernel};
    let kinds = [CopyIn, CopyOut, Kernel];
    let ns = |from, to, across_streams| match (from, to, across_streams) {
        (CopyIn, Kernel, false) => 300.0,
        (CopyIn, Kernel, true) => 700.0,
        (Kernel, CopyOut, false) => 400.0,
        (Kernel, CopyOut, true) => 900.0,
        _ => 0.0,
    };
    let mut all = Vec::new();
    for (from, to) in kinds.into_iter().flat_map(|from| kinds.map(|to| (from, to))) {
        for across_streams in [false, true] {
            let time = time(ns(from, to, across_streams));
            all.push(HandOver { from, to, across_streams, first: time, queued: time });
        }
    }
    all
}

/// Kernels in a row pay a little less in a graph than in a stream.
fn graphs() -> GraphCosts {
    use OperationKind::{CopyIn, CopyOut, Kernel};
    let kinds = [CopyIn, CopyOut, Kernel];
    let call = |per_graph, per_node| {
        Some(PerNode { per_graph: time(per_graph), per_node: time(per_node) })
    };
    let ns = |from, to| match (from, to) {
        (CopyIn, Kernel) => 500.0,
        (Kernel, CopyOut) => 600.0,
        _ => 0.0,
    };
    let pairs = kinds.into_iter().flat_map(|from| kinds.map(|to| (from, to)));
    let hand_over = |(from, to)| NodeHandOver { from, to, time: time(ns(from, to)) };
    GraphCosts {
        capture: call(1_000.0, 200.0),
        instantiate: call(5_000.0, 300.0),
        launch: call(2_500.0, 50.0),
        launch_kernel: None,
        start_kernel: Some(time(4_500.0)),
        start_copy_in: Some(time(3_500.0)),
        start_copy_out: Some(time(5_500.0)),
        kernel_gap: Some(time(800.0)),
        gap_behind_waiting: None,
        gap_behind_awaited: None,
        hand_overs: pairs.map(hand_over).collect(),
        down_switch: None,
        up_switch: None,
    }
}

fn staging() -> Vec<StagingModel> {
    let model = |direction, found, returns, complete, slope| StagingModel {
        direction,
        found,
        until_return: Some(per_element_of_bytes(returns, slope)),
        until_complete: per_element_of_bytes(complete, slope),
    };
    vec![
        model(Direction::HostToDevice, Warmth::Same, 8_000.0, 10_000.0, 1.0),
        model(Direction::HostToDevice, Warmth::Memory, 8_000.0, 10_000.0, 2.0),
        model(Direction::DeviceToHost, Warmth::Same, 12_000.0, 12_000.0, 2.0),
        model(Direction::DeviceToHost, Warmth::Memory, 12_000.0, 12_000.0, 3.0),
    ]
}

/// A kernel takes a nanosecond for each element, but at least 2000, after a gap of 1000. So 2000
/// elements fill the device, and 1000 take half of it. A kernel of one element takes only the gap,
/// which is all that does not depend on the size.
fn kernel(variant: Variant) -> KernelModel {
    let knots = vec![(1.0, 1_000.0), (2.0, 3_000.0), (2_000.0, 3_000.0), (1e9, 1e9 + 1_000.0)];
    KernelModel {
        variant,
        time: Curve { knots, scatter: SCATTER },
        just_copied: None,
        from_memory: None,
    }
}

/// A twin takes one, two or five nanoseconds for each element, depending on where its data is.
fn twins(variant: Variant) -> [TwinModel; 3] {
    let model = |(found, slope)| {
        let knots = vec![(0.0, 1_000.0), (1e6, 1_000.0 + slope * 1e6)];
        TwinModel { variant, found, time: Curve { knots, scatter: SCATTER } }
    };
    [(Warmth::Same, 1.0), (Warmth::Shared, 2.0), (Warmth::Memory, 5.0)].map(model)
}

/// Every kernel; those with an extent at two extents, which cost the same, and so do all others.
fn variants() -> impl Iterator<Item = Variant> {
    Kernel::ALL.into_iter().flat_map(|kernel| {
        let extents: &[u32] = if kernel.extent().is_some() { &[16, 64] } else { &[0] };
        extents.iter().map(move |&extent| Variant { kernel, extent })
    })
}

pub fn time(ns: f64) -> Estimate {
    Estimate::new(ns, SCATTER)
}

fn bytes_per_nanosecond(rate: f64) -> Bandwidth {
    Bandwidth::from_bytes_per_second(rate * 1e9)
}

/// A curve over bytes that begins at `start` and rises by `slope` for every element of four bytes.
pub fn per_element_of_bytes(start: f64, slope: f64) -> Curve {
    Curve { knots: vec![(0.0, start), (4e6, start + slope * 1e6)], scatter: SCATTER }
}

fn constant(ns: f64) -> Curve {
    Curve { knots: vec![(0.0, ns)], scatter: SCATTER }
}
