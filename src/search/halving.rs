//! Where a condition changes between two values.

/// The ends of a stretch, narrowed to where a condition changes that holds at the first alone.
/// Halving goes on while there is a value `between` the ends. `None` where the condition cannot be
/// told.
pub fn halved<T: Copy>(
    (mut first, mut second): (T, T),
    mut between: impl FnMut(T, T) -> Option<T>,
    holds: impl Fn(T) -> Option<bool>,
) -> Option<(T, T)> {
    while let Some(middle) = between(first, second) {
        *(if holds(middle)? { &mut first } else { &mut second }) = middle;
    }
    Some((first, second))
}
