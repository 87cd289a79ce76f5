//! What a written program must not say: names of what is not there, and sizes that no machine has.
//!
//! Readers index by the names of a program and add up its sizes. What passes here, and in
//! [`super::contradictions`], lets none of them panic.

use super::call::Call;
use super::operands::{Allocation, AllocationId, Place, Rows, Sides, Slice};
use super::problem::{Part, Problem};
use super::step::{LibraryStep, Step};
use super::value::Program;
use crate::kernels::{Grid, Kernel, Shape};
use crate::machine::DeviceId;
use crate::units::Bytes;

/// Bytes of all memory together, a pebibyte: sums of sizes and of times stay far below 2^64.
const MOST_BYTES: u64 = 1 << 50;

/// The hazard check compares each stream with each.
pub const MOST_STREAMS: usize = 1024;

impl Program {
    /// Checks that the program names only what is there, and does not contradict itself. Programs
    /// of families and programs that are read from a text need no such check.
    ///
    /// # Errors
    /// What it says that cannot be.
    pub fn check(&self) -> Result<(), Problem> {
        self.problem().map_or(Ok(()), Err)
    }

    fn problem(&self) -> Option<Problem> {
        let declared = self.wrong_with_memory().or_else(|| self.wrong_with_streams());
        let declared = declared.map(Problem::from).or_else(|| self.wrong_kernels());
        declared.or_else(|| {
            let dangling = self.first_in_calls(|part, at, call| {
                let all = if part == Part::Setup { &self.setup } else { &self.body };
                let problem = self.dangling(call, all.len() - at - 1)?;
                Some(format!("uses {problem}"))
            });
            dangling.or_else(|| self.contradiction())
        })
    }

    pub(super) fn parts(&self) -> [(Part, &[Call]); 2] {
        [(Part::Setup, &self.setup), (Part::Body, &self.body)]
    }

    /// The first problem that a call has.
    pub(super) fn first_in_calls(
        &self,
        mut problem: impl FnMut(Part, usize, &Call) -> Option<String>,
    ) -> Option<Problem> {
        self.parts().into_iter().find_map(|(part, calls)| {
            calls.iter().enumerate().find_map(|(at, call)| {
                problem(part, at, call).map(|what| Problem::of_call(part, at, what))
            })
        })
    }

    fn wrong_with_memory(&self) -> Option<String> {
        if let Some(at) = self.allocations.iter().position(|one| one.bytes == Bytes::ZERO) {
            let name = &self.allocations[at].name;
            return Some(format!("allocations[{at}], `{name}`, is empty"));
        }
        let bytes = self.allocations.iter().map(|allocation| allocation.bytes.get());
        let sum = bytes.fold(0, u64::saturating_add);
        let most = Bytes::new(MOST_BYTES);
        (sum > MOST_BYTES).then(|| format!("its allocations exceed {most} in total"))
    }

    fn wrong_with_streams(&self) -> Option<String> {
        let streams = self.streams.len();
        if streams > MOST_STREAMS {
            return Some(format!("it has {streams} streams; the limit is {MOST_STREAMS}"));
        }
        let calls = self.setup.len() + self.body.len();
        if self.events > calls {
            return Some(format!("it has {} events but only {calls} calls", self.events));
        }
        let is_used = |device| self.streams.iter().any(|stream| stream.device == DeviceId(device));
        let of_streams = self.streams.iter().enumerate().find_map(|(at, stream)| {
            // Numbers without gaps are below that of streams, which is looked at first.
            let device = stream.device.0;
            let gap =
                if device < streams { (0..device).find(|&one| !is_used(one)) } else { Some(0) };
            gap.map(|_| {
                format!("streams[{at}] is on GPU {device}, but a GPU before it has no stream")
            })
        });
        of_streams.or_else(|| {
            let devices = self.devices().max(1);
            let elsewhere = |at: &usize| match self.allocations[*at].place {
                Place::Device(device) => device.0 >= devices,
                Place::Host(_) => false,
            };
            let at = (0..self.allocations.len()).find(elsewhere)?;
            let name = &self.allocations[at].name;
            Some(format!("allocations[{at}], `{name}`, is on a GPU without a stream"))
        })
    }

    /// What a call names that there is not, if `left` calls follow it.
    fn dangling(&self, call: &Call, left: usize) -> Option<String> {
        let Sides { from, to, rows, .. } = call.sides();
        let too_long = || {
            let calls = call.launched_calls().filter(|&calls| calls > left)?;
            Some(format!("{calls} calls in a graph, but only {left} follow"))
        };
        let stream = call.stream().and_then(|id| beyond("stream", id.0, self.streams.len()));
        stream
            .or_else(|| self.no_allocation(call.allocation()?))
            .or_else(|| self.no_bytes(from?))
            .or_else(|| self.no_bytes(to?))
            .or_else(|| no_rows(rows?, [from?, to?]))
            .or_else(|| self.no_step(call.step()?))
            .or_else(|| beyond("event", call.event()?.0, self.events))
            .or_else(|| self.no_device(call.device()?))
            .or_else(too_long)
    }

    pub(super) fn no_device(&self, id: DeviceId) -> Option<String> {
        beyond("GPU", id.0, self.devices())
    }

    fn no_allocation(&self, id: AllocationId) -> Option<String> {
        beyond("allocation", id.0, self.allocations.len())
    }

    fn no_bytes(&self, slice: &Slice) -> Option<String> {
        if let Some(problem) = self.no_allocation(slice.allocation) {
            return Some(problem);
        }
        let Allocation { name, bytes, .. } = self.allocation(slice.allocation);
        let (from, length) = (slice.offset.get(), slice.length);
        let end = from.checked_add(length.get());
        if end.is_none_or(|end| end > bytes.get()) {
            return Some(format!(
                "{length} starting at byte {from} of `{name}`, which has {bytes}"
            ));
        }
        (length == Bytes::ZERO).then(|| format!("an empty range at byte {from} of `{name}`"))
    }

    /// What of a kernel's memory is no row of `f32`.
    fn no_floats(&self, slice: &Slice) -> Option<String> {
        let (from, bytes) = (slice.offset.get(), slice.length.get());
        let name = &self.allocation(slice.allocation).name;
        let is_whole = from.is_multiple_of(4) && bytes.is_multiple_of(4);
        (!is_whole)
            .then(|| format!("{bytes} bytes starting at byte {from} of `{name}`, but {WHOLE}"))
    }

    /// What a step names that there is not, or what does not fit its kernel.
    fn no_step(&self, step: &Step) -> Option<String> {
        let mut slices = step.slices();
        match step {
            Step::Library(LibraryStep { inputs, kernel, .. })
                if inputs.len() != kernel.inputs() =>
            {
                let (has, wants) = (inputs.len(), kernel.inputs());
                let ending = if has == 1 { "" } else { "s" };
                Some(format!("{has} input{ending} for `{kernel}`, which takes {wants}"))
            }
            Step::Library(step) => slices
                .find_map(|slice| self.no_bytes(slice).or_else(|| self.no_floats(slice)))
                .or_else(|| no_kernel(step)),
            Step::Own(step) => match self.kernels.get(step.kernel) {
                Some(kernel) => {
                    slices.find_map(|slice| self.no_bytes(slice)).or_else(|| step.problem(kernel))
                }
                None => beyond("kernel", step.kernel, self.kernels.len()),
            },
        }
    }
}

/// A name of one of `there` things, which are numbered, that is none of them.
fn beyond(kind: &str, at: usize, there: usize) -> Option<String> {
    (at >= there).then(|| format!("{kind} {at}, but the program has {there} (numbered from 0)"))
}

/// Rows that are none, or are not as many on both sides.
fn no_rows(rows: Rows, [from, to]: [&Slice; 2]) -> Option<String> {
    let Rows { row, pitch } = rows;
    if let Some(pitch) = pitch.into_iter().find(|&pitch| pitch < row) {
        return Some(format!("rows of {row} at a smaller pitch, {pitch}"));
    }
    if row == Bytes::ZERO {
        return Some("empty rows".to_owned());
    }
    let spans = [(from, pitch[0]), (to, pitch[1])];
    let rows = spans.map(|(slice, pitch)| {
        let before = slice.length.get().checked_sub(row.get())?;
        before.is_multiple_of(pitch.get()).then_some(before / pitch.get())
    });
    (rows[0].is_none() || rows[0] != rows[1]).then(|| {
        let [from, to] = [from.length, to.length];
        format!(
            "rows of {row}, but a source of {from} and a target of {to} do not hold the same \
             whole number of rows"
        )
    })
}

const WHOLE: &str = "kernels work on whole elements of 4 bytes";

/// Arguments that the kernel does not take, and sizes that do not fit it.
fn no_kernel(step: &LibraryStep) -> Option<String> {
    let LibraryStep { kernel, arguments, lead, .. } = step;
    if !arguments.a.is_finite() {
        return Some(format!("a factor of {}", arguments.a));
    }
    if let Some(extent) = kernel.extent()
        && extent.check(f64::from(arguments.extent)).is_none()
    {
        let (name, found) = (extent.name, arguments.extent);
        return Some(format!("{name} = {found} for `{kernel}`, which takes {extent}"));
    }
    let halo = kernel.halo(arguments);
    if *lead > halo {
        return Some(format!("a `lead` of {lead} elements for `{kernel}`, whose halo is {halo}"));
    }
    let (output, grain) = (step.output.length.as_f32_count(), kernel.grain(arguments));
    let misfit = |what: &str, found: u64, wanted: String| {
        let ending = if found == 1 { "" } else { "s" };
        Some(format!("{found} element{ending} as {what} of `{kernel}`, which needs {wanted}"))
    };
    let results = kernel.results(arguments);
    let least = match kernel.shape() {
        Shape::Map if !output.is_multiple_of(grain) => {
            return misfit("the output", output, format!("a multiple of {grain}"));
        }
        Shape::Reduction if output != results => {
            return misfit("the output", output, results.to_string());
        }
        Shape::Map => output + lead,
        Shape::Reduction => 1,
    };
    for (at, input) in step.inputs.iter().enumerate() {
        let (found, whole) = (input.length.as_f32_count(), kernel.whole(at, arguments));
        if whole.map_or(found < least, |whole| found != whole) {
            let wanted = whole.map_or(format!("{least} or more"), |whole| whole.to_string());
            return misfit(&format!("input {at}"), found, wanted);
        }
    }
    if *kernel == Kernel::Transpose && step.inputs[0].length != step.output.length {
        return misfit("input 0", step.inputs[0].length.as_f32_count(), output.to_string());
    }
    // Threads of the CPU hold the output as theirs while they read the inputs.
    let in_place = |input: &&Slice| *input == &step.output && kernel.works_in_place() && *lead == 0;
    let mut inputs = step.inputs.iter();
    if inputs.any(|input| input.overlaps(&step.output) && !in_place(&input)) {
        return Some(format!("an input of `{kernel}` that overlaps with its output"));
    }
    let workspace = step.workspace?.length.as_f32_count();
    let needs = Grid::workspace(*kernel, arguments).filter(|&needs| workspace < needs)?;
    misfit("the workspace", workspace, format!("{needs} or more"))
}
