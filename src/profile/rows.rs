//! Copies of rows that lie apart.

use super::prices::priced;
use super::unknown::{Known, Unknown};
use super::{Curve, Profile};
use crate::samples::RowPath;
use crate::units::{Bytes, Span};
use serde::{Deserialize, Serialize};

/// Copies of rows on one path: each takes a time of its own, and as long again for each row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowModel {
    pub path: RowPath,
    /// Nanoseconds of a row, its data included, over its bytes.
    pub per_row: Curve,
    /// Nanoseconds of a copy besides its rows, over the bytes of one.
    pub besides: Curve,
}

priced! {
    RowModel { SpelledOut: per_row, besides; }
    besides path; by |rows| rows.per_row.scatter
}

impl Profile {
    /// How long a copy of so many rows takes.
    ///
    /// # Errors
    /// If copies of rows on this path were not measured.
    pub fn rows(&self, path: RowPath, row: Bytes, count: u64) -> Known<Span> {
        let model = self.rows.iter().find(|model| model.path == path);
        let model = model.ok_or_else(|| Unknown::new(format!("{} of rows", path.name())))?;
        let row = row.as_f64();
        let time = model.besides.at(row) + model.per_row.at(row) * count as f64;
        Ok(Span::from_nanos_f64(time.max(0.0)))
    }
}
