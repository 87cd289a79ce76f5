//! Exports of Nsight Systems of any version: tables and columns may be missing, and nothing in a
//! database is trusted.

use super::{read_bytes, refusal, unpacked};
use hallway::trace::{CallKind, Defect, MemoryKind, StreamKey, Trace, WorkKind};
use hallway::units::Bytes;
use rusqlite::Connection;

/// Threads of two processes, as the tables number them.
const ONE: u64 = (7 << 48) + (1 << 24) + 10;
const TWO: u64 = (7 << 48) + (2 << 24) + 10;

/// The tables that a program without copies leaves, in an old version.
const TABLES: &str = "
    CREATE TABLE StringIds (id INTEGER, value TEXT);
    CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME
        (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER);
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER,
        streamId INTEGER, correlationId INTEGER, globalPid INTEGER, shortName INTEGER);
    INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'k'), (3, 'cudaMalloc_v3020'),
        (4, CAST(X'726567e96f6e' AS TEXT)), (5, 'cudaEventSynchronize_v3020');";

fn database(more: &str) -> Vec<u8> {
    of_sql(&format!("{TABLES}\n{more}"))
}

fn of_sql(sql: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("database");
    Connection::open(&path).expect("new").execute_batch(sql).expect("valid");
    std::fs::read(&path).expect("written")
}

fn read(more: &str) -> Trace {
    read_bytes(&database(more)).unwrap_or_else(|error| panic!("{error}"))
}

fn launch(global: u64, start: i64, correlation: u32) -> String {
    let end = start + 5;
    let values = format!("{start}, {end}, {global}, {correlation}, 1");
    format!("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES ({values});")
}

fn kernel(global: u64, start: i64, correlation: u32) -> String {
    let (end, pid) = (start + 5, global & !0xff_ffff);
    let values = format!("{start}, {end}, 0, 7, {correlation}, {pid}, 2");
    format!("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({values});")
}

#[test]
fn ids_collide_between_processes() {
    let rows = [launch(ONE, 10, 1), launch(TWO, 11, 1), kernel(TWO, 20, 1), kernel(ONE, 21, 1)];
    let trace = read(&rows.concat());
    let owners: Vec<_> = trace.work.iter().map(|work| work.call).collect();
    assert_eq!(owners, [Some(1), Some(0)]);
    assert_eq!(trace.work[0].stream, StreamKey { process: 2, device: 0, stream: 7 });
    assert_eq!(trace.origin.to_string(), "Nsight Systems");
    assert!(trace.defects.is_empty());
}

#[test]
fn kinds_of_memory_are_counted_from_zero() {
    let table = "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, streamId,
        correlationId, globalPid, bytes, copyKind, srcKind, dstKind);";
    let row = |start: u32, bytes: &str, copy: u32, from: u32, to: u32| {
        let work = format!("{start}, {start} + 1, 0, 7, 1, 16777216");
        let values = format!("{work}, {bytes}, {copy}, {from}, {to}");
        format!("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES ({values});")
    };
    let rows = [
        row(1, "64", 1, 0, 2),
        row(2, "64", 2, 2, 1),
        row(3, "NULL", 11, 4, 2),
        row(4, "64", 1, 8, 2),
        row(5, "-64", 1, 0, 2),
        row(6, "4611686018427387904", 1, 0, 2),
        row(7, "'many'", 1, 0, 2),
    ];
    let trace = read(&(table.to_owned() + &rows.concat()));
    let kinds: Vec<_> = trace.work.iter().map(|work| work.kind.clone()).collect();
    let copy = |from, to, bytes| WorkKind::Copy { from, to, bytes };
    let sized = Some(Bytes::new(64));
    let expected = [
        copy(MemoryKind::Pageable, MemoryKind::Device, sized),
        copy(MemoryKind::Device, MemoryKind::Pinned, sized),
        copy(MemoryKind::Managed, MemoryKind::Device, None),
    ];
    assert_eq!(kinds, expected);
    // Managed memory moves without a call.
    let defects: Vec<_> = trace.defects.into_iter().collect();
    assert_eq!(defects, [(Defect::NoCall, 2), (Defect::NoBytes, 1), (Defect::Unreadable, 4)]);
}

#[test]
fn memory_is_taken_by_the_call_that_was_running() {
    let trace = read(&format!(
        "CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS
            (start, globalPid, address, bytes, memKind, memoryOperationType);
        INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (5, 9, {TWO}, 1, 3), (6, 9, {ONE}, 1, 3),
            (20, 30, {ONE}, 2, 3);
        INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (7, {ONE}, 4096, 100, 2, 0),
            (15, {ONE}, 8192, 100, 2, 0);"
    ));
    let kinds: Vec<_> = trace.calls.iter().map(|call| call.kind.clone()).collect();
    let (memory, bytes) = (MemoryKind::Device, Bytes::new(100));
    let allocates = CallKind::Allocate { memory, address: 4096, bytes, stream: None };
    assert_eq!(kinds, [CallKind::Other, allocates, CallKind::Other]);
}

#[test]
fn ranges_have_names_of_their_own_or_shared_ones() {
    let trace = read(&format!(
        "CREATE TABLE NVTX_EVENTS (start, end, eventType, text, textId, globalTid);
        INSERT INTO NVTX_EVENTS VALUES (1, 9, 59, 'own', NULL, {ONE}),
            (2, 8, 60, NULL, 4, {ONE}), (3, NULL, 59, 'open', NULL, {ONE}),
            (4, NULL, 75, 'domain', NULL, {ONE}), (5, 6, 59, NULL, 99, {ONE});
        {}",
        launch(ONE, 10, 1)
    ));
    let names: Vec<&str> = trace.ranges.iter().map(|range| &*range.name).collect();
    assert_eq!(names, ["own", "reg\u{fffd}on"]);
    assert_eq!(trace.defects[&Defect::Unreadable], 1);
}

#[test]
fn databases_of_something_else_are_refused() {
    let other = of_sql("CREATE TABLE songs (title TEXT); INSERT INTO songs VALUES ('a');");
    let expected = "it is an SQLite database, but not an Nsight Systems export: it has no table \
        StringIds";
    assert_eq!(refusal(&other), expected);
    let nothing = "it contains no CUDA calls and no GPU work. Record it with: nsys profile \
        --trace cuda,nvtx";
    assert_eq!(refusal(&database("")), nothing);
}

/// A view or a virtual table may compute for ever, and a computed column, too.
#[test]
fn only_plain_tables_are_read() {
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) \
        SELECT i AS start, i AS end, 1 AS globalTid, i AS correlationId, 1 AS nameId FROM n";
    let view = database(&format!(
        "DROP TABLE CUPTI_ACTIVITY_KIND_RUNTIME;
        CREATE VIEW CUPTI_ACTIVITY_KIND_RUNTIME AS {endless}; {}",
        kernel(ONE, 20, 1)
    ));
    let trace = read_bytes(&view).expect("the rest is read");
    assert_eq!((trace.calls.len(), trace.work.len()), (0, 1));
    let computed = database(&format!(
        "DROP TABLE StringIds;
        CREATE TABLE StringIds (id INTEGER, value TEXT AS (hex(zeroblob(1000))));
        INSERT INTO StringIds VALUES (1); {}",
        launch(ONE, 20, 1)
    ));
    assert!(refusal(&computed).starts_with("it contains no CUDA calls"));
}

#[test]
fn a_damaged_database_names_its_table() {
    let mut rows = String::from("BEGIN;");
    (0..5_000).for_each(|index| rows += &launch(ONE, index * 10, index as u32));
    let content = database(&(rows + "COMMIT;"));
    let said = refusal(&content[..content.len() / 2]);
    assert!(said.ends_with("The file is damaged or incomplete: export it again"), "{said}");
    assert!(said.starts_with("table "), "{said}");
}

/// A program may give a table any content: numbers at the ends of their range, and other types.
#[test]
fn absurd_rows_are_counted() {
    let least = i64::MIN;
    let trace = read(&format!(
        "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES ({least}, {}, {ONE}, 1, 1),
            (5, 4, {ONE}, 2, 1), ('x', 4, {ONE}, 3, 1), (1, 2, -1, 4, 1), (1, 2, {ONE}, -5, 1),
            (1, 2, {ONE}, 6, 77), (1.0, 2.0, {ONE}, 7, 1), (X'00', 2, {ONE}, 8, 1);
        {}",
        i64::MAX,
        kernel(ONE, 20, 1)
    ));
    assert_eq!(trace.calls.len(), 2);
    assert_eq!(trace.defects[&Defect::EndsBeforeStart], 1);
    assert_eq!(trace.defects[&Defect::Unreadable], 5);
    assert_eq!(trace.work[0].call, Some(0));
}

#[test]
fn a_packed_database_is_the_same_trace() {
    let content = unpacked("four-streams.sqlite.gz");
    let plain = read_bytes(&content).expect("an export");
    let packed = read_bytes(&super::packed(&content)).expect("an export");
    assert!(plain == packed);
}
