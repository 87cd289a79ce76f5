//! Paths of data other than plain copies.

use super::estimator::{Estimator, sized};
use crate::profile::TransferModel;
use crate::samples::{Quantity, TransferPath};
use crate::units::Bytes;

pub(super) fn transfers(estimator: &Estimator<'_>) -> Vec<TransferModel> {
    let curve = |path| {
        let bytes = |bytes| Quantity::Transfer { path, bytes: Bytes::new(bytes) };
        estimator.curve(sized(bytes))
    };
    let model = |path| curve(path).map(|time| TransferModel { path, time });
    TransferPath::ALL.into_iter().filter_map(model).collect()
}
