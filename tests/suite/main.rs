//! What hallway promises, one sentence a module. Runs on any machine.
mod scenarios_are_checked;
mod statistics_match_closed_forms;
mod twins_compute_what_they_say;
