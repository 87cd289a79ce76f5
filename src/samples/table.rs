//! Samples from elsewhere, as a table of comma-separated values (RFC 4180).
//!
//! Lines that begin with `#` say what machine it was, as `# key = value`. The
//! first other line names the columns, in any order and as many as are needed;
//! every further line is one time of one quantity. Which quantity goes by the
//! one of `path`, `kernel`, `call` and `operation` that is filled in.

mod machine;
mod quantities;
mod row;
mod seconds;

use self::quantities::SORTS;
use self::row::{NOT_KNOWN, Row};
use super::error::SamplesError;
use super::{Measurement, Provenance, Quantity, Samples, Stop};
use crate::files::in_backquotes;
use crate::units::Span;
use std::collections::BTreeMap;

/// A table with every kind of line that a machine of one GPU needs, and `?` for each time. Lines
/// whose `?` stays count for nothing.
pub const TABLE_TEMPLATE: &str = include_str!("../../docs/reference/table.csv");

/// Every column that a table may have.
const COLUMNS: &str = "path memory bytes until footprint concurrent gpu gpus from to streams \
                       branches waiting kernel degree taps bins columns inner length elements \
                       processor call device operation after graph nodes manage setup seconds";

/// Reads a table.
///
/// # Errors
/// If something in it is not as described in docs/reference/table.md, with its line
/// and its column and what to write instead.
pub(super) fn read(path: &str, text: &str) -> Result<Samples, SamplesError> {
    let error = |(line, problem)| SamplesError::Table { path: path.to_owned(), line, problem };
    let mut reader = csv::ReaderBuilder::new()
        .comment(Some(b'#'))
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let at = |position: Option<&csv::Position>| line_of(text, position);
    let misshapen = |e: csv::Error| error((at(e.position()), misshapen(&e)));
    let columns = reader.headers().map_err(misshapen)?.clone();
    check_columns(&columns).map_err(|problem| error((at(None), problem)))?;
    let mut times: BTreeMap<Quantity, Vec<Span>> = BTreeMap::new();
    for record in reader.records() {
        let record = record.map_err(misshapen)?;
        let row = Row::new(&columns, &record);
        if row.get("seconds") == Some(NOT_KNOWN) {
            continue;
        }
        let sample = row.sample().map_err(|problem| error((at(record.position()), problem)));
        let (quantity, time) = sample?;
        times.entry(quantity).or_default().push(time);
    }
    let has_twins = times.keys().any(|what| matches!(what, Quantity::Twin { .. }));
    let machine = machine::machine(text, has_twins).map_err(error)?;
    let machine = among(times.keys(), machine);
    let measurement = |(quantity, times)| Measurement::new(quantity, 1, times, Stop::Elsewhere);
    let measurements = times.into_iter().map(measurement).collect();
    Ok(Samples { measurements, ..Samples::none(machine) })
}

/// The line of the record that begins at or after a position, past empty lines and comments; the
/// first record if there is no position.
fn line_of(text: &str, position: Option<&csv::Position>) -> usize {
    let start = position.map_or(0, |position| position.byte() as usize);
    let (before, rest) = text.split_at_checked(start).unwrap_or((text, ""));
    let is_passed_over = |line: &&str| line.is_empty() || line.starts_with('#');
    before.matches('\n').count() + rest.lines().take_while(is_passed_over).count() + 1
}

fn misshapen(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => format!(
            "{len} fields for {expected_len} columns; leave the fields of unused columns empty \
             between their commas"
        ),
        _ => error.to_string(),
    }
}

fn check_columns(columns: &csv::StringRecord) -> Result<(), String> {
    let known: Vec<&str> = COLUMNS.split(' ').collect();
    for (at, name) in columns.iter().enumerate() {
        if !known.contains(&name) {
            return Err(format!(
                "unknown column `{name}`; the columns are {}",
                in_backquotes(&known)
            ));
        }
        if columns.iter().take(at).any(|before| before == name) {
            return Err(format!("the column `{name}` appears twice; remove one"));
        }
    }
    if columns.iter().any(|name| name == "seconds") {
        Ok(())
    } else {
        Err("no column `seconds`; the first line must name the columns".to_owned())
    }
}

impl Row<'_> {
    fn sample(&self) -> Result<(Quantity, Span), String> {
        let filled = SORTS.into_iter().filter(|column| self.get(column).is_some());
        let [sort] = filled.collect::<Vec<_>>()[..] else {
            let sorts = in_backquotes(SORTS);
            return Err(format!("a row is for one measurement: fill in exactly one of {sorts}"));
        };
        let quantity = self.quantity(sort)?;
        let time = self.seconds(&quantity)?;
        match self.unread() {
            None => Ok((quantity, time)),
            Some(foreign) => Err(format!(
                "column `{foreign}`: does not apply to this row, which has `{sort}` {}; leave \
                 it empty",
                self.get(sort).unwrap_or_default()
            )),
        }
    }
}

/// The machine, with as many GPUs as the rows are about.
fn among<'q>(quantities: impl Iterator<Item = &'q Quantity>, machine: Provenance) -> Provenance {
    let (mut devices, mut peer_access) = (machine.devices, false);
    for quantity in quantities {
        let of_it = match *quantity {
            Quantity::PeerCopy { from, to, .. } => from.max(to).0 + 1,
            Quantity::Concurrent { devices, .. } => devices,
            Quantity::On { device, .. } => device.0 + 1,
            Quantity::Crossing { .. } => 2,
            _ => 1,
        };
        devices = devices.max(of_it);
        peer_access |= matches!(quantity, Quantity::PeerCopy { .. });
    }
    Provenance { devices, peer_access, ..machine }
}
