//! A calibration of the pretend device: its own probes, on a clock of the device's own, and what
//! is fitted to their samples.

use super::device::PretendDevice;
use super::truths::Truths;
use crate::machines::machine;
use hallway::calibrate::{Schedule, calibrate};
use hallway::fit::fit;
use hallway::host::Team;
use hallway::kernels::{Kernel, Variant};
use hallway::machine::{Direction, OperationKind};
use hallway::profile::{Curve, Estimate, Profile};
use hallway::samples::{
    CalibrationExtent, MemoryWork, Provenance, Quantity, Recorder, Samples, SetupStep, TimedCall,
};
use hallway::units::Bytes;
use std::ops::ControlFlow;

/// What the device has truths for.
fn has_truth(quantity: &Quantity) -> bool {
    use MemoryWork::{
        DeviceAllocate, DeviceFree, PinnedAllocate, PinnedFree, Register, Unregister,
    };
    match quantity {
        Quantity::Call { call } => !matches!(
            call,
            TimedCall::CopyOnDevice
                | TimedCall::CopyRows
                | TimedCall::AllocateInStream
                | TimedCall::FreeInStream
        ),
        Quantity::Memory { work, .. } => matches!(
            work,
            DeviceAllocate | DeviceFree | PinnedAllocate | PinnedFree | Register | Unregister
        ),
        Quantity::Setup { step } => matches!(step, SetupStep::Stream | SetupStep::Event),
        Quantity::Trip { in_graph, .. } | Quantity::Rotation { in_graph, .. } => !in_graph,
        Quantity::CallInTurn { .. }
        | Quantity::LaunchBeside { .. }
        | Quantity::RoundTrip { .. }
        | Quantity::Chain { .. }
        | Quantity::LateTrip { .. }
        | Quantity::Polled { .. }
        | Quantity::Refetched { .. }
        | Quantity::Copy { .. }
        | Quantity::CopyBesideKernels { .. }
        | Quantity::Shared { .. }
        | Quantity::Staged { .. }
        | Quantity::Kernel { .. }
        | Quantity::JustCopied { .. }
        | Quantity::KernelAround { .. } => true,
        _ => false,
    }
}

/// The profile of a device with these truths, from a quick calibration.
pub fn calibrated(truths: &Truths) -> Profile {
    let (device, team) = (PretendDevice::without_data(truths), Team::new(1).expect("a thread"));
    let machine = Provenance { extent: CalibrationExtent::Quick, ..machine().machine };
    let schedule = Schedule::of_vendor::<PretendDevice>(&machine).only(has_truth);
    let samples = Samples::none(machine);
    let mut recorder = Recorder::new(std::io::sink(), &samples).expect("nothing to write to");
    let part = (&schedule, 0);
    let to_the_end = &mut |_, _| ControlFlow::Continue(());
    let samples = calibrate(&device, &team, part, samples, &mut recorder, to_the_end);
    fit(&samples.expect("the device has all of it")).expect("there are samples")
}

/// A price in nanoseconds, and what it is by the truths.
pub struct Price {
    pub name: String,
    pub fitted: Option<f64>,
    pub truth: f64,
}

impl Price {
    /// By which share the price is off.
    pub fn error(&self) -> f64 {
        let fitted = self.fitted.unwrap_or_else(|| panic!("{} has no price", self.name));
        fitted / self.truth - 1.0
    }
}

fn price(name: impl Into<String>, fitted: Option<f64>, truth: u64) -> Price {
    Price { name: name.into(), fitted, truth: truth as f64 }
}

/// Each price of a profile that the truths decide.
pub fn prices(profile: &Profile, truths: &Truths) -> Vec<Price> {
    let mut prices = host_prices(profile, truths);
    prices.extend(device_prices(profile, truths));
    prices.extend(memory_prices(profile, truths));
    prices
}

fn host_prices(profile: &Profile, truths: &Truths) -> Vec<Price> {
    let ns = |estimate: &Option<Estimate>| estimate.as_ref().map(|estimate| estimate.ns);
    let (calls, latency, [copy_in, copy_out, launch]) =
        (&profile.calls, &profile.latency, truths.calls);
    let [start_in, start_out, start_kernel] = truths.starts;
    vec![
        price("the call of a copy in", ns(&calls.copy_in), copy_in),
        price("the call of a copy out", ns(&calls.copy_out), copy_out),
        price("a launch", ns(&calls.launch), launch),
        price("setting bytes to zero", ns(&calls.clear), truths.clear),
        price("a record", ns(&calls.record), truths.record),
        price("a wait", ns(&calls.wait), truths.wait),
        price("a synchronisation", ns(&calls.synchronize), truths.synchronize),
        price("waking the host", ns(&latency.wake_host), truths.wake_host),
        price("the start of a copy in", ns(&latency.start_copy_in), start_in),
        price("the start of a copy out", ns(&latency.start_copy_out), start_out),
        price("the start of a kernel", ns(&latency.start_kernel), start_kernel),
        price("making a stream", ns(&profile.setup.stream), truths.stream),
        price("making an event", ns(&profile.setup.event), truths.event),
    ]
}

/// Sizes of copies and of kernels: short, between two that are measured, and long.
const SIZES: [u64; 4] = [1_024, 50_000, 700_000, 1 << 24];

fn device_prices(profile: &Profile, truths: &Truths) -> Vec<Price> {
    use OperationKind::{CopyIn, CopyOut, Kernel as OfKernel};
    let mut prices = Vec::new();
    for (direction, lasts) in Direction::BOTH.into_iter().zip(truths.lasts) {
        for elements in SIZES {
            let bytes = Bytes::of_f32(elements);
            let fitted = profile.copy(direction, bytes).ok().map(|span| span.nanos_f64());
            prices.push(price(format!("{direction} of {bytes}"), fitted, lasts.of(elements)));
        }
        let link = &profile.link;
        let rate = [link.down_bytes_per_second, link.up_bytes_per_second][direction as usize];
        let fitted = rate.map(|rate| 4e12 / rate.bytes_per_second());
        let truth = (1e3 * lasts.per_element) as u64;
        prices.push(price(format!("a thousand elements on the link, {direction}"), fitted, truth));
    }
    let scale = Variant { kernel: Kernel::Scale, extent: 0 };
    let curve = profile.kernels.iter().find(|model| model.variant == scale).map(|one| &one.time);
    for elements in SIZES {
        let fitted = curve.map(|time| time.at(elements as f64));
        prices.push(price(format!("a kernel of {elements}"), fitted, truths.lasts[2].of(elements)));
    }
    for (at, from) in [CopyIn, CopyOut, OfKernel].into_iter().enumerate() {
        for (next, to) in [CopyIn, CopyOut, OfKernel].into_iter().enumerate() {
            for across in [false, true].into_iter().filter(|&across| across || from != to) {
                let found = profile.hand_over(from, to, across).ok().flatten();
                let truth = truths.hand_overs[at][next][usize::from(across)];
                let name = format!("from {from:?} to {to:?}, across streams: {across}");
                prices.push(price(name, found.map(|found| found.first.ns), truth));
            }
        }
    }
    prices
}

fn memory_prices(profile: &Profile, truths: &Truths) -> Vec<Price> {
    let (memory, bytes) = (&profile.memory, Bytes::mib(8));
    let at = |curve: &Option<Curve>| curve.as_ref().map(|curve| curve.at(bytes.as_f64()));
    let mut prices = vec![
        price("taking device memory", at(&memory.device_allocate), truths.device_allocate),
        price("giving it back", at(&memory.device_free), truths.device_free),
        price("pinned memory", at(&memory.pinned_allocate), truths.pinned_allocate.of_bytes(bytes)),
        price("giving it back", at(&memory.pinned_free), truths.pinned_free.of_bytes(bytes)),
        price("pinning", at(&memory.register), truths.register.of_bytes(bytes)),
        price("unpinning", at(&memory.unregister), truths.unregister.of_bytes(bytes)),
    ];
    for (direction, times) in Direction::BOTH.into_iter().zip(truths.staged) {
        for (footprint, bytes) in SIZES
            .into_iter()
            .map(Bytes::of_f32)
            .flat_map(|bytes| [(Some(bytes), bytes), (None, bytes)])
        {
            let [returns, complete] = times.map(|time| time.of_bytes(bytes));
            let fitted = profile.staging(direction, bytes, footprint).ok();
            let name = format!("{direction} of {bytes} of pageable memory, warm: {footprint:?}");
            prices.push(price(format!("{name}, call"), fitted.map(|times| times.0), returns));
            prices.push(price(format!("{name}, copy"), fitted.map(|times| times.1), complete));
        }
    }
    prices
}
