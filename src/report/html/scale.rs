//! The axis of bars that lie below one another: labels above them, and a line through each.

use super::style::share;
use crate::report::ticks::{End, side_by_side, time_marks};
use crate::units::Span;
use maud::{Markup, html};

/// Widths of an axis in pixels, from wide to narrow: the style sheet knows them. Between two of
/// them, the labels are shown that find room on the narrower one.
const WIDTHS: [u32; 8] = [720, 520, 400, 300, 230, 180, 140, 104];

/// A label has no room on any of these axes.
const NEVER: u32 = u32::MAX;

/// Labels at shares of an axis.
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
            let mut left: Vec<&mut Mark> =
                all.iter_mut().filter(|mark| mark.from.is_none()).collect();
            let labels: Vec<(f64, &str)> =
                left.iter().map(|mark| (mark.place, mark.text.as_str())).collect();
            let fits = side_by_side(&labels, f64::from(width));
            for (mark, _) in left.iter_mut().zip(fits).filter(|(_, fits)| !fits) {
                mark.from = Some(wider);
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
                span class={ (mark.end()) @if let Some(from) = mark.from { " from-" (from) } }
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

impl Mark {
    fn end(&self) -> &'static str {
        match End::of(self.place) {
            Some(End::First) => "first",
            None => "",
            Some(End::Last) => "last",
        }
    }
}
