//! The remedies, one file each: where each applies, and what it makes of a program.
//!
//! Each returns variants, the simplest first. None of them knows what anything costs.

mod defer_waits;
mod pin;

use super::refusal::Refusal;
use super::rewriting::Rewriting;
use super::subject::Subject;
use crate::units::words;
use serde::{Deserialize, Serialize};

words! {
    /// A way to rewrite a program into one that does the same.
    #[derive(Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "kebab-case")]
    pub enum Remedy {
        /// Pin host memory, and do not wait for its copies.
        Pin = "pin",
        /// Wait later, for an event, or not at all.
        DeferWaits = "defer-waits",
    }
}

impl Remedy {
    /// What it makes of a program, in variants, the simplest first.
    ///
    /// # Errors
    /// Why it does not apply.
    pub fn variants(self, subject: &Subject) -> Result<Vec<Rewriting>, Refusal> {
        match self {
            Self::Pin => pin::variants(subject),
            Self::DeferWaits => defer_waits::variants(subject),
        }
    }
}
