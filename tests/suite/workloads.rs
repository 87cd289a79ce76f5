//! Small workloads for tests of plans and predictions.

use super::predicted::scenarios;
use hallway::kernels::{Arguments, Kernel, Shape};
use hallway::scenario::{Task, TaskKernel, Workload};
use proptest::prelude::*;

/// Parses the workload that a scenario's text describes.
#[track_caller]
pub fn read(text: &str) -> Workload {
    Workload::from_toml("test.toml", text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// A buffer of a scenario's text: of a type, with so many elements and the rest of its table.
pub fn buffer(name: &str, of: &str, elements: u64, rest: &str) -> String {
    format!("[[buffer]]\nname = \"{name}\"\ntype = \"{of}\"\nelements = {elements}\n{rest}\n")
}

/// Buffers of equally many numbers, whose tables have the same rest.
pub fn floats<const N: usize>(names: [&str; N], elements: u64, rest: &str) -> String {
    names.map(|name| buffer(name, "f32", elements, rest)).concat()
}

/// The rest of the table of a buffer at home on the host.
pub const ON_HOST: &str = "home = \"host\"";
/// The rest of the table of a buffer in pinned memory.
pub const PINNED: &str = "home = \"host\"\nhost = { memory = \"pinned\" }";
/// The rest of the table of a buffer at home on the device.
pub const ON_DEVICE: &str = "home = \"device\"";
/// The rest of the table of a buffer that only tasks use.
pub const SCRATCH: &str = "home = \"scratch\"";

/// What a scenario's text begins with, and more keys or tables.
pub fn head(name: &str, more: &str) -> String {
    format!("schema_version = 1\nname = \"{name}\"\nquestion = \"?\"\n{more}\n")
}

/// A task of a scenario's text: what it runs, reads and writes, and the rest of its table.
pub fn task(name: &str, kernel: &str, reads: &[&str], writes: &str, rest: &str) -> String {
    format!(
        "[[task]]\nname = \"{name}\"\nkernel = \"{kernel}\"\nreads = {reads:?}\n\
         writes = [\"{writes}\"]\n{rest}\n"
    )
}

/// The rest of the table of a task that may be cut.
pub const SPLIT: &str = "split = { along = \"elements\" }";

/// Every committed scenario in small: its largest buffer has `elements` elements, or the
/// nearest whole rows, the others are in proportion, and there are at most three batches
/// and small extents.
pub fn committed(elements: u64) -> Vec<Workload> {
    let small = |path: &std::path::PathBuf| {
        let mut workload = Workload::load(path).expect("committed scenarios load");
        for task in &mut workload.tasks {
            let TaskKernel::Library { kernel, arguments } = &mut task.kernel else { continue };
            let most = if *kernel == Kernel::Fft { 4 } else { 5 };
            arguments.extent = arguments.extent.min(most);
        }
        let Workload { tasks, buffers, .. } = &mut workload;
        let grain = tasks.iter().map(|task| task.kernel.grain()).max().unwrap_or(1);
        let largest = buffers.iter().map(|buffer| buffer.elements).max().unwrap_or(1);
        for buffer in buffers.iter_mut() {
            buffer.elements = (buffer.elements * elements / largest / grain * grain).max(1);
        }
        for Task { kernel, reads, writes, .. } in tasks.iter() {
            for (input, read) in reads.iter().enumerate() {
                let own = buffers[read.0].elements;
                buffers[read.0].elements = kernel.whole(input).unwrap_or(own);
            }
            if let Some((kernel, arguments)) = kernel.library()
                && kernel.shape() == Shape::Reduction
            {
                buffers[writes[0].0].elements = kernel.results(arguments);
            }
        }
        workload.batches = workload.batches.min(3);
        workload
    };
    scenarios(&[""]).iter().map(small).collect()
}

/// `out = kernel(x)`, with everything on the host, in chunks if need be.
pub fn simple(kernel: Kernel, elements: u64, more: &str) -> Workload {
    let task = task("t", kernel.name(), &["x"], "out", SPLIT);
    read(&(head("simple", more) + &floats(["x", "out"], elements, ON_HOST) + &task))
}

/// One task of a generated workload, before it has a name.
#[derive(Debug, Clone)]
struct Draft {
    kernel: Kernel,
    /// Indices of the buffers that it reads, among those made before it.
    reads: [prop::sample::Index; 3],
    iterations: u64,
    in_place: bool,
    home: usize,
}

const HOMES: [&str; 5] =
    [SCRATCH, ON_DEVICE, ON_HOST, PINNED, "home = \"host\"\nhost = { state = \"fresh\" }"];

fn draft() -> impl Strategy<Value = Draft> {
    let kernel = prop::sample::select(&Kernel::ALL[..]);
    (kernel, any::<[prop::sample::Index; 3]>(), 1..4_u64, any::<bool>(), 0..HOMES.len()).prop_map(
        |(kernel, reads, iterations, in_place, home)| Draft {
            kernel,
            reads,
            iterations,
            in_place,
            home,
        },
    )
}

/// Workloads of up to three tasks: chains, forks, joins, halos, reductions, iterations,
/// updates in place, batches, and every home that a buffer can have.
pub fn any_workload() -> impl Strategy<Value = Workload> {
    let drafts = prop::collection::vec(draft(), 1..4);
    let inputs = prop::array::uniform2(1..4_usize);
    // A row has four elements.
    let all = (1..4_u64, 18..100_u64, inputs, drafts);
    all.prop_filter_map("tasks in a circle", |(batches, rows, inputs, drafts)| {
        let elements = 4 * rows;
        Workload::from_toml("generated.toml", &text(batches, elements, inputs, &drafts)).ok()
    })
}

/// Arguments that make sense for small arrays.
pub fn small_arguments(kernel: Kernel) -> Arguments {
    let extent = match kernel {
        Kernel::Convolution => 5,
        Kernel::Transpose | Kernel::Matmul => 4,
        Kernel::Fft => 2,
        _ => 3,
    };
    Arguments { extent, ..Arguments::default() }
}

fn argument_text(kernel: Kernel) -> String {
    let extent = small_arguments(kernel).extent;
    let argument = |name| format!("arguments = {{ {name} = {extent} }}\n");
    kernel.extent().map_or(String::new(), |extent| argument(extent.name))
}

fn text(batches: u64, elements: u64, inputs: [usize; 2], drafts: &[Draft]) -> String {
    let rows = elements as usize / 4;
    // Each buffer's name, elements and home, and the arrays that tasks can read.
    let mut buffers: Vec<(String, u64, usize)> = Vec::new();
    let mut arrays: Vec<usize> = Vec::new();
    for (index, home) in inputs.into_iter().enumerate() {
        arrays.push(buffers.len());
        buffers.push((format!("in{index}"), elements, home));
    }
    let (mut tasks, mut written, mut read) = (String::new(), Vec::new(), Vec::new());
    for (index, draft) in drafts.iter().enumerate() {
        let kernel = draft.kernel;
        let arguments = small_arguments(kernel);
        let reduces = kernel.shape() == Shape::Reduction;
        let mut reads: Vec<usize> =
            draft.reads[..kernel.inputs()].iter().map(|pick| *pick.get(&arrays)).collect();
        for (input, read) in reads.iter_mut().enumerate() {
            if let Some(length) = kernel.whole(input, &arguments) {
                *read = buffers.len();
                buffers.push((format!("whole{index}"), length, 1 + input % 3));
            }
        }
        let free = reads.iter().find(|id| **id < inputs.len() && !written.contains(*id));
        let writes = match free {
            Some(&id) if draft.in_place && kernel.works_in_place() => id,
            _ => {
                let length = if reduces { kernel.results(&arguments) } else { elements };
                if !reduces {
                    arrays.push(buffers.len());
                }
                buffers.push((format!("out{index}"), length, draft.home));
                buffers.len() - 1
            }
        };
        let iterations = if reduces { 1 } else { draft.iterations };
        let names: Vec<&str> = reads.iter().map(|&id| buffers[id].0.as_str()).collect();
        let target = &buffers[writes].0;
        let split = if kernel.can_be_cut() { SPLIT } else { "" };
        let rest = format!("iterations = {iterations}\n{}{split}", argument_text(kernel));
        tasks += &task(&format!("t{index}"), kernel.name(), &names, target, &rest);
        written.push(writes);
        read.extend(reads);
    }
    let mut text = head("generated", &format!("batches = {batches}"));
    for (id, (name, elements, home)) in buffers.iter().enumerate() {
        let (is_read, is_written) = (read.contains(&id), written.contains(&id));
        // A scenario must not have scratch that nobody reads, or an unused input.
        let home = if *home == 0 && !is_read { HOMES[2] } else { HOMES[*home] };
        // Batches share some of what is only read.
        let is_shared = !is_written && (id + rows).is_multiple_of(3);
        let shared = if is_shared { "shared = true\n" } else { "" };
        if is_read || is_written {
            text += &buffer(name, "f32", *elements, &format!("{shared}{home}"));
        }
    }
    text + &tasks
}
