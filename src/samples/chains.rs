//! The operations of chains and round trips.

use crate::kernels::{Kernel, Variant};
use crate::machine::OperationKind;
use crate::units::Bytes;

pub const SHORT_COPY: Bytes = Bytes::kib(4);

pub const LONG_COPY: Bytes = Bytes::kib(256);

/// The kernel of short chains, with its number of elements.
pub const SHORT_KERNEL: (Variant, u64) = (Variant { kernel: Kernel::Scale, extent: 0 }, 32);

pub const LONG_KERNEL: (Variant, u64) =
    (Variant { kernel: Kernel::Polynomial, extent: 1024 }, 1 << 18);

/// The two orders in which a chain can go through all engines.
pub const CYCLES: [[OperationKind; 3]; 2] = [
    [OperationKind::CopyIn, OperationKind::Kernel, OperationKind::CopyOut],
    [OperationKind::CopyOut, OperationKind::Kernel, OperationKind::CopyIn],
];
