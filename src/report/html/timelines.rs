//! The timeline of the plan to choose, of the naive one, and of any other, predicted above
//! measured.

use super::columns::{REASONS, columns};
use super::style::scrolled;
use super::{Case, place};
use crate::report::timeline_row::captioned;
use crate::report::words::plural;
use crate::search::Ranked;
use maud::{Markup, PreEscaped, html};
use miniz_oxide::deflate::compress_to_vec;
use serde_json::{Value, json};

/// Characters of packed timelines for each scenario. Plans whose timelines find no more room are
/// named without; the plan to choose and the naive one always have theirs.
const MOST: usize = 400_000;

pub(super) fn section(case: &Case<'_>) -> Markup {
    let plans = &case.subject.ranking.plans;
    // To begin with, the plan on the GPU that the verdict names: one on the CPU is a single bar.
    let first = case.subject.ranking.best_on_gpu().and_then(|best| position(case, best));
    let Some(first) = first else { return html! {} };
    let kept = kept(case, first);
    let measured = |at: usize| {
        case.subject.runs.is_some_and(|runs| runs.trace_of(&plans[at].plan.identity()).is_some())
    };
    let option = |at: usize| {
        let note = if measured(at) { ", also measured" } else { "" };
        format!("{} ({}{note})", plans[at].plan.name(), plans[at].makespan())
    };
    let to_choose = format!("Recommended {}: ", place(plans[first].plan.side()));
    let naive = case.naive().and_then(|one| position(case, one));
    let of_kind = |at: usize| match at {
        at if at == first => 0,
        at if Some(at) == naive => 1,
        at if measured(at) => 2,
        _ => 3,
    };
    let mut order: Vec<usize> = kept.iter().map(|(at, _)| *at).collect();
    order.sort_by_key(|&at| (of_kind(at), at));
    let data: Vec<Value> = kept.iter().map(|(at, text)| json!([at, text])).collect();
    let left_out = plans.len() - kept.len();
    let id = case.id("-timeline");
    case.part("timelines", "Timeline", &html! {
        div.timeline id=(id) data-scenario=(case.number) {
            div.tools {
                label for={ (id) "-plan" } { "Plan" }
                select id={ (id) "-plan" } {
                    @for at in order { option value=(at) selected[at == first] {
                        ([to_choose.as_str(), "Naive: ", "", ""][of_kind(at)]) (option(at))
                    } }
                }
                span.buttons {
                    button type="button" data-do="in" aria-label="Zoom in" { "+" }
                    button type="button" data-do="out" aria-label="Zoom out" { "\u{2212}" }
                    button type="button" data-do="all" { "Whole run" }
                    button type="button" data-do="rows" aria-pressed="false" { "By stream" }
                }
            }
            (find(&id))
            div.stage {
                canvas.overview aria-hidden="true" {}
                canvas.lanes tabindex="0" role="img" aria-describedby={ (id) "-keys" }
                    aria-label="Timeline of the plan; the table below has the same data." {}
                div.tip role="status" hidden {}
            }
            (keys(&id))
            noscript { p.note { "The timeline needs JavaScript, which is off in this browser." } }
            details.spans {
                summary { "Current view as a table" }
                (scrolled(&html! { table {
                    thead { tr {
                        th { "Row" } th { "Call" } th.number { "Start" } th.number { "Takes" }
                        th { "Why not sooner" }
                    } }
                    tbody {}
                } }))
            }
            @if left_out > 0 {
                p.note {
                    (plural(left_out as u64, "other plan")) " of this scenario omitted from this \
                        page to keep the file small. "
                    code { "hallway evaluate --trace FILE --plan NAME" } " writes a timeline."
                }
            }
        }
        script type="application/json" class="timelines" data-scenario=(case.number) {
            (PreEscaped(inert(&Value::from(data))))
        }
    })
}

/// What the mouse and the keys do.
fn keys(id: &str) -> Markup {
    html! {
        p.note id={ (id) "-keys" } {
            "Drag to move, scroll or pinch to zoom (click first, or hold Ctrl). Keys: "
            kbd { "+" } " " kbd { "\u{2212}" } " zoom, " kbd { "\u{2190}" } " "
            kbd { "\u{2192}" } " move, " kbd { "n" } " " kbd { "p" } " next and previous, "
            kbd { "c" } " what it waited for, " kbd { "f" } " zoom to it, " kbd { "0" }
            " the whole run, " kbd { "/" } " find. The strip above shows the whole run: drag its \
            window, or the window's edges."
        }
    }
}

/// A search for calls of the plan that is shown.
fn find(id: &str) -> Markup {
    html! {
        div.find role="search" {
            label for={ (id) "-find" } { "Find" }
            input id={ (id) "-find" } type="search" autocomplete="off" spellcheck="false"
                placeholder="call, kernel, memory, stream or number";
            span.buttons {
                button type="button" data-do="before" aria-label="Previous match" { "\u{2039}" }
                button type="button" data-do="after" aria-label="Next match" { "\u{203a}" }
            }
            output for={ (id) "-find" } {}
        }
    }
}

/// What the scripts say of reasons.
pub(super) fn reasons() -> Markup {
    html! {
        script type="application/json" id="reasons" { (PreEscaped(inert(&json!(REASONS)))) }
    }
}

/// JSON that ends no script element, whatever names are in it.
fn inert(value: &Value) -> String {
    value.to_string().replace('<', "\\u003c")
}

fn position(case: &Case<'_>, wanted: &Ranked) -> Option<usize> {
    case.subject.ranking.plans.iter().position(|one| std::ptr::eq(one, wanted))
}

/// The plans with timelines, each with its packed columns, by their ranks.
fn kept(case: &Case<'_>, first: usize) -> Vec<(usize, String)> {
    let ranking = case.subject.ranking;
    let plans = &ranking.plans;
    let due = [case.naive(), case.chosen(), ranking.best_on_cpu()].into_iter().flatten();
    let due: Vec<usize> = due.filter_map(|one| position(case, one)).chain([first]).collect();
    let mut room = MOST;
    let mut kept = Vec::new();
    let mut order: Vec<usize> = (0..plans.len()).collect();
    order.sort_by_key(|at| (!due.contains(at), *at));
    for at in order {
        let is_due = due.contains(&at);
        // Columns that take more than a character for each activity need not be packed to see that.
        if !is_due && plans[at].forecast.timeline.activities.len() > room {
            continue;
        }
        let views = captioned(&plans[at], case.subject.runs);
        let text = packed(columns(&plans[at].plan.program, &views).as_bytes());
        if is_due || text.len() <= room {
            room = room.saturating_sub(text.len());
            kept.push((at, text));
        }
    }
    kept.sort_unstable_by_key(|(at, _)| *at);
    kept
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// Beyond this, columns of numbers shrink no further.
const LEVEL: u8 = 6;

/// Bytes as text that a script turns back: deflated, then in base 64.
fn packed(bytes: &[u8]) -> String {
    base64(&compress_to_vec(bytes, LEVEL))
}

fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * at)) as usize & 63];
            text.push(if at <= three.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::base64;

    /// Test vectors of RFC 4648, section 10.
    #[test]
    fn the_text_is_base_64() {
        let vectors =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")];
        for (plain, text) in vectors {
            assert_eq!(base64(plain.as_bytes()), text);
        }
    }
}
