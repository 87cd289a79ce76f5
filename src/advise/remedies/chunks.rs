//! Cuts a copy to the GPU, kernels and a copy back into pieces over two streams, so that one piece
//! is copied while another is computed.
//!
//! Kernels have to be of the library and work element by element: then a piece of the inputs is all
//! that a piece of the output needs. Inputs that are read whole are not cut.

use crate::advise::missing_waits::with_needed_waits;
use crate::advise::patch::Patch;
use crate::advise::refusal::Refusal;
use crate::advise::rewriting::{Place, Rewriting};
use crate::advise::streams::copy_stream;
use crate::advise::subject::Subject;
use crate::advise::values::is_elementwise;
use crate::machine::{Direction, StreamId};
use crate::program::{Call, Program, Slice, Step};
use crate::units::Bytes;
use std::ops::Range;

/// Numbers of pieces that are tried.
const PIECES: [u64; 3] = [2, 4, 8];
/// Pieces begin at multiples of so many bytes.
const GRAIN: u64 = 256;
/// Streams that pieces go to in turn.
const STREAMS: u64 = 3;

pub(super) fn variants(subject: &Subject) -> Result<Vec<Rewriting>, Refusal> {
    subject.check_waits()?;
    let program = &subject.program;
    if program.has_graphs() {
        return Err(Refusal::HasGraphs);
    }
    if subject.is_recorded {
        return Err(Refusal::NotCut);
    }
    let (runs, is_whole) = runs(program);
    if runs.is_empty() {
        return Err(if is_whole { Refusal::NotCut } else { Refusal::NoSequence });
    }
    Ok(PIECES.iter().map(|&pieces| cut(subject, &runs, pieces)).collect())
}

/// Stretches of calls in one stream that can be cut, all about arrays of one length, and whether
/// kernels that cannot be cut were in the way.
fn runs(program: &Program) -> (Vec<Range<usize>>, bool) {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut open: Option<(Range<usize>, StreamId, Bytes)> = None;
    let mut has_whole = false;
    for (at, call) in program.body.iter().enumerate() {
        let length = cut_length(call);
        has_whole |= call.is_launch() && length.is_none();
        let of = call.stream().zip(length);
        match (&mut open, of) {
            (Some((range, stream, bytes)), Some(of)) if (*stream, *bytes) == of => {
                range.end = at + 1;
            }
            _ => {
                found.extend(open.take().map(|one| one.0));
                open = of.map(|(stream, bytes)| (at..at + 1, stream, bytes));
            }
        }
    }
    found.extend(open.map(|one| one.0));
    found.retain(|range| {
        let calls = &program.body[range.clone()];
        let copies = |way| move |call: &Call| call.crossing().is_some_and(|one| one.1 == way);
        let crosses = calls.iter().any(copies(Direction::HostToDevice))
            || calls.iter().any(copies(Direction::DeviceToHost));
        calls.iter().any(Call::is_launch) && crosses
    });
    (found, has_whole)
}

/// The bytes of what a call could be cut along.
fn cut_length(call: &Call) -> Option<Bytes> {
    if let Some((_, _, from, _)) = call.crossing() {
        return call.sides().rows.is_none().then_some(from.length);
    }
    let (_, step) = call.launched()?;
    let step = step.library().filter(|step| is_elementwise(step) && step.workspace.is_none())?;
    Some(step.output.length)
}

/// The program with these stretches in pieces.
fn cut(subject: &Subject, runs: &[Range<usize>], pieces: u64) -> Rewriting {
    let mut program = subject.program.clone();
    let mut patch = Patch::default();
    let mut places = Vec::new();
    for run in runs {
        let calls = &subject.program.body[run.clone()];
        let (Some(stream), Some(length)) = (calls[0].stream(), cut_length(&calls[0])) else {
            continue;
        };
        let step = length.get().div_ceil(pieces).next_multiple_of(GRAIN);
        let mut all = Vec::new();
        for (piece, from) in (0..length.get()).step_by(step.max(1) as usize).enumerate() {
            let bytes = from..(from + step).min(length.get());
            let into = match piece as u64 % STREAMS {
                0 => stream,
                other => copy_stream(&mut program, stream, &format!("pieces{other}")),
            };
            all.extend(calls.iter().map(|call| piece_of(call, length, &bytes, into)));
        }
        for (at, call) in run.clone().zip(calls) {
            let memory = call.sides().to.map(|to| to.allocation);
            places.extend(call.crossing().map(|_| Place::of(&subject.program, at, memory)));
            patch.remove(at);
        }
        patch.replace(run.start, all);
    }
    let changed = subject.rewritten(patch.applied(&program), 1);
    let program = with_needed_waits(&changed, |_| true);
    Rewriting { program, passes: 1, places: Place::gathered(places), conditions: Vec::new() }
}

/// A piece of a call, in a stream.
fn piece_of(call: &Call, length: Bytes, bytes: &Range<u64>, stream: StreamId) -> Call {
    let mut piece = call.clone().in_stream(stream);
    let cut = |slice: &mut Slice| {
        if slice.length == length {
            slice.offset += Bytes::new(bytes.start);
            slice.length = Bytes::new(bytes.end - bytes.start);
        }
    };
    if let Some(Step::Library(step)) = piece.launched_mut() {
        let (kernel, arguments) = (step.kernel, step.arguments);
        for (at, input) in step.inputs.iter_mut().enumerate() {
            if kernel.whole(at, &arguments).is_none() {
                cut(input);
            }
        }
        cut(&mut step.output);
    } else {
        piece.redirect(&cut);
    }
    piece
}
