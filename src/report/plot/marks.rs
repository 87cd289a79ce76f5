//! Points of data, and what says which are whose.

use super::axis::Chart;
use super::style::{Area, BODY, Drawn, GREY, write};
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

/// What the marks of a chart stand for: above it, so that it covers no data.
#[derive(Debug, Default)]
pub(super) struct Legend(Vec<Entry>);

#[derive(Debug)]
struct Entry {
    marker: Marker,
    colour: RGBColor,
    /// Several where lines coincide.
    names: Vec<String>,
}

/// Height of a name.
const NAME: i32 = 23;
/// Room left of the first entry, for a mark before its names, and between entries.
const LEFT: i32 = 24;
const MARK: i32 = 28;
const GAP: i32 = 30;

impl Legend {
    pub fn add(&mut self, marker: Marker, colour: RGBColor, names: Vec<String>) {
        self.0.push(Entry { marker, colour, names });
    }

    /// Where each entry begins, from left to right and then below, in a picture of this width; and
    /// how high all of it is.
    fn places(&self, width: i32) -> (Vec<(i32, i32)>, i32) {
        let (mut x, mut y, mut high) = (LEFT, 0, 0);
        let mut places = Vec::new();
        for entry in &self.0 {
            if x > LEFT && x + entry.width() > width {
                (x, y, high) = (LEFT, y + high, 0);
            }
            places.push((x, y));
            x += entry.width() + GAP;
            high = high.max(NAME * entry.names.len() as i32);
        }
        (places, y + high + NAME / 2)
    }

    pub fn height(&self, width: i32) -> i32 {
        self.places(width).1
    }

    /// Draws it, and returns the area below.
    pub fn draw<'a>(&self, area: &Area<'a>) -> Drawn<Area<'a>> {
        let (places, height) = self.places(area.dim_in_pixel().0 as i32);
        let (above, below) = area.split_vertically(height);
        for (Entry { marker, colour, names }, (x, y)) in self.0.iter().zip(places) {
            let high = NAME * names.len() as i32;
            marker.draw(&above, (x + MARK / 2 - 4, y + high / 2), *colour)?;
            // Lines that coincide are one: a bracket holds their names together.
            if names.len() > 1 {
                let (left, right, top, low) = (x + MARK - 6, x + MARK - 2, y + 4, y + high - 4);
                let bracket = vec![(right, top), (left, top), (left, low), (right, low)];
                above.draw(&PathElement::new(bracket, GREY.stroke_width(1)))?;
            }
            for (line, name) in names.iter().enumerate() {
                let y = y + NAME * line as i32 + NAME / 2;
                write(&above, name, (x + MARK + 2, y), BODY - 1, HPos::Left)?;
            }
        }
        Ok(below)
    }
}

impl Entry {
    /// No common font has wider letters on average.
    fn width(&self) -> i32 {
        const LETTER: f64 = 8.4;
        let longest = self.names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        MARK + (longest as f64 * LETTER) as i32
    }
}

/// The shape of a data point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Marker {
    Dot,
    Ring,
    Cross,
    Triangle,
    Square,
}

impl Marker {
    /// Draws it at a pixel of an area.
    fn draw(self, area: &Area<'_>, at: (i32, i32), colour: RGBColor) -> Drawn {
        let (filled, thin) = (colour.mix(0.75).filled(), colour.stroke_width(1));
        match self {
            Self::Dot => area.draw(&Circle::new(at, 5, filled)),
            Self::Ring => area.draw(&Circle::new(at, 4, thin)),
            Self::Cross => area.draw(&Cross::new(at, 4, thin)),
            Self::Triangle => area.draw(&TriangleMarker::new(at, 6, filled)),
            Self::Square => {
                area.draw(&Rectangle::new([(at.0 - 4, at.1 - 4), (at.0 + 4, at.1 + 4)], filled))
            }
        }
    }

    /// Draws points of a chart.
    pub fn draw_all(
        self,
        chart: &Chart<'_>,
        points: impl IntoIterator<Item = (f64, f64)>,
        colour: RGBColor,
    ) -> Drawn {
        let area = chart.plotting_area().strip_coord_spec();
        let (left, top) = area.get_base_pixel();
        for point in points {
            let (x, y) = chart.backend_coord(&point);
            self.draw(&area, (x - left, y - top), colour)?;
        }
        Ok(())
    }
}
