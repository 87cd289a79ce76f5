//! Paths of data other than plain copies.

use super::estimator::Estimator;
use crate::profile::TransferModel;
use crate::samples::{Quantity, TransferPath};

pub(super) fn transfers(estimator: &Estimator<'_>) -> Vec<TransferModel> {
    let curve = |wanted| {
        estimator.curve(|quantity| match *quantity {
            Quantity::Transfer { path, bytes } if path == wanted => Some(bytes.get()),
            _ => None,
        })
    };
    let model = |path| curve(path).map(|time| TransferModel { path, time });
    TransferPath::ALL.into_iter().filter_map(model).collect()
}
