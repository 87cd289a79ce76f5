//! Pictures as SVG text, and how all of them look.
//!
//! Invariant: equal values give equal bytes, on a machine without fonts too.
//! Text keeps its words in an SVG and is set by whoever shows it, so nothing
//! here needs a font; widths of text are estimates, and the layouts leave room.

mod axis;
mod bandwidth;
mod gantt;
mod scatter;

pub use bandwidth::bandwidth;
pub use gantt::{Gantt, Measured, gantt};
pub use scatter::predicted_against_measured;

use axis::Chart;
use plotters::chart::SeriesLabelPosition;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn<T = ()> = Result<T, DrawingAreaErrorKind<std::io::Error>>;

/// Colours that stay apart for colour-blind readers, of Okabe and Ito, "Color
/// Universal Design" (2008). Their yellow is left out: it is lost on white.
const BLUE: RGBColor = RGBColor(0, 114, 178);
const ORANGE: RGBColor = RGBColor(230, 159, 0);
const GREEN: RGBColor = RGBColor(0, 158, 115);
const VERMILLION: RGBColor = RGBColor(213, 94, 0);
const PURPLE: RGBColor = RGBColor(204, 121, 167);
const SKY: RGBColor = RGBColor(86, 180, 233);
const INK: RGBColor = RGBColor(34, 34, 34);
const GREY: RGBColor = RGBColor(110, 110, 110);
const GRID: RGBColor = RGBColor(226, 226, 226);

/// Sizes of text as plotters counts them: 1.24 times the pixels of the SVG.
const TITLE: u32 = 26;
const BODY: u32 = 18;

/// Height of the title, and of each line below it.
const TITLE_HEIGHT: i32 = 50;
const LINE_HEIGHT: i32 = 24;

/// Draws on a white ground of so many pixels.
fn svg((width, height): (i32, i32), draw: impl FnOnce(&Area<'_>) -> Drawn) -> String {
    let mut text = String::new();
    {
        let size = (width.unsigned_abs(), height.unsigned_abs());
        let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
        let drawn = area.fill(&WHITE).and_then(|()| draw(&area)).and_then(|()| area.present());
        drawn.expect("drawing into a string cannot fail");
    }
    text
}

/// Text that starts at a point or, with `HPos::Right`, ends there.
fn write(area: &Area<'_>, text: &str, at: (i32, i32), size: u32, anchor: HPos) -> Drawn {
    let style = ("sans-serif", size).into_font().color(&INK);
    area.draw(&Text::new(text.to_owned(), at, style.pos(Pos::new(anchor, VPos::Center))))
}

/// Height of a title and the lines below it.
fn heading(lines: &[String]) -> i32 {
    TITLE_HEIGHT + LINE_HEIGHT * lines.len() as i32
}

/// A title and the lines below it; gives the area that is left.
fn titled<'a>(area: &Area<'a>, title: &str, lines: &[String]) -> Drawn<Area<'a>> {
    let style = ("sans-serif", TITLE).into_font().style(FontStyle::Bold).color(&INK);
    let style = style.pos(Pos::new(HPos::Left, VPos::Center));
    area.draw(&Text::new(title.to_owned(), (24, 30), style))?;
    for (index, line) in lines.iter().enumerate() {
        let y = heading(&lines[..index]) + LINE_HEIGHT / 2;
        write(area, line, (24, y), BODY, HPos::Left)?;
    }
    Ok(area.split_vertically(heading(lines)).1)
}

/// Breaks text into lines that a picture of so many pixels can hold.
fn wrapped(text: &str, width: i32) -> Vec<String> {
    /// So many letters of [`BODY`] size fit into 100 pixels in every common font.
    const LETTERS: i32 = 12;
    let columns = ((width - 48) * LETTERS / 100) as usize;
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + word.chars().count() < columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Names the series of a chart in a box.
fn legend(chart: &mut Chart<'_>, position: SeriesLabelPosition) -> Drawn {
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

/// The shape that marks a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Marker {
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
    fn draw_all(
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
