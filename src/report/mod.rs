//! Values to strings: text tables, JSON, Markdown, plots.
//!
//! Invariant: no files, no terminal; whoever calls decides where a string
//! goes. Equal values give equal bytes.

mod advice;
mod agreement;
mod calibration;
mod coincide;
mod doctor;
mod drawn;
mod evaluation;
mod explain;
mod gate;
mod html;
mod ledger;
mod library;
mod machines;
mod origin;
mod palette;
mod plans_table;
mod plot;
mod problem;
mod said;
mod set_up;
mod sureness;
mod swept;
mod table;
mod ticks;
mod timeline_row;
mod trace;
mod trace_report;
pub mod traced;
mod verification;
mod what_if_text;
mod whose_cpu;
mod words;

pub use crate::cost::Bottleneck;
pub use advice::{AdviceReport, Against};
pub use agreement::{agreement, drifts};
pub use calibration::calibration;
pub use doctor::{Diagnosis, Finding, GpuFound, State};
pub use drawn::Drawn;
pub use evaluation::{Evaluation, RangesTried, Rows};
pub use explain::{Calls, HeldUpBy, HoldUp, Timed, call_times, explain, hold_ups, prediction};
pub use gate::{Baseline, Compared, Gate, Limits};
pub use html::{Remedies, Review, Subject, review};
pub use library::library;
pub use machines::{Machine, Machines, OnMachine, SideBySide};
pub use origin::{Origin, rules_left_out};
pub use plot::{
    Pictured, bandwidth, chunks, gantt, plans, predicted_against_measured, sweep as drawn_sweep,
};
pub use problem::{Checked, CheckedFile, Failed, FileKind, FilePosition, Problem, ProblemKind};
pub use set_up::SetUpReport;
pub use sureness::{RangesHeld, UnsteadyLink, ranges_held, sureness};
pub use swept::{Parts, SideTime, SweepReport, Sweeping, SweptPoint, Unit};
pub use trace::{TracedPlan, trace};
pub use trace_report::{MissingWait, SiteReport, TraceReport};
pub use verification::{
    Check, MEDIAN_ERROR_LIMIT, P95_ERROR_LIMIT, REGRET_LIMIT, ScoredScenario, Scores, Verification,
};
pub use words::{date, folded};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Version of every JSON form. It goes up when a key changes its meaning or goes away, not when
/// one is added.
pub const SCHEMA_VERSION: u32 = 2;

/// A report as JSON, with what every JSON form begins with. Each type is compiled for this value
/// alone, not for every way to write one.
fn versioned(report: &impl Serialize) -> Value {
    let mut keys = Map::new();
    keys.insert("schema_version".to_owned(), SCHEMA_VERSION.into());
    keys.insert("hallway_version".to_owned(), env!("CARGO_PKG_VERSION").into());
    match serde_json::to_value(report) {
        Ok(Value::Object(report)) => keys.extend(report),
        _ => unreachable!("a report is plain data with names"),
    }
    Value::Object(keys)
}

/// Reads back the JSON form of a report, such as an evaluation.
///
/// # Errors
/// If it is something else, or of another version, with the reason in words.
fn read_json<T: DeserializeOwned>(text: &str, what: &str) -> Result<T, String> {
    let value: Value =
        serde_json::from_str(text).map_err(|error| format!("it is not valid JSON: {error}"))?;
    match value.get("schema_version").and_then(Value::as_u64) {
        Some(version) if version == u64::from(SCHEMA_VERSION) => {}
        Some(version) => {
            return Err(format!(
                "its schema version is {version}, but this version of hallway reads version \
                 {SCHEMA_VERSION}"
            ));
        }
        None => return Err("it has no `schema_version`".to_owned()),
    }
    // From the text, for a value has only the last of two equal keys.
    serde_json::from_str(text).map_err(|error| format!("it is not {what}: {error}"))
}

/// The pretty JSON form of a report, with a newline at its end.
pub fn json(report: &impl Serialize) -> String {
    format!("{:#}\n", versioned(report))
}

/// The JSON form of a report on one line, without a newline.
pub fn json_line(report: &impl Serialize) -> String {
    versioned(report).to_string()
}
