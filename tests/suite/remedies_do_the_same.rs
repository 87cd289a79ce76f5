//! A remedy rewrites a program into one that has no race and leaves the same data, in any order of
//! its calls; it applies where it helps, and not where it must not.

mod answered;
mod drawn;
mod moved_otherwise;
mod one_by_one;
mod recorded;

use super::predicted::calibrated;
use hallway::advise::{Advice, Remedy, Rewriting, Subject, advise, proved};
use hallway::execute::{Contents, check_orders, in_plain_order};
use hallway::host::Team;
use hallway::program::{Program, check_hazards};
use hallway::scenario::Workload;
use hallway::simulate::{Draws, Tally};

/// The workload of a scenario with one program: these buffers, memory and calls.
#[track_caller]
fn workload(buffers: &str, memory: &str, setup: &str, calls: &str) -> Workload {
    read(buffers, memory, setup, calls).unwrap_or_else(|error| panic!("{error}\n{calls}"))
}

/// The workload, or why a scenario cannot have such a program.
fn read(buffers: &str, memory: &str, setup: &str, calls: &str) -> Result<Workload, String> {
    let text = format!(
        "schema_version = 1\nname = \"drawn\"\nquestion = \"?\"\nbuffer = [{buffers}]\n\
         [[program]]\nname = \"p\"\nmemory = [{memory}]\nsetup = [{setup}]\ncalls = [{calls}]\n"
    );
    Workload::from_toml("drawn.toml", &text).map_err(|error| error.to_string())
}

fn subject(workload: &Workload) -> Subject {
    Subject::spelled(workload.programs[0].clone())
}

/// The program with its body several times.
fn repeated(program: &Program, passes: u64) -> Program {
    let body = (0..passes).flat_map(|_| program.body.clone()).collect();
    let threads = (0..passes).flat_map(|_| program.threads.clone()).collect();
    Program { body, threads, ..program.clone() }
}

/// Checks that a rewriting can be run, has no race, does not depend on the order of calls, and
/// leaves in all buffers what the program leaves.
fn check(
    workload: &Workload,
    rewriting: &Rewriting,
    team: &Team,
    orders: u64,
) -> Result<(), String> {
    let (before, after) = (&workload.programs[0], &rewriting.program);
    after.check().map_err(|problem| problem.to_string())?;
    check_hazards(after).map_err(|hazard| hazard.to_string())?;
    for seed in 0..orders {
        check_orders(after, team, seed).map_err(|differs| differs.to_string())?;
    }
    let contents = Contents::all_random(workload, team, 7);
    let wanted = in_plain_order(&repeated(before, rewriting.passes), &contents, team);
    let found = in_plain_order(after, &contents, team);
    for id in workload.buffer_ids() {
        let equal = |(one, two): (&f32, &f32)| {
            one.to_bits() == two.to_bits() || (one.is_nan() && two.is_nan())
        };
        if !wanted.of(id).iter().zip(found.of(id)).all(equal) {
            return Err(format!("`{}` differs", workload.buffer(id).name));
        }
    }
    Ok(())
}

/// The rewritings of a remedy, each checked.
#[track_caller]
fn checked(workload: &Workload, remedy: Remedy) -> Vec<Rewriting> {
    let team = Team::new(1).expect("one thread");
    let found = proved(remedy, &subject(workload)).unwrap_or_else(|why| panic!("{remedy}: {why}"));
    for one in &found {
        check(workload, one, &team, 8).unwrap_or_else(|why| {
            panic!("{remedy}: {why}\n{:#?}", one.program.body);
        });
    }
    found
}

/// The advice on a program on the machine that comes along.
fn advised(workload: &Workload) -> Advice {
    let draws = Draws::new(10, 1);
    advise(&subject(workload), &calibrated("h200"), draws, &Tally::default())
        .expect("predicted")
        .advice
}
