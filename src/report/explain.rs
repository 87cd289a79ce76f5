//! A plan in words, and call by call.

mod calls;
mod hold_ups;
mod repeats;
mod times;
mod words;

pub use hold_ups::{HeldUpBy, HoldUp, hold_ups};
pub use times::call_times;
pub(super) use times::{parts_of_critical_path, times_on_critical_path};

use super::table::{Column, Table};
use super::words::{BULLET, folded, if_known, often, plural, predicted};
use crate::program::spelled::Names;
use crate::program::{Call, Place, Program, ThreadId};
use crate::scenario::Workload;
use crate::search::{Plan, Ranked};
use crate::timeline::Timeline;
use indexmap::IndexMap;
use repeats::Piece;
use std::fmt::Write;
use times::{LEGEND, TimeColumns, where_it_goes};

/// How much of a plan's calls to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Calls {
    /// Calls that repeat themselves are shown the first time and the last.
    Shortened,
    All,
}

/// What of a predicted pass to show.
#[derive(Debug, Clone, Copy)]
pub enum Timed<'t> {
    /// Nothing: no machine is known.
    No,
    /// Where its time goes. The timeline is that of the machine without scatter.
    Divided(&'t Timeline),
    /// Where its time goes, and when each call is made and done.
    Listed(&'t Timeline),
}

/// What a plan does, where its time goes, what waits for what, the memory it needs, and its calls:
/// in lines of at most so many columns, if a number is given.
pub fn explain(
    workload: &Workload,
    plan: &Plan,
    (shown, timed): (Calls, Timed<'_>),
    width: Option<usize>,
) -> String {
    let program = &plan.program;
    let names = Names::in_program(program);
    let mut text = format!("{}\n\n", program.label);
    text += &section("What it does", &words::what_it_does(workload, plan));
    if let Timed::Divided(timeline) | Timed::Listed(timeline) = timed {
        text += &section("Where the time goes", &where_it_goes(program, timeline));
    }
    text += &section("What waits for what", &words::what_waits(program));
    let _ = write!(text, "Memory\n\n{}", memory(workload, program, &names, width));
    if !program.setup.is_empty() {
        let _ = write!(text, "\nSet-up, once: {}\n\n", plural(program.setup.len() as u64, "call"));
        text += &listing(program, &names, (&program.setup, |_| ThreadId::MAIN), (shown, None));
    }
    let calls = plural(program.body.len() as u64, "call");
    let _ = write!(text, "\nEach run: {calls}\n\n");
    let columns = match timed {
        Timed::Listed(timeline) => Some(TimeColumns::new(program, timeline)),
        Timed::No | Timed::Divided(_) => None,
    };
    if let Some(columns) = &columns {
        text += LEGEND;
        text += &columns.head(program.body.len().to_string().len());
    }
    let calls = (&program.body[..], |at| program.thread_of(at));
    text += &listing(program, &names, calls, (shown, columns.as_ref()));
    text += "\nCalls are written as in scenarios. A range such as x[0..4 MiB] is in bytes and \
             excludes its end.\n`--program FILE` writes a scenario with all calls.\n";
    folded(&text, width)
}

/// What a plan was predicted to take that is explained because it is the one to choose, of all or
/// of those on the GPU.
pub fn prediction(chosen: &Ranked, of_gpu: bool) -> String {
    let of = if of_gpu { "The fastest plan on the GPU" } else { "The recommended plan" };
    format!("{of}, predicted to take {} per run:\n\n", predicted(chosen))
}

fn section(title: &str, sentences: &[String]) -> String {
    let lines = sentences.iter().map(|sentence| format!("{BULLET}{sentence}\n"));
    format!("{title}\n\n{}\n", lines.collect::<String>())
}

/// The allocations, those that differ only in their number as one row.
fn memory(workload: &Workload, program: &Program, names: &Names, width: Option<usize>) -> String {
    let mut kinds = IndexMap::new();
    for allocation in &program.allocations {
        let whose = match allocation.holds {
            Some(id) => match workload.buffers.get(id.0) {
                Some(buffer) => format!("buffer `{}` of the scenario", buffer.name),
                None => format!("buffer {} of another scenario", id.0),
            },
            None => "the plan".to_owned(),
        };
        let place = match allocation.place {
            Place::Host(memory) => format!("host, {memory}"),
            Place::Device(device) => format!("GPU {}", device.0),
        };
        let name = names.without_number(allocation);
        let (_, count) = kinds.entry((name, allocation.bytes, whose)).or_insert((place, 0_u64));
        *count += 1;
    }
    let kinds: Vec<_> = kinds.into_iter().collect();
    let mut text = Table::of(&kinds)
        .with(Column::words("name"), |((name, ..), _)| name)
        .with(Column::words("where"), |(_, (place, _))| place)
        .with(Column::number("size"), |((_, bytes, _), (_, count))| match count {
            1 => bytes.to_string(),
            count => format!("{count} x {bytes}"),
        })
        .with(Column::words("owner"), |((.., whose), _)| whose)
        .text(width);
    let (host, pinned) = (program.host_bytes(), program.pinned_bytes());
    let device = if program.devices() > 1 { "at most on each GPU" } else { "on the GPU" };
    let _ = writeln!(
        text,
        "\nTotal: {host} of host memory, {pinned} of it pinned; {} {device}.",
        program.device_bytes()
    );
    text
}

/// Some calls, each with the thread that makes it.
fn listing(
    program: &Program,
    names: &Names,
    (calls, thread_of): (&[Call], impl Fn(usize) -> ThreadId),
    (shown, columns): (Calls, Option<&TimeColumns>),
) -> String {
    let pieces = match shown {
        Calls::All => (0..calls.len()).map(Piece::Call).collect(),
        Calls::Shortened => {
            let keys: Vec<String> = calls.iter().map(|call| calls::sort(program, call)).collect();
            repeats::shortened(&keys)
        }
    };
    let width = calls.len().to_string().len();
    let recorded = calls::recorded(calls);
    let mut text = String::new();
    for piece in pieces {
        let _ = match piece {
            Piece::Call(at) => {
                let call = calls::line(names, (&calls[at], thread_of(at)), recorded[at]);
                let times = if_known(columns, |columns| columns.row(at));
                writeln!(text, "{:>width$}{times}  {call}", at + 1)
            }
            Piece::More { calls, period, times } => writeln!(
                text,
                "{:>width$}  calls {} to {} repeat the {} above {} (`--all` shows them)",
                "...",
                calls.start + 1,
                calls.end,
                if period == 1 { "call".to_owned() } else { plural(period as u64, "call") },
                often(times as u64),
            ),
        };
    }
    text
}
