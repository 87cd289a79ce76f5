//! What the names of events say.

use crate::trace::MemoryKind;

/// The kinds of memory in `Memcpy HtoD (Pageable -> Device)`; `None` if the name has none that
/// the format knows.
pub(super) fn memory(name: &str) -> Option<(MemoryKind, MemoryKind)> {
    let kinds = name.split_once('(').and_then(|(_, rest)| rest.rsplit_once(')'));
    if let Some((kinds, _)) = kinds {
        let (from, to) = kinds.split_once("->")?;
        return Some((kind(from)?, kind(to)?));
    }
    // Without them, only the direction is known.
    let direction = name.split_whitespace().find_map(|word| word.split_once("to"));
    let (from, to) = direction?;
    Some((side(from)?, side(to)?))
}

fn kind(name: &str) -> Option<MemoryKind> {
    Some(match name.trim() {
        "Pageable" => MemoryKind::Pageable,
        "Pinned" => MemoryKind::Pinned,
        "Device" | "Device Static" => MemoryKind::Device,
        "Managed" | "Managed Static" => MemoryKind::Managed,
        "Array" => MemoryKind::Array,
        // ROCm does not say whether it is page-locked.
        "Host" | "Unknown" => MemoryKind::Unknown,
        _ => return None,
    })
}

fn side(letter: &str) -> Option<MemoryKind> {
    Some(match letter {
        "H" => MemoryKind::Unknown,
        "D" | "P" => MemoryKind::Device,
        "A" => MemoryKind::Array,
        _ => return None,
    })
}
