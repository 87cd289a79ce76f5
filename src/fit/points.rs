//! Which points of a curve to trust: what is known of times over sizes, whatever they are of.

/// A visit that takes this many times as long as another was disturbed: a device that is left alone
/// repeats its times more closely.
pub(super) const DISTURBED: f64 = 1.03;

/// A size that was measured, and its time.
pub(super) struct Point {
    pub size: u64,
    pub ns: f64,
    pub samples: usize,
}

/// The median of so many samples is not moved by a single outlier.
const FEWEST: usize = 3;

/// Drops points that have too few samples to be sure of and that contradict other sizes, since a
/// larger size never takes less time. It drops as few as possible (longest non-decreasing
/// subsequence).
pub(super) fn trusted(points: &[Point]) -> Points {
    // For each point, the length of the longest run that ends with it, and the point before it in
    // that run.
    let mut runs: Vec<(usize, Option<usize>)> = Vec::new();
    for (index, point) in points.iter().enumerate() {
        let fits = |&before: &usize| points[before].ns <= point.ns;
        // The first predecessor counts if several have equally long runs.
        let before = (0..index).rev().filter(fits).max_by_key(|&before| runs[before].0);
        runs.push((before.map_or(0, |before| runs[before].0) + 1, before));
    }
    let mut kept = vec![false; points.len()];
    let mut at = (0..points.len()).max_by_key(|&index| runs[index].0);
    while let Some(index) = at {
        kept[index] = true;
        at = runs[index].1;
    }
    let is_sure = |(point, kept): &(&Point, bool)| *kept || point.samples >= FEWEST;
    let sure = points.iter().zip(kept).filter(is_sure);
    sure.map(|(point, _)| (point.size as f64, point.ns)).collect()
}

/// Drops points whose time per byte is clearly above both neighbours'. A copy could always be split
/// into smaller ones, so something else used the link at every visit of that size. (On an H100,
/// with two visits, copies of 2 MiB once came out at 34 GB/s between others of 52.) If the next
/// larger size is no faster per byte, the link itself carries less, and the point stays.
pub(super) fn unhindered(points: Points) -> Points {
    let per_byte = |at: usize| points.get(at).map(|&(size, ns)| ns / size);
    let is_hindered = |at: usize| {
        let limit = DISTURBED * per_byte(at.checked_sub(1)?)?;
        Some(per_byte(at)? > limit && per_byte(at + 1)? <= limit)
    };
    let free = (0..points.len()).filter(|&at| is_hindered(at) != Some(true));
    free.map(|at| points[at]).collect()
}

/// Pairs of a size and a time in nanoseconds, by increasing size.
pub(super) type Points = Vec<(f64, f64)>;
