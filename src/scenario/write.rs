//! Writes a scenario that spells out one program.

use super::{Buffer, Home, Limits, Workload};
use crate::machine::HostMemory;
use crate::program::{BufferId, Place, Process, Program, StateReason, spelled};
use crate::units::{Bytes, Span};
use std::collections::BTreeSet;
use std::fmt::Write;

impl Workload {
    /// A scenario with the buffers that a program uses, and the program call by call. Read again,
    /// it is predicted and run as the program is.
    pub fn spelled_out(&self, program: &Program) -> String {
        self.all_spelled_out(&[program])
    }

    /// A scenario with several programs, which share their buffers and their kernels.
    pub fn all_spelled_out(&self, programs: &[&Program]) -> String {
        let Self { name, question, batches, runs, limits, process, .. } = self;
        let quoted = |text: &str| toml::Value::from(text).to_string();
        let mut text = format!("schema_version = 1\nname = {}\n", quoted(name));
        let _ = writeln!(text, "question = {}", quoted(question));
        let _ = writeln!(text, "batches = {batches}\nruns = {runs}\n");
        let used: BTreeSet<BufferId> = programs.iter().copied().flat_map(used_by).collect();
        for &id in &used {
            let mut buffer = self.buffer(id).clone();
            if programs.iter().any(|program| is_combined(program, id)) {
                buffer.home = Home::Host(HostMemory::WriteCombined);
            }
            let _ = writeln!(text, "{}", table(&buffer));
        }
        let has_home_on_device = used.iter().any(|&id| self.buffer(id).home == Home::Device);
        let tables = table_of_process(process, has_home_on_device) + &table_of_limits(limits);
        let written = programs.iter().map(|program| spelled::write(program));
        text + &tables + &spelled::write_kernels(programs) + &written.collect::<Vec<_>>().join("\n")
    }
}

fn used_by(program: &Program) -> BTreeSet<BufferId> {
    let accesses = program.calls().flat_map(|call| program.accesses(call));
    accesses.filter_map(|one| program.allocation(one.allocation()).holds).collect()
}

/// Whether a program holds a buffer in write-combined memory: no call brings it there.
fn is_combined(program: &Program, id: BufferId) -> bool {
    let place = Place::Host(HostMemory::WriteCombined);
    program.allocations.iter().any(|one| one.holds == Some(id) && one.place == place)
}

fn table(buffer: &Buffer) -> String {
    let Buffer { name, element_type, elements, home, shared, .. } = buffer;
    let name = toml::Value::from(name.as_str());
    let element_type = toml::Value::try_from(element_type).expect("a word");
    let home = match home {
        Home::Device => "\"device\"".to_owned(),
        Home::Scratch => "\"scratch\"".to_owned(),
        Home::Host(HostMemory::Pageable) => "\"host\"".to_owned(),
        Home::Host(memory) => format!("\"host\"\nhost = {{ memory = \"{memory}\" }}"),
    };
    let shared = if *shared { "shared = true\n" } else { "" };
    format!(
        "[[buffer]]\nname = {name}\ntype = {element_type}\nelements = {elements}\nhome = {home}\n\
         {shared}"
    )
}

/// Nothing where the rest of the file says the same.
fn table_of_process(process: &Process, has_home_on_device: bool) -> String {
    let Process { state, reason, start } = process;
    let is_implied = match reason {
        StateReason::Default => !has_home_on_device,
        StateReason::AtHomeOnDevice(_) => has_home_on_device,
        StateReason::Stated => false,
    };
    // A running process has paid for its start, and the key would be refused.
    let starts = process.is_new() && *start > Span::ZERO;
    if is_implied && !starts {
        return String::new();
    }
    let start = if starts { format!("start = \"{} ns\"\n", start.nanos()) } else { String::new() };
    format!("[process]\nstate = \"{state}\"\n{start}\n")
}

fn table_of_limits(limits: &Limits) -> String {
    let Limits { device_memory, pinned_memory, cpu_threads } = limits;
    let memory = |key: &str, bytes: &Option<Bytes>| {
        bytes.map(|bytes| format!("{key} = \"{}\"\n", bytes.exactly()))
    };
    let threads = cpu_threads.map(|threads| format!("cpu_threads = {threads}\n"));
    let keys =
        [memory("device_memory", device_memory), memory("pinned_memory", pinned_memory), threads];
    let keys: String = keys.into_iter().flatten().collect();
    if keys.is_empty() { keys } else { format!("[limits]\n{keys}\n") }
}
