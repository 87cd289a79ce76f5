//! Paths of data other than plain copies.

use super::estimator::{Estimator, sized};
use crate::profile::TransferModel;
use crate::samples::{Quantity, TransferPath};

pub(super) fn transfers(estimator: &Estimator<'_>) -> Vec<TransferModel> {
    let curve = |path| estimator.curve(sized(|bytes| Quantity::Transfer { path, bytes }));
    let model = |path| curve(path).map(|time| TransferModel { path, time });
    TransferPath::ALL.into_iter().filter_map(model).collect()
}
