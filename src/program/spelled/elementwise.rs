//! Whether a kernel of one's own may run on some of its elements.

use super::raw_kernel::{MOST_ELEMENTS, RawKernel};
use crate::files::{Fault, Spanned};
use crate::kernels::Elementwise;

/// What a table says of it.
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
        let help = "remove `elements`: the size of the ranges sets the number";
        return Err(
            Fault::new(message, rule.span(), "given twice", help).and(key.span(), "also sets it")
        );
    }
    let halo = raw.halo.as_ref().map_or(Ok(0), |halo| {
        let found =
            u64::try_from(*halo.get_ref()).ok().filter(|halo| *halo <= MOST_ELEMENTS as u64);
        found.ok_or_else(|| {
            let message = format!("kernel `{kernel}` cannot have a halo of {halo} elements");
            let help = format!("write a whole number from 0 to {MOST_ELEMENTS}");
            Fault::new(message, halo.span(), "out of range", help)
        })
    })?;
    Ok(Some(Elementwise {
        halo,
        names: names.iter().map(|name| name.get_ref().clone()).collect(),
        reads: raw.reads.iter().map(|name| has(names, name)).collect(),
    }))
}
