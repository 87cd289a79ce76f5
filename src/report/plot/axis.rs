//! Axes: where they end, where their marks are and what is written beside them.

use super::style::{Area, BODY, Drawn, GREY, GRID, INK};
use crate::report::ticks::{even_marks, log_marks, time_at};
use crate::units::Span;
use plotters::chart::ChartContext;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::prelude::*;
use std::borrow::Cow;
use std::ops::Range;

/// One axis of a chart.
pub(super) struct Axis {
    low: f64,
    high: f64,
    /// In ascending order.
    marks: Vec<f64>,
    label: Box<dyn Fn(f64) -> String>,
    title: Cow<'static, str>,
}

/// Pixels around the part of a chart where data is drawn; axes are left and below.
#[derive(Debug, Clone, Copy)]
pub(super) struct Margins {
    pub top: i32,
    pub right: i32,
    pub bottom: i32,
    pub left: i32,
}

pub(super) type Chart<'a> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<Axis, Axis>>;

/// An empty chart with its grid. A vertical axis without marks is not drawn.
pub(super) fn chart<'a>(area: &Area<'a>, margins: Margins, x: Axis, y: Axis) -> Drawn<Chart<'a>> {
    let (x_title, y_title, has_y) = (x.title.clone(), y.title.clone(), !y.marks.is_empty());
    let mut chart = ChartBuilder::on(area)
        .margin_top(margins.top)
        .margin_right(margins.right)
        .margin_left(10)
        .x_label_area_size(margins.bottom)
        .y_label_area_size(margins.left)
        .build_cartesian_2d(x, y)?;
    let mut mesh = chart.configure_mesh();
    mesh.bold_line_style(GRID)
        .axis_style(GREY)
        .label_style(("sans-serif", BODY - 1).into_font().color(&INK))
        .axis_desc_style(("sans-serif", BODY).into_font().color(&INK))
        .x_desc(x_title)
        .y_desc(y_title);
    if !has_y {
        mesh.disable_y_axis();
    }
    mesh.draw()?;
    Ok(chart)
}

/// The axis places its marks itself: plotters can be told how many there are, but not where.
impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        let share = (value - self.low) / (self.high - self.low);
        from + (share * f64::from(to - from)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() { Vec::new() } else { self.marks.clone() }
    }

    fn range(&self) -> Range<f64> {
        self.low..self.high
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        (self.label)(*value)
    }
}

impl Axis {
    pub fn new(
        (low, high): (f64, f64),
        marks: Vec<f64>,
        label: impl Fn(f64) -> String + 'static,
        title: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { low, high, marks, label: Box::new(label), title: title.into() }
    }

    /// An axis of powers of ten that are nanoseconds.
    pub fn of_times(ends: (f64, f64), title: &'static str) -> Self {
        let marks = decades(ends.0, ends.1);
        Self::new(ends, marks, |power| time_at(10f64.powf(power)), title)
    }

    /// An axis with about `count` marks at even steps.
    pub fn even(
        ends: (f64, f64),
        count: u32,
        label: impl Fn(f64) -> String + 'static,
        title: &'static str,
    ) -> Self {
        Self::new(ends, even_marks(ends.0, ends.1, count), label, title)
    }
}

/// A time's place on an axis of times.
pub(super) fn power_of(time: Span) -> f64 {
    time.nanos_f64().max(1.0).log10()
}

/// Marks at round numbers between two exponents of ten, as exponents.
pub(super) fn decades(low: f64, high: f64) -> Vec<f64> {
    log_marks(10f64.powf(low), 10f64.powf(high)).into_iter().map(f64::log10).collect()
}

/// The smallest and the largest of the finite values; `None` without any.
pub(super) fn extent(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    values.into_iter().filter(|value| value.is_finite()).fold(None, |extent, value| match extent {
        None => Some((value, value)),
        Some((low, high)) => Some((value.min(low), value.max(high))),
    })
}
