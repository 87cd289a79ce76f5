//! Pictures of plans: what they show, and what is above the data.

use super::marks::Legend;
use super::style::{Area, Drawn, GROUND, Tips, context, heading, quoted, titled, wrapped_title};
use crate::findings::Verdict;
use crate::report::{Origin, said};
use crate::runs::RunSet;
use crate::scenario::Workload;
use crate::search::Ranking;
use plotters::prelude::*;

/// A scenario whose plans are drawn.
#[derive(Debug, Clone, Copy)]
pub struct Pictured<'a> {
    pub workload: &'a Workload,
    pub ranking: &'a Ranking,
    /// Runs on the machine that is predicted, if there are any.
    pub runs: Option<&'a RunSet>,
    /// The machine that is predicted.
    pub origin: &'a Origin,
}

impl Pictured<'_> {
    /// What is asked, of which machine, and when it was measured.
    pub(super) fn context(&self, width: i32) -> Vec<String> {
        context(&self.workload.question, self.origin, width)
    }

    /// The verdict that `hallway evaluate` gives.
    pub(super) fn verdict(&self) -> String {
        let verdict = Verdict::of(self.ranking, self.workload.runs);
        quoted(&said::verdict(&verdict, self.workload.runs, self.ranking.plans.len()))
    }
}

/// A picture: its title and the lines below it, what its marks mean, and how large it is without
/// these.
pub(super) struct Picture {
    pub title: String,
    pub lines: Vec<String>,
    pub legend: Option<Legend>,
    pub width: i32,
    pub height: i32,
}

impl Picture {
    /// Draws on a white background: all that is above the data, and below it what `draw` does.
    pub fn svg(&self, draw: impl FnOnce(&Area<'_>, &Tips) -> Drawn) -> String {
        let Self { lines, legend, width, height, .. } = self;
        let title = wrapped_title(&self.title, *width);
        let (mut text, tips) = (String::new(), Tips::default());
        {
            let of_legend = legend.as_ref().map_or(0, |legend| legend.height(*width));
            let height = heading(&title, lines) + of_legend + height;
            let size = (width.unsigned_abs(), height.unsigned_abs());
            let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
            let drawn = area
                .fill(&GROUND)
                .and_then(|()| titled(&area, &title, lines))
                .and_then(|below| match legend {
                    Some(legend) => legend.draw(&below),
                    None => Ok(below),
                })
                .and_then(|below| draw(&below, &tips))
                .and_then(|()| area.present());
            drawn.expect("drawing into a string cannot fail");
        }
        tips.over(&text)
    }
}
