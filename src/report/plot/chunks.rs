//! Times of plans over the number of chunks that they cut the work into.

use super::axis::{Axis, Margins, chart, extent, power_of};
use super::marks::{Legend, Marker};
use super::picture::{Picture, Pictured};
use super::style::{quoted, rgb};
use crate::machine::Side;
use crate::report::coincide::{Line, Strand, strands};
use crate::report::palette::of_side;
use crate::report::words::{fine_percent, plural};
use crate::search::{Ranked, Ranking};
use crate::units::Span;
use plotters::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const WIDTH: i32 = 1000;
const HEIGHT: i32 = 520;
const MARKERS: [Marker; 5] =
    [Marker::Dot, Marker::Ring, Marker::Triangle, Marker::Cross, Marker::Square];

/// Plans that differ in their numbers alone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    /// Their family and kind of host memory.
    name: String,
    side: Side,
}

/// The fastest plan of every kind with each number of chunks.
type Lines = BTreeMap<Kind, BTreeMap<u64, Span>>;

/// Draws the fastest plan of every family over its number of chunks. `None` unless a family has
/// plans with several numbers.
pub fn chunks(of: &Pictured<'_>) -> Option<String> {
    let lines = lines(of.ranking);
    let best = lines.values().flatten().min_by_key(|(_, time)| **time)?;
    let (best, time) = (*best.0, *best.1);
    let whole = lines.values().filter_map(|line| line.get(&1)).min();
    let finding = match whole {
        Some(whole) if best > 1 => {
            let saved = 1.0 - time.nanos_f64() / whole.nanos_f64().max(1.0);
            format!("{} take {} less time than one", plural(best, "chunk"), fine_percent(saved))
        }
        Some(_) => "chunks gain nothing".to_owned(),
        None => format!("{} are fastest", plural(best, "chunk")),
    };
    let counts: BTreeSet<u64> = lines.values().flat_map(BTreeMap::keys).copied().collect();
    let times = lines.values().flat_map(BTreeMap::values);
    let (least, most) = extent(times.map(|time| power_of(*time)))?;
    let log_of = |count: u64| (count as f64).log2();
    let (from, to) = (log_of(*counts.first()?), log_of(*counts.last()?));
    let (low, high) = (least - 0.05, most + 0.05);
    let drawn = drawn(&lines);
    let strands = strands(&drawn, |y| (y - low) / (high - low));
    let mut legend = Legend::default();
    for strand in &strands {
        let (marker, colour) = look(strand);
        let names = strand.lines.iter().map(|line| line.name.clone());
        legend.add(marker, colour, names.collect());
    }
    let title = quoted(&format!("{}: {finding}", of.workload.name));
    let lines = of.context(WIDTH);
    let picture = Picture { title, lines, legend: Some(legend), width: WIDTH, height: HEIGHT };
    Some(picture.svg(|area, tips| {
        let margins = Margins { top: 14, right: 34, bottom: 58, left: 94 };
        let powers = (from.ceil() as i32..=to.floor() as i32).map(f64::from).collect();
        let label = |power: f64| power.exp2().round().to_string();
        let x = Axis::new((from, to.max(from + 1e-3)), powers, label, "chunks per batch");
        let y = Axis::of_times((low, high), "time per run");
        let mut chart = chart(area, margins, x, y)?;
        // The first line is the one to look at: it comes on top.
        for strand in strands.iter().rev() {
            let ((marker, colour), said) = (look(strand), strand.points(", "));
            let line: Vec<(f64, f64)> = said.iter().map(|(x, y, _)| (*x, *y)).collect();
            chart.draw_series(LineSeries::new(line.iter().copied(), colour.stroke_width(2)))?;
            marker.draw_all(&chart, line, colour)?;
            for (x, y, text) in said {
                tips.add_near(chart.backend_coord(&(x, y)), text);
            }
        }
        Ok(())
    }))
}

/// The lines with their points as logarithms, the fastest line first.
fn drawn(lines: &Lines) -> Vec<Line> {
    let mut sorted: Vec<_> = lines.iter().collect();
    sorted.sort_by_key(|(kind, line)| (line.values().min().copied(), (*kind).clone()));
    let point = |(count, time): (&u64, &Span)| {
        let words = format!("{}: {time}", plural(*count, "chunk"));
        ((*count as f64).log2(), power_of(*time), words)
    };
    let line = |(Kind { name, side }, line): (&Kind, &BTreeMap<u64, Span>)| Line {
        name: name.clone(),
        side: *side,
        points: line.iter().map(point).collect(),
    };
    sorted.into_iter().map(line).collect()
}

fn look(strand: &Strand<'_>) -> (Marker, RGBColor) {
    (MARKERS[strand.number % MARKERS.len()], rgb(of_side(strand.side())))
}

fn lines(ranking: &Ranking) -> Lines {
    let mut lines = Lines::new();
    let cut = |ranked: &Ranked| {
        let strategy = ranked.plan.strategy.filter(|one| !one.is_on_cpu())?;
        let how = if strategy.graph { "graph of " } else { "" };
        let name = format!("{how}{}, {}", strategy.family.name(), ranked.plan.host_memory());
        let kind = Kind { name, side: ranked.plan.side() };
        Some((kind, strategy.family.chunks(), ranked.makespan()))
    };
    for (kind, count, time) in ranking.plans.iter().filter_map(cut) {
        let best = lines.entry(kind).or_default().entry(count.max(1)).or_insert(time);
        *best = time.min(*best);
    }
    let varied = lines.values().any(|line| line.len() > 1);
    lines.retain(|_, line| varied && line.len() > 1);
    lines
}
