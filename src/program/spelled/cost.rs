//! What is said of a kernel's cost.

use super::raw_kernel::{RawCpu, RawPoint, RawPoints, RawRoofline, RawStated};
use crate::files::{Fault, Spanned};
use crate::kernels::{CpuSide, OwnCost};
use crate::units::Span;
use std::ops::Range;

/// The keys for a cost: a kernel has them for the GPU, and again for the CPU.
#[derive(Clone, Copy)]
pub(super) struct RawCost<'r> {
    pub points: Option<&'r Spanned<RawPoints>>,
    pub roofline: Option<&'r Spanned<RawRoofline>>,
    pub stated: Option<&'r Spanned<RawStated>>,
}

/// The cost of a kernel, with its place; `None` if it has no key for one.
pub(super) fn cost(name: &str, raw: RawCost<'_>) -> Result<Option<(OwnCost, Range<usize>)>, Fault> {
    let places = [
        ("points", raw.points.map(Spanned::span)),
        ("roofline", raw.roofline.map(Spanned::span)),
        ("stated", raw.stated.map(Spanned::span)),
    ];
    let Some(place) = only_one(name, places)? else { return Ok(None) };
    let points = raw.points.map(|raw| points(name, raw));
    let roofline = || raw.roofline.map(|raw| roofline(name, raw));
    let stated = || raw.stated.map(|raw| stated(name, raw));
    let cost = points.or_else(roofline).or_else(stated).transpose()?;
    Ok(cost.map(|cost| (cost, place)))
}

/// The place of the key that a kernel has, of several of which it may have one.
pub(super) fn only_one(
    name: &str,
    keys: [(&str, Option<Range<usize>>); 3],
) -> Result<Option<Range<usize>>, Fault> {
    let mut there = keys.into_iter().filter_map(|(key, place)| Some((key, place?)));
    let Some((first, place)) = there.next() else { return Ok(None) };
    let Some((second, other)) = there.next() else { return Ok(Some(place)) };
    let message = format!("kernel `{name}` has both `{first}` and `{second}`");
    let help = "keep one of them";
    Err(Fault::new(message, other, "given twice", help).and(place, "first given here"))
}

/// What is said of the CPU.
pub(super) fn cpu(name: &str, raw: &Spanned<RawCpu>) -> Result<CpuSide, Fault> {
    let RawCpu { points, roofline, stated, command } = raw.get_ref();
    let (points, roofline, stated) = (points.as_ref(), roofline.as_ref(), stated.as_ref());
    let known = cost(name, RawCost { points, roofline, stated })?;
    match (known, command) {
        (Some((cost, _)), None) => Ok(CpuSide::Cost(cost)),
        (Some(_), Some(command)) => {
            let message = format!("kernel `{name}` has both a CPU cost and a command");
            let help = "keep one of them";
            Err(Fault::new(message, command.span(), "given twice", help))
        }
        (None, Some(command)) => {
            let words: Vec<String> =
                command.get_ref().iter().map(|word| word.get_ref().clone()).collect();
            if words.first().is_none_or(|program| program.trim().is_empty()) {
                let message = format!("the command of kernel `{name}` is empty");
                let help = "write the program and its arguments: `[\"./blur\", \"{elements}\"]`";
                return Err(Fault::new(message, command.span(), "empty", help));
            }
            Ok(CpuSide::Command(words))
        }
        (None, None) => {
            let message = format!("`cpu` of kernel `{name}` is empty");
            let help = "add `points`, `roofline`, `stated` or `command`, or remove `cpu`";
            Err(Fault::new(message, raw.span(), "no cost", help))
        }
    }
}

/// Times that were measured scatter, but more elements do not take less than this share.
const FALLEN: f64 = 0.5;

fn points(name: &str, raw: &Spanned<RawPoints>) -> Result<OwnCost, Fault> {
    let mut points: Vec<(u64, Span)> = Vec::new();
    for RawPoint(size, time) in raw.get_ref() {
        let elements = *size.get_ref();
        if elements.fract() != 0.0 || !(1.0..1e15).contains(&elements) {
            let message = format!("kernel `{name}` has a point at {elements} elements");
            let help = "write a whole number of at least 1";
            return Err(Fault::new(message, size.span(), "out of range", help));
        }
        let elements = elements as u64;
        if points.last().is_some_and(|&(before, _)| before >= elements) {
            let message = format!("the points of kernel `{name}` are not in order of size");
            return Err(Fault::new(
                message,
                size.span(),
                "not larger",
                "sort them by number of elements",
            ));
        }
        let found = Span::from_nanos_f64(nanos(time)?);
        if found == Span::ZERO {
            let message = format!("kernel `{name}` has a point of no time");
            return Err(Fault::new(message, time.span(), "no time", "write how long it takes"));
        }
        let slower =
            points.iter().find(|(_, before)| found.nanos_f64() < FALLEN * before.nanos_f64());
        if let Some((size, before)) = slower {
            let message = format!(
                "the points of kernel `{name}` fall: {found} at {elements} elements, after \
                 {before} at {size}"
            );
            let help = "correct the times: more elements do not take less than half";
            return Err(Fault::new(message, time.span(), "takes less", help));
        }
        points.push((elements, found));
    }
    if points.is_empty() {
        let message = format!("kernel `{name}` has an empty list of points");
        let help = "write points such as `[[1e6, \"120 us\"], [1e7, \"1.1 ms\"]]`";
        return Err(Fault::new(message, raw.span(), "empty", help));
    }
    Ok(OwnCost::Points(points))
}

fn roofline(name: &str, raw: &Spanned<RawRoofline>) -> Result<OwnCost, Fault> {
    let RawRoofline { flops_per_element, bytes_per_element } = raw.get_ref();
    for number in [flops_per_element, bytes_per_element] {
        if !(0.0..1e15).contains(number.get_ref()) {
            let message =
                format!("kernel `{name}` cannot have {number} operations or bytes per element");
            return Err(Fault::new(
                message,
                number.span(),
                "out of range",
                "write a finite number of at least 0",
            ));
        }
    }
    let (flops, bytes) = (*flops_per_element.get_ref(), *bytes_per_element.get_ref());
    if flops + bytes == 0.0 {
        let message = format!("the roofline of kernel `{name}` has no work");
        let help = "write the number of operations or bytes per element";
        return Err(Fault::new(message, raw.span(), "no work", help));
    }
    Ok(OwnCost::Roofline { flops_per_element: flops, bytes_per_element: bytes })
}

fn stated(name: &str, raw: &Spanned<RawStated>) -> Result<OwnCost, Fault> {
    let RawStated { fixed, per_element, range: off } = raw.get_ref();
    if fixed.is_none() && per_element.is_none() {
        let message = format!("the stated time of kernel `{name}` is zero");
        let help = "write `fixed = \"5 us\"`, `per_element = \"0.2 ns\"`, or both";
        return Err(Fault::new(message, raw.span(), "no time", help));
    }
    let nanos = |text: &Option<Spanned<String>>| text.as_ref().map_or(Ok(0.0), nanos);
    let (fixed, per_element) = (nanos(fixed)?, nanos(per_element)?);
    if fixed + per_element == 0.0 {
        let message = format!("kernel `{name}` is stated to take no time");
        let help = "write how long it takes, or leave the time out: it is unknown then";
        return Err(Fault::new(message, raw.span(), "no time", help));
    }
    let range = off.as_ref().map(|text| range(name, text)).transpose()?;
    Ok(OwnCost::Stated { fixed, per_element, range })
}

/// By how much a stated time may be off, as a share.
fn range(name: &str, text: &Spanned<String>) -> Result<f64, Fault> {
    let percent = text.get_ref().strip_suffix('%').and_then(|digits| digits.trim().parse().ok());
    // With 100%, the time might be zero.
    let is_share = |percent: &f64| *percent > 0.0 && *percent < 100.0;
    percent.filter(is_share).map(|percent: f64| percent / 100.0).ok_or_else(|| {
        let message =
            format!("`{}` is not a range for the time of kernel `{name}`", text.get_ref());
        let help = "write a percentage between 0% and 100%, such as `\"10%\"`";
        Fault::new(message, text.span(), "not a range", help)
    })
}

fn nanos(text: &Spanned<String>) -> Result<f64, Fault> {
    Span::nanos_in(text.get_ref()).map_err(|error| {
        Fault::new(error.to_string(), text.span(), "no time", "write a time such as `\"120 us\"`")
    })
}
