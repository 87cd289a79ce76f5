//! Names that stand in columns, and the columns themselves.

use crate::machine::{Direction, OperationKind};
use crate::samples::TimedCall;

/// The columns of which a row fills in exactly one, each with the columns that may go with it.
pub(super) const SORTS: [(&str, &[&str]); 7] = [
    (
        "path",
        &[
            "memory",
            "bytes",
            "until",
            "footprint",
            "concurrent",
            "gpu",
            "gpus",
            "from",
            "to",
            "streams",
            "branches",
            "waiting",
        ],
    ),
    (
        "kernel",
        &[
            "degree",
            "taps",
            "bins",
            "columns",
            "inner",
            "length",
            "elements",
            "processor",
            "footprint",
            "gpu",
            "concurrent",
        ],
    ),
    ("call", &["device"]),
    ("operation", &["after", "streams", "waiting", "concurrent"]),
    ("graph", &["nodes"]),
    ("manage", &["bytes"]),
    ("setup", &[]),
];

/// Stands for a time that nobody knows: the line counts for nothing.
pub(super) const NOT_KNOWN: &str = "?";

/// Value of the column `streams` for nodes of a graph.
pub(super) const IN_A_GRAPH: &str = "graph";
/// Value of the column `concurrent` for copies beside kernels.
pub(super) const KERNEL: &str = "kernel";

/// Every column that a table may have.
pub(super) fn known_columns() -> Vec<&'static str> {
    let of_sort = |(column, others): (&'static str, &'static [&'static str])| {
        std::iter::once(column).chain(others.iter().copied())
    };
    let mut names = Vec::new();
    for name in SORTS.into_iter().flat_map(of_sort).chain(["seconds"]) {
        // A column may belong to several sorts.
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Calls that a table may have.
pub(super) const CALLS: [TimedCall; 11] = {
    use TimedCall::{
        Clear, CopyIn, CopyOut, Launch, Multiply, PeerCopy, Record, Synchronize, Transform,
        UseDevice, Wait,
    };
    [
        Launch,
        Multiply,
        Transform,
        CopyIn,
        CopyOut,
        Clear,
        Record,
        Wait,
        Synchronize,
        PeerCopy,
        UseDevice,
    ]
};

/// Where a copy comes from and where it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Path {
    ToOrFromHost(Direction),
    OnDevice,
    BetweenDevices,
}

pub(super) const PATHS: [(&str, Path); 4] = [
    ("H2D", Path::ToOrFromHost(Direction::HostToDevice)),
    ("D2H", Path::ToOrFromHost(Direction::DeviceToHost)),
    ("D2D", Path::OnDevice),
    ("P2P", Path::BetweenDevices),
];

pub(super) const OPERATIONS: [(&str, OperationKind); 4] = [
    ("copy-in", OperationKind::CopyIn),
    ("copy-out", OperationKind::CopyOut),
    ("kernel", OperationKind::Kernel),
    ("peer-copy", OperationKind::PeerCopy),
];
