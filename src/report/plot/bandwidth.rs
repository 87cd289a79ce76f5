//! The bandwidth of copies over their size, beside what the link could carry on paper.

use super::axis::{Axis, Chart, Margins, chart, extent};
use super::marks::{Legend, Marker};
use super::picture::Picture;
use super::style::{BODY, Drawn, INK, rgb, wrapped, write};
use crate::machine::{Direction, PcieLink};
use crate::profile::{Curve, Profile, StagingModel, Warmth};
use crate::report::palette::of_lane;
use crate::report::words::{if_known, percent};
use crate::samples::{Measurement, Quantity, Samples, TransferPath};
use crate::stats::{median, rounded};
use crate::timeline::Lane;
use crate::units::{Bandwidth, Bytes};
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use std::collections::BTreeMap;

const WIDTH: i32 = 1200;
/// Height of the chart, without the lines of text above it.
const HEIGHT: i32 = 650;
/// Points of a fitted curve for each doubling of the size.
const STEPS: u32 = 16;

/// How the host's side of a copy is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Pinned,
    /// Whether the same data is copied again, and so lies in a cache, or other data each time.
    Pageable(Warmth),
    /// Pinned, and written past the CPU's caches.
    WriteCombined,
    /// Mapped memory that a kernel reads or writes in place.
    Mapped,
}

impl Kind {
    /// The last two are drawn only if there are samples of them: older calibrations have none.
    const ALL: [Self; 5] = [
        Self::Pinned,
        Self::Pageable(Warmth::Same),
        Self::Pageable(Warmth::Memory),
        Self::WriteCombined,
        Self::Mapped,
    ];

    /// The curve and the direction of a path that is not a plain copy.
    const fn of(path: TransferPath) -> Option<(Self, Direction)> {
        match path {
            TransferPath::WriteCombined => Some((Self::WriteCombined, Direction::HostToDevice)),
            TransferPath::MappedRead => Some((Self::Mapped, Direction::HostToDevice)),
            TransferPath::MappedWrite => Some((Self::Mapped, Direction::DeviceToHost)),
            _ => None,
        }
    }
}

/// The fastest copy that was measured, and the share of what the link could carry.
fn finding(series: &[Series], theory: Option<f64>) -> String {
    let rates = series.iter().filter(|one| one.kind == Kind::Pinned);
    let rates = rates.flat_map(|one| one.points.iter().map(|point| point.1));
    let Some((_, best)) = extent(rates) else { return "Bandwidth of copies".to_owned() };
    let share = if_known(theory, |theory| {
        format!(", {} of the link's theoretical bandwidth", percent(best / theory.max(1e-9)))
    });
    format!("Copies of pinned memory reach {best:.1} GB/s{share}")
}

/// Draws bandwidth over size: measurements as points, fitted curves as lines.
pub fn bandwidth(profile: &Profile, samples: &Samples) -> String {
    let mut series = Vec::new();
    for kind in Kind::ALL {
        for direction in Direction::BOTH {
            let points = points(samples, kind, direction);
            if points.is_empty() && matches!(kind, Kind::WriteCombined | Kind::Mapped) {
                continue;
            }
            series.push(Series { kind, direction, points, curve: curve(profile, kind, direction) });
        }
    }
    let sizes = series.iter().flat_map(|one| one.points.iter().map(|point| point.0));
    let (low, high) = extent(sizes).map_or((2.0, 28.0), |(low, high)| (low, high.max(low + 1.0)));
    let theory = PcieLink::noted(&profile.machine.link).map(PcieLink::on_paper);
    let rates = series.iter().flat_map(|one| one.points.iter().map(|point| point.1));
    let top = 1.1 * extent(rates.chain(theory)).map_or(1.0, |(_, top)| top.max(1e-3));
    let mut legend = Legend::default();
    for one in &series {
        let (marker, _, host) = one.look();
        legend.add(marker, one.colour(), vec![format!("{} {host}", one.direction)]);
    }
    let (title, lines) = (finding(&series, theory), lines(profile, theory));
    let picture = Picture { title, lines, legend: Some(legend), width: WIDTH, height: HEIGHT };
    picture.svg(|area, _| {
        let margins = Margins { top: 14, right: 40, bottom: 58, left: 80 };
        let powers = (0..=28).step_by(2).map(f64::from);
        let powers = powers.filter(|power| (low..=high).contains(power)).collect();
        let size = |power: f64| Bytes::new(power.exp2().round() as u64).to_string();
        let title = "size of one copy (points: measured; lines: fitted)";
        let x = Axis::new((low, high), powers, size, title);
        let y = Axis::even((0.0, top), 8, |rate| format!("{} GB/s", rounded(rate)), "");
        let mut chart = chart(area, margins, x, y)?;
        for one in &series {
            one.draw(&mut chart, (low, high), top)?;
        }
        if let Some(rate) = theory {
            let ends = [(low, rate), (high, rate)];
            chart.draw_series(DashedLineSeries::new(ends, 10, 6, INK.stroke_width(1)))?;
            let (x, y) = chart.backend_coord(&(high, rate));
            let (_, offset) = area.get_base_pixel();
            let text = format!("{}: {rate:.1} GB/s in theory", profile.machine.link);
            write(area, &text, (x - 8, y - offset - 12), BODY - 1, HPos::Right)?;
        }
        Ok(())
    })
}

/// Why copies stay below what the link carries.
fn lines(profile: &Profile, theory: Option<f64>) -> Vec<String> {
    let (down, up) = (profile.link.down_bytes_per_second, profile.link.up_bytes_per_second);
    let plateau = match (down, up, theory) {
        (Some(down), Some(up), Some(theory)) => {
            let share = |rate: Bandwidth| percent(rate.bytes_per_second() / 1e9 / theory);
            format!(
                "Large pinned copies: H2D {down} ({}), D2H {up} ({}) of the {theory:.1} GB/s on \
                 paper; packet headers take up part of it.",
                share(down),
                share(up)
            )
        }
        (Some(down), Some(up), None) => format!("Large pinned copies: H2D {down}, D2H {up}."),
        _ => "Large pinned copies were not measured in both directions.".to_owned(),
    };
    let rest =
        "Small copies are limited by their fixed cost, pageable ones by the CPU that stages them.";
    let machine = format!("{}, {}", profile.machine.gpu, profile.machine.cpu);
    [machine, plateau, rest.to_owned()].iter().flat_map(|line| wrapped(line, WIDTH)).collect()
}

struct Series<'a> {
    kind: Kind,
    direction: Direction,
    /// The logarithm to base two of a size in bytes, and gigabytes per second.
    points: Vec<(f64, f64)>,
    curve: Option<&'a Curve>,
}

impl Series<'_> {
    fn colour(&self) -> RGBColor {
        rgb(of_lane(Lane::of(self.direction)))
    }

    /// Its marker, the width of its line, and what it is called.
    fn look(&self) -> (Marker, u32, &'static str) {
        match self.kind {
            Kind::Pinned => (Marker::Dot, 2, "pinned"),
            Kind::Pageable(Warmth::Memory) => {
                (Marker::Cross, 1, "pageable, different data each time")
            }
            Kind::Pageable(_) => (Marker::Ring, 1, "pageable, same data again"),
            Kind::WriteCombined => (Marker::Triangle, 1, "write-combined"),
            Kind::Mapped => (Marker::Square, 1, "mapped, kernel access"),
        }
    }

    fn draw(&self, chart: &mut Chart<'_>, (low, high): (f64, f64), top: f64) -> Drawn {
        let (colour, (marker, width, _)) = (self.colour(), self.look());
        // The curve is drawn between its knots only: nothing was measured beyond them.
        let ends =
            self.curve.and_then(|curve| extent(curve.knots.iter().map(|knot| knot.0.log2())));
        let (low, high) = ends.map_or((0.0, 0.0), |ends| (ends.0.max(low), ends.1.min(high)));
        let steps = (f64::from(STEPS) * (high - low).max(0.0)) as u32;
        let line = (0..=steps).map(|step| low + f64::from(step) / f64::from(STEPS));
        let line = line
            .filter_map(|power| Some((power, rate(power.exp2(), self.curve?.at(power.exp2()))?)))
            .filter(|point| ends.is_some() && point.1 <= top);
        chart.draw_series(LineSeries::new(line, colour.stroke_width(width)))?;
        marker.draw_all(chart, self.points.iter().copied(), colour)
    }
}

fn curve(profile: &Profile, kind: Kind, of: Direction) -> Option<&Curve> {
    match kind {
        Kind::Pinned => {
            profile.copies.iter().find(|model| model.direction == of).map(|model| &model.time)
        }
        Kind::Pageable(wanted) => {
            let fits = |model: &&StagingModel| (model.direction, model.found) == (of, wanted);
            profile.staging.iter().find(fits).map(|model| &model.until_complete)
        }
        Kind::WriteCombined | Kind::Mapped => {
            let mut models = profile.transfers.iter();
            models.find(|model| Kind::of(model.path) == Some((kind, of))).map(|model| &model.time)
        }
    }
}

/// The measured bandwidth at every size.
fn points(samples: &Samples, kind: Kind, direction: Direction) -> Vec<(f64, f64)> {
    let footprints = samples.measurements.iter().filter_map(|one| match one.quantity {
        Quantity::Staged { footprint, .. } => Some(footprint),
        _ => None,
    });
    let largest = footprints.max().unwrap_or(Bytes::ZERO);
    let mut groups: BTreeMap<Bytes, Vec<&Measurement>> = BTreeMap::new();
    for measurement in &samples.measurements {
        match copied(&measurement.quantity, largest) {
            Some((of, bytes)) if of == (kind, direction) && bytes > Bytes::ZERO => {
                groups.entry(bytes).or_default().push(measurement);
            }
            _ => {}
        }
    }
    let point = |(bytes, group): (Bytes, Vec<&Measurement>)| {
        let bytes = bytes.as_f64();
        Some((bytes.log2(), rate(bytes, time_of_one(&group)?)?))
    };
    groups.into_iter().filter_map(point).collect()
}

/// The kind of copy that a quantity is of, and its size. Copies that cycle through the largest
/// footprint meet other data each time.
fn copied(quantity: &Quantity, largest: Bytes) -> Option<((Kind, Direction), Bytes)> {
    match *quantity {
        Quantity::Transfer { path, bytes } => Some((Kind::of(path)?, bytes)),
        Quantity::Copy { direction, bytes } => Some(((Kind::Pinned, direction), bytes)),
        Quantity::Staged { direction, bytes, footprint, complete: true } => {
            let found = match footprint {
                around if around == bytes => Warmth::Same,
                around if around == largest => Warmth::Memory,
                _ => return None,
            };
            Some(((Kind::Pageable(found), direction), bytes))
        }
        _ => None,
    }
}

/// Nanoseconds of one copy: the difference between the largest and the smallest number of
/// copies, divided by how many more there were. Fixed costs of a measurement cancel out.
fn time_of_one(measurements: &[&Measurement]) -> Option<f64> {
    let time = |measurement: &Measurement| {
        let times: Vec<f64> = measurement.times.iter().map(|span| span.nanos_f64()).collect();
        median(&times)
    };
    let few = measurements.iter().min_by_key(|measurement| measurement.count)?;
    let many = measurements.iter().max_by_key(|measurement| measurement.count)?;
    match many.count - few.count {
        0 => Some(time(few)? / few.count as f64),
        more => Some((time(many)? - time(few)?) / more as f64),
    }
}

/// Gigabytes per second; `None` if noise has made the time zero or negative.
fn rate(bytes: f64, nanos: f64) -> Option<f64> {
    let rate = bytes / nanos;
    (rate.is_finite() && rate > 0.0).then_some(rate)
}
