//! Who has never seen hallway gets a scenario that runs, a schema for the editor,
//! and every mistake at once.

mod a_new_scenario;
mod a_plan_in_words;
mod every_mistake_at_once;
mod reference;
mod the_json;
mod the_machine;
pub mod the_schema;

use super::commands::ran;
use super::predicted::{repository, scenarios};
use std::process::{Command, Output};

fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).expect("text")
}

fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).expect("text")
}
