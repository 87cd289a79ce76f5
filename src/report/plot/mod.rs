//! Pictures as SVG text.
//!
//! Invariant: equal values give equal bytes, on a machine without fonts too.
//! An SVG holds text as text, which the viewer renders, so nothing here needs a font. Widths
//! of text are estimates, and the layouts leave room for their error.

mod axis;
mod bandwidth;
mod chunks;
mod gantt;
mod marks;
mod picture;
mod plans;
mod scatter;
mod style;
mod sweep;

pub use bandwidth::bandwidth;
pub use chunks::chunks;
pub use gantt::gantt;
pub use picture::Pictured;
pub use plans::plans;
pub use scatter::predicted_against_measured;
pub use sweep::sweep;
