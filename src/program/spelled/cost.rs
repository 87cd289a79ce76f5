//! What is said of a kernel's cost, and of how it may be cut.

use super::raw_kernel::{
    MOST_ELEMENTS, RawCpu, RawKernel, RawPoint, RawPoints, RawRoofline, RawStated,
};
use crate::files::{Fault, Spanned};
use crate::kernels::{CpuSide, Elementwise, OwnCost};
use crate::units::Span;
use std::ops::Range;

/// What messages call a kernel.
pub(super) fn of_kernel(name: &str) -> String {
    format!("kernel `{name}`")
}

/// The cost of a kernel by its keys for one, with its place; `None` if it has none of them. A
/// kernel has these keys for the GPU, and again for the CPU. `of` is what messages call it.
pub(super) fn cost(
    of: &str,
    by_points: Option<&Spanned<RawPoints>>,
    by_roofline: Option<&Spanned<RawRoofline>>,
    by_statement: Option<&Spanned<RawStated>>,
) -> Result<Option<(OwnCost, Range<usize>)>, Fault> {
    let there = only_one(
        of,
        [
            by_points.map(|raw| ("points", raw.span(), points(of, raw))),
            by_roofline.map(|raw| ("roofline", raw.span(), roofline(of, raw))),
            by_statement.map(|raw| ("stated", raw.span(), stated(of, raw))),
        ],
    )?;
    there.map(|(place, cost)| Ok((cost?, place))).transpose()
}

/// The key that a kernel has, of several of which it may have one: its place, and what it says.
pub(super) fn only_one<T>(
    of: &str,
    keys: [Option<(&str, Range<usize>, T)>; 3],
) -> Result<Option<(Range<usize>, T)>, Fault> {
    let mut there = keys.into_iter().flatten();
    let Some((first, place, says)) = there.next() else { return Ok(None) };
    let Some((second, other, _)) = there.next() else { return Ok(Some((place, says))) };
    let message = format!("{of} has both `{first}` and `{second}`");
    let help = "keep one of them";
    Err(Fault::new(message, other, "given twice", help).and(place, "first given here"))
}

/// What is said of the CPU.
pub(super) fn cpu(of: &str, raw: &Spanned<RawCpu>) -> Result<CpuSide, Fault> {
    let RawCpu { points, roofline, stated, command } = raw.get_ref();
    let known = cost(of, points.as_ref(), roofline.as_ref(), stated.as_ref())?;
    match (known, command) {
        (Some((cost, _)), None) => Ok(CpuSide::Cost(cost)),
        (Some(_), Some(command)) => {
            let message = format!("{of} has both a CPU cost and a command");
            let help = "keep one of them";
            Err(Fault::new(message, command.span(), "given twice", help))
        }
        (None, Some(command)) => {
            let words: Vec<String> =
                command.get_ref().iter().map(|word| word.get_ref().clone()).collect();
            if words.first().is_none_or(|program| program.trim().is_empty()) {
                let message = format!("the command of {of} is empty");
                let help = "write the program and its arguments: `[\"./blur\", \"{elements}\"]`";
                return Err(Fault::new(message, command.span(), "empty", help));
            }
            Ok(CpuSide::Command(words))
        }
        (None, None) => {
            let message = format!("`cpu` of {of} is empty");
            let help = "add `points`, `roofline`, `stated` or `command`, or remove `cpu`";
            Err(Fault::new(message, raw.span(), "no cost", help))
        }
    }
}

/// Times that were measured scatter, but more elements do not take less than this share.
const FALLEN: f64 = 0.5;

fn points(of: &str, raw: &Spanned<RawPoints>) -> Result<OwnCost, Fault> {
    let mut points: Vec<(u64, Span)> = Vec::new();
    for RawPoint(size, time) in raw.get_ref() {
        let elements = *size.get_ref();
        if elements.fract() != 0.0 || !(1.0..1e15).contains(&elements) {
            let message = format!("{of} has a point at {elements} elements");
            let help = "write a whole number that is at least 1";
            return Err(Fault::new(message, size.span(), "out of range", help));
        }
        let elements = elements as u64;
        if points.last().is_some_and(|&(before, _)| before >= elements) {
            let message = format!("the points of {of} are not in order of size");
            let help = "sort them by number of elements";
            return Err(Fault::new(message, size.span(), "not larger", help));
        }
        let found = Span::from_nanos_f64(nanos(time)?);
        if found == Span::ZERO {
            let message = format!("{of} has a point with a time of zero");
            return Err(Fault::new(message, time.span(), "no time", "write how long it takes"));
        }
        let slower =
            points.iter().find(|(_, before)| found.nanos_f64() < FALLEN * before.nanos_f64());
        if let Some((size, before)) = slower {
            let message = format!(
                "the times of {of} fall: {found} at {elements} elements, after {before} \
                 at {size}"
            );
            let help = "correct the times: more elements cannot take less than half as long";
            return Err(Fault::new(message, time.span(), "takes less", help));
        }
        points.push((elements, found));
    }
    if points.is_empty() {
        let message = format!("{of} has an empty list of points");
        let help = "write points such as `[[1e6, \"120 us\"], [1e7, \"1.1 ms\"]]`";
        return Err(Fault::new(message, raw.span(), "empty", help));
    }
    Ok(OwnCost::Points(points))
}

fn roofline(of: &str, raw: &Spanned<RawRoofline>) -> Result<OwnCost, Fault> {
    let RawRoofline { flops_per_element, bytes_per_element } = raw.get_ref();
    for number in [flops_per_element, bytes_per_element] {
        if !(0.0..1e15).contains(number.get_ref()) {
            let message = format!("{of} cannot have {number} operations or bytes per element");
            let help = "write a finite number that is at least 0";
            return Err(Fault::new(message, number.span(), "out of range", help));
        }
    }
    let (flops, bytes) = (*flops_per_element.get_ref(), *bytes_per_element.get_ref());
    if flops + bytes == 0.0 {
        let message = format!("the roofline of {of} has no operations and no bytes");
        let help = "write the number of operations or bytes per element";
        return Err(Fault::new(message, raw.span(), "no work", help));
    }
    Ok(OwnCost::Roofline { flops_per_element: flops, bytes_per_element: bytes })
}

fn stated(of: &str, raw: &Spanned<RawStated>) -> Result<OwnCost, Fault> {
    let RawStated { fixed, per_element, range: off } = raw.get_ref();
    if fixed.is_none() && per_element.is_none() {
        let message = format!("the stated time of {of} is zero");
        let help = "write `fixed = \"5 us\"`, `per_element = \"0.2 ns\"`, or both";
        return Err(Fault::new(message, raw.span(), "no time", help));
    }
    let nanos = |text: &Option<Spanned<String>>| text.as_ref().map_or(Ok(0.0), nanos);
    let (fixed, per_element) = (nanos(fixed)?, nanos(per_element)?);
    if fixed + per_element == 0.0 {
        let message = format!("the stated time of {of} is zero");
        let help = "write how long it takes, or remove the time to leave it unknown";
        return Err(Fault::new(message, raw.span(), "no time", help));
    }
    let range = off.as_ref().map(|text| range(of, text)).transpose()?;
    Ok(OwnCost::Stated { fixed, per_element, range })
}

/// By how much a stated time may be off, as a share.
fn range(of: &str, text: &Spanned<String>) -> Result<f64, Fault> {
    share(text, &format!("the time of {of}"))
}

/// By how much the work of a program may be off, as a share.
pub(super) fn work_range(text: &Spanned<String>) -> Result<f64, Fault> {
    share(text, "the time of `work`")
}

fn share(text: &Spanned<String>, of: &str) -> Result<f64, Fault> {
    let percent = text.get_ref().strip_suffix('%').and_then(|digits| digits.trim().parse().ok());
    // With 100%, the time might be zero.
    let is_share = |percent: &f64| *percent > 0.0 && *percent < 100.0;
    percent.filter(is_share).map(|percent: f64| percent / 100.0).ok_or_else(|| {
        let message = format!("`{}` is not a range for {of}", text.get_ref());
        let help = "write a percentage between 0% and 100%, such as `\"10%\"`";
        Fault::new(message, text.span(), "not a range", help)
    })
}

fn nanos(text: &Spanned<String>) -> Result<f64, Fault> {
    Span::nanos_in(text.get_ref()).map_err(|error| {
        Fault::new(error.to_string(), text.span(), "no time", "write a time such as `\"120 us\"`")
    })
}

/// Whether a kernel may run on some of its elements, by what its table says.
pub(super) fn elementwise(raw: &RawKernel) -> Result<Option<Elementwise>, Fault> {
    let Some(key) = &raw.elementwise else {
        return raw.halo.as_ref().map_or(Ok(None), |halo| {
            let message = format!("kernel `{}` has a `halo`, but cannot be split", raw.name);
            let help = "list the arguments to be split in `elementwise`, or remove `halo`";
            Err(Fault::new(message, halo.span(), "no chunks", help))
        });
    };
    let (kernel, names) = (&raw.name, key.get_ref());
    let has = |names: &[Spanned<String>], name: &Spanned<String>| {
        names.iter().any(|one| one.get_ref() == name.get_ref())
    };
    if let Some(stray) = names.iter().find(|n| !has(&raw.reads, n) && !has(&raw.writes, n)) {
        let message = format!("`{stray}` is not an argument of kernel `{kernel}`");
        let help = "use names from its `reads` and `writes`";
        return Err(Fault::new(message, stray.span(), "unknown", help));
    }
    if let Some(left) = raw.writes.iter().find(|name| !has(names, name)) {
        let message = format!("`elementwise` of kernel `{kernel}` lacks an output");
        let help = format!("add `{left}`, or remove `elementwise` so that the kernel is not split");
        return Err(Fault::new(message, key.span(), "incomplete", help)
            .and(left.span(), "not in `elementwise`"));
    }
    if raw.writes.is_empty() {
        let message = format!("kernel `{kernel}` has `elementwise` but no `writes`");
        let help = "name its outputs in both `writes` and `elementwise`";
        return Err(Fault::new(message, key.span(), "incomplete", help));
    }
    if let Some(rule) = &raw.elements {
        let message = format!("kernel `{kernel}` has both `elementwise` and `elements`");
        let help = "remove `elements`: the size of the ranges sets the number of elements";
        return Err(
            Fault::new(message, rule.span(), "given twice", help).and(key.span(), "also sets it")
        );
    }
    let what = format!("`halo` of kernel `{kernel}`");
    let halo = raw.halo.as_ref().map_or(Ok(0), |halo| halo.within(&what, 0..=MOST_ELEMENTS))?;
    Ok(Some(Elementwise {
        halo,
        names: names.iter().map(|name| name.get_ref().clone()).collect(),
        reads: raw.reads.iter().map(|name| has(names, name)).collect(),
    }))
}
