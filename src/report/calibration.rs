//! What a calibration found, beyond what predictions show: the paths that data can take, what they
//! cost beside other work, what the link carries on paper and where the rest goes, and in what
//! state the device was.

use super::table::{Column, Table};
use super::words::{fine_percent, folded, if_known, joined, or_dash, percent, plural, times};
use crate::machine::{Direction, NvLinks, PcieLink};
use crate::profile::{Accuracy, Conditions, Curve, Interference, Profile};
use crate::samples::Condition;
use crate::units::{Bandwidth, Bytes, Span};
use std::fmt::Write;

/// A table and a few lines, in so many columns if a number is given; empty if there is nothing
/// to tell.
pub fn calibration(profile: &Profile, width: Option<usize>) -> String {
    let mut text = String::new();
    let paths = paths(profile);
    if !paths.is_empty() {
        text += &Table::of(&paths)
            .with(Column::words("path"), |(name, _)| name)
            .with(Column::number("smallest").if_room(1), |(_, curve)| {
                Bytes::new(curve.knots[0].0 as u64)
            })
            .with(Column::number("takes").if_room(2), |(_, curve)| {
                Span::from_nanos_f64(curve.knots[0].1.max(0.0))
            })
            .with(Column::number("at large sizes"), |(_, curve)| {
                let slope = curve.slope().filter(|&slope| slope > 0.0);
                or_dash(slope.map(|slope| Bandwidth::from_bytes_per_second(1e9 / slope)))
            })
            .text(width);
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
    text += &if_known(profile.accuracy.as_ref(), tried);
    folded(&(text + &state(profile)), width)
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
    let users =
        users.into_iter().filter_map(|(who, curve)| Some(format!("{who} {}", page(curve)?)));
    let (bytes, users) = (policy.bytes, joined(users, ", "));
    if users.is_empty() {
        return String::new();
    }
    let huge = policy.huge.as_deref().unwrap_or("not reported by the system");
    format!("First use of new memory, per page of {bytes}: {users} (huge pages: {huge}).\n")
}

/// How far off predictions were for the plans that were run during the calibration.
fn tried(accuracy: &Accuracy) -> String {
    let Accuracy { trials, median_error, p95_error, repeatability, coverage, .. } = accuracy;
    let [median, most] = [median_error, p95_error].map(|&share| fine_percent(share));
    let inside = percent(*coverage);
    let alone = if_known(*repeatability, |apart| {
        let apart = fine_percent(apart);
        format!(" The two halves of each plan's runs differ by {apart}.")
    });
    let plans = plural(*trials as u64, "plan");
    format!(
        "Tested on {plans} of small random workloads: median error {median}, 95th percentile \
         {most}; {inside} are within their ranges.{alone}\n"
    )
}

/// The paths that were measured, with their times by size.
fn paths(profile: &Profile) -> Vec<(String, &Curve)> {
    let copies = profile.copies.iter();
    let copies = copies.map(|one| (format!("{} copy, pinned", one.direction), &one.time));
    let others = profile.transfers.iter().map(|one| (one.path.name().to_owned(), &one.time));
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
        let best = if_known(best, |best| format!(" ({best} at best)"));
        let usual = alone.slowed(shared.per_byte_ns);
        Some(format!(
            "With copies in the other direction, large {direction} copies run at {usual}{best}."
        ))
    })
}

fn interference(found: &Interference) -> String {
    let Interference { direction, load, copy_slowdown, load_slowdown, .. } = found;
    format!(
        "Alongside {}, {direction} copies take {} times as long, and slow that work down by a \
         factor of {}.\n",
        load.name(),
        times(*copy_slowdown),
        times(*load_slowdown)
    )
}

/// The state of the device, as far as it is known.
fn state(profile: &Profile) -> String {
    let Some(conditions) = &profile.conditions else {
        return if_known(profile.machine.nvml.as_ref(), |nvml| format!("NVML {nvml}.\n"));
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
    let said = joined(said.into_iter().flatten(), ", ");
    if said.is_empty() { "not reported by the device".to_owned() } else { said }
}

/// Bytes of data in a packet: the least that every device takes, and the most that hosts are set
/// to (PCI Express Base Specification 5.0, section 7.5.3.4, "Max_Payload_Size").
const PAYLOADS: [u32; 3] = [128, 256, 512];

/// A table of one direction at a time, in so many columns if a number is given. Empty if the
/// profile does not say what its machine's link is, or how fast large copies are.
fn on_paper(profile: &Profile, width: Option<usize>) -> String {
    let link = PcieLink::noted(&profile.machine.link);
    let [down, up] = Direction::BOTH.map(|direction| profile.link_rate(direction));
    let (Some(link), Some(down), Some(up)) = (link, down, up) else { return String::new() };
    let mut rows = vec![
        row("raw bit rate", [link.raw(); 2].map(rate), &link.to_string()),
        row("after line coding", [link.on_paper(); 2].map(rate), coding(link)),
    ];
    for payload in PAYLOADS {
        // What a device reads comes in completions, what it writes goes in requests.
        let data = [true, false].map(|comes| rate(link.with_packets(payload.into(), comes)));
        let [comes, goes] = [true, false].map(|comes| link.overhead(comes));
        let why = format!("{comes:.0} and {goes:.0} bytes of header and framing per packet");
        rows.push(row(&format!("in packets of {payload} B"), data, &why));
    }
    let shares = [down, up].map(|rate| rate.bytes_per_second() / 1e9 / link.on_paper());
    let [down_share, up_share] = shares.map(percent);
    let why = format!(
        "acknowledgements, flow control, requests and host memory, which leave {down_share} and \
         {up_share} of the theoretical bandwidth"
    );
    rows.push(row("measured, large copies", [down, up].map(|rate| rate.to_string()), &why));
    rows.extend(beside(profile, [down, up]));
    for root in &profile.multi_gpu.roots {
        let rates = [root.down_bytes_per_second, root.up_bytes_per_second].map(or_dash);
        let what = format!("{} GPUs together", root.devices);
        rows.push(row(&what, rates, "shared root and host memory"));
    }
    Table::of(&rows)
        .with(Column::words("link, one direction"), |row| &row[0])
        .with(Column::number("H2D"), |row| &row[1])
        .with(Column::number("D2H"), |row| &row[2])
        .with(Column::words("lost to").if_folded(1), |row| &row[3])
        .text(width)
}

/// How fast large copies from one GPU to another are, and what NVLink carries on paper if it is
/// NVLink that they go over: nothing else is faster than the link to the host.
fn between_gpus(profile: &Profile) -> Option<String> {
    let rates = profile.multi_gpu.peers.iter().filter_map(|peer| Some(1.0 / peer.time.slope()?));
    let [low, high] =
        rates.fold([f64::INFINITY, 0.0], |[low, high], rate| [rate.min(low), rate.max(high)]);
    let range = match high / low {
        ratio if ratio > 1.01 => format!("{} to {}", rate(low), rate(high)),
        ratio if ratio > 0.0 => rate(low),
        _ => return None,
    };
    let to_host = PcieLink::noted(&profile.machine.link).map(PcieLink::on_paper);
    let nvlink = NvLinks::of(&profile.machine.gpu).filter(|_| to_host.is_some_and(|it| low > it));
    let over = if_known(nvlink, |links| {
        format!(
            ", {} of the theoretical {} of {} NVLink {} links; the rest is lost to packet \
             headers and flow control",
            percent(low / links.on_paper()),
            rate(links.on_paper()),
            links.count,
            links.generation
        )
    });
    Some(format!("Large copies from one GPU to another run at {range}{over}."))
}

/// Bytes per nanosecond in words.
fn rate(bytes_per_nano: f64) -> String {
    Bandwidth::from_bytes_per_second(bytes_per_nano * 1e9).to_string()
}

fn row(what: &str, [down, up]: [String; 2], why: &str) -> [String; 4] {
    [what.to_owned(), down, up, why.to_owned()]
}

const fn coding(link: PcieLink) -> &'static str {
    match link.generation {
        1 | 2 => "8b/10b: 2 of 10 bits",
        3..=5 => "128b/130b: 2 of 130 bits",
        _ => "flits: 20 of 256 bytes for control, checksum and error correction",
    }
}

/// The rates of large copies while the other direction is busy.
fn beside(profile: &Profile, alone: [Bandwidth; 2]) -> Option<[String; 4]> {
    let [down, up] = Direction::BOTH.map(|direction| profile.shared(direction).ok());
    let rates = [alone[0].slowed(down?.per_byte_ns), alone[1].slowed(up?.per_byte_ns)];
    let why = "requests and acknowledgements for the other direction";
    Some(row("both directions at once", rates.map(|rate| rate.to_string()), why))
}
