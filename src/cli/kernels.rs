//! `hallway kernels`: list the kernels that a task can use.

use super::profiles::deliver;
use super::terminal::width;
use super::{Failure, Outcome};
use crate::report::library;

pub(super) fn run() -> Result<Outcome, Failure> {
    deliver(&library(width(None, None)), None)?;
    Ok(Outcome::Done)
}
