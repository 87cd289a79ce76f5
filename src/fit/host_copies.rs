//! Copies from host memory to host memory, which the CPU makes.

use super::estimator::Estimator;
use crate::profile::HostCopyModel;
use crate::samples::{FAR, Quantity};

pub(super) fn host_copies(estimator: &Estimator<'_>) -> Vec<HostCopyModel> {
    let curve = |all: bool, is_far: bool| {
        estimator.curve(|quantity| match *quantity {
            Quantity::HostCopy { by_all, bytes, footprint } => {
                (by_all == all && (footprint == FAR) == is_far).then_some(bytes.get())
            }
            _ => None,
        })
    };
    let model = |by_all| {
        let (near, far) = (curve(by_all, false)?, curve(by_all, true)?);
        Some(HostCopyModel { by_all, near, far })
    };
    [false, true].into_iter().filter_map(model).collect()
}
