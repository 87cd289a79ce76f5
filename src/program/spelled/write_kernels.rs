//! Writes the kernels of a program as a person would.

use super::write::text;
use crate::kernels::{CpuSide, GpuSide, Image, OwnCost, OwnKernel};
use crate::program::Program;
use crate::units::Span;
use std::collections::BTreeSet;

/// The kernels that calls name and the library does not have, as `[[kernel]]` tables in the order
/// of their first calls. What their files hold is written, too: no other file is needed.
pub fn write_kernels(program: &Program) -> String {
    let mut seen = BTreeSet::new();
    let used = program.own_steps().filter(|(step, _)| seen.insert(step.kernel));
    used.filter_map(|(step, _)| table(program.own_kernel(step))).collect()
}

fn table(kernel: &OwnKernel) -> Option<String> {
    let OwnKernel { name, gpu, cpu, rule, elementwise } = kernel;
    let gpu = match gpu {
        // cuBLAS has it.
        GpuSide::Product(_) => return None,
        GpuSide::Unknown => String::new(),
        GpuSide::Cost(cost) => format!("{}\n", key(cost)),
        GpuSide::Code(code) => {
            let (form, held, headers) = match &code.image {
                Image::Source { text, headers } => ("source", text, &headers[..]),
                Image::Ptx(text) => ("ptx", text, &[][..]),
                Image::Cubin(digits) => ("cubin", digits, &[][..]),
            };
            let headers: Vec<String> = headers
                .iter()
                .map(|(name, held)| format!("{} = {}", text(name), text(held)))
                .collect();
            let headers = match headers.as_slice() {
                [] => String::new(),
                headers => format!(", headers = {{ {} }}", headers.join(", ")),
            };
            let file = format!("name = {}, text = {}{headers}", text(&code.file), text(held));
            format!("{form} = {{ {file} }}\nentry = {}\n", text(&code.entry))
        }
    };
    let cpu = match cpu {
        CpuSide::Unknown => String::new(),
        CpuSide::Cost(cost) => format!("cpu = {{ {} }}\n", key(cost)),
        CpuSide::Command(words) => {
            let words: Vec<String> = words.iter().map(|word| text(word)).collect();
            format!("cpu = {{ command = [{}] }}\n", words.join(", "))
        }
    };
    let elementwise = elementwise.as_ref().map_or(String::new(), |one| {
        let names: Vec<String> = one.names.iter().map(|name| text(name)).collect();
        let halo = match one.halo {
            0 => String::new(),
            halo => format!("halo = {halo}\n"),
        };
        format!("elementwise = [{}]\n{halo}", names.join(", "))
    });
    Some(format!("[[kernel]]\nname = {}\n{gpu}{rule}{elementwise}{cpu}\n", text(name)))
}

/// A cost with its key.
fn key(cost: &OwnCost) -> String {
    match cost {
        OwnCost::Points(points) => {
            let point = |(n, time): &(u64, Span)| format!("[{n}, \"{} ns\"]", time.nanos());
            let points: Vec<String> = points.iter().map(point).collect();
            format!("points = [{}]", points.join(", "))
        }
        OwnCost::Roofline { flops_per_element, bytes_per_element } => format!(
            "roofline = {{ flops_per_element = {flops_per_element}, bytes_per_element = \
             {bytes_per_element} }}"
        ),
        OwnCost::Stated { fixed, per_element, range } => {
            let range = range.map(|range| format!(", range = \"{}%\"", range * 100.0));
            let range = range.unwrap_or_default();
            format!(
                "stated = {{ fixed = \"{fixed} ns\", per_element = \"{per_element} ns\"{range} }}"
            )
        }
    }
}
