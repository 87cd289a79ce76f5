//! `hallway schema`: the shape of a scenario, for editors.

use super::profiles::deliver;
use super::{Failure, Outcome};
use crate::scenario::json_schema;

pub(super) fn run() -> Result<Outcome, Failure> {
    deliver(&json_schema(), None)?;
    Ok(Outcome::Done)
}
