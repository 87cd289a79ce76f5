//! The colours of all pictures: reports and their scripts, and plots.
//!
//! Invariant: the CPU, the GPU and both together have one colour each, in every picture and in both
//! themes, and so has every engine. No other file of this room names a colour.

use crate::machine::Side;
use crate::timeline::Lane;
use std::fmt::Write;

/// Red, green and blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Colour(pub u8, pub u8, pub u8);

const WHITE: Colour = Colour(0xff, 0xff, 0xff);

/// What computes. In a timeline, the host's row is the CPU's, that of kernels the GPU's.
const CPU: Colour = Colour(0x1f, 0x78, 0xb4);
const GPU: Colour = Colour(0xd9, 0x5f, 0x02);
const BOTH: Colour = Colour(0x1b, 0x9e, 0x77);
/// Copies to the device, to the host, and from GPU to GPU.
const H2D: Colour = Colour(0x7a, 0x5c, 0xc8);
const D2H: Colour = Colour(0xd9, 0x62, 0x9f);
const P2P: Colour = Colour(0x7d, 0x74, 0x68);

/// For what has no side, such as scenarios. None of them stands for anything else.
pub(super) const NEUTRAL: [Colour; 5] = [
    Colour(0x5a, 0x6b, 0x7b),
    Colour(0x9c, 0x4f, 0x96),
    Colour(0x7a, 0x7d, 0x1e),
    Colour(0x00, 0x86, 0x8b),
    Colour(0xb0, 0x5a, 0x5a),
];

/// What the ground of a picture decides: letters, lines and surfaces.
#[derive(Debug)]
pub(super) struct Theme {
    pub ground: Colour,
    pub panel: Colour,
    pub ink: Colour,
    pub soft: Colour,
    pub rule: Colour,
    link: Colour,
    /// What something was waiting for, and what a search has found.
    mark: Colour,
    scheme: &'static str,
}

/// The theme of plots, and of reports on a light screen.
pub(super) const LIGHT: Theme = Theme {
    ground: WHITE,
    panel: Colour(0xf6, 0xf7, 0xf8),
    ink: Colour(0x1b, 0x1f, 0x24),
    soft: Colour(0x57, 0x60, 0x6a),
    rule: Colour(0xdf, 0xe3, 0xe8),
    link: Colour(0x0b, 0x57, 0xa4),
    mark: Colour(0xb3, 0x26, 0x1e),
    scheme: "light",
};

const DARK: Theme = Theme {
    ground: Colour(0x14, 0x17, 0x1b),
    panel: Colour(0x1c, 0x20, 0x26),
    ink: Colour(0xe6, 0xe9, 0xed),
    soft: Colour(0x9a, 0xa4, 0xaf),
    rule: Colour(0x32, 0x38, 0x41),
    link: Colour(0x7a, 0xb4, 0xf5),
    mark: Colour(0xff, 0x8a, 0x80),
    scheme: "dark",
};

const PAPER: Theme = Theme {
    panel: WHITE,
    ink: Colour(0x00, 0x00, 0x00),
    soft: Colour(0x44, 0x44, 0x44),
    rule: Colour(0xbb, 0xbb, 0xbb),
    ..LIGHT
};

/// The colour of a side.
pub(super) const fn of_side(side: Side) -> Colour {
    match side {
        Side::Cpu => CPU,
        Side::Gpu => GPU,
        Side::Both => BOTH,
    }
}

/// The colour of a row of a timeline.
pub(super) const fn of_lane(lane: Lane) -> Colour {
    match lane {
        Lane::Host => CPU,
        Lane::CopyIn => H2D,
        Lane::Kernels => GPU,
        Lane::CopyOut => D2H,
        Lane::PeerCopy => P2P,
    }
}

impl Colour {
    /// `#1f78b4`.
    pub fn css(self) -> String {
        let Self(red, green, blue) = self;
        format!("#{red:02x}{green:02x}{blue:02x}")
    }
}

/// All colours as properties of a style sheet, `--gpu` and the like, and those of lines.
pub(super) fn css() -> String {
    let (mut fixed, mut strokes) = (String::new(), String::new());
    for side in Side::ALL {
        let colour = of_side(side).css();
        let _ = write!(fixed, "--{side}:{colour};");
        let _ = write!(strokes, "path.{}{{stroke:{colour}}}", side.name());
    }
    for lane in Lane::ALL {
        let _ = write!(fixed, "--{}:{};", lane.name().to_lowercase(), of_lane(lane).css());
    }
    // What is written on a bar, by how light the bar is.
    let _ = write!(fixed, "--on-dark:{};--on-light:{};", WHITE.css(), LIGHT.ink.css());
    let [light, dark, paper] = [&LIGHT, &DARK, &PAPER].map(Theme::css);
    format!(
        ":root{{{fixed}{light}}}{strokes}\
         @media (prefers-color-scheme:dark){{:root:not([data-theme=\"light\"]){{{dark}}}}}\
         :root[data-theme=\"dark\"]{{{dark}}}\
         @media print{{:root,:root:not([data-theme=\"light\"]),\
         :root[data-theme=\"dark\"]{{{paper}}}}}\n"
    )
}

impl Theme {
    fn css(&self) -> String {
        let Self { ground, panel, ink, soft, rule, link, mark, scheme } = self;
        let named = [
            ("ground", ground),
            ("panel", panel),
            ("ink", ink),
            ("soft", soft),
            ("rule", rule),
            ("link", link),
            ("mark", mark),
        ];
        let mut text = String::new();
        for (name, colour) in named {
            let _ = write!(text, "--{name}:{};", colour.css());
        }
        text + "color-scheme:" + scheme
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Relative luminance, as WCAG 2.2 defines it.
    fn luminance(Colour(red, green, blue): Colour) -> f64 {
        let linear = |part: u8| {
            let part = f64::from(part) / 255.0;
            if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
    }

    fn contrast(one: Colour, other: Colour) -> f64 {
        let (one, other) = (luminance(one), luminance(other));
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    fn fixed() -> Vec<Colour> {
        Side::ALL.into_iter().map(of_side).chain(Lane::ALL.map(of_lane)).chain(NEUTRAL).collect()
    }

    /// WCAG 2.2 asks for three to one for what a picture is understood by. Colours that keep it on
    /// both grounds need no second value for the dark theme.
    #[test]
    fn colours_stand_out_on_both_grounds() {
        for colour in fixed() {
            for theme in [LIGHT, DARK, PAPER] {
                let found = contrast(colour, theme.ground);
                assert!(found >= 3.0, "{}: {found:.2} on {}", colour.css(), theme.ground.css());
            }
        }
    }

    #[test]
    fn letters_can_be_read() {
        for theme in [LIGHT, DARK, PAPER] {
            for letters in [theme.ink, theme.soft, theme.link, theme.mark] {
                for ground in [theme.ground, theme.panel] {
                    let found = contrast(letters, ground);
                    assert!(found >= 4.5, "{}: {found:.2}", letters.css());
                }
            }
        }
    }

    #[test]
    fn no_colour_has_two_meanings() {
        let all = Side::ALL.into_iter().map(of_side).chain(NEUTRAL).chain([H2D, D2H, P2P]);
        let mut known = BTreeSet::new();
        for colour in all {
            assert!(known.insert(colour.css()), "{}", colour.css());
        }
    }
}
