//! Reads what Nsight Systems exports: an SQLite database with one table for each kind of record.
//!
//! Invariant: no table and no column is taken for granted. Which ones there are depends on what was
//! recorded and on the version. Kinds of waits are not read at all: their numbers changed between
//! versions, and the name of the call says the same.

mod database;
mod records;

use super::draft::Draft;
use super::join::join;
use super::{Defect, MemoryKind, Trace, TraceError};
use database::{Cells, Database, Unreadable};
use std::collections::HashMap;
use std::path::Path;

/// The most bytes of names. They are all in memory while the tables are read.
const MOST_NAMES: usize = 512 << 20;

/// Reads the database at `path`. Errors name the file `shown`, which may be packed.
pub(super) fn read(shown: &Path, path: &Path) -> Result<Trace, TraceError> {
    let database = Database::open(shown, path)?;
    if !database.has("StringIds") {
        let hint = "it is an SQLite database, but not an Nsight Systems export: it has no table \
                    StringIds";
        return Err(TraceError::Unknown { file: shown.to_owned(), hint });
    }
    let mut export = Export { draft: Draft::of("Nsight Systems"), names: names(&database)? };
    export.draft.origin.version = version(&database)?;
    export.read_calls(&database, "CUPTI_ACTIVITY_KIND_RUNTIME")?;
    export.read_calls(&database, "CUPTI_ACTIVITY_KIND_DRIVER")?;
    export.read_kernels(&database)?;
    export.read_copies(&database)?;
    export.read_clears(&database)?;
    export.read_waits(&database)?;
    export.read_memory(&database)?;
    export.read_ranges(&database)?;
    export.read_thread_names(&database)?;
    export.read_gpus(&database)?;
    join(export.draft, shown, "Record it with: nsys profile --trace cuda,nvtx")
}

struct Export {
    draft: Draft,
    /// Names by their ids in the table `StringIds`.
    names: HashMap<i64, Box<str>>,
}

impl Export {
    /// Reads the rows of a table. Those that `take` cannot read are counted.
    fn read(
        &mut self,
        database: &Database,
        table: &'static str,
        columns: &[&str],
        mut take: impl FnMut(&mut Self, &Cells<'_>) -> Result<(), Unreadable>,
    ) -> Result<(), TraceError> {
        database.each(table, columns, |cells| {
            if take(self, cells).is_err() {
                self.draft.note(Defect::Unreadable);
            }
            Ok(())
        })
    }
}

fn names(database: &Database) -> Result<HashMap<i64, Box<str>>, TraceError> {
    let mut names = HashMap::new();
    let mut length = 0;
    database.each("StringIds", &["id", "value"], |cells| {
        if let (Ok(Some(id)), Some(name)) = (cells.integer(0), cells.text(1)) {
            length += name.len();
            names.insert(id, name.into_boxed_str());
        }
        if length > MOST_NAMES {
            return Err(format!("it contains more than {} MiB of names", MOST_NAMES >> 20));
        }
        Ok(())
    })?;
    Ok(names)
}

/// The version of the tables, which has been in two places. Some exports have none.
fn version(database: &Database) -> Result<Option<String>, TraceError> {
    let mut version = None;
    for table in ["META_DATA_EXPORT", "EXPORT_META_DATA"] {
        database.each(table, &["name", "value"], |cells| {
            if cells.text(0).as_deref() == Some("EXPORT_SCHEMA_VERSION") {
                version = version.take().or_else(|| cells.text(1));
            }
            Ok(())
        })?;
    }
    Ok(version)
}

/// The kind of memory by the number for it, which is one less than in CUPTI.
fn memory(kind: u64) -> Result<MemoryKind, Unreadable> {
    Ok(match kind {
        0 => MemoryKind::Pageable,
        1 => MemoryKind::Pinned,
        2 | 5 => MemoryKind::Device,
        3 => MemoryKind::Array,
        4 | 6 => MemoryKind::Managed,
        7 => MemoryKind::Unknown,
        _ => return Err(Unreadable),
    })
}

/// Process and thread in a number that combines them with the machine.
fn process(global: u64) -> u64 {
    global >> 24 & 0xff_ffff
}

fn thread(global: u64) -> u64 {
    global & 0xff_ffff
}
