//! Samples from elsewhere, as a table of comma-separated values (RFC 4180).
//!
//! Lines that begin with `#` say what machine it was, as `# key = value`. The
//! first other line names the columns, in any order and as many as are needed;
//! every further line is one time of one quantity. Which quantity goes by the
//! one of `path`, `kernel`, `call` and `operation` that is filled in.

mod machine;
mod multi_gpu;
mod row;
mod seconds;
mod several;
mod template;
mod transfers;
mod words;

use self::multi_gpu::OF_TWO_GPUS;
use self::row::{MEMORIES, Memory, Row, listed};
pub use self::template::table_template;
use self::words::{IN_A_GRAPH, KERNEL, NOT_KNOWN, OPERATIONS, PATHS, Path, SORTS, known_columns};
use super::error::SamplesError;
use super::{Load, Measurement, Quantity, Samples, Side, Stop, WRITTEN_THROUGH};
use crate::kernels::{Kernel, Variant};
use crate::machine::Direction;
use crate::units::{Bytes, Span};
use std::collections::BTreeMap;

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
        let row = Row { columns: &columns, record: &record };
        if row.get("seconds") == Some(NOT_KNOWN) {
            continue;
        }
        let sample = row.sample().map_err(|problem| error((at(record.position()), problem)));
        let (quantity, time) = sample?;
        times.entry(quantity).or_default().push(time);
    }
    let has_twins = times.keys().any(|what| matches!(what, Quantity::Twin { .. }));
    let machine = machine::machine(text, has_twins).map_err(error)?;
    let machine = multi_gpu::among(times.keys(), machine);
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
    let known = known_columns();
    for (at, name) in columns.iter().enumerate() {
        if !known.contains(&name) {
            return Err(format!("unknown column `{name}`; the columns are {}", listed(&known)));
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
        let filled = SORTS.iter().filter(|(column, _)| self.get(column).is_some());
        let [(sort, goes_along)] = filled.collect::<Vec<_>>()[..] else {
            let sorts = listed(&SORTS.map(|(column, _)| column));
            return Err(format!("a row is for one measurement: fill in exactly one of {sorts}"));
        };
        let is_foreign =
            |column: &&str| column != sort && *column != "seconds" && !goes_along.contains(column);
        if let Some(foreign) =
            known_columns().into_iter().filter(is_foreign).find(|c| self.get(c).is_some())
        {
            return Err(format!("column `{foreign}`: leave it empty in a row with `{sort}`"));
        }
        let quantity = match *sort {
            "path" => self.copy()?,
            "kernel" => self.kernel()?,
            "call" => self.call()?,
            "operation" => self.operation()?,
            "graph" => self.graph()?,
            "manage" => self.memory_work()?,
            _ => self.setup()?,
        };
        let time = self.seconds(&quantity)?;
        Ok((quantity, time))
    }

    fn copy(&self) -> Result<Quantity, String> {
        let path = self.one_of("path", &PATHS)?;
        if path == Path::BetweenDevices {
            return self.peer_copy();
        }
        self.leave_empty(&["from", "to"], "only for P2P copies")?;
        let bytes =
            self.bytes("bytes")?.ok_or("column `bytes`: empty; write a number such as 1048576")?;
        if let Some(several) = self.of_several_streams(path, bytes)? {
            return Ok(several);
        }
        let Path::ToOrFromHost(direction) = path else { return self.transfer(None, bytes) };
        let memory = self.one_of("memory", &MEMORIES)?;
        if !matches!(memory, Memory::Pinned | Memory::Pageable) {
            return self.transfer(Some(direction), bytes);
        }
        if memory == Memory::Pageable {
            self.leave_empty(&["concurrent", "gpu", "gpus"], "only for pinned memory")?;
            let complete = match self.get("until") {
                None => true,
                Some(_) => self.one_of("until", &[("complete", true), ("return", false)])?,
            };
            let footprint = self.footprint(bytes)?;
            return Ok(Quantity::Staged { direction, bytes, footprint, complete });
        }
        self.leave_empty(&["until", "footprint"], "only for pageable memory")?;
        if self.get("gpus").is_some() {
            return self.concurrent(direction, bytes);
        }
        if self.get("concurrent") == Some(KERNEL) {
            let (load, of) = (Load::Kernel, Side::Copy);
            return Ok(Quantity::Beside { direction, bytes, load, of });
        }
        if !self.is_beside_the_other(direction)? {
            return self.on(Quantity::Copy { direction, bytes });
        }
        self.leave_empty(&["gpu"], "only for copies with nothing concurrent")?;
        Ok(Quantity::Shared { direction, bytes, footprint: WRITTEN_THROUGH })
    }

    /// Whether as many copies go the other way at once.
    fn is_beside_the_other(&self, direction: Direction) -> Result<bool, String> {
        if self.get("concurrent").is_none() {
            return Ok(false);
        }
        match self.one_of("concurrent", &PATHS)? {
            Path::ToOrFromHost(other) if other != direction => Ok(true),
            _ => Err(format!(
                "column `concurrent`: copies in the same direction do not run concurrently; \
                 write the direction opposite to {direction}, or leave it empty"
            )),
        }
    }

    fn kernel(&self) -> Result<Quantity, String> {
        let kernel = self.one_of("kernel", &Kernel::ALL.map(|kernel| (kernel.name(), kernel)))?;
        let elements: u64 = self
            .whole("elements")?
            .ok_or("column `elements`: empty; write a number such as 1048576")?;
        let variant = Variant { kernel, extent: self.extent(kernel)? };
        let grain = kernel.grain(&variant.arguments());
        if !elements.is_multiple_of(grain) {
            return Err(format!("column `elements`: {elements} is not a multiple of {grain}"));
        }
        let on_cpu = match self.get("processor") {
            None => false,
            Some(_) => self.one_of("processor", &[("gpu", false), ("cpu", true)])?,
        };
        if !on_cpu {
            if self.get("footprint").is_some() {
                return Err("column `footprint`: only for the CPU; leave it empty".into());
            }
            if self.get("concurrent").is_some() {
                return self.kernel_beside(variant, elements);
            }
            return self.on(Quantity::Kernel { variant, elements });
        }
        self.leave_empty(&["gpu", "concurrent"], "only for a GPU")?;
        let own = Bytes::new(variant.bytes(elements));
        let footprint = self.footprint(own)?;
        Ok(Quantity::Twin { variant, elements, footprint })
    }

    /// The bytes used in turn: `own` if the row does not say.
    fn footprint(&self, own: Bytes) -> Result<Bytes, String> {
        match self.bytes("footprint")? {
            Some(less) if less < own => Err(format!(
                "column `footprint`: {less} is less than the {own} that one repetition uses; \
                 write at least that much, or leave it empty"
            )),
            footprint => Ok(footprint.unwrap_or(own)),
        }
    }

    /// The kernel's whole-number argument. Columns for arguments of other kernels must be empty.
    fn extent(&self, kernel: Kernel) -> Result<u32, String> {
        let own = kernel.extent();
        let names = Kernel::ALL.into_iter().filter_map(Kernel::extent).map(|extent| extent.name);
        for name in names.filter(|&name| own.is_none_or(|own| own.name != name)) {
            if self.get(name).is_some() {
                return Err(format!(
                    "column `{name}`: `{kernel}` has no such argument; leave it empty"
                ));
            }
        }
        let Some(own) = own else { return Ok(0) };
        let such_as = format!("write {own}, such as {}", own.default);
        let text = self.needs(own.name, &such_as)?;
        let number = text.parse().ok().and_then(|number| own.check(number));
        number.ok_or_else(|| format!("column `{}`: `{text}` is not valid; {such_as}", own.name))
    }

    fn operation(&self) -> Result<Quantity, String> {
        let to = self.one_of("operation", &OPERATIONS)?;
        if self.get("streams") == Some(OF_TWO_GPUS) {
            return self.crossing(to);
        }
        if self.get("streams") == Some(IN_A_GRAPH) {
            return self.node(to);
        }
        if self.get("waiting").is_some() {
            return self.polled(to);
        }
        self.leave_empty(&["concurrent"], "only for kernels with others `waiting`")?;
        let across = match self.get("streams") {
            None => false,
            Some(_) => {
                let known =
                    [("one", false), ("two", true), (OF_TWO_GPUS, true), (IN_A_GRAPH, true)];
                self.one_of("streams", &known)?
            }
        };
        if self.get("after").is_none() {
            if across {
                return Err(
                    "column `streams`: a single operation is in one stream; leave it empty".into(),
                );
            }
            return Ok(Quantity::RoundTrip { links: vec![to], across, long: false });
        }
        let from = self.one_of("after", &OPERATIONS)?;
        if from == to && !across {
            return Ok(Quantity::Chain { links: vec![to], across });
        }
        Ok(Quantity::HandOver { from, to, across })
    }
}
