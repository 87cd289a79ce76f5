//! Recordings made on an H200 with CUDA 13.0 are read as what their programs did.

use hallway::trace::{CallKind, Defect, MemoryKind, Recording, Trace, WorkKind};
use std::collections::BTreeSet;
use std::path::Path;

fn recording(name: &str) -> Recording {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings");
    let bytes = std::fs::read(folder.join(name).with_extension("hallway")).expect("a file");
    Recording::read(&bytes).expect("a recording")
}
