//! Kernels on the device.

use crate::kernels::Variant;
use std::fmt;

pub(super) fn named_variant(Variant { kernel, extent }: Variant) -> String {
    if extent > 0 { format!("{kernel} {extent}") } else { kernel.to_string() }
}

pub(super) fn on_gpu(
    f: &mut fmt::Formatter<'_>,
    variant: Variant,
    elements: u64,
    how: &str,
) -> fmt::Result {
    write!(f, "{} on the GPU, {elements} elements{how}", named_variant(variant))
}
