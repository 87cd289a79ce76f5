//! Numbers about numbers: robust summaries, straight lines and segmentation.
//!
//! Invariant: functions take and give plain `f64`, without units, randomness or knowledge of what
//! was measured. Every formula names its source and has a closed-form test. Values are finite:
//! measuring and parsing code checks that, and a NaN that gets here is a bug.

mod density;
mod deviate;
mod isotonic;
mod line;
mod modes;
mod order;
mod segments;

pub use density::density;
pub use deviate::{LEAST_DEVIATE, NINE_OF_TEN, deviate, deviations_holding, normal_share_below};
pub use isotonic::isotonic;
pub use line::{Line, theil_sen};
pub use modes::{Mode, modes};
pub use order::{
    biweight_mean, conformal_quantile, mad, median, median_interval, quantile, quantile_of_sorted,
    relative_half_width, relative_spread, unraised_mean,
};
pub use segments::{interpolate, segment};

/// Rounded to six decimals, so that files show no noise of divisions.
pub fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}
