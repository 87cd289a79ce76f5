//! Lines of a chart, and those that lie on one another.

use crate::machine::Side;
use std::collections::BTreeMap;

/// One line: its points from left to right, each with what a tooltip says.
pub(super) struct Line {
    pub name: String,
    pub side: Side,
    pub points: Vec<(f64, f64, String)>,
}

/// Lines that are drawn as one.
pub(super) struct Strand<'a> {
    /// The first of them leads.
    pub lines: Vec<&'a Line>,
    /// How many strands of its side come before it.
    pub number: usize,
}

/// Lines coincide that are nowhere further apart than this share of a chart's height. The marks of
/// their points are higher than that: they would cover more than half of each other.
const NEAR: f64 = 0.015;

/// The lines of a chart, those that no reader could tell apart as one. `height` turns a value into
/// a share of the chart's height.
pub(super) fn strands(lines: &[Line], height: impl Fn(f64) -> f64) -> Vec<Strand<'_>> {
    let mut groups: Vec<Vec<&Line>> = Vec::new();
    for line in lines {
        let is_on =
            |group: &&mut Vec<&Line>| group.iter().all(|other| coincide(line, other, &height));
        match groups.iter_mut().find(is_on) {
            Some(group) => group.push(line),
            None => groups.push(vec![line]),
        }
    }
    let mut of_side: BTreeMap<Side, usize> = BTreeMap::new();
    let strands = groups.into_iter().map(|lines| {
        let before = of_side.entry(lines[0].side).or_default();
        *before += 1;
        Strand { number: *before - 1, lines }
    });
    strands.collect()
}

/// Whether two lines are near each other at every place at which both have a point. A line with
/// fewer points says nothing of the places between them, and one place alone makes no line.
fn coincide(one: &Line, other: &Line, height: &impl Fn(f64) -> f64) -> bool {
    let apart = |(x, y, _): &(f64, f64, String)| {
        let there = other.points.iter().find(|point| point.0.total_cmp(x).is_eq())?;
        Some((height(*y) - height(there.1)).abs())
    };
    let shared: Vec<f64> = one.points.iter().filter_map(apart).collect();
    shared.len() > 1 && shared.into_iter().all(|apart| apart < NEAR)
}

impl Strand<'_> {
    pub fn side(&self) -> Side {
        self.lines[0].side
    }

    /// The points of all its lines, those at the same place once, with what is said of each: the
    /// name of its line comes first, with this behind it.
    pub fn points(&self, behind_name: &str) -> Vec<(f64, f64, String)> {
        let mut found: Vec<(f64, f64, String)> = Vec::new();
        for line in &self.lines {
            for (x, y, words) in &line.points {
                let words = format!("{}{behind_name}{words}", line.name);
                match found.iter_mut().find(|point| point.0.total_cmp(x).is_eq()) {
                    Some((_, _, others)) => *others += &format!("\n{words}"),
                    None => found.push((*x, *y, words)),
                }
            }
        }
        found.sort_by(|one, other| one.0.total_cmp(&other.0));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(heights: &[(u32, f64)]) -> Line {
        let points = heights.iter().map(|(x, y)| (f64::from(*x), *y, String::new())).collect();
        Line { name: String::new(), side: Side::Gpu, points }
    }

    fn sizes(lines: &[Line]) -> Vec<usize> {
        strands(lines, |y| y).iter().map(|strand| strand.lines.len()).collect()
    }

    #[test]
    fn lines_on_one_another_are_one() {
        let flat = |y: f64| line(&[(1, y), (2, y), (4, y)]);
        let bent = line(&[(1, 0.5), (2, 0.5), (4, 0.6)]);
        assert_eq!(sizes(&[flat(0.5), bent, flat(0.51), flat(0.2), flat(0.498)]), [3, 1, 1]);
        // Each is near the next one, but the first and the last are apart.
        assert_eq!(sizes(&[flat(0.5), flat(0.51), flat(0.52)]), [2, 1]);
    }

    #[test]
    fn a_line_with_fewer_points_is_on_another_where_both_have_some() {
        let long = || line(&[(1, 0.1), (2, 0.7), (4, 0.2), (8, 0.3)]);
        let sparse = || line(&[(2, 0.7), (8, 0.3), (16, 0.9)]);
        assert_eq!(sizes(&[long(), sparse()]), [2]);
        assert_eq!(sizes(&[long(), line(&[(2, 0.7), (8, 0.4)])]), [1, 1]);
        assert_eq!(sizes(&[long(), line(&[(8, 0.3), (16, 0.4)]), line(&[])]), [1, 1, 1]);
        let (lines, heights) = ([long(), sparse()], |y: f64| y);
        let points = strands(&lines, heights)[0].points(": ");
        assert_eq!(points.iter().map(|point| point.0).collect::<Vec<_>>(), [1., 2., 4., 8., 16.]);
    }
}
