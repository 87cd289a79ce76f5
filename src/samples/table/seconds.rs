//! The column of times, in seconds. A time that no machine takes was probably written in another
//! unit.

use super::row::Row;
use crate::machine::FASTEST_MEMORY;
use crate::samples::Quantity;
use crate::units::{Bytes, Span};

/// Bytes per second: less than any link carries.
const SLOWEST: f64 = 1e7;
/// Operations or bytes per second: less than any processor manages.
const LEAST_WORK: f64 = 1e8;
/// Seconds on top of that: more than any fixed cost, however far away the device is.
const LONGEST: f64 = 0.01;

impl Row<'_> {
    pub(super) fn seconds(&self, of: &Quantity) -> Result<Span, String> {
        let text = self.needs("seconds", "give a number of seconds, such as 23.1e-6")?;
        let wrong = |problem: String| {
            Err(format!("column `seconds`: {problem}; give a number of seconds, such as 23.1e-6"))
        };
        let Some(seconds) = text.parse().ok().filter(|time| (0.0..86_400.0).contains(time)) else {
            return wrong(format!("`{text}` is not a time"));
        };
        if let Some(bytes) = moved(of).filter(|bytes| bytes.as_f64() > FASTEST_MEMORY * seconds) {
            return wrong(format!("`{text}` for {bytes} is over 50 TB/s, faster than any memory"));
        }
        if seconds > longest(of) {
            return wrong(format!("`{text}` is implausibly long for this measurement"));
        }
        if seconds < 0.5e-9 {
            return wrong(format!("`{text}` is not a time"));
        }
        Ok(Span::from_seconds_f64(seconds))
    }
}

/// The bytes of a copy, or the least that a kernel reads and writes.
fn moved(of: &Quantity) -> Option<Bytes> {
    match of {
        Quantity::Kernel { variant, elements }
        | Quantity::KernelBeside { variant, elements, .. }
        | Quantity::Twin { variant, elements, .. } => Some(Bytes::new(variant.bytes(*elements))),
        Quantity::On { of, .. } => moved(of),
        Quantity::Memory { .. } => None,
        _ => of.definition().bytes_moved(),
    }
}

/// The most seconds that a quantity takes on any machine.
fn longest(of: &Quantity) -> f64 {
    let work = match of {
        Quantity::On { of, .. } => return longest(of),
        Quantity::Kernel { variant, elements }
        | Quantity::KernelBeside { variant, elements, .. }
        | Quantity::Twin { variant, elements, .. } => {
            let flops = variant.kernel.flops_per_element(&variant.arguments());
            (variant.bytes(*elements) as f64 + flops * *elements as f64) / LEAST_WORK
        }
        // Faulting in every page, or a context.
        Quantity::Memory { bytes, .. } => bytes.as_f64() / SLOWEST + 1.0,
        Quantity::Setup { .. } => 10.0,
        Quantity::GraphCall { nodes, .. } => *nodes as f64 * LONGEST,
        Quantity::Rotation { bytes, streams, .. } => *streams as f64 * bytes.as_f64() / SLOWEST,
        _ => moved(of).map_or(0.0, |bytes| bytes.as_f64() / SLOWEST),
    };
    LONGEST + work
}
