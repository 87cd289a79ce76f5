//! The timed parts of a trip to the device and back.

use super::chains::named;
use super::named::named;
use crate::machine::OperationKind;
use crate::units::Bytes;
use std::fmt;
use std::time::Duration;

named! {
    /// A part of a trip. Calls vary and the rest hardly does, so they are timed apart.
    pub enum TripPart {
        FirstCall = "first-call", "the first call";
        NextCall = "next-call", "the next call";
        /// From the return of the last call until a synchronisation returns.
        Rest = "rest", "the rest";
    }
}

impl TripPart {
    /// The parts of a trip with one call, or with two if it `has_next`.
    pub const fn all(has_next: bool) -> &'static [Self] {
        if has_next {
            &[Self::FirstCall, Self::NextCall, Self::Rest]
        } else {
            &[Self::FirstCall, Self::Rest]
        }
    }
}

/// Pause between the calls of a late trip: twice as long as a copy takes until its data flows.
pub const LATE: Duration = Duration::from_micros(4);

/// Elements of the kernel that a trip begins with.
pub const TRIP_ELEMENTS: u64 = 1 << 16;

pub(super) fn trip(
    f: &mut fmt::Formatter<'_>,
    (first, size): (OperationKind, u64),
    next: Option<OperationKind>,
    (part, in_graph): (TripPart, bool),
) -> fmt::Result {
    let size = match first {
        OperationKind::Kernel => format!("degree {size}"),
        _ => Bytes::new(size).to_string(),
    };
    let links: Vec<OperationKind> = std::iter::once(first).chain(next).collect();
    let place = if in_graph { " in a graph" } else { "" };
    write!(f, "{} in a round trip of {}, the first of {size}{place}", part.name(), named(&links))
}

pub(super) fn late_trip(
    f: &mut fmt::Formatter<'_>,
    first: (OperationKind, u64),
    next: OperationKind,
    part: TripPart,
) -> fmt::Result {
    trip(f, first, Some(next), (part, false))?;
    f.write_str(", in steady state")
}
