//! Predicted against measured times, and the errors.

use super::axis::{Axis, Chart, Margins, chart, extent, power_of};
use super::marks::{Legend, Marker};
use super::picture::Picture;
use super::style::{Area, Drawn, GREY, INK, LINE_HEIGHT, rgb};
use crate::compare::{Cell, ErrorFigures, Score};
use crate::report::palette::NEUTRAL;
use crate::report::words::{fine_percent, percent, plural};
use plotters::prelude::*;

/// One mark for each scenario, in the order in which they are given: both the shape and the colour
/// change from one to the next, and no two are the same until all are used up, as the numbers of
/// both have no common factor. The colours are those of no side, for a scenario has plans on both.
const MARKERS: [Marker; 4] = [Marker::Dot, Marker::Triangle, Marker::Square, Marker::Cross];
/// Grey lines are drawn at this relative error, on both sides of a perfect prediction.
const BAND: f64 = 0.10;
const WIDTH: i32 = 1000;
/// Height of the charts, with the lines above them.
const HEIGHT: i32 = 1070;
/// Height of the lower part.
const RESIDUALS: i32 = 290;

/// Draws every plan of the scores: above, predicted over measured time; below,
/// the error over measured time.
pub fn predicted_against_measured(scores: &[Score]) -> String {
    let times = cells(scores).flat_map(|cell| [cell.scored.predicted_ns, cell.scored.measured_ns]);
    let (low, high) =
        extent(times.map(power_of)).map_or((3.0, 6.0), |(low, high)| (low - 0.15, high + 0.15));
    let mut lines = vec!["Grey lines: predictions that are 10% too slow or too fast.".to_owned()];
    let found = ErrorFigures::of(cells(scores));
    if let Some(errors) = &found {
        let figures = format!(
            "{} of {}: median error {}, 95% of errors within {}; {} of runs in their range.",
            plural(errors.plans as u64, "plan"),
            plural(scores.len() as u64, "scenario"),
            fine_percent(errors.median),
            fine_percent(errors.p95),
            percent(errors.coverage)
        );
        lines.insert(0, figures);
    }
    let title = match &found {
        Some(errors) => {
            format!(
                "Half of all predictions are within {} of the measured time",
                fine_percent(errors.median)
            )
        }
        None => "Predicted against measured times: nothing has been run".to_owned(),
    };
    let mut legend = Legend::default();
    for (index, score) in scores.iter().enumerate() {
        let (marker, colour) = mark(index);
        legend.add(marker, colour, vec![score.scenario.clone()]);
    }
    // The title is one line.
    let height = HEIGHT - LINE_HEIGHT * lines.len() as i32;
    let picture = Picture { title, lines, legend: Some(legend), width: WIDTH, height };
    picture.svg(|area, _| {
        let height = area.dim_in_pixel().1 as i32;
        let (above, below) = area.split_vertically(height - RESIDUALS);
        against(&above, scores, (low, high))?;
        residuals(&below, scores, (low, high))
    })
}

fn cells(scores: &[Score]) -> impl Iterator<Item = &Cell> {
    scores.iter().flat_map(|score| &score.cells)
}

fn against(area: &Area<'_>, scores: &[Score], (low, high): (f64, f64)) -> Drawn {
    let margins = Margins { top: 14, right: 34, bottom: 36, left: 94 };
    let x = Axis::of_times((low, high), "");
    let y = Axis::of_times((low, high), "predicted");
    let mut chart = chart(area, margins, x, y)?;
    for level in [0.0, BAND, -BAND] {
        let above = f64::log10(1.0 + level);
        let (from, to) = (low.max(low - above), high.min(high - above));
        let ends = [(from, from + above), (to, to + above)];
        chart.draw_series(LineSeries::new(ends, line(level)))?;
    }
    points(&mut chart, scores, |cell| power_of(cell.scored.predicted_ns))
}

fn residuals(area: &Area<'_>, scores: &[Score], (low, high): (f64, f64)) -> Drawn {
    let errors = cells(scores).map(|cell| cell.error().abs());
    let widest = extent(errors).map_or(0.0, |(_, widest)| widest);
    let widest = 1.15 * widest.max(BAND);
    let margins = Margins { top: 14, right: 34, bottom: 58, left: 94 };
    let x = Axis::of_times((low, high), "measured: median of the runs");
    let y = Axis::even((-widest, widest), 6, signed, "error");
    let mut chart = chart(area, margins, x, y)?;
    for level in [0.0, BAND, -BAND] {
        chart.draw_series(LineSeries::new([(low, level), (high, level)], line(level)))?;
    }
    points(&mut chart, scores, Cell::error)
}

fn signed(error: f64) -> String {
    if error.abs() < 1e-9 { "0%".to_owned() } else { format!("{:+.0}%", 100.0 * error) }
}

fn line(level: f64) -> ShapeStyle {
    if level == 0.0 { INK.stroke_width(1) } else { GREY.mix(0.7).stroke_width(1) }
}

/// How the points of a scenario are drawn.
fn mark(index: usize) -> (Marker, RGBColor) {
    (MARKERS[index % MARKERS.len()], rgb(NEUTRAL[index % NEUTRAL.len()]))
}

/// Each plan as a point.
fn points(chart: &mut Chart<'_>, scores: &[Score], y: impl Fn(&Cell) -> f64) -> Drawn {
    for (index, score) in scores.iter().enumerate() {
        let cells = score.cells.iter();
        let places = cells.map(|cell| (power_of(cell.scored.measured_ns), y(cell)));
        let places = places.filter(|(_, y)| y.is_finite());
        let (marker, colour) = mark(index);
        marker.draw_all(chart, places, colour)?;
    }
    Ok(())
}
