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
    pub side: Side,
    /// How many strands of its side come before it.
    pub number: usize,
}

/// The lines of a chart, those that coincide as one. `place` turns a point into shares of the axes.
pub(super) fn strands(
    lines: &[Line],
    near: f64,
    place: impl Fn(f64, f64) -> (f64, f64),
) -> Vec<Strand<'_>> {
    let places = |line: &Line| line.points.iter().map(|(x, y, _)| place(*x, *y)).collect();
    let places: Vec<Places> = lines.iter().map(places).collect();
    let mut of_side: BTreeMap<Side, usize> = BTreeMap::new();
    let strand = |group: Vec<usize>| {
        let lines: Vec<&Line> = group.into_iter().map(|at| &lines[at]).collect();
        let side = lines[0].side;
        let before = of_side.entry(side).or_default();
        let number = *before;
        *before += 1;
        Strand { lines, side, number }
    };
    coinciding(&places, near).into_iter().map(strand).collect()
}

impl Strand<'_> {
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

/// Points of a line from left to right, as shares of both axes.
type Places = Vec<(f64, f64)>;

/// Groups lines that no reader could tell apart: those that begin and end above the same places and
/// are nowhere further apart than `near`. Each group is led by the first of its lines.
fn coinciding(lines: &[Places], near: f64) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let is_on = |group: &&mut Vec<usize>| {
            group.first().is_some_and(|&lead| coincide(&lines[lead], line, near))
        };
        match groups.iter_mut().find(is_on) {
            Some(group) => group.push(at),
            None => groups.push(vec![at]),
        }
    }
    groups
}

/// Whether two lines are nowhere further apart than `near`. It is enough to look where one of them
/// has a point: between points, both are straight.
fn coincide(one: &Places, other: &Places, near: f64) -> bool {
    let ends = |line: &Places| Some([line.first()?.0, line.last()?.0]);
    let (Some(one_ends), Some(other_ends)) = (ends(one), ends(other)) else { return false };
    let have_ends = one_ends.iter().zip(other_ends).all(|(one, other)| (one - other).abs() < near);
    let is_near = |line: &Places, (x, y): (f64, f64)| (height(line, x) - y).abs() < near;
    have_ends
        && one.iter().all(|point| is_near(other, *point))
        && other.iter().all(|point| is_near(one, *point))
}

/// The height of a line at `x`.
fn height(line: &Places, x: f64) -> f64 {
    let after = line.partition_point(|point| point.0 < x).min(line.len() - 1);
    let (before, after) = (line[after.saturating_sub(1)], line[after]);
    let wide = after.0 - before.0;
    let share = if wide > 0.0 { ((x - before.0) / wide).clamp(0.0, 1.0) } else { 1.0 };
    before.1 + share * (after.1 - before.1)
}

#[cfg(test)]
mod tests {
    use super::{Places, coinciding};

    fn line(heights: &[f64]) -> Places {
        let step = 1.0 / (heights.len() - 1) as f64;
        heights.iter().enumerate().map(|(at, height)| (at as f64 * step, *height)).collect()
    }

    #[test]
    fn lines_on_one_another_are_one_group() {
        let flat = |height: f64| line(&[height; 3]);
        let bent = line(&[0.5, 0.5, 0.6]);
        let lines = [flat(0.5), bent, flat(0.505), flat(0.2), flat(0.495)];
        assert_eq!(coinciding(&lines, 0.01), [vec![0, 2, 4], vec![1], vec![3]]);
    }

    #[test]
    fn a_point_more_makes_no_difference_on_the_line_and_one_beside_it_does() {
        let lines = [line(&[0.0, 1.0]), line(&[0.0, 0.504, 1.0]), line(&[0.0, 0.52, 1.0])];
        assert_eq!(coinciding(&lines, 0.01), [vec![0, 1], vec![2]]);
    }

    #[test]
    fn a_line_that_ends_sooner_is_another() {
        let long = line(&[0.5, 0.5, 0.5]);
        let short = vec![(0.0, 0.5), (0.5, 0.5)];
        assert_eq!(coinciding(&[long, short, Vec::new()], 0.01), [vec![0], vec![1], vec![2]]);
    }
}
