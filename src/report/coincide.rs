//! Lines of a chart that lie on one another.

/// Points of a line from left to right, as shares of both axes.
pub(super) type Places = Vec<(f64, f64)>;

/// Groups lines that no reader could tell apart: those that begin and end above the same places and
/// are nowhere further apart than `near`. Each group is led by the first of its lines.
pub(super) fn coinciding(lines: &[Places], near: f64) -> Vec<Vec<usize>> {
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
