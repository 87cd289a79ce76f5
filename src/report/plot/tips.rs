//! What a viewer says about a mark that the pointer rests on: SVG's `<title>`.
//!
//! plotters knows no such elements. They are laid over the finished picture, invisible.

use std::cell::RefCell;
use std::fmt::Write;

/// Texts for places of a picture, in pixels.
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
