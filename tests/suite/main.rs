//! What hallway promises, one sentence a module. Runs on any machine.
mod calibrations_can_be_interrupted;
mod changes_are_told_from_scatter;
mod commands_explain_themselves;
mod fits_recover_the_truth;
mod links_are_shared_fairly;
mod machines;
mod plans_are_race_free;
mod quick_calibrations_know_as_much;
mod recorded_runs_are_scored;
mod reports_say_it_plainly;
mod rooms_import_one_way;
mod samples_from_elsewhere;
mod scenarios_are_checked;
mod simulation_follows_the_rules;
mod statistics_match_closed_forms;
mod twins_compute_what_they_say;
mod workloads;
