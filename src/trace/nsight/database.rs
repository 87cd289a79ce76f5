//! A database that somebody else made: nothing in it is trusted.
//!
//! Only plain tables are read, one after the other, without any expression of the file's own:
//! views and virtual tables could compute for ever.

use crate::trace::TraceError;
use crate::trace::draft::MOST_BYTES;
use crate::units::Bytes;
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The most rows that are read of all tables together.
const MOST_ROWS: usize = 50_000_000;

/// The most bytes of a name, or of anything else in a row.
const LONGEST: i32 = 4 << 20;

/// A row without something that it must have, or with something that cannot be.
pub(super) struct Unreadable;

pub(super) struct Database {
    connection: Connection,
    /// The file that errors name.
    shown: PathBuf,
    /// The columns of each table.
    tables: BTreeMap<String, Vec<String>>,
    rows: Cell<usize>,
}

impl Database {
    pub fn open(shown: &Path, path: &Path) -> Result<Self, TraceError> {
        let failed = |error| problem(shown, "sqlite_schema", None, &error);
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_URI;
        let connection = Connection::open_with_flags(immutable(path), flags).map_err(failed)?;
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, LONGEST).map_err(failed)?;
        let tables = tables(&connection).map_err(failed)?;
        Ok(Self { connection, shown: shown.to_owned(), tables, rows: Cell::new(0) })
    }

    pub fn has(&self, table: &str) -> bool {
        self.tables.contains_key(table)
    }

    /// Calls `take` with each row of a table, if there is this table. Columns that it does not
    /// have are null.
    pub fn each(
        &self,
        table: &'static str,
        columns: &[&str],
        mut take: impl FnMut(&Cells<'_>) -> Result<(), String>,
    ) -> Result<(), TraceError> {
        let Some(known) = self.tables.get(table) else { return Ok(()) };
        let mut query = "SELECT ".to_owned();
        for column in columns {
            // A name in quotation marks that is no column would be a text.
            let is_known = known.iter().any(|known| known == column);
            let column = if is_known { format!("\"{column}\"") } else { "NULL".to_owned() };
            write!(query, "{column}, ").expect("writing to a string cannot fail");
        }
        write!(query, "NULL FROM \"{table}\"").expect("writing to a string cannot fail");

        let mut row_number = 0;
        let failed = |row, error| problem(&self.shown, table, Some(row), &error);
        let mut statement = self.connection.prepare(&query).map_err(|error| failed(0, error))?;
        let mut rows = statement.query([]).map_err(|error| failed(0, error))?;
        while let Some(row) = rows.next().map_err(|error| failed(row_number, error))? {
            self.rows.set(self.rows.get() + 1);
            if self.rows.get() > MOST_ROWS {
                let file = self.shown.clone();
                return Err(TraceError::TooMany { file, place: table, most: MOST_ROWS });
            }
            take(&Cells(row)).map_err(|problem| TraceError::Table {
                file: self.shown.clone(),
                table: table.to_owned(),
                row: Some(row_number),
                problem,
            })?;
            row_number += 1;
        }
        Ok(())
    }
}

/// The database as SQLite is asked to open it: as a file that nobody changes, so that no journal
/// beside it is looked for, let alone applied.
fn immutable(path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut address = "file://".to_owned();
    let text = path.to_string_lossy().replace('\\', "/");
    if !text.starts_with('/') {
        address.push('/');
    }
    for byte in bytes(&path, &text) {
        if byte.is_ascii_alphanumeric() || b"/-._~:".contains(byte) {
            address.push(char::from(*byte));
        } else {
            write!(address, "%{byte:02X}").expect("writing to a string cannot fail");
        }
    }
    address + "?immutable=1"
}

/// The bytes of a path, which on Unix need not be text.
#[cfg(unix)]
fn bytes<'a>(path: &'a Path, _: &'a str) -> &'a [u8] {
    std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str())
}

#[cfg(not(unix))]
fn bytes<'a>(_: &'a Path, text: &'a str) -> &'a [u8] {
    text.as_bytes()
}

/// The plain tables with their stored columns.
fn tables(connection: &Connection) -> rusqlite::Result<BTreeMap<String, Vec<String>>> {
    /// Exports have about a hundred.
    const MOST: usize = 10_000;
    connection.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;")?;
    let mut tables = BTreeMap::new();
    let mut list =
        connection.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'table'")?;
    let mut rows = list.query([])?;
    while let Some(row) = rows.next()?
        && tables.len() < MOST
    {
        let cells = Cells(row);
        let (Some(name), Some(sql)) = (cells.text(0), cells.text(1)) else { continue };
        if !sql.trim_start().to_ascii_uppercase().starts_with("CREATE VIRTUAL") {
            tables.insert(name, Vec::new());
        }
    }
    // Computed columns are not among these.
    let mut list = connection.prepare("SELECT name FROM pragma_table_info(?)")?;
    for (table, columns) in &mut tables {
        let mut rows = list.query([table])?;
        while let Some(row) = rows.next()? {
            columns.extend(Cells(row).text(0));
        }
    }
    Ok(tables)
}

fn problem(shown: &Path, table: &str, row: Option<usize>, error: &rusqlite::Error) -> TraceError {
    let mut problem = error.to_string();
    let code = error.sqlite_error_code();
    if matches!(
        code,
        Some(rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::NotADatabase)
    ) {
        problem += ". The file is damaged or incomplete: export it again";
    }
    TraceError::Table { file: shown.to_owned(), table: table.to_owned(), row, problem }
}

/// A row. Any column may hold any type.
pub(super) struct Cells<'r>(&'r Row<'r>);

impl Cells<'_> {
    fn get(&self, column: usize) -> ValueRef<'_> {
        self.0.get_ref(column).unwrap_or(ValueRef::Null)
    }

    /// A whole number, or none.
    pub fn integer(&self, column: usize) -> Result<Option<i64>, Unreadable> {
        /// Up to here, doubles are exact.
        const EXACT: f64 = (1_i64 << 53) as f64;
        match self.get(column) {
            ValueRef::Null => Ok(None),
            ValueRef::Integer(value) => Ok(Some(value)),
            ValueRef::Real(value) if value.fract() == 0.0 && value.abs() <= EXACT => {
                Ok(Some(value as i64))
            }
            _ => Err(Unreadable),
        }
    }

    /// A whole number that is not negative, or none.
    pub fn natural(&self, column: usize) -> Result<Option<u64>, Unreadable> {
        self.integer(column)?.map(|value| u64::try_from(value).map_err(|_| Unreadable)).transpose()
    }

    pub fn must(&self, column: usize) -> Result<u64, Unreadable> {
        self.natural(column)?.ok_or(Unreadable)
    }

    /// A number of bytes, or none.
    pub fn bytes(&self, column: usize) -> Result<Option<Bytes>, Unreadable> {
        match self.natural(column)? {
            Some(bytes) if bytes > MOST_BYTES => Err(Unreadable),
            bytes => Ok(bytes.map(Bytes::new)),
        }
    }

    pub fn small(&self, column: usize) -> Result<u32, Unreadable> {
        let value = self.natural(column)?.unwrap_or(0);
        u32::try_from(value).map_err(|_| Unreadable)
    }

    pub fn time(&self, column: usize) -> Result<i64, Unreadable> {
        self.integer(column)?.ok_or(Unreadable)
    }

    /// The id of a stream or an event. All bits set stand for none.
    pub fn id(&self, column: usize) -> Result<Option<u64>, Unreadable> {
        let id = self.integer(column)?.filter(|&id| id != -1 && id != i64::from(u32::MAX));
        id.map(|id| u64::try_from(id).map_err(|_| Unreadable)).transpose()
    }

    /// A text, in which bytes that are no UTF-8 became question marks.
    pub fn text(&self, column: usize) -> Option<String> {
        match self.get(column) {
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                Some(String::from_utf8_lossy(bytes).into_owned())
            }
            _ => None,
        }
    }
}
