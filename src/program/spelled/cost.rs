//! What is said of a kernel's cost.

use super::raw_kernel::{RawCpu, RawPoint, RawPoints, RawRoofline, RawStated};
use crate::files::{Fault, Spanned};
use crate::kernels::{CpuSide, OwnCost};
use crate::units::Span;
use std::ops::Range;

type Said<'r> = (
    &'r Option<Spanned<RawPoints>>,
    &'r Option<Spanned<RawRoofline>>,
    &'r Option<Spanned<RawStated>>,
);

/// The cost that is said, with its place; `None` if none is.
pub(super) fn cost(
    name: &str,
    (points_, roofline_, stated_): Said<'_>,
) -> Result<Option<(OwnCost, Range<usize>)>, Fault> {
    let places = [
        ("points", points_.as_ref().map(Spanned::span)),
        ("roofline", roofline_.as_ref().map(Spanned::span)),
        ("stated", stated_.as_ref().map(Spanned::span)),
    ];
    let mut there = places.into_iter().filter_map(|(key, place)| Some((key, place?)));
    let Some((first, place)) = there.next() else { return Ok(None) };
    if let Some((second, other)) = there.next() {
        let message = format!("kernel `{name}` has both `{first}` and `{second}`");
        let help = "keep the one that is to count";
        return Err(Fault::new(message, other, "known twice", help).and(place, "the first"));
    }
    let cost = match (points_, roofline_, stated_) {
        (Some(raw), ..) => points(name, raw)?,
        (_, Some(raw), _) => roofline(name, raw)?,
        (.., Some(raw)) => stated(name, raw)?,
        _ => return Ok(None),
    };
    Ok(Some((cost, place)))
}

/// What is said of the CPU.
pub(super) fn cpu(name: &str, raw: &Spanned<RawCpu>) -> Result<CpuSide, Fault> {
    let RawCpu { points, roofline, stated, command } = raw.get_ref();
    let known = cost(name, (points, roofline, stated))?;
    match (known, command) {
        (Some((cost, _)), None) => Ok(CpuSide::Cost(cost)),
        (Some(_), Some(command)) => {
            let message = format!("kernel `{name}` has a cost on the CPU, and a command");
            let help = "keep the one that is to count";
            Err(Fault::new(message, command.span(), "known twice", help))
        }
        (None, Some(command)) => {
            let words: Vec<String> =
                command.get_ref().iter().map(|word| word.get_ref().clone()).collect();
            if words.first().is_none_or(|program| program.trim().is_empty()) {
                let message = format!("the command of kernel `{name}` is empty");
                let help = "write the program and its arguments: `[\"./blur\", \"{elements}\"]`";
                return Err(Fault::new(message, command.span(), "no program", help));
            }
            Ok(CpuSide::Command(words))
        }
        (None, None) => {
            let message = format!("`cpu` of kernel `{name}` says nothing");
            let help = "add `points`, `roofline`, `stated` or `command`, or take `cpu` out";
            Err(Fault::new(message, raw.span(), "not known", help))
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
            let message = format!("a point of kernel `{name}` is at {elements} elements");
            let help = "write a whole number from 1 up";
            return Err(Fault::new(message, size.span(), "no size", help));
        }
        let elements = elements as u64;
        if points.last().is_some_and(|&(before, _)| before >= elements) {
            let message = format!("the points of kernel `{name}` do not go by increasing size");
            return Err(Fault::new(message, size.span(), "not larger", "put them in order"));
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
        let message = format!("kernel `{name}` has no point");
        let help = "write such as `[[1e6, \"120 us\"], [1e7, \"1.1 ms\"]]`";
        return Err(Fault::new(message, raw.span(), "is empty", help));
    }
    Ok(OwnCost::Points(points))
}

fn roofline(name: &str, raw: &Spanned<RawRoofline>) -> Result<OwnCost, Fault> {
    let RawRoofline { flops_per_element, bytes_per_element } = raw.get_ref();
    for number in [flops_per_element, bytes_per_element] {
        if !(0.0..1e15).contains(number.get_ref()) {
            let message = format!("{number} is no work for each element of kernel `{name}`");
            return Err(Fault::new(message, number.span(), "no amount", "write 0 or more"));
        }
    }
    let (flops, bytes) = (*flops_per_element.get_ref(), *bytes_per_element.get_ref());
    if flops + bytes == 0.0 {
        let message = format!("kernel `{name}` does nothing for an element");
        let help = "write how many operations it does, or how many bytes it moves";
        return Err(Fault::new(message, raw.span(), "no work", help));
    }
    Ok(OwnCost::Roofline { flops_per_element: flops, bytes_per_element: bytes })
}

fn stated(name: &str, raw: &Spanned<RawStated>) -> Result<OwnCost, Fault> {
    let RawStated { fixed, per_element } = raw.get_ref();
    if fixed.is_none() && per_element.is_none() {
        let message = format!("the stated time of kernel `{name}` is empty");
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
    Ok(OwnCost::Stated { fixed, per_element })
}

fn nanos(text: &Spanned<String>) -> Result<f64, Fault> {
    Span::nanos_in(text.get_ref()).map_err(|error| {
        Fault::new(error.to_string(), text.span(), "no time", "write one such as `\"120 us\"`")
    })
}
