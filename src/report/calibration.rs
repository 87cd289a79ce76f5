//! What a calibration found, beyond what predictions show: the paths that data can
//! take, what they cost beside other work, and in what state the device was.

use super::paper::{between_gpus, on_paper};
use super::table::{Column, table};
use super::words::{fine_percent, folded, percent, plural, times};
use crate::machine::Direction;
use crate::profile::{Accuracy, Conditions, Curve, Interference, Profile};
use crate::samples::Condition;
use crate::units::{Bandwidth, Bytes, Span};
use std::fmt::Write;

/// A table and a few lines, in so many columns if a number is given; empty if there is nothing
/// to tell.
pub fn calibration(profile: &Profile, width: Option<usize>) -> String {
    let mut text = String::new();
    let rows = paths(profile);
    if !rows.is_empty() {
        let header = [
            Column::words("path"),
            Column::number("smallest").if_room(1),
            Column::number("takes").if_room(2),
            Column::number("large ones at"),
        ];
        text += &table(&header, &rows, width);
    }
    let paper = on_paper(profile, width);
    if !paper.is_empty() {
        text += &format!("\n{paper}\n");
    }
    for line in between_gpus(profile).into_iter().chain(both_ways(profile)) {
        text += &format!("{line}\n");
    }
    for found in &profile.interference {
        text += &interference(found);
    }
    text += &pages(profile);
    folded(&(text + &tried(profile.accuracy.as_ref()) + &state(profile)), width)
}

/// What the first use of a new page costs, by who uses it, and what decides it.
fn pages(profile: &Profile) -> String {
    let Some(policy) = &profile.machine.host_pages else { return String::new() };
    let memory = &profile.memory;
    let page = |curve: &Option<Curve>| {
        let curve = curve.as_ref()?;
        let (bytes, ns) = (curve.largest(), curve.at(curve.largest()));
        Some(Span::from_nanos_f64(ns * policy.bytes.as_f64() / bytes))
    };
    let users = [
        ("one thread", &memory.first_touch),
        ("all threads", &memory.first_touch_team),
        ("a D2H copy", &memory.first_copy),
        ("an H2D copy", &memory.first_read),
    ];
    let users = users.into_iter().filter_map(|(who, curve)| Some((who, page(curve)?)));
    let users: Vec<String> = users.map(|(who, each)| format!("{who} {each}")).collect();
    if users.is_empty() {
        return String::new();
    }
    let huge = policy.huge.as_deref().unwrap_or("not reported by the system");
    let (bytes, users) = (policy.bytes, users.join(", "));
    format!("First use of new memory, per page of {bytes}: {users} (huge pages: {huge}).\n")
}

/// How far off predictions were for the plans that were run during the calibration.
fn tried(accuracy: Option<&Accuracy>) -> String {
    let Some(Accuracy { trials, median_error, p95_error, repeatability, coverage, .. }) = accuracy
    else {
        return String::new();
    };
    let [median, most] = [median_error, p95_error].map(|&share| fine_percent(share));
    let inside = percent(*coverage);
    let alone = repeatability.map_or_else(String::new, |apart| {
        let apart = fine_percent(apart);
        format!(" The two halves of each plan's runs differ by {apart}.")
    });
    let plans = plural(*trials as u64, "plan");
    format!(
        "Tested on {plans} of small random workloads: median error {median}, 95th percentile \
         {most}; {inside} are within their ranges.{alone}\n"
    )
}

/// For each path, its time at the smallest size measured, and its rate at the largest sizes.
fn paths(profile: &Profile) -> Vec<Vec<String>> {
    let row = |name: String, curve: &Curve| {
        let (bytes, ns) = curve.knots[0];
        let rate = curve.slope().filter(|&slope| slope > 0.0);
        let rate = rate.map(|slope| Bandwidth::from_bytes_per_second(1e9 / slope).to_string());
        let least = Bytes::new(bytes as u64).to_string();
        let time = Span::from_nanos_f64(ns.max(0.0)).to_string();
        vec![name, least, time, rate.unwrap_or_else(|| "-".to_owned())]
    };
    let copies = profile.copies.iter();
    let copies = copies.map(|one| row(format!("{} copy, pinned", one.direction), &one.time));
    let others = profile.transfers.iter().map(|one| row(one.path.name().to_owned(), &one.time));
    copies.chain(others).collect()
}

/// The rates of copies while the other direction of the link is busy.
fn both_ways(profile: &Profile) -> impl Iterator<Item = String> {
    let link = &profile.link;
    let alone = Direction::BOTH.map(|direction| profile.link_rate(direction));
    let found = Direction::BOTH.into_iter().zip(alone).zip([&link.down_shared, &link.up_shared]);
    found.filter_map(|((direction, alone), shared)| {
        let (alone, shared) = (alone?, shared.as_ref()?);
        let best = shared.at_best_per_byte_ns.map(|longer| alone.slowed(longer));
        let best = best.map_or_else(String::new, |best| format!(" ({best} at best)"));
        let usual = alone.slowed(shared.per_byte_ns);
        Some(format!(
            "With copies in the other direction, large {direction} copies run at {usual}{best}."
        ))
    })
}

fn interference(found: &Interference) -> String {
    let Interference { direction, load, copy_slowdown, load_slowdown, .. } = found;
    format!(
        "Alongside {}, {direction} copies take {} times as long; the other work takes {} times as \
         long.\n",
        load.name(),
        times(*copy_slowdown),
        times(*load_slowdown)
    )
}

/// The state of the device, as far as it is known.
fn state(profile: &Profile) -> String {
    let Some(conditions) = &profile.conditions else {
        let why = profile.machine.nvml.as_ref();
        return why.map_or_else(String::new, |nvml| format!("NVML {nvml}.\n"));
    };
    let Conditions { measurements, disturbed, before, after, reasons } = conditions;
    let mut text = String::new();
    for (when, state) in [("Before", before), ("After", after)] {
        if let Some(state) = state {
            writeln!(text, "{when}: {}.", in_words(state)).expect("a string takes everything");
        }
    }
    let all = plural(*measurements as u64, "measurement");
    if *disturbed == 0 {
        return text + &format!("Disturbed: 0 of {all}.\n");
    }
    let share = percent(*disturbed as f64 / (*measurements).max(1) as f64);
    text += &format!("Disturbed: {disturbed} of {all} ({share}):\n");
    for (reason, count) in reasons {
        writeln!(text, "  {count} by {reason}").expect("a string takes everything");
    }
    text
}

fn in_words(state: &Condition) -> String {
    let said = [
        state.sm_mhz.map(|mhz| format!("SM clock {mhz} MHz")),
        state.memory_mhz.map(|mhz| format!("memory clock {mhz} MHz")),
        state.temperature.map(|degrees| format!("{degrees} \u{b0}C")),
        state.power_state.map(|number| format!("power state P{number}")),
        state.pcie_generation.map(|number| format!("PCIe generation {number}")),
        state.pcie_width.map(|lanes| format!("{lanes} lanes")),
        (!state.throttled.is_empty())
            .then(|| format!("throttled by {}", state.throttled.join(", "))),
    ];
    let said: Vec<String> = said.into_iter().flatten().collect();
    if said.is_empty() { "not reported by the device".to_owned() } else { said.join(", ") }
}
