//! Times of both sides over a number that is varied, and where the winner changes.

use super::axis::{Axis, Margins, chart, decades, extent, power_of};
use super::marks::{Legend, Marker};
use super::picture::Picture;
use super::style::{GREY, context, quoted, rgb, wrapped};
use crate::machine::Side;
use crate::report::Origin;
use crate::report::palette::of_side;
use crate::report::swept::{SideTime, Sweeping};
use crate::report::words::with_range;
use crate::units::Span;
use plotters::prelude::*;

const WIDTH: i32 = 1000;
const HEIGHT: i32 = 560;

const SIDES: [(&str, Side, Marker); 2] = [
    ("recommended plan on the CPU", Side::Cpu, Marker::Ring),
    ("recommended plan using the GPU", Side::Gpu, Marker::Dot),
];

/// Draws a sweep.
pub fn sweep(of: &Sweeping, origin: &Origin) -> String {
    let title = format!("{}: {}", of.scenario, quoted(&of.sentence()));
    let mut lines = context(&of.question, origin, WIDTH);
    let shades = "Shading: the ranges that contain the true time nine times out of ten. Vertical \
                  grey bands: where the winner is uncertain.";
    lines.extend(wrapped(shades, WIDTH));
    let mut legend = Legend::default();
    for (name, side, marker) in SIDES {
        legend.add(marker, rgb(of_side(side)), vec![name.to_owned()]);
    }
    let picture = Picture { title, lines, legend: Some(legend), width: WIDTH, height: HEIGHT };
    picture.svg(|area, tips| {
        let sides = of.points.iter().flat_map(|point| [&point.cpu, &point.gpu]).flatten();
        let times = sides.flat_map(|side| [side.low_ns, side.high_ns]);
        let times = extent(times.map(power_of));
        let values = extent(of.points.iter().map(|point| point.value.0.log10()));
        let (Some((least, most)), Some((from, to))) = (times, values) else { return Ok(()) };
        let (least, most, to) = (least - 0.1, most + 0.1, to.max(from + 1e-3));
        let unit = of.unit;
        let counted = of.counted.as_ref().unwrap_or(&of.key).replace('`', "");
        let label = move |power: f64| unit.say(10f64.powf(power));
        let x = Axis::new((from, to), decades(from, to), label, counted);
        let what = if of.of_programs { "time per program" } else { "time per run" };
        let y = Axis::of_times((least, most), what);
        let margins = Margins { top: 14, right: 34, bottom: 58, left: 94 };
        let mut chart = chart(area, margins, x, y)?;
        for [low, at, high] in turns(of, [from, to]) {
            let band = Rectangle::new([(low, least), (high, most)], GREY.mix(0.18).filled());
            chart.draw_series([band])?;
            let line = [(at, least), (at, most)];
            chart.draw_series(LineSeries::new(line, GREY.stroke_width(2)))?;
        }
        for (_, side, marker) in SIDES {
            let (colour, on_cpu) = (rgb(of_side(side)), side == Side::Cpu);
            let known = of.points.iter().filter_map(|point| {
                let side = if on_cpu { &point.cpu } else { &point.gpu };
                Some((point.value.0, side.as_ref()?))
            });
            let known: Vec<(f64, &SideTime)> = known.collect();
            let places = |time: fn(&SideTime) -> Span| {
                known.iter().map(move |(value, side)| (value.log10(), power_of(time(side))))
            };
            let (low, high) = (places(|side| side.low_ns), places(|side| side.high_ns));
            let around: Vec<(f64, f64)> = low.chain(high.rev()).collect();
            chart.draw_series([Polygon::new(around, colour.mix(0.2).filled())])?;
            let middle: Vec<(f64, f64)> = places(|side| side.predicted_ns).collect();
            chart.draw_series(LineSeries::new(middle.iter().copied(), colour.stroke_width(2)))?;
            marker.draw_all(&chart, middle.iter().copied(), colour)?;
            for ((value, side), place) in known.iter().zip(&middle) {
                let time = with_range(side.predicted_ns, side.low_ns, side.high_ns);
                let text = format!("{}: {}, {time}", unit.say(*value), side.plan);
                tips.add_near(chart.backend_coord(place), text);
            }
        }
        Ok(())
    })
}

/// The ends and the middle of every turn, as logarithms within the axis.
fn turns(of: &Sweeping, [from, to]: [f64; 2]) -> Vec<[f64; 3]> {
    let ends = of
        .gpu_wins
        .iter()
        .flat_map(|wins| [(wins.from, wins.from_range), (wins.until, wins.until_range)]);
    let turns = ends.filter_map(|(at, range)| {
        let at = at?.0.log10();
        let [low, high] = range.unwrap_or([None, None]);
        let low = low.map_or(from, |low| low.0.log10());
        Some([low, at, high.map_or(to, |high| high.0.log10())])
    });
    turns.collect()
}
