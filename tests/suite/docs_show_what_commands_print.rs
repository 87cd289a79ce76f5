//! What the README, the log of measurements and the pages of `docs` show is what the commands
//! print, and their links lead somewhere. So it is with the pages of `tests/said`, on what commands
//! say of wrong input.
//!
//! `BLESS=1 cargo test --test suite docs_show` writes the pages again, with the output of now.

mod page;
mod session;

use super::commands::{hallway, printed};
use super::predicted::scenarios;
use hallway::scenario::Workload;
use page::{Kind, Page, root};
use session::{Originals, Regenerated, commands, regenerated};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

fn blesses() -> bool {
    std::env::var_os("BLESS").is_some()
}

#[test]
fn pages_show_what_their_commands_print() {
    let pages = Page::all();
    let originals = Originals::copied();
    let before = originals.files();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut wrong = Vec::new();
        while let Some(page) = pages.get(next.fetch_add(1, Ordering::Relaxed)) {
            wrong.extend(faults_of(page, &originals));
        }
        wrong
    };
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..3).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("no panic")).collect()
    });
    assert!(wrong.is_empty(), "pages are not what they should be:\n{}", wrong.concat());
    assert!(originals.files() == before, "a page changes a file that other pages read");
    let all = || pages.iter().flat_map(|page| &page.blocks);
    let skipped = all().filter(|block| block.kind == Kind::NeedsGpu).count();
    let run = all().filter(|block| matches!(block.kind, Kind::Commands { .. })).count();
    println!("{run} blocks of commands were run; {skipped} need a GPU and were not");
    assert!(run > 0, "no page has a command");
}

/// What is wrong in a page, after it was written again if it may be.
fn faults_of(page: &Page, originals: &Originals) -> Vec<String> {
    let now = page.lines.join("\n") + "\n";
    let Regenerated { text, mut faults } = regenerated(page, originals);
    if now != text && blesses() {
        std::fs::write(root().join(&page.path), text).expect("written");
    } else if now != text {
        faults.push(first_difference(&page.path, &now, &text));
    }
    faults
}

fn first_difference(path: &str, now: &str, new: &str) -> String {
    let lines = now.lines().map(Some).chain(std::iter::repeat(None));
    let others = new.lines().map(Some).chain(std::iter::repeat(None));
    let mut pairs = lines.zip(others).enumerate();
    let (at, (now, new)) = pairs.find(|(_, (now, new))| now != new).expect("they differ");
    let [now, new] = [now, new].map(|line| line.unwrap_or("(the end)"));
    let help = "BLESS=1 cargo test --test suite docs_show";
    format!("{path}:{}: write it again: {help}\n  shown    {now}\n  printed  {new}\n", at + 1)
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
    let names = ["hallway ", "cargo run -- "];
    let find = |name: &str| match command.find(name) {
        Some(at) if at == 0 || command[..at].ends_with(' ') => Some(&command[at + name.len()..]),
        _ => None,
    };
    names.into_iter().find_map(find)
}

/// What the pages calibrate exists only where there is a GPU.
const CALIBRATED: &str = "calibration/my-machine";

/// `doctor` runs anywhere, but what it prints is another thing on every machine.
fn needs_gpu(command: &str) -> bool {
    let Some(arguments) = hallway_in(command) else { return false };
    let measuring = ["calibrate", "verify", "record"];
    let measures = measuring.iter().any(|command| arguments.starts_with(command));
    let is_elsewhere = ["--recorded", "--help"].iter().any(|flag| arguments.contains(flag));
    (measures && !is_elsewhere) || arguments.starts_with("doctor") || arguments.contains(CALIBRATED)
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

/// The pictures that pages show are drawn from committed data.
#[test]
fn pictures_are_what_plot_draws() {
    let folder = tempfile::tempdir().expect("a folder");
    // As a shell lists them: the picture of all plans goes by their order.
    let mut command = hallway(root(), ["plot"]);
    printed(command.args(scenarios(&[""])).arg("--output").arg(folder.path()));
    let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    for entry in std::fs::read_dir(folder.path()).expect("readable") {
        let drawn = entry.expect("readable");
        let kept = root().join("plots").join(drawn.file_name());
        if blesses() {
            std::fs::copy(drawn.path(), &kept).expect("written");
        }
        let help = "draw it again: BLESS=1 cargo test --test suite docs_show";
        assert!(read(&drawn.path()) == read(&kept), "{}: {help}", kept.display());
    }
}

/// Whoever fills in a table, or reads a profile, finds every name in the reference.
#[test]
fn references_name_everything() {
    let read = |path: &str| std::fs::read_to_string(root().join(path)).expect("readable");
    let page = read("docs/reference/profile.md");
    for profile in ["calibration/h200/profile.toml", "calibration/others/two-h200/profile.toml"] {
        let tables: toml::Table = read(profile).parse().expect("TOML");
        for name in tables.keys().filter(|name| *name != "schema_version") {
            assert!(
                page.contains(&format!("| `{name}` |")),
                "{name} of {profile} is not explained"
            );
        }
    }
    let folder = tempfile::tempdir().expect("a folder");
    let table = folder.path().join("odd.csv");
    std::fs::write(&table, "# gpu = G\nodd,seconds\n1,1e-6\n").expect("written");
    let error = hallway::samples::Samples::load(&table).expect_err("no such column").to_string();
    let page = read("docs/reference/table.md");
    let known: Vec<&str> = error.split('`').skip(1).step_by(2).collect();
    assert!(known.len() > 10, "the columns are not listed: {error}");
    for column in known.into_iter().filter(|name| *name != "odd") {
        assert!(page.contains(&format!("`{column}`")), "column {column} is not explained");
    }
}

/// Each question has its scenario, and each page is found from the index.
#[test]
fn nothing_is_left_lying_about() {
    let pages = Page::all();
    let links = |path: &str| {
        let page = pages.iter().find(|page| page.path == path).expect("there");
        page.links().into_iter().map(|(_, target)| target).collect::<Vec<_>>()
    };
    let index = links("docs/README.md");
    for page in pages.iter().filter_map(|page| page.path.strip_prefix("docs/")) {
        let is_found = page == "README.md" || index.iter().any(|target| target == page);
        assert!(is_found, "docs/README.md does not link {page}");
    }
    let questions = links("docs/faq.md");
    for entry in std::fs::read_dir(root().join("scenarios/faq")).expect("readable") {
        let name = entry.expect("readable").file_name().into_string().expect("UTF-8");
        let target = format!("../scenarios/faq/{name}");
        assert!(questions.contains(&target), "docs/faq.md does not link {name}");
    }
    let faq = pages.iter().find(|page| page.path == "docs/faq.md").expect("there");
    assert!(faq.prose().filter(|(_, line)| line.starts_with("## ")).count() >= 15);
    let readme = pages.iter().find(|page| page.path == "README.md").expect("there");
    assert!(readme.lines.len() <= 140, "the README has {} lines", readme.lines.len());
}
