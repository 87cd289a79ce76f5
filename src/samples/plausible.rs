//! What a measurement can be of. Samples that no calibration takes would make a profile all the
//! same, with answers that nobody should get.

use super::provenance::{MOST_BYTES, MOST_GPUS};
use super::{Measurement, Quantity, Trial};
use crate::machine::DeviceId;
use crate::units::{Bytes, Span};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// Streams, kernels or nodes of a graph: more than any measurement has, by far.
const MOST: u64 = 10_000;

/// Fewer times than these may be alike by chance.
const FEWEST: usize = 3;

/// Measurements that are alike although each has many times: fewer than this share of all, and
/// clocks with coarse ticks explain it.
const ALIKE: f64 = 0.01;

/// # Errors
/// What is wrong, in words.
pub(super) fn trial(trial: &Trial) -> Result<(), String> {
    let is_run = !trial.passes.is_empty() && trial.passes.iter().all(is_time);
    is_run.then_some(()).ok_or_else(|| wrong("`passes`"))
}

/// # Errors
/// What is wrong, in words.
pub(super) fn measurement(one: &Measurement) -> Result<(), String> {
    if one.count == 0 {
        return Err(wrong("`count`"));
    }
    if one.times.is_empty() {
        return Err("`times` are none: leave the line out".to_owned());
    }
    if one.times.contains(&Span::ZERO) {
        return Err("`times` has one of 0 ns: nothing takes no time".to_owned());
    }
    if !one.times.iter().chain(&one.beside).all(is_time) {
        return Err(wrong("`times` and `beside`"));
    }
    amount(&one.quantity).map_or(Ok(()), Err)
}

/// Less than a quarter of an hour: so is anything that a calibration waits for.
fn is_time(time: &Span) -> bool {
    (1..1_000_000_000_000).contains(&time.nanos())
}

fn wrong(what: &str) -> String {
    format!("{what} should be numbers above 0, times of less than 10^12 ns")
}

/// The first amount of a quantity that nothing can be measured of.
fn amount(quantity: &Quantity) -> Option<String> {
    let size = 1..=MOST_BYTES;
    let of = |key, bytes: Bytes| (key, bytes.get(), size.clone());
    let gpu = |key, DeviceId(device): DeviceId| (key, device as u64, 0..=MOST_GPUS - 1);
    let count = |key, count: usize, least| (key, count as u64, least..=MOST);
    let amounts: Vec<(&str, u64, RangeInclusive<u64>)> = match quantity {
        Quantity::Kernel { elements, .. }
        | Quantity::JustCopied { elements, .. }
        | Quantity::Handed { elements, .. } => vec![("elements", *elements, size.clone())],
        Quantity::KernelAround { elements, footprint, .. }
        | Quantity::Twin { elements, footprint, .. } => {
            vec![("elements", *elements, size.clone()), of("footprint", *footprint)]
        }
        Quantity::Copy { bytes, .. }
        | Quantity::CopyBesideKernels { bytes, .. }
        | Quantity::Memory { bytes, .. }
        | Quantity::Transfer { bytes, .. }
        | Quantity::Beside { bytes, .. } => vec![of("bytes", *bytes)],
        Quantity::Shared { bytes, footprint, .. } | Quantity::Staged { bytes, footprint, .. } => {
            vec![of("bytes", *bytes), of("footprint", *footprint)]
        }
        Quantity::Trip { size: amount, .. } | Quantity::LateTrip { size: amount, .. } => {
            vec![("size", *amount, size.clone())]
        }
        Quantity::GraphCall { nodes, .. } => vec![("nodes", *nodes, 1..=MOST)],
        Quantity::GraphRows { kernels, .. } => vec![("kernels", *kernels, 1..=MOST)],
        Quantity::Rotation { bytes, streams, .. } => {
            vec![of("bytes", *bytes), count("streams", *streams, 1)]
        }
        Quantity::Polled { others, .. } => vec![count("others", *others, 0)],
        Quantity::Refetched { bytes, streams, kernels } => {
            let kernels = ("kernels", *kernels, 0..=MOST);
            vec![of("bytes", *bytes), count("streams", *streams, 0), kernels]
        }
        Quantity::RoundTrip { links, .. }
        | Quantity::Chain { links, .. }
        | Quantity::GraphChain { links } => vec![count("links", links.len(), 1)],
        Quantity::PeerCopy { from, to, bytes, .. } => {
            vec![gpu("from", *from), gpu("to", *to), of("bytes", *bytes)]
        }
        Quantity::Concurrent { bytes, devices, .. } => {
            vec![of("bytes", *bytes), ("devices", *devices as u64, 1..=MOST_GPUS)]
        }
        Quantity::On { device, .. } => vec![gpu("device", *device)],
        Quantity::Call { .. }
        | Quantity::HandOver { .. }
        | Quantity::CallInTurn { .. }
        | Quantity::LaunchBeside { .. }
        | Quantity::IdleCall { .. }
        | Quantity::Setup { .. }
        | Quantity::Crossing { .. } => Vec::new(),
    };
    let wrong = amounts.into_iter().find(|(_, amount, range)| !range.contains(amount));
    let wrong = wrong.map(|(key, amount, range)| {
        let (least, most) = range.into_inner();
        format!("`{key}` is {amount}, and must be {least} to {most}")
    });
    match quantity {
        Quantity::On { of, .. } => wrong.or_else(|| self::amount(of)),
        _ => wrong,
    }
}

/// The first two measurements that are one, by their places, and how many pairs there are: of the
/// same quantity, with the same times in the same order. Lines that a file has twice do that; two
/// visits to a machine do not, unless each has few times.
pub(super) fn twice(measurements: &[Measurement]) -> Option<(usize, usize, usize)> {
    let scatters = |one: &&Measurement| {
        one.times.len() >= FEWEST && one.times.iter().any(|time| *time != one.times[0])
    };
    let mut seen = BTreeMap::new();
    let mut pairs = Vec::new();
    let many = measurements.iter().enumerate().filter(|(_, one)| scatters(one));
    for (at, one) in many {
        if let Some(first) = seen.insert((&one.quantity, one.count, &one.times), at) {
            pairs.push((first, at));
        }
    }
    let is_file = pairs.len() >= FEWEST && pairs.len() as f64 > ALIKE * measurements.len() as f64;
    pairs.first().filter(|_| is_file).map(|&(first, again)| (first, again, pairs.len()))
}
