//! Fits of paths besides plain copies, of calls on an idle device, of set-up, and of how much
//! copies and other work slow each other.

use super::{Clock, DOWN, assert_within, bimodal, copy, fitted, machine, measured};
use crate::kept::{recorded, saved};
use hallway::kernels::{Kernel, Variant};
use hallway::machine::Direction;
use hallway::profile::{Curve, DeviceLocality, Estimate, Interference, Profile};
use hallway::samples::{
    Condition, Load, MEMORY_FOOTPRINT, Measurement, MemoryWork, Quantity, REFETCHED, ROTATED,
    STREAMING_KERNEL, STREAMING_TWIN, Samples, SetupStep, Side, TimedCall, TransferPath,
    waiting_kernels,
};
use hallway::units::{Bytes, Span};

/// Rows of 24 copies, with a kernel behind each and without; every eighth sample was disturbed. In
/// one visit everything takes 4% longer, but the difference between the two stays.
#[test]
fn what_copies_take_longer_beside_kernels_is_told_from_what_the_visit_does() {
    let mut clock = Clock::new(0.004, 0.125);
    let truth = [(1_u64 << 12, 600.0), (1 << 17, 900.0), (1 << 18, 700.0), (1 << 20, 0.0)];
    let mut all = Vec::new();
    for (bytes, longer) in truth {
        let (size, bytes) = (bytes as f64, Bytes::new(bytes));
        for drift in [1.0, 1.04] {
            for kernels in [true, false] {
                let longer = if kernels { longer } else { 0.0 };
                let ns = 24.0 * drift * (2_400.0 + size / 54.0) + 23.0 * longer;
                let quantity = Quantity::CopyBesideKernels { direction: DOWN, bytes, kernels };
                all.push(measured(quantity, 24, clock.times(ns, 51)));
            }
        }
    }
    let link = fitted(all).link;
    for (bytes, longer) in truth {
        let found = link.kernel_delay(DOWN, Bytes::new(bytes));
        assert!((found - longer).abs() < 40.0, "{found} for {longer} of {bytes} bytes");
    }
    // Beyond the known sizes, the largest and the smallest apply.
    assert!(link.kernel_delay(DOWN, Bytes::mib(64)) < 40.0);
    assert!((link.kernel_delay(DOWN, Bytes::new(4)) - 600.0).abs() < 40.0);
    assert_eq!(link.kernel_delay(Direction::DeviceToHost, Bytes::kib(4)), 0.0);
}

const SIZES: [u64; 4] = [1 << 12, 1 << 18, 1 << 22, 1 << 26];

/// Chains of two and of ten, each with 10 us for starting and ending.
fn chains(clock: &mut Clock, quantity: &Quantity, ns: f64) -> [Measurement; 2] {
    [2, 10].map(|count| {
        let times = clock.times(10_000.0 + count as f64 * ns, 51);
        measured(quantity.clone(), count, times)
    })
}

fn time_of(profile: &Profile, path: TransferPath) -> &Curve {
    &profile.transfers.iter().find(|model| model.path == path).expect("it was measured").time
}

#[test]
fn every_path_gets_its_own_curve() {
    let (mut clock, truth) = (Clock::new(0.01, 0.05), machine());
    let mut all = Vec::new();
    for path in TransferPath::ALL {
        for bytes in SIZES.map(Bytes::new) {
            let ns = time_of(&truth, path).at(bytes.as_f64());
            all.extend(chains(&mut clock, &Quantity::Transfer { path, bytes }, ns));
        }
    }
    let profile = fitted(all);
    for bytes in [1 << 12, 1 << 15, 1 << 20, 3 << 20, 1 << 28].map(Bytes::new) {
        for path in TransferPath::ALL {
            let ns = |profile: &Profile| time_of(profile, path).at(bytes.as_f64());
            assert_within(ns(&profile), ns(&truth), 0.02, format!("{path:?} of {bytes}"));
        }
    }
}

#[test]
fn calls_and_set_up_keep_both_modes() {
    let (mut clock, truth) = (Clock::new(0.02, 0.02), machine());
    let mut all = Vec::new();
    let launch = 2_500.0;
    let times = bimodal(&mut clock, [16.0 * launch, 32.0 * launch], 0.2, 101);
    all.push(measured(Quantity::Call { call: TimedCall::Launch }, 16, times));
    for step in SetupStep::HERE.into_iter().chain(SetupStep::IN_NEW_PROCESS) {
        let ns = match step {
            SetupStep::Stream => truth.setup.stream,
            SetupStep::Event => truth.setup.event,
            SetupStep::Context => truth.setup.context,
            SetupStep::Module => truth.setup.module,
            SetupStep::NewContext => Some(Estimate::new(240e6, 0.0)),
            SetupStep::NewModule => Some(Estimate::new(300e3, 0.0)),
            SetupStep::FirstLaunch => Some(Estimate::new(162e3, 0.0)),
            SetupStep::NextKernel => Some(Estimate::new(32e3, 0.0)),
            SetupStep::LaterLaunch => Some(Estimate::new(12e3, 0.0)),
        };
        let times = clock.times(ns.expect("known").ns, 21);
        all.push(measured(Quantity::Setup { step }, 1, times));
    }
    // If a device has room for only one context, nothing is known of further ones.
    let refused = fitted(vec![
        measured(Quantity::Setup { step: SetupStep::Context }, 1, Vec::new()),
        measured(Quantity::Setup { step: SetupStep::Event }, 1, vec![Span::from_nanos(300)]),
    ]);
    assert!(refused.setup.context.is_none() && refused.setup.event.is_some());
    // This free now and then returns memory to the system.
    let (work, bytes) = (MemoryWork::PinnedFree, Bytes::mib(1));
    let times = bimodal(&mut clock, [80_000.0, 200_000.0], 0.25, 100);
    all.push(measured(Quantity::Memory { work, bytes }, 1, times));
    // A copy takes 2 us, and into new pages 1.5 us more for each of 4 KiB.
    for (pages, work, each) in [1_u32, 16, 2_048].into_iter().flat_map(|pages| {
        [(pages, MemoryWork::FirstCopy, 1.5), (pages, MemoryWork::SecondCopy, 0.0)]
    }) {
        let times = clock.times(2_000.0 + 1_000.0 * each * f64::from(pages), 21);
        let bytes = Bytes::kib(4 * u64::from(pages));
        all.push(measured(Quantity::Memory { work, bytes }, 1, times));
    }
    let profile = fitted(all);
    for pages in [1, 16, 100, 2_048, 10_000_u32] {
        let bytes = Bytes::kib(4 * u64::from(pages));
        let found = profile.new_pages(MemoryWork::FirstCopy, bytes).expect("measured");
        assert_within(found, 1_500.0 * f64::from(pages), 0.06, "copies into new pages");
    }
    // Four bytes take a page. Nothing is known of the CPU's own first touch.
    let least = profile.new_pages(MemoryWork::FirstCopy, Bytes::new(4)).expect("measured");
    assert_within(least, 1_500.0, 0.06, "a copy into a part of a page");
    assert!(profile.new_pages(MemoryWork::FirstTouch, Bytes::kib(4)).is_err());
    let found = profile.calls.launch.expect("known");
    assert_within(found.ns, launch, 0.02, "a launch");
    let other = found.other.expect("two ways");
    assert_within(other.ns, 2.0 * launch, 0.03, "the other way");
    assert!((other.share - 0.2).abs() < 0.05, "{other:?}");
    let costs = |p: &Profile| [p.setup.stream, p.setup.event, p.setup.context, p.setup.module];
    for (found, truth) in costs(&profile).into_iter().zip(costs(&truth)) {
        assert_within(found.expect("known").ns, truth.expect("known").ns, 0.02, "set-up");
    }
    let new = |p: &Profile| {
        [p.setup.new_context, p.setup.new_module, p.setup.first_launch, p.setup.next_kernel]
    };
    // The part of a first launch that a later one takes as well is paid in each pass.
    for (found, truth) in new(&profile).into_iter().zip([240e6, 300e3, 150e3, 20e3]) {
        assert_within(found.expect("known").ns, truth, 0.03, "a new process");
    }
    assert_eq!(new(&refused), [None; 4]);
    let usual = profile.memory.pinned_free.as_ref().expect("measured");
    let usual = usual.known(bytes.as_f64()).expect("at this size");
    assert_within(usual, 80_000.0, 0.02, "the usual free");
    assert!(profile.memory.device_free.is_none());
}

/// How long `count` copies and as much of a load take that begin at once, if each slows the other
/// and the longer one ends alone.
fn together(alone: [f64; 2], slow: [f64; 2], count: f64) -> [f64; 2] {
    let work = alone.map(|ns| count * ns);
    let both = (work[0] * slow[0]).min(work[1] * slow[1]);
    [0, 1].map(|side| both + (work[side] - both / slow[side]).max(0.0))
}

fn beside(profile: &Profile, direction: Direction, load: Load) -> &Interference {
    let fits = |one: &&Interference| (one.direction, one.load) == (direction, load);
    profile.interference.iter().find(fits).expect("it was measured")
}

#[test]
fn what_copies_and_loads_cost_each_other_is_found_whichever_ends_first() {
    // Nanoseconds of a copy: as long as its load, much shorter, or much longer.
    for (copy_ns, scatter) in [(1e6, 0.0), (3e5, 0.01), (4e6, 0.01)] {
        let (mut clock, truth) = (Clock::new(scatter, 0.0), machine());
        let load_ns = 1e6;
        let mut all = Vec::new();
        for load in Load::ALL {
            let (variant, elements): (Variant, u64) = match load {
                Load::Kernel => STREAMING_KERNEL,
                Load::Cpu => STREAMING_TWIN,
            };
            let quantity = match load {
                Load::Kernel => Quantity::Kernel { variant, elements },
                Load::Cpu => Quantity::Twin { variant, elements, footprint: MEMORY_FOOTPRINT * 2 },
            };
            all.push(measured(quantity, 1, clock.times(load_ns, 51)));
            for direction in Direction::BOTH {
                let bytes = load.copy();
                let copy = Quantity::Copy { direction, bytes };
                all.push(measured(copy, 1, clock.times(copy_ns, 51)));
                let found = beside(&truth, direction, load);
                // The first visit was disturbed.
                for more in [2.0, 1.0, 1.0] {
                    let slow = [found.copy_slowdown * more, found.load_slowdown * more];
                    let times = together([copy_ns, load_ns], slow, 16.0);
                    for (of, ns) in [Side::Copy, Side::Load].into_iter().zip(times) {
                        let quantity = Quantity::Beside { direction, bytes, load, of };
                        all.push(measured(quantity, 16, clock.times(ns, 51)));
                    }
                }
            }
        }
        let profile = fitted(all);
        assert_eq!(profile.interference.len(), 4);
        for found in &profile.interference {
            let truth = beside(&truth, found.direction, found.load);
            let allowed = 1e-4 + 5.0 * scatter;
            assert_within(found.copy_slowdown, truth.copy_slowdown, allowed, "copies");
            assert_within(found.load_slowdown, truth.load_slowdown, allowed, "the load");
        }
    }
}

#[test]
fn disturbed_measurements_count_and_are_counted() {
    let usual = Condition { sm_mhz: Some(1_980), ..Condition::default() };
    let at = |mhz| Condition { sm_mhz: Some(mhz), ..Condition::default() };
    assert_eq!(at(1_965).disturbance(&usual), None);
    assert_eq!(Condition::default().disturbance(&usual), None);
    let slow = at(1_200).disturbance(&usual).expect("slow");
    assert_eq!(slow, "SM clock of 1200 MHz instead of 1980 MHz");
    let held = Condition { throttled: vec!["software power cap".to_owned()], ..at(1_980) };
    assert_eq!(held.disturbance(&usual).as_deref(), Some("software power cap"));

    let launch = Quantity::Call { call: TimedCall::Launch };
    let mut all: Vec<Measurement> =
        [2, 3, 4].map(|us| measured(launch.clone(), 1, vec![Span::from_micros(us)])).to_vec();
    all[2].disturbed = Some(slow.clone());
    let conditions = vec![usual.clone(), at(1_950)];
    let samples = Samples { measurements: all, conditions, ..Samples::none(machine().machine) };
    assert_eq!(recorded(&samples), samples);
    let profile = hallway::fit::fit(&samples).expect("there are samples");
    assert_eq!(profile.calls.launch.expect("known").ns, 3_000.0);
    let found = profile.conditions.clone().expect("the device was asked");
    assert_eq!((found.measurements, found.disturbed), (3, 1));
    assert_eq!(found.reasons.into_iter().collect::<Vec<_>>(), [(slow, 1)]);
    assert_eq!((found.before, found.after), (Some(usual), Some(at(1_950))));
    assert_eq!(saved(&profile), profile);
}

/// Kernels that wait in three streams slow copies by 0.5% for each kernel that a stream holds, up
/// to sixteen. In two streams, they do not. A rotation of copies with a kernel behind each contains
/// this slowdown, which must not count as the cost of changing streams.
#[test]
fn what_waiting_kernels_cost_copies_is_told_from_changing_streams() {
    let alone = 20_000.0;
    let slowdown = |streams: usize, kernels: u64| {
        if streams < 3 { 1.0 } else { 1.0 + 0.005 * kernels.min(16) as f64 }
    };
    let mut clock = Clock::new(0.001, 0.02);
    let mut all = vec![measured(copy(ROTATED.get()), 1, clock.times(alone, 40))];
    for (streams, kernels) in waiting_kernels() {
        for count in [2, 18] {
            let ns = 9_000.0 + alone * slowdown(streams, kernels) * count as f64;
            let quantity = Quantity::Refetched { bytes: REFETCHED, streams, kernels };
            all.push(measured(quantity, count, clock.times(ns, 40)));
        }
    }
    for streams in [2, 4, 8] {
        for turns in [2, 10] {
            // While the copies of one turn run, the kernels of all later turns wait.
            let turn = |held| streams as f64 * (alone * slowdown(streams, held) + 700.0);
            let ns = 9_000.0 + (1..=turns).map(turn).sum::<f64>();
            let quantity =
                Quantity::Rotation { direction: DOWN, bytes: ROTATED, streams, in_graph: false };
            all.push(measured(quantity, turns, clock.times(ns, 40)));
        }
    }
    let profile = fitted(all);
    for (streams, held) in [(1, 16.0), (2, 16.0), (3, 1.0), (3, 10.0), (4, 16.0), (8, 40.0)] {
        let found = profile.link.refetching(streams, held);
        let truth = slowdown(streams, held as u64);
        assert_within(found, truth, 0.003, format!("{streams} streams with {held} kernels each"));
    }
    assert_eq!(profile.link.refetching(2, 16.0), 1.0, "no more than scatter");
    for streams in [2, 4, 8] {
        let found = profile.switch(DOWN, streams, false).expect("measured");
        assert!((found - 700.0).abs() < 100.0, "{streams} streams: {found}");
    }
}

#[test]
fn what_waiting_kernels_cost_copies_is_known_as_a_whole_or_not_at_all() {
    let all: Vec<Measurement> = waiting_kernels()
        .map(|(streams, kernels)| {
            let quantity = Quantity::Refetched { bytes: REFETCHED, streams, kernels };
            measured(quantity, 1, Clock::new(0.002, 0.0).times(20_000.0, 9))
        })
        .collect();
    fitted(all.clone()).knows_refetching().expect("all are there");
    for left_out in 0..all.len() {
        let mut some = all.clone();
        some.remove(left_out);
        fitted(some).knows_refetching().expect_err("one is not");
    }
}

/// Four loads one after the other take 90 ns longer each. Where nothing stays in the device's cache
/// anyway, there is no difference.
#[test]
fn what_kernels_take_longer_on_data_that_was_just_copied() {
    let variant = Variant { kernel: Kernel::Scale, extent: 0 };
    let usual = |elements: u64| 1_500.0 + elements as f64 / 500.0;
    let longer = |elements: u64| if elements < 1 << 22 { 360.0 } else { 0.0 };
    let mut clock = Clock::new(0.005, 0.02);
    let mut all = Vec::new();
    for power in [10, 14, 18, 22, 24] {
        let elements = 1 << power;
        all.extend(chains(&mut clock, &Quantity::Kernel { variant, elements }, usual(elements)));
        let quantity = Quantity::JustCopied { variant, elements };
        all.extend(chains(&mut clock, &quantity, usual(elements) + longer(elements)));
    }
    let profile = fitted(all.clone());
    let time = |profile: &Profile, elements, is_just_copied| {
        let arguments = variant.arguments();
        let found = DeviceLocality { is_just_copied, ..DeviceLocality::default() };
        profile.kernel(Kernel::Scale, &arguments, elements, &found).expect("measured").ns
    };
    for elements in [100, 1 << 10, 1 << 13, 1 << 18] {
        let extra = time(&profile, elements, true) - time(&profile, elements, false);
        assert!((extra - 360.0).abs() < 40.0, "{extra} of {elements}");
    }
    for elements in [1 << 22, 1 << 26] {
        let ratio = time(&profile, elements, true) / time(&profile, elements, false);
        assert_within(ratio, 1.0, 0.01, elements);
    }
    // If it was not measured, all data counts as near.
    all.retain(|one| !matches!(one.quantity, Quantity::JustCopied { .. }));
    let bare = fitted(all);
    assert_eq!(time(&bare, 1 << 14, true), time(&bare, 1 << 14, false));
}

/// Data in no cache takes a microsecond longer to arrive. A kernel of whose data the caches hold
/// half waits half as long.
#[test]
fn what_kernels_take_longer_on_data_in_memory() {
    let variant = Variant { kernel: Kernel::Scale, extent: 0 };
    let usual = |elements: u64| 1_500.0 + elements as f64 / 500.0;
    let gone = |footprint: f64| ((footprint - 32.0) / 32.0).clamp(0.0, 1.0);
    let mut clock = Clock::new(0.005, 0.02);
    let mut all = Vec::new();
    for power in [10, 14, 16, 18, 24] {
        let elements = 1 << power;
        all.extend(chains(&mut clock, &Quantity::Kernel { variant, elements }, usual(elements)));
    }
    let mut around = |elements, mib: u64| {
        let footprint = Bytes::mib(mib);
        let quantity = Quantity::KernelAround { variant, elements, footprint };
        chains(&mut clock, &quantity, usual(elements) + 1_000.0 * gone(mib as f64))
    };
    let [few, many] = [1 << 10, 1 << 18];
    all.extend([few, many].into_iter().flat_map(|elements| around(elements, 256)));
    all.extend([8, 24, 32, 40, 48, 64, 96, 256].into_iter().flat_map(|mib| around(1 << 16, mib)));
    let profile = fitted(all.clone());
    let time = |profile: &Profile, elements: u64, since: Bytes| {
        let mut found = DeviceLocality::default();
        found.reuse.0[0] = (Bytes::of_f32(elements), since);
        let arguments = variant.arguments();
        profile.kernel(Kernel::Scale, &arguments, elements, &found).expect("measured").ns
    };
    for elements in [few, 1 << 12, many] {
        for mib in [16, 36, 44, 56, 200] {
            let longer = time(&profile, elements, Bytes::mib(mib)) - usual(elements);
            let expected = 1_000.0 * gone(mib as f64);
            assert!((longer - expected).abs() < 60.0, "{longer} of {elements} round {mib} MiB");
        }
    }
    // A kernel over its own two arrays finds them as near as when it was measured; one that works
    // in place finds them no farther away.
    let whole = 1 << 24;
    assert_within(time(&profile, whole, Bytes::mib(128)), usual(whole), 0.02, whole);
    assert_within(time(&profile, whole, Bytes::mib(64)), usual(whole), 0.02, whole);
    // If it was not measured, a piece takes its share of the whole.
    all.retain(|one| !matches!(one.quantity, Quantity::KernelAround { .. }));
    let bare = fitted(all);
    assert_within(time(&bare, many, Bytes::mib(128)), usual(many), 0.02, many);
}
