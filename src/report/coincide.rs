//! Lines of a chart that lie on one another.

/// Groups lines that no reader could tell apart: those with points at the same places whose heights
/// differ by less than `near`. Each group is led by the first of its lines.
///
/// Heights are shares of the axis.
pub(super) fn coinciding(lines: &[Vec<(f64, f64)>], near: f64) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let is_on = |group: &&mut Vec<usize>| {
            group.first().is_some_and(|&lead| on(&lines[lead], line, near))
        };
        match groups.iter_mut().find(is_on) {
            Some(group) => group.push(at),
            None => groups.push(vec![at]),
        }
    }
    groups
}

fn on(one: &[(f64, f64)], other: &[(f64, f64)], near: f64) -> bool {
    let is_near = |(a, b): (&(f64, f64), &(f64, f64))| {
        a.0.total_cmp(&b.0).is_eq() && (a.1 - b.1).abs() < near
    };
    one.len() == other.len() && one.iter().zip(other).all(is_near)
}

#[cfg(test)]
mod tests {
    use super::coinciding;

    #[test]
    fn lines_on_one_another_are_one_group() {
        let flat = |height: f64| vec![(1.0, height), (2.0, height), (4.0, height)];
        let bent = vec![(1.0, 0.5), (2.0, 0.5), (4.0, 0.6)];
        let short = vec![(1.0, 0.5), (2.0, 0.5)];
        let lines = [flat(0.5), bent, flat(0.505), short, flat(0.2), flat(0.495)];
        assert_eq!(coinciding(&lines, 0.01), [vec![0, 2, 5], vec![1], vec![3], vec![4]]);
    }
}
