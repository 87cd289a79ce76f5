//! Points of data, and the box that says what they are.

use super::axis::Chart;
use super::style::{BODY, Drawn, GRID, INK};
use plotters::chart::SeriesLabelPosition;
use plotters::prelude::*;

/// Names the series of a chart in a box.
pub(super) fn legend(chart: &mut Chart<'_>, position: SeriesLabelPosition) -> Drawn {
    chart
        .configure_series_labels()
        .position(position)
        .margin(14)
        .legend_area_size(34)
        .background_style(WHITE.mix(0.9))
        .border_style(GRID)
        .label_font(("sans-serif", BODY - 1).into_font().color(&INK))
        .draw()
}

/// The shape of a data point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Marker {
    Dot,
    Ring,
    Cross,
    Triangle,
}

type Element<'b, At> = DynElement<'static, SVGBackend<'b>, At>;

impl Marker {
    /// The marker at a point of a chart, or at a pixel of its legend.
    fn at<'b, At: Clone + 'static>(self, at: At, colour: RGBColor) -> Element<'b, At> {
        let (filled, thin) = (colour.mix(0.75).filled(), colour.stroke_width(1));
        match self {
            Self::Dot => Circle::new(at, 5, filled).into_dyn(),
            Self::Ring => Circle::new(at, 4, thin).into_dyn(),
            Self::Cross => Cross::new(at, 4, thin).into_dyn(),
            Self::Triangle => TriangleMarker::new(at, 6, filled).into_dyn(),
        }
    }

    /// Draws and names a series of points.
    pub fn draw_all(
        self,
        chart: &mut Chart<'_>,
        points: impl IntoIterator<Item = (f64, f64)>,
        colour: RGBColor,
        name: String,
    ) -> Drawn {
        chart
            .draw_series(points.into_iter().map(|at| self.at(at, colour)))?
            .label(name)
            .legend(move |(x, y)| self.at((x + 17, y), colour));
        Ok(())
    }
}
