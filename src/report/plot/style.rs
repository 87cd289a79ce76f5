//! How all pictures look.

use crate::report::Origin;
use crate::report::palette::{Colour, LIGHT};
use crate::report::words::{self, if_known};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::cell::RefCell;
use std::fmt::Write;

pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub(super) type Drawn<T = ()> = Result<T, DrawingAreaErrorKind<std::io::Error>>;

/// Pictures are on white, wherever they are shown.
pub(super) const INK: RGBColor = rgb(LIGHT.ink);
pub(super) const GREY: RGBColor = rgb(LIGHT.soft);
pub(super) const GRID: RGBColor = rgb(LIGHT.rule);
pub(super) const GROUND: RGBColor = rgb(LIGHT.ground);

/// A colour of the palette, as plotters has them.
pub(super) const fn rgb(Colour(red, green, blue): Colour) -> RGBColor {
    RGBColor(red, green, blue)
}

/// Sizes of text as plotters counts them: 1.24 times the pixels of the SVG.
const TITLE: u32 = 26;
pub(super) const BODY: u32 = 18;

/// Height of the title, and of each line below it.
const TITLE_HEIGHT: i32 = 50;
pub(super) const LINE_HEIGHT: i32 = 24;
/// Height of each further line of a title.
const MORE_TITLE: i32 = 28;

/// Text that starts at a point or, with `HPos::Right`, ends there.
pub(super) fn write(area: &Area<'_>, text: &str, at: (i32, i32), size: u32, anchor: HPos) -> Drawn {
    let style = ("sans-serif", size).into_font().color(&INK);
    area.draw(&Text::new(text.to_owned(), at, style.pos(Pos::new(anchor, VPos::Center))))
}

/// Height of a title and the lines below it.
pub(super) fn heading(title: &[String], lines: &[String]) -> i32 {
    let more = title.len().saturating_sub(1) as i32;
    TITLE_HEIGHT + MORE_TITLE * more + LINE_HEIGHT * lines.len() as i32
}

/// Draws a title and the lines below it, and returns the area that is left.
pub(super) fn titled<'a>(area: &Area<'a>, title: &[String], lines: &[String]) -> Drawn<Area<'a>> {
    let style = ("sans-serif", TITLE).into_font().style(FontStyle::Bold).color(&INK);
    let style = style.pos(Pos::new(HPos::Left, VPos::Center));
    for (index, line) in title.iter().enumerate() {
        let y = 30 + MORE_TITLE * index as i32;
        area.draw(&Text::new(line.clone(), (24, y), style.clone()))?;
    }
    for (index, line) in lines.iter().enumerate() {
        let y = heading(title, &lines[..index]) + LINE_HEIGHT / 2;
        write(area, line, (24, y), BODY, HPos::Left)?;
    }
    Ok(area.split_vertically(heading(title, lines)).1)
}

/// Breaks text into lines that a picture of so many pixels can hold.
pub(super) fn wrapped(text: &str, width: i32) -> Vec<String> {
    /// In every common font, at least this many letters of [`BODY`] size fit into 100 pixels.
    const LETTERS: i32 = 12;
    words::wrapped(text, ((width - 48) * LETTERS / 100) as usize)
}

/// Breaks a title into lines that a picture of so many pixels can hold.
pub(super) fn wrapped_title(text: &str, width: i32) -> Vec<String> {
    /// In every common font, at least this many bold letters of [`TITLE`] size fit into 100 pixels.
    const LETTERS: i32 = 8;
    words::wrapped(text, ((width - 48) * LETTERS / 100) as usize)
}

/// What is asked, of which machine, and when it was measured.
pub(super) fn context(question: &str, origin: &Origin, width: i32) -> Vec<String> {
    let day = if_known(origin.calibrated.as_ref(), |day| format!(", calibrated {day}"));
    let cpu = if_known(origin.cpu.as_ref(), |cpu| format!(" with {cpu}"));
    let mut lines = if question.is_empty() { Vec::new() } else { wrapped(question, width) };
    lines.extend(wrapped(&format!("{}{cpu}{day}", origin.gpu), width));
    lines
}

/// Words with names in quotation marks, since a picture has no other letters for them.
pub(super) fn quoted(text: &str) -> String {
    text.replace('`', "\"")
}

/// What a viewer says about marks that the pointer rests on: texts for places of a picture, in
/// pixels. plotters knows no `<title>` of SVG: they are laid over the finished picture, invisible.
#[derive(Debug, Default)]
pub(super) struct Tips(RefCell<Vec<([i32; 4], String)>>);

impl Tips {
    /// Says something about a rectangle between two corners.
    pub fn add(&self, (left, top): (i32, i32), (right, bottom): (i32, i32), text: String) {
        let (width, height) = ((right - left).max(2), (bottom - top).max(2));
        self.0.borrow_mut().push(([left, top, width, height], text));
    }

    /// Says something about the surroundings of a point.
    pub fn add_near(&self, (x, y): (i32, i32), text: String) {
        const NEAR: i32 = 8;
        self.add((x - NEAR, y - NEAR), (x + NEAR, y + NEAR), text);
    }

    /// A picture with these texts over it.
    pub fn over(&self, picture: &str) -> String {
        let Some(inner) = picture.trim_end().strip_suffix("</svg>") else {
            return picture.to_owned();
        };
        let mut text = inner.to_owned();
        for ([x, y, width, height], said) in self.0.borrow().iter() {
            let said = escaped(said);
            let _ = writeln!(
                text,
                "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" \
                 fill-opacity=\"0\"><title>{said}</title></rect>"
            );
        }
        text + "</svg>\n"
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
