//! One parameter of a profile.

/// A fitted number or a fitted curve.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// Its place in the file, such as `calls.launch` or `kernel(saxpy).time`.
    pub name: String,
    /// The section of the file.
    pub section: String,
    /// Pairs of size and value, sizes increasing. A single number is one pair of size 0.
    pub points: Vec<(f64, f64)>,
    pub is_curve: bool,
}

impl Parameter {
    /// The value at a size; `None` outside of the sizes of its curve.
    pub fn at(&self, size: f64) -> Option<f64> {
        let (first, last) = (self.points.first()?.0, self.points.last()?.0);
        (first..=last).contains(&size).then(|| crate::stats::interpolate(&self.points, size))
    }
}
