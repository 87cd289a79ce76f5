//! Copies from host memory to host memory, which the CPU makes.

use super::estimator::Estimator;
use crate::profile::HostCopyModel;
use crate::samples::{FAR, Quantity};

pub(super) fn host_copies(estimator: &Estimator<'_>) -> Vec<HostCopyModel> {
    let curve = |all: bool, is_far: bool, there: bool| {
        estimator.curve(|quantity| match *quantity {
            Quantity::HostCopy { by_all, bytes, footprint, into_cache } => {
                let is_one = (by_all, footprint == FAR, into_cache) == (all, is_far, there);
                is_one.then_some(bytes.get())
            }
            _ => None,
        })
    };
    let model = |by_all| {
        let (near, far) = (curve(by_all, false, false)?, curve(by_all, true, false)?);
        Some(HostCopyModel { by_all, near, into_cache: curve(by_all, true, true), far })
    };
    [false, true].into_iter().filter_map(model).collect()
}
