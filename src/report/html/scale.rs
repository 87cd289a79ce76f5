//! The axis of bars that lie below one another: labels above them, and a line through each.

use super::style::share;
use crate::report::ticks::{End, side_by_side, time_marks};
use crate::units::Span;
use maud::{Markup, html};

/// The narrowest axis of a phone, and of a wider window, in pixels. Labels that would touch on a
/// narrow one are hidden there; those that would touch on a wide one are left out.
const NARROW: f64 = 104.0;
const WIDE: f64 = 230.0;

/// Labels at shares of an axis.
pub(super) struct Scale(Vec<Mark>);

struct Mark {
    place: f64,
    text: String,
    is_for_wide: bool,
}

impl Scale {
    /// An axis of times that begins at zero.
    pub fn of_times(end: Span) -> Self {
        let marks = time_marks(end, 6).into_iter();
        Self::new(marks.map(|(mark, text)| (mark / end.nanos_f64().max(1.0), text)), [NARROW, WIDE])
    }

    /// Marks by their places, on an axis that is so wide in a narrow window and in a wide one.
    pub fn new(marks: impl Iterator<Item = (f64, String)>, [narrow, wide]: [f64; 2]) -> Self {
        let mut marks: Vec<(f64, String)> = marks.collect();
        let kept = fitting(&marks, wide).into_iter();
        marks =
            marks.into_iter().zip(kept).filter(|(_, is_kept)| *is_kept).map(|(m, _)| m).collect();
        let on_narrow = fitting(&marks, narrow);
        let marks = marks.into_iter().zip(on_narrow);
        let mark =
            |((place, text), fits): ((f64, String), bool)| Mark { place, text, is_for_wide: !fits };
        Self(marks.map(mark).collect())
    }

    /// The labels.
    pub fn labels(&self) -> Markup {
        html! {
            div.axis aria-hidden="true" { @for mark in &self.0 {
                span class=(mark.class()) style={ "left:" (share(mark.place)) } { (mark.text) }
            } }
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

fn fitting(marks: &[(f64, String)], pixels: f64) -> Vec<bool> {
    let labels: Vec<(f64, &str)> = marks.iter().map(|(at, text)| (*at, text.as_str())).collect();
    side_by_side(&labels, pixels)
}

impl Mark {
    fn class(&self) -> &'static str {
        match (End::of(self.place), self.is_for_wide) {
            (Some(End::First), false) => "first",
            (Some(End::First), true) => "first roomy",
            (None, false) => "",
            (None, true) => "roomy",
            (Some(End::Last), false) => "last",
            (Some(End::Last), true) => "last roomy",
        }
    }
}
