//! What the README and the pages of `docs` show is what the commands print, and their
//! links lead somewhere.
//!
//! `BLESS=1 cargo test --test suite docs_show` writes the pages again, with the output of now.

mod page;
mod session;

use hallway::scenario::Workload;
use page::{Kind, Page, root};
use session::{commands, regenerated};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

fn blesses() -> bool {
    std::env::var_os("BLESS").is_some()
}

#[test]
fn pages_show_what_their_commands_print() {
    let pages = Page::all();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut stale = Vec::new();
        while let Some(page) = pages.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (now, new) = (page.lines.join("\n") + "\n", regenerated(page));
            if now == new {
                continue;
            }
            if blesses() {
                std::fs::write(root().join(&page.path), new).expect("written");
            } else {
                stale.push(first_difference(&page.path, &now, &new));
            }
        }
        stale
    };
    let stale: Vec<String> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..3).map(|_| scope.spawn(work)).collect();
        let found = workers.into_iter().flat_map(|worker| match worker.join() {
            Ok(stale) => stale,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        found.collect()
    });
    let help = "write them again: BLESS=1 cargo test --test suite docs_show";
    assert!(
        stale.is_empty(),
        "pages show what is not printed any more; {help}\n{}",
        stale.concat()
    );
    let all = || pages.iter().flat_map(|page| &page.blocks);
    let skipped = all().filter(|block| block.kind == Kind::NeedsGpu).count();
    let run = all().filter(|block| matches!(block.kind, Kind::Commands { .. })).count();
    println!("{run} blocks of commands were run; {skipped} need a GPU and were not");
    assert!(run > 0, "no page has a command");
}

fn first_difference(path: &str, now: &str, new: &str) -> String {
    let lines = now.lines().map(Some).chain(std::iter::repeat(None));
    let others = new.lines().map(Some).chain(std::iter::repeat(None));
    let mut pairs = lines.zip(others).enumerate();
    let (at, (now, new)) = pairs.find(|(_, (now, new))| now != new).expect("they differ");
    let [now, new] = [now, new].map(|line| line.unwrap_or("(the end)"));
    format!("{path}:{}:\n  shown    {now}\n  printed  {new}\n", at + 1)
}

/// Nothing is left out of the test above by its mark alone.
#[test]
fn only_what_needs_a_gpu_is_not_run() {
    for page in Page::all() {
        for block in &page.blocks {
            for command in commands(&page, block) {
                let place = page.place(block);
                match block.kind {
                    Kind::NeedsGpu => assert!(needs_gpu(&command), "{place}: run it: {command}"),
                    Kind::Commands { .. } => {
                        assert!(!needs_gpu(&command), "{place}: mark it ```sh gpu: {command}");
                    }
                    Kind::OtherTools => {
                        let is_ours = hallway_in(&command).is_some();
                        assert!(!is_ours, "{place}: it is hallway's, so run it: {command}");
                    }
                    _ => {}
                }
            }
        }
    }
}

/// Where a command runs hallway, what follows its name.
fn hallway_in(command: &str) -> Option<&str> {
    let names = ["hallway ", "cargo run --release -- "];
    let find = |name: &str| match command.find(name) {
        Some(at) if at == 0 || command[..at].ends_with(' ') => Some(&command[at + name.len()..]),
        _ => None,
    };
    names.into_iter().find_map(find)
}

/// `doctor` runs anywhere, but what it prints is another thing on every machine.
fn needs_gpu(command: &str) -> bool {
    let Some(arguments) = hallway_in(command) else { return false };
    let measures = arguments.starts_with("calibrate") || arguments.starts_with("verify");
    let is_elsewhere = ["--recorded", "--help"].iter().any(|flag| arguments.contains(flag));
    (measures && !is_elsewhere) || arguments.starts_with("doctor")
}

#[test]
fn scenarios_in_pages_can_be_read() {
    for page in Page::all() {
        for block in &page.blocks {
            let (place, text) = (page.place(block), page.body(block));
            match &block.kind {
                Kind::Scenario | Kind::Written { is_scenario: true, .. } => {
                    if let Err(error) = Workload::from_toml(&place, &text) {
                        panic!("{place}: {error}");
                    }
                }
                Kind::TomlPart => {
                    let table: Result<toml::Table, _> = text.parse();
                    table.unwrap_or_else(|error| panic!("{place}: {error}"));
                }
                _ => {}
            }
        }
    }
}

#[test]
fn links_lead_somewhere() {
    let mut pages = Page::all();
    let also = ["CONTRIBUTING.md", "CHANGELOG.md", "benches/copies/README.md"];
    let there = also.into_iter().filter(|path| root().join(path).exists());
    pages.extend(there.map(Page::load));
    let mut broken = Vec::new();
    for page in &pages {
        for (number, target) in page.links() {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let from = root().join(&page.path);
            let path = match file {
                "" => from.clone(),
                file => from.parent().expect("in a folder").join(file),
            };
            let is_there = path.exists() && (anchor.is_empty() || has_anchor(&path, anchor));
            if !is_there {
                broken.push(format!("{}:{number}: {target}", page.path));
            }
        }
    }
    assert!(broken.is_empty(), "links to nowhere:\n{}", broken.join("\n"));
}

fn has_anchor(path: &Path, anchor: &str) -> bool {
    let text = std::fs::read_to_string(path).expect("readable");
    Page::parse(&path.display().to_string(), &text).anchors().iter().any(|found| found == anchor)
}
