//! Curves as a few straight pieces.

/// The fewest knots, chosen among the points, between which straight lines stay
/// within the relative `tolerance` of every point: `|line - y| <= tolerance * |y|`.
/// Among equally few, those with the least sum of squared relative errors.
///
/// The first and the last point are always knots. By dynamic programming over the last knot
/// (Bellman, "On the approximation of curves by line segments using dynamic programming", CACM 4,
/// 1961). What `Reach` keeps for each knot tells in constant time whether a line may stay within
/// the tolerance, and about what its errors sum up to. So errors are summed one by one only for
/// the few lines that may be the best.
///
/// # Panics
/// If `x` does not increase from point to point.
pub fn segment(points: &[(f64, f64)], tolerance: f64) -> Vec<(f64, f64)> {
    assert!(points.is_sorted_by(|a, b| a.0 < b.0), "points out of order");
    assert!(tolerance >= 0.0, "a tolerance of {tolerance}");
    let Some(&first) = points.first() else { return Vec::new() };
    let mut paths = vec![Path { pieces: 0, error: 0.0, previous: 0 }];
    let mut reaches = vec![Reach::from(first)];
    for end in 1..points.len() {
        paths.push(best_path(&points[..=end], tolerance, &paths, &reaches));
        reaches.iter_mut().for_each(|reach| reach.pass(points[end], tolerance));
        reaches.push(Reach::from(points[end]));
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
    /// The knot before.
    previous: usize,
}

/// The best way to the last of the points, by those to the others.
fn best_path(points: &[(f64, f64)], tolerance: f64, paths: &[Path], reaches: &[Reach]) -> Path {
    let to = points[points.len() - 1];
    let candidates: Vec<usize> =
        (0..reaches.len()).filter(|&start| reaches[start].meets(to)).collect();
    let mut least = 0;
    loop {
        let pieces = candidates.iter().map(|&start| paths[start].pieces);
        let pieces = pieces.filter(|&pieces| pieces >= least).min();
        let pieces = pieces.expect("a line between neighbours passes through both");
        let among = candidates.iter().filter(|&&start| paths[start].pieces == pieces);
        let mut among: Vec<(f64, usize)> =
            among.map(|&at| (paths[at].error + reaches[at].least_error(to), at)).collect();
        among.sort_by(|one, other| one.0.total_cmp(&other.0));
        let mut best: Option<(f64, usize)> = None;
        for (bound, start) in among {
            if best.is_some_and(|(error, _)| bound > error) {
                break;
            }
            let Some(error) = piece_error(&points[start..], tolerance) else { continue };
            let found = (paths[start].error + error, start);
            // The first candidate wins among equals.
            best = Some(best.map_or(found, |best| if found < best { found } else { best }));
        }
        if let Some((error, previous)) = best {
            return Path { pieces: pieces + 1, error, previous };
        }
        least = pieces + 1;
    }
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

/// The straight lines from a point that stay within the tolerance of all points so far behind it,
/// by their slopes: with each point there are fewer (Williams, "An efficient algorithm for the
/// piecewise linear approximation of planar curves", Computer Graphics and Image Processing 8,
/// 1978).
struct Reach {
    from: (f64, f64),
    least: f64,
    most: f64,
    /// The errors of a line add up to a square function of its slope: the factors of the square,
    /// of twice the slope and of one.
    squares: [f64; 3],
}

impl Reach {
    /// More than rounding adds to any of these figures, relative to the largest part of each.
    const ROUNDING: f64 = 1e-11;

    const fn from(point: (f64, f64)) -> Self {
        let (least, most) = (f64::NEG_INFINITY, f64::INFINITY);
        Self { from: point, least, most, squares: [0.0; 3] }
    }

    /// Leaves out the lines that do not pass near enough by one more point.
    fn pass(&mut self, (x, y): (f64, f64), tolerance: f64) {
        let (run, rise) = (x - self.from.0, y - self.from.1);
        let near = tolerance * y.abs() + Self::ROUNDING * (y.abs() + self.from.1.abs());
        self.least = self.least.max((rise - near) / run);
        self.most = self.most.min((rise + near) / run);
        if y != 0.0 {
            let (run, rise) = (run / y, rise / y);
            let parts = [run * run, run * rise, rise * rise];
            self.squares.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
        }
    }

    /// Whether one of the lines leads to a point; of a line that only just does or does not,
    /// [`piece_error`] has to say it.
    fn meets(&self, to: (f64, f64)) -> bool {
        (self.least..=self.most).contains(&slope(self.from, to))
    }

    /// What the errors of the line to a point add up to, less what rounding may have added.
    fn least_error(&self, to: (f64, f64)) -> f64 {
        let slope = slope(self.from, to);
        let [square, twice, one] = self.squares;
        let parts = [square * slope * slope, -2.0 * twice * slope, one];
        let largest = parts.iter().fold(0.0, |largest: f64, part| largest.max(part.abs()));
        parts.iter().sum::<f64>() - Self::ROUNDING * largest
    }
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
