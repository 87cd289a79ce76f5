//! Copies from host memory to host memory, which the CPU makes.

use super::estimator::{Estimator, sized};
use crate::profile::HostCopyModel;
use crate::samples::{FAR, Quantity};
use crate::units::Bytes;

pub(super) fn host_copies(estimator: &Estimator<'_>) -> Vec<HostCopyModel> {
    let curve = |by_all, is_far, into_cache| {
        estimator.curve(sized(|bytes: Bytes| {
            let footprint = if is_far { FAR } else { bytes + bytes };
            Quantity::HostCopy { by_all, bytes, footprint, into_cache }
        }))
    };
    let model = |by_all| {
        let (near, far) = (curve(by_all, false, false)?, curve(by_all, true, false)?);
        Some(HostCopyModel { by_all, near, into_cache: curve(by_all, true, true), far })
    };
    [false, true].into_iter().filter_map(model).collect()
}
