//! `hallway schema`: the shape of a scenario, for editors.

use super::profiles::deliver;
use super::{Failure, Outcome};
use crate::scenario::SCHEMA;

pub(super) fn run() -> Result<Outcome, Failure> {
    deliver(SCHEMA, None)?;
    Ok(Outcome::Done)
}
