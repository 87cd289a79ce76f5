//! Whether a kernel of one's own may run on some of its elements.

use super::raw_kernel::{MOST_ELEMENTS, RawKernel};
use crate::files::{Fault, Spanned};
use crate::kernels::Elementwise;

/// What a table says of it.
pub(super) fn elementwise(raw: &RawKernel) -> Result<Option<Elementwise>, Fault> {
    let Some(key) = &raw.elementwise else {
        return raw.halo.as_ref().map_or(Ok(None), |halo| {
            let message = format!("kernel `{}` has a `halo`, and stays whole", raw.name);
            let help = "list in `elementwise` what it goes along, or take `halo` out";
            Err(Fault::new(message, halo.span(), "of what chunks?", help))
        });
    };
    let (kernel, names) = (&raw.name, key.get_ref());
    let has = |names: &[Spanned<String>], name: &Spanned<String>| {
        names.iter().any(|one| one.get_ref() == name.get_ref())
    };
    if let Some(stray) = names.iter().find(|n| !has(&raw.reads, n) && !has(&raw.writes, n)) {
        let message = format!("`{stray}` is nothing that kernel `{kernel}` uses");
        let help = "write names of its `reads` and `writes`";
        return Err(Fault::new(message, stray.span(), "unknown", help));
    }
    if let Some(left) = raw.writes.iter().find(|name| !has(names, name)) {
        let message = format!("`elementwise` of kernel `{kernel}` leaves out what it writes");
        let help = format!("add `{left}`, or take `elementwise` out: the kernel stays whole");
        return Err(
            Fault::new(message, key.span(), "not enough", help).and(left.span(), "written whole")
        );
    }
    if raw.writes.is_empty() {
        let message = format!("kernel `{kernel}` has no `writes` to go along");
        let help = "name what it writes in `writes` and in `elementwise`";
        return Err(Fault::new(message, key.span(), "not enough", help));
    }
    if let Some(rule) = &raw.elements {
        let message = format!("kernel `{kernel}` has both `elementwise` and `elements`");
        let help = "take `elements` out: a launch works on as many as its range has";
        return Err(
            Fault::new(message, rule.span(), "said twice", help).and(key.span(), "says it, too")
        );
    }
    let halo = raw.halo.as_ref().map_or(Ok(0), |halo| {
        let found =
            u64::try_from(*halo.get_ref()).ok().filter(|halo| *halo <= MOST_ELEMENTS as u64);
        found.ok_or_else(|| {
            let message = format!("kernel `{kernel}` has a halo of {halo} elements");
            let help = format!("write a whole number from 0 to {MOST_ELEMENTS}");
            Fault::new(message, halo.span(), "no number of elements", help)
        })
    })?;
    Ok(Some(Elementwise {
        halo,
        names: names.iter().map(|name| name.get_ref().clone()).collect(),
        reads: raw.reads.iter().map(|name| has(names, name)).collect(),
    }))
}
