//! Copies of rows that lie apart.

use super::estimator::{Estimator, pick};
use crate::profile::{Curve, RowModel};
use crate::samples::{MANY_ROWS, Quantity, RowPath};
use crate::units::Bytes;
use std::collections::BTreeSet;

pub(super) fn rows(estimator: &Estimator<'_>) -> Vec<RowModel> {
    RowPath::ALL.into_iter().filter_map(|path| model(estimator, path)).collect()
}

/// What more rows take longer is what a row takes; the rest is what a copy takes besides.
fn model(estimator: &Estimator<'_>, wanted: RowPath) -> Option<RowModel> {
    let sizes: BTreeSet<Bytes> =
        estimator.kinds(pick!(Quantity::Rows { path, row, .. } if path == wanted => row));
    let (mut per_row, mut besides, mut scatter) = (Vec::new(), Vec::new(), 0.0_f64);
    for row in sizes {
        let of = |rows| estimator.estimate_of(&Quantity::Rows { path: wanted, row, rows });
        let [few, many] = MANY_ROWS;
        let (Some(less), Some(more)) = (of(few), of(many)) else { continue };
        let one = ((more.ns - less.ns) / (many - few) as f64).max(0.0);
        per_row.push((row.as_f64(), one));
        besides.push((row.as_f64(), (less.ns - few as f64 * one).max(0.0)));
        scatter = scatter.max(more.scatter);
    }
    let curve = |knots: Vec<(f64, f64)>| Curve { knots, scatter };
    let is_known = !per_row.is_empty();
    let (per_row, besides) = (curve(per_row), curve(besides));
    is_known.then_some(RowModel { path: wanted, per_row, besides })
}
