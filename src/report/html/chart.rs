//! Curves as SVG that keeps its strokes and letters at any width.
//!
//! Lines are drawn in a square that the browser stretches to the room there is; what is written
//! stands beside it as text of the page. A line has the colour of its side or family; lines of one
//! side differ in dashes and dots. Lines that coincide are drawn as one, with all their names.

use super::style::share;
use crate::report::coincide::{Line, Strand, strands};
use crate::report::ticks::{before_mark, log_marks, side_by_side, time_marks};
use crate::units::Span;
use maud::{Markup, html};
use std::fmt::Write;

/// Values on a logarithmic axis.
pub(super) struct Axis {
    title: String,
    low: f64,
    high: f64,
    pub marks: Vec<(f64, String)>,
}

pub(super) struct Chart {
    pub x: Axis,
    pub y: Axis,
    pub lines: Vec<Line>,
    /// Values of x with something to say of them.
    pub flags: Vec<(f64, String)>,
    /// Stretches of x that are shaded, and what that means.
    pub shaded: Vec<[f64; 2]>,
    pub shade: &'static str,
    pub description: String,
}

/// Sides of the square.
const SIDE: f64 = 1_000.0;
/// How many kinds of dashes can be told apart.
const DASHES: usize = 6;

impl Axis {
    /// An axis that holds the values, with marks at powers of ten, and at more round numbers if
    /// there are few of these.
    fn over(
        title: &str,
        values: impl Iterator<Item = f64> + Clone,
        write: impl Fn(f64) -> String,
    ) -> Option<Self> {
        let known = values.filter(|value| value.is_finite() && *value > 0.0);
        let (least, most) =
            known.fold((f64::INFINITY, 0.0_f64), |(least, most), v| (least.min(v), most.max(v)));
        if most == 0.0 {
            return None;
        }
        let pad = (most / least).powf(0.04).max(1.02);
        let (low, high) = (least / pad, most * pad);
        let marks = log_marks(low, high).into_iter().map(|mark| (mark, write(mark))).collect();
        Some(Self { title: title.to_owned(), low, high, marks })
    }

    fn place(&self, value: f64) -> f64 {
        (value / self.low).ln() / (self.high / self.low).ln()
    }
}

impl Chart {
    /// A chart over axes with these titles, whose marks are written so. `None` without a point.
    pub fn of(
        lines: Vec<Line>,
        (x, write_x): (&str, impl Fn(f64) -> String),
        (y, write_y): (&str, impl Fn(f64) -> String),
        description: String,
    ) -> Option<Self> {
        let points = || lines.iter().flat_map(|line| &line.points);
        let x = Axis::over(x, points().map(|point| point.0), write_x)?;
        let y = Axis::over(y, points().map(|point| point.1), write_y)?;
        Some(Self { x, y, lines, flags: Vec::new(), shaded: Vec::new(), shade: "", description })
    }

    pub fn draw(&self) -> Markup {
        let strands = strands(&self.lines, |y| self.y.place(y));
        let marks = self.x.marks.iter().map(|(mark, text)| (self.x.place(*mark), text.clone()));
        html! {
            figure.chart {
                div.legend {
                    @for strand in &strands { (entry(strand)) }
                    @if !self.shaded.is_empty() {
                        div.strand { span.sample.shaded {} div.names { (self.shade) } }
                    }
                }
                div class={ "plot" @if !self.flags.is_empty() { " flagged" } } {
                    div.y-title { (self.y.title) }
                    div.y-marks aria-hidden="true" { @for (mark, text) in &self.y.marks {
                        span style={ "bottom:" (share(self.y.place(*mark))) } { (text) }
                    } }
                    div.area {
                        svg role="img" aria-label=(self.description)
                            viewBox="0 0 1000 1000" preserveAspectRatio="none" {
                            @for ends in &self.shaded { (self.shade(*ends)) }
                            (self.grid())
                            // The first line is the one to look at: it comes on top.
                            @for strand in strands.iter().rev() { (self.curve(strand)) }
                        }
                        @for (x, text) in &self.flags {
                            div class={ "flag" @if self.x.place(*x) > 0.6 { " left" } }
                                style={ "left:" (share(self.x.place(*x))) } { span { (text) } }
                        }
                    }
                    div.x-marks { (Scale::new(marks).labels()) }
                    div.x-title { (self.x.title) }
                }
            }
        }
    }

    fn at(&self, x: f64, y: f64) -> (f64, f64) {
        let whole = |share: f64| (share * SIDE * 10.0).round() / 10.0;
        (whole(self.x.place(x)), whole(1.0 - self.y.place(y)))
    }

    fn grid(&self) -> Markup {
        let mut path = String::new();
        for (mark, _) in &self.y.marks {
            let (_, y) = self.at(self.x.low, *mark);
            let _ = write!(path, "M0 {y}H1000");
        }
        for (mark, _) in &self.x.marks {
            let (x, _) = self.at(*mark, self.y.low);
            let _ = write!(path, "M{x} 0V1000");
        }
        html! { path.grid d=(path) {} }
    }

    fn shade(&self, ends: [f64; 2]) -> Markup {
        let [from, to] = ends.map(|end| self.at(end.clamp(self.x.low, self.x.high), self.y.low).0);
        html! { path.shade d={ "M" (from) " 0H" (to) "V1000H" (from) "Z" } {} }
    }

    fn curve(&self, strand: &Strand<'_>) -> Markup {
        let (points, class) = (strand.points(": "), class(strand));
        let path = path_through(points.iter().map(|(x, y, _)| self.at(*x, *y)));
        html! {
            path class={ "line " (class) } d=(path) {}
            @for (x, y, words) in points {
                @let (x, y) = self.at(x, y);
                path class={ "dot " (class) } d={ "M" (x) " " (y) "h.01" } {
                    title { (words) }
                }
            }
        }
    }
}

/// The entry of a strand in the legend.
fn entry(strand: &Strand<'_>) -> Markup {
    let class = class(strand);
    html! {
        div.strand {
            svg.sample viewBox="0 0 28 10" aria-hidden="true" {
                path class={ "line " (class) } d="M0 5H28" {}
                path class={ "dot " (class) } d="M14 5h.01" {}
            }
            div.names {
                @for line in &strand.lines { span.name { (line.name) } }
            }
        }
    }
}

/// The colour and the dashes of a strand.
fn class(strand: &Strand<'_>) -> String {
    format!("{} d{}", strand.side(), strand.number % DASHES)
}

/// A path through some points.
pub(super) fn path_through(points: impl Iterator<Item = (f64, f64)>) -> String {
    let mut path = String::new();
    for (at, (x, y)) in points.enumerate() {
        let _ = write!(path, "{}{x} {y}", if at == 0 { 'M' } else { 'L' });
    }
    path
}

/// Widths of an axis in pixels, from wide to narrow: the style sheet knows them. Between two of
/// them, the labels are shown that find room on the narrower one.
const WIDTHS: [u32; 8] = [720, 520, 400, 300, 230, 180, 140, 104];

/// A label has no room on any of these axes.
const NEVER: u32 = u32::MAX;

/// The axis of bars that lie below one another, or of a chart: labels above or below them, at
/// shares of the axis, and a line through each.
pub(super) struct Scale(Vec<Mark>);

struct Mark {
    place: f64,
    text: String,
    /// The label touches others on an axis that is narrower than this one of the widths.
    from: Option<u32>,
}

impl Scale {
    /// An axis of times that begins at zero.
    pub fn of_times(end: Span) -> Self {
        let marks = time_marks(end, 6).into_iter();
        Self::new(marks.map(|(mark, text)| (mark / end.nanos_f64().max(1.0), text)))
    }

    /// Marks by their places.
    pub fn new(marks: impl Iterator<Item = (f64, String)>) -> Self {
        let mut all: Vec<Mark> =
            marks.map(|(place, text)| Mark { place, text, from: None }).collect();
        let mut wider = NEVER;
        for width in WIDTHS {
            // Every second label goes until the others fit. Two stay: one is no scale.
            loop {
                let left: Vec<usize> =
                    (0..all.len()).filter(|&at| all[at].from.is_none()).collect();
                let labels: Vec<(f64, &str)> =
                    left.iter().map(|&at| (all[at].place, all[at].text.as_str())).collect();
                if left.len() <= 2
                    || side_by_side(&labels, f64::from(width)).iter().all(|fits| *fits)
                {
                    break;
                }
                for &at in left.iter().skip(1).step_by(2) {
                    all[at].from = Some(wider);
                }
            }
            wider = width;
        }
        Self(all)
    }

    /// The labels.
    pub fn labels(&self) -> Markup {
        html! {
            div.axis aria-hidden="true" {
                @for mark in self.0.iter().filter(|mark| mark.from != Some(NEVER)) {
                @let end = match before_mark(mark.place) { 0.0 => "first", 1.0 => "last", _ => "" };
                span class={ (end) @if let Some(from) = mark.from { " from-" (from) } }
                    style={ "left:" (share(mark.place)) } { (mark.text) }
                }
            }
        }
    }

    /// A line at each mark, through a bar.
    pub fn lines(&self) -> Markup {
        html! {
            @for mark in self.0.iter().filter(|mark| mark.place > 0.0) {
                i style={ "left:" (share(mark.place)) } {}
            }
        }
    }
}
