//! Times of plans over the number of chunks that they cut the work into.

use super::axis::{Axis, Margins, chart, extent};
use super::marks::{Marker, legend};
use super::style::{
    BLUE, GREEN, GREY, INK, ORANGE, PURPLE, SKY, VERMILLION, context, heading, quoted, svg, titled,
    wrapped_title,
};
use crate::report::Origin;
use crate::report::words::{fine_percent, plural};
use crate::search::{Ranked, Ranking};
use crate::units::Span;
use plotters::chart::SeriesLabelPosition;
use plotters::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const WIDTH: i32 = 1000;
const HEIGHT: i32 = 520;
const COLOURS: [RGBColor; 8] = [ORANGE, BLUE, GREEN, VERMILLION, PURPLE, SKY, INK, GREY];
const MARKERS: [Marker; 4] = [Marker::Dot, Marker::Ring, Marker::Triangle, Marker::Cross];

/// The best plan with each number of chunks, by family and kind of host memory.
type Lines = BTreeMap<String, BTreeMap<u64, Span>>;

/// Draws the best plan of every family over its number of chunks. `None` unless a family has plans
/// with several numbers.
pub fn chunks(
    (scenario, question): (&str, &str),
    ranking: &Ranking,
    origin: &Origin,
) -> Option<String> {
    let lines = lines(ranking);
    let best = lines.values().flatten().min_by_key(|(_, time)| **time)?;
    let (best, time) = (*best.0, *best.1);
    let whole = lines.values().filter_map(|line| line.get(&1)).min();
    let finding = match whole {
        Some(whole) if best > 1 => {
            let saved = 1.0 - time.nanos_f64() / whole.nanos_f64().max(1.0);
            format!("{} take {} less than one", plural(best, "chunk"), fine_percent(saved))
        }
        Some(_) => "chunks gain nothing".to_owned(),
        None => format!("{} are fastest", plural(best, "chunk")),
    };
    let title = wrapped_title(&quoted(&format!("{scenario}: {finding}")), WIDTH);
    let below = context(question, origin, WIDTH);
    let counts: BTreeSet<u64> = lines.values().flat_map(BTreeMap::keys).copied().collect();
    let times = lines.values().flat_map(BTreeMap::values);
    let (least, most) = extent(times.map(|time| log(*time)))?;
    let log_of = |count: u64| (count as f64).log2();
    let (from, to) = (log_of(*counts.first()?), log_of(*counts.last()?));
    Some(svg((WIDTH, heading(&title, &below) + HEIGHT), |area, tips| {
        let area = titled(area, &title, &below)?;
        let margins = Margins { top: 14, right: 34, bottom: 58, left: 94 };
        let powers = from.ceil() as i32..=to.floor() as i32;
        let x = Axis {
            low: from,
            high: to.max(from + 1e-3),
            marks: powers.map(f64::from).collect(),
            label: Box::new(|power| format!("{}", power.exp2().round())),
            title: "chunks of each batch".into(),
        };
        let room = 0.05 + 0.3 * (most - least);
        let y = Axis::of_times(least - 0.05, most + room, "time of a pass");
        let mut chart = chart(&area, margins, x, y)?;
        for (place, (name, line)) in lines.iter().enumerate() {
            let colour = COLOURS[place % COLOURS.len()];
            let marker = MARKERS[place % MARKERS.len()];
            let points: Vec<(f64, f64)> =
                line.iter().map(|(count, time)| (log_of(*count), log(*time))).collect();
            chart.draw_series(LineSeries::new(points.iter().copied(), colour.stroke_width(2)))?;
            marker.draw_all(&mut chart, points.iter().copied(), colour, name.clone())?;
            for ((count, time), place) in line.iter().zip(&points) {
                let text = format!("{name}, {}: {time}", plural(*count, "chunk"));
                tips.add_near(chart.backend_coord(place), text);
            }
        }
        legend(&mut chart, SeriesLabelPosition::UpperRight)
    }))
}

fn log(time: Span) -> f64 {
    time.nanos_f64().max(1.0).log10()
}

fn lines(ranking: &Ranking) -> Lines {
    let mut lines = Lines::new();
    let cut = |ranked: &Ranked| {
        let strategy = ranked.plan.strategy.filter(|one| !one.is_on_cpu())?;
        let name = format!("{}, {}", strategy.family_name(), ranked.plan.host_memory());
        Some((name, strategy.family.chunks(), ranked.makespan()))
    };
    for (name, count, time) in ranking.plans.iter().filter_map(cut) {
        let best = lines.entry(name).or_default().entry(count.max(1)).or_insert(time);
        *best = time.min(*best);
    }
    let varied = lines.values().any(|line| line.len() > 1);
    lines.retain(|_, line| varied && line.len() > 1);
    lines
}
