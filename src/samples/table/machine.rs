//! The comment lines above a table, which describe its machine.

use super::row::NOT_KNOWN;
use crate::files::in_backquotes;
use crate::samples::{CalibrationExtent, Provenance};
use crate::units::Bytes;
use std::collections::BTreeMap;

/// What the comment lines say about the machine: for each key, its line number and its value, or
/// `?`.
type Said<'t> = BTreeMap<&'t str, (usize, &'t str)>;

const KEYS: &str = "gpu multiprocessors device_memory host_memory compute_capability link driver \
                    cuda cpu cpu_threads unix_time copy_engines";

/// Reads the comment lines.
fn said(text: &str) -> Result<Said<'_>, (usize, String)> {
    let (mut said, keys) = (Said::new(), KEYS.split(' ').collect::<Vec<_>>());
    for (line, comment) in (1..).zip(text.lines()) {
        let comment = comment.strip_prefix('#').and_then(|rest| rest.split_once('='));
        let Some((key, value)) = comment.map(|(key, value)| (key.trim(), value.trim())) else {
            continue;
        };
        if !keys.contains(&key) {
            let keys = in_backquotes(&keys);
            return Err((line, format!("`# {key} = ..` is unknown; the keys are {keys}")));
        }
        if said.insert(key, (line, value.trim_matches('"'))).is_some() {
            return Err((line, format!("`# {key} = ..` appears twice; remove one")));
        }
    }
    Ok(said)
}

/// The machine that the measurements are of.
pub(super) fn machine(text: &str, has_twins: bool) -> Result<Provenance, (usize, String)> {
    let said = said(text)?;
    let known = |key| said.get(key).copied().filter(|(_, value)| *value != NOT_KNOWN);
    let needs = |key, example: &str| {
        let missing = || match said.get(key) {
            Some(&(line, _)) => {
                (line, format!("`# {key} = ?`: write its value, such as {example}"))
            }
            None => (1, format!("no line such as `# {key} = {example}`; add one above the table")),
        };
        known(key).ok_or_else(missing)
    };
    if has_twins {
        needs("cpu_threads", "16")?;
    }
    let whole = |key, (line, value): (usize, &str)| {
        let bad = || (line, format!("`# {key} = {value}`: write a positive whole number"));
        value.parse::<u32>().ok().filter(|&number| number > 0).ok_or_else(bad)
    };
    let if_said = |key| known(key).map_or(Ok(0), |value| whole(key, value));
    let word = |key| known(key).map_or(Provenance::NOT_SAID, |(_, value)| value).to_owned();
    let memory = |key, (line, value): (usize, &str)| {
        let bytes = value.parse::<Bytes>().map_err(|error| (line, format!("{key}: {error}")))?;
        // No machine has so little: another unit was meant.
        let less =
            || (line, format!("`# {key} = {value}` is {bytes}: write the unit, such as 141 GiB"));
        (bytes >= Bytes::mib(1)).then_some(bytes).ok_or_else(less)
    };
    let device_memory_bytes = memory("device_memory", needs("device_memory", "141 GiB")?)?;
    let host_memory = known("host_memory").map(|value| memory("host_memory", value));
    let machine = Provenance {
        gpu: needs("gpu", "NVIDIA H200")?.1.to_owned(),
        compute_capability: word("compute_capability"),
        multiprocessors: whole("multiprocessors", needs("multiprocessors", "132")?)?,
        device_memory_bytes,
        host_memory_bytes: host_memory.transpose()?,
        copy_engines: if_said("copy_engines")?,
        link: word("link"),
        driver: word("driver"),
        cuda: word("cuda"),
        cpu: word("cpu"),
        cpu_threads: if_said("cpu_threads")? as usize,
        unix_time: u64::from(if_said("unix_time")?),
        hallway_version: env!("CARGO_PKG_VERSION").to_owned(),
        extent: CalibrationExtent::Elsewhere,
        devices: 1,
        ..Provenance::default()
    };
    match machine.problem() {
        Some((key, problem)) => Err((said.get(key.as_str()).map_or(1, |&(line, _)| line), problem)),
        None => Ok(machine),
    }
}
