//! What the link carries on paper, what was measured, and where the rest goes.

use super::table::{Column, table};
use super::words::percent;
use crate::machine::{Direction, NvLinks, PcieLink};
use crate::profile::Profile;
use crate::units::Bandwidth;

/// Bytes of data in a packet: the least that every device takes, and the most that hosts are set
/// to (PCI Express Base Specification 5.0, section 7.5.3.4, "Max_Payload_Size").
const PAYLOADS: [u32; 3] = [128, 256, 512];

/// A table of one direction at a time, in so many columns if a number is given. Empty if the
/// profile does not say what its machine's link is, or how fast large copies are.
pub(super) fn on_paper(profile: &Profile, width: Option<usize>) -> String {
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
    let why = format!(
        "{} and {} of the bandwidth on paper: acknowledgements, flow control, requests and host \
         memory",
        percent(shares[0]),
        percent(shares[1])
    );
    rows.push(row("measured, large copies", [down, up].map(|rate| rate.to_string()), &why));
    rows.extend(beside(profile, [down, up]));
    for root in &profile.multi_gpu.roots {
        let rates = [root.down_bytes_per_second, root.up_bytes_per_second];
        let rates = rates.map(|rate| rate.map_or_else(|| "-".to_owned(), |one| one.to_string()));
        let what = format!("{} GPUs together", root.devices);
        rows.push(row(&what, rates, "shared root and host memory"));
    }
    let header = [
        Column::words("link, one direction"),
        Column::number("H2D"),
        Column::number("D2H"),
        Column::words("lost to").if_folded(1),
    ];
    table(&header, &rows, width)
}

/// How fast large copies from one GPU to another are, and what NVLink carries on paper if it is
/// NVLink that they go over: nothing else is faster than the link to the host.
pub(super) fn between_gpus(profile: &Profile) -> Option<String> {
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
    let over = nvlink.map_or_else(String::new, |links| {
        format!(
            ", {} of the {} on paper for {} links of NVLink {}; the rest is lost to packet \
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

fn row(what: &str, [down, up]: [String; 2], why: &str) -> Vec<String> {
    vec![what.to_owned(), down, up, why.to_owned()]
}

const fn coding(link: PcieLink) -> &'static str {
    match link.generation {
        1 | 2 => "8b/10b: 2 of 10 bits",
        3..=5 => "128b/130b: 2 of 130 bits",
        _ => "flits: 20 of 256 bytes for control, checksum and error correction",
    }
}

/// The rates of large copies while the other direction is busy.
fn beside(profile: &Profile, alone: [Bandwidth; 2]) -> Option<Vec<String>> {
    let [down, up] = Direction::BOTH.map(|direction| profile.shared(direction).ok());
    let rates = [alone[0].slowed(down?.per_byte_ns), alone[1].slowed(up?.per_byte_ns)];
    let rates = rates.map(|rate| rate.to_string());
    Some(row(
        "both directions at once",
        rates,
        "requests and acknowledgements of the other direction",
    ))
}
