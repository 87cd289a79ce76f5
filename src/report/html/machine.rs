//! The machine, the date of its profile, and how far off predictions from it were.

use super::Review;
use super::style::{rich, scrolled};
use crate::report::sureness::sureness;
use crate::report::words::{fine_percent, percent, plural};
use crate::samples::{CalibrationExtent, Provenance};
use maud::{Markup, html};

pub(super) fn section(of: &Review<'_>) -> Markup {
    let unsteady = of.evaluation.unsteady_link.map(|link| format!("Link: {}.", link.sentence()));
    html! {
        section.scenario id="machine" aria-labelledby="machine-name" {
            h2 id="machine-name" { "The machine and its profile" }
            dl.facts {
                @for (name, value) in facts(of) { div { dt { (name) } dd { (breaking(&value)) } } }
            }
            h3 { "Accuracy" }
            (accuracy(of))
            p { (rich(&sureness(of.profile))) }
            @if let Some(line) = unsteady { p { (rich(&line)) } }
        }
    }
}

/// A line may end behind the slashes of a path.
fn breaking(text: &str) -> Markup {
    html! { @for (at, part) in text.split('/').enumerate() { @if at > 0 { "/" wbr; } (part) } }
}

fn facts(of: &Review<'_>) -> Vec<(&'static str, String)> {
    let machine = &of.profile.machine;
    let origin = &of.evaluation.profile;
    let extent = match machine.extent {
        CalibrationExtent::Full => "",
        CalibrationExtent::Quick => ", with --quick",
        CalibrationExtent::Elsewhere => ", from a table of samples",
    };
    let day = origin.calibrated.as_deref().unwrap_or("on an unknown date");
    let gpus = if machine.devices > 1 { format!("{} x ", machine.devices) } else { String::new() };
    let or_not = |word: &Option<String>| word.clone().unwrap_or(Provenance::NOT_SAID.to_owned());
    let mut facts = vec![
        ("Profile", origin.path.clone()),
        ("Calibrated", format!("{day}{extent}, by hallway {}", machine.hallway_version)),
        ("GPU", format!("{gpus}{}", machine.gpu)),
        ("GPU memory", machine.device_memory_bytes.to_string()),
        ("Multiprocessors", machine.multiprocessors.to_string()),
        ("Copy engines", machine.copy_engines.to_string()),
        ("Link", or_not(&origin.link)),
        ("Driver", or_not(&origin.driver)),
        ("CUDA", machine.cuda.clone()),
        ("CPU", or_not(&origin.cpu)),
        ("CPU threads", machine.cpu_threads.to_string()),
    ];
    if let Some(bytes) = machine.host_memory_bytes {
        facts.push(("Host memory", bytes.to_string()));
    }
    if let Some((disturbed, all)) = origin.disturbed {
        facts.push(("Clocks", format!("abnormal in {disturbed} of {all} measurements")));
    }
    let (seed, draws) = (of.evaluation.seed, plural(of.evaluation.draws as u64, "draw"));
    facts.push(("Ranges", format!("90% of {draws}, seed {seed}")));
    facts
}

fn accuracy(of: &Review<'_>) -> Markup {
    let Some(found) = &of.profile.accuracy else {
        return html! { p { "No plan has been run on this machine." } };
    };
    let what = "plans of small random workloads, each run and predicted";
    let rows = [
        ("Trials", found.trials.to_string(), what),
        ("Median error", fine_percent(found.median_error), "half of the trials were closer"),
        ("95% of errors below", fine_percent(found.p95_error), "one in twenty was further off"),
        ("In range", percent(found.coverage), "of the trials, with margins from the other trials"),
    ];
    let repeats = found.repeatability.map(fine_percent);
    html! {
        (scrolled(&html! { table {
            tbody {
                @for (name, value, words) in &rows {
                    tr { th scope="row" { (name) } td.number { (value) } td { (words) } }
                }
                @if let Some(repeats) = repeats { tr {
                    th scope="row" { "Machine's own noise" } td.number { (repeats) }
                    td { "difference between the two halves of a trial's runs" }
                } }
            }
        } }))
        p.note { (rich("`docs/accuracy.md` has the results for all measured machines.")) }
    }
}
