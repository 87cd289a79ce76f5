//! Programs that a person spells out, call by call.

mod expand;
mod expression;
mod mistake;
mod raw;
mod scope;
mod verb;

pub use expand::{MOST_CALLS, expand};
pub use mistake::Mistake;
pub use raw::RawProgram;
pub use scope::NamedBuffer;
