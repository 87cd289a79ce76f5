//! Curves as a few straight pieces.

/// The fewest knots, chosen among the points, between which straight lines stay
/// within the relative `tolerance` of every point: `|line - y| <= tolerance * |y|`.
/// Among equally few, those with the least sum of squared relative errors.
///
/// The first and the last point are always knots. By dynamic programming over
/// the last knot (Bellman, "On the approximation of curves by line segments using
/// dynamic programming", CACM 4, 1961); cubic in the number of points at worst.
///
/// # Panics
/// If `x` does not increase from point to point.
pub fn segment(points: &[(f64, f64)], tolerance: f64) -> Vec<(f64, f64)> {
    assert!(points.is_sorted_by(|a, b| a.0 < b.0), "points out of order");
    assert!(tolerance >= 0.0, "a tolerance of {tolerance}");
    if points.is_empty() {
        return Vec::new();
    }
    let mut paths = vec![Path { pieces: 0, error: 0.0, previous: 0 }];
    for end in 1..points.len() {
        let best = (0..end)
            .filter_map(|start| {
                let error = piece_error(&points[start..=end], tolerance)?;
                let Path { pieces, error: before, .. } = paths[start];
                Some(Path { pieces: pieces + 1, error: before + error, previous: start })
            })
            .min_by(|a, b| a.pieces.cmp(&b.pieces).then(a.error.total_cmp(&b.error)))
            .expect("a piece between neighbours passes through both");
        paths.push(best);
    }
    let mut at = points.len() - 1;
    let mut knots = vec![points[at]];
    while at > 0 {
        at = paths[at].previous;
        knots.push(points[at]);
    }
    knots.reverse();
    knots
}

/// The best way from the first point to this one.
struct Path {
    pieces: usize,
    error: f64,
    previous: usize,
}

/// The squared relative errors of a straight line from the first to the last of
/// the points, summed over those between; `None` where one exceeds the tolerance.
fn piece_error(points: &[(f64, f64)], tolerance: f64) -> Option<f64> {
    let ends = [points[0], points[points.len() - 1]];
    let mut sum = 0.0;
    for &(x, y) in &points[1..points.len() - 1] {
        let error = (interpolate(&ends, x) - y).abs();
        if error > tolerance * y.abs() {
            return None;
        }
        // Where y is zero, so is the error.
        sum += if error == 0.0 { 0.0 } else { (error / y).powi(2) };
    }
    Some(sum)
}

/// The curve through the knots at `x`: straight between knots, level before the
/// first. Past the last it goes on with the slope of the last piece, or level
/// where that one falls: a cost does not come down to nothing.
///
/// # Panics
/// If there are no knots.
pub fn interpolate(knots: &[(f64, f64)], x: f64) -> f64 {
    let after = knots.partition_point(|knot| knot.0 <= x);
    match (&knots[..after], &knots[after..]) {
        ([], []) => panic!("a curve without knots"),
        ([], [first, ..]) => first.1,
        ([only], []) => only.1,
        ([.., from, last], []) => last.1 + slope(*from, *last).max(0.0) * (x - last.0),
        ([.., from], [to, ..]) => from.1 + slope(*from, *to) * (x - from.0),
    }
}

fn slope(from: (f64, f64), to: (f64, f64)) -> f64 {
    (to.1 - from.1) / (to.0 - from.0)
}
