//! Values to strings: text tables, JSON, Markdown, plots.
//!
//! Invariant: no files, no terminal; whoever calls decides where a string
//! goes. Equal values give equal bytes.

mod agreement;
mod calibration;
mod drawn;
mod drift;
mod evaluation;
mod evaluation_text;
mod host_thread;
mod lanes;
mod library;
mod origin;
mod plot;
mod sureness;
mod table;
mod verdict;
mod verification;
mod verification_text;
mod words;

pub use agreement::agreement;
pub use calibration::calibration;
pub use drawn::Drawn;
pub use drift::drifts;
pub use evaluation::{
    AssessedPlan, Assessment, Busy, Evaluation, LeftOut, NoRoom, PinningPrices, Threshold,
};
pub use evaluation_text::Rows;
pub use host_thread::{HeldBy, HostThread};
pub use lanes::Bottleneck;
pub use library::library;
pub use origin::Origin;
pub use plot::{Gantt, Measured, bandwidth, gantt, predicted_against_measured};
pub use sureness::{sureness, unsteady_link};
pub use verdict::{Answer, Verdict};
pub use verification::{
    Check, ErrorFigures, MEDIAN_ERROR_LIMIT, P95_ERROR_LIMIT, REGRET_LIMIT, ScoredPlan,
    ScoredScenario, Verification,
};
pub use words::date;

/// The pretty JSON form of a report, with a newline at its end.
fn json(report: &impl serde::Serialize) -> String {
    let text = serde_json::to_string_pretty(report).expect("a report is plain data");
    text + "\n"
}
