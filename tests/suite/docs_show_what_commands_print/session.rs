//! Runs the commands of a page, one after the other, in a folder that looks like the repository.

use super::page::{Block, Kind, Page, root};
use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, LazyLock, Mutex, OnceLock};
use std::time::SystemTime;

/// What commands read.
const COPIED: [&str; 5] = ["calibration", "scenarios", "plots", "tests/traces", "tests/recordings"];

/// A copy of what commands read, which all pages share: nothing they write ends up in the tree.
pub struct Originals(tempfile::TempDir);

impl Originals {
    pub fn copied() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for name in COPIED {
            copy(&root().join(name), &folder.path().join(name));
        }
        Self(folder)
    }

    pub fn files(&self) -> Vec<(PathBuf, u64, SystemTime)> {
        files(self.0.path())
    }

    /// Folders of the same names, in which each entry leads to the copy: what commands write beside
    /// these entries is theirs alone.
    fn linked_in(&self, folder: &Path) {
        for name in COPIED {
            let (from, to) = (self.0.path().join(name), folder.join(name));
            fs::create_dir_all(&to).expect("a folder");
            for entry in fs::read_dir(from).expect("readable") {
                let entry = entry.expect("readable");
                symlink(entry.path(), to.join(entry.file_name())).expect("linked");
            }
        }
    }
}

/// Columns of the terminal that commands believe to have: what a page can show without scrolling.
const WIDTH: usize = 100;

/// Columns of a label such as `Break-even`, with the gap after it: a long reason goes on below
/// them.
const LABEL: usize = 17;

/// What a script printed, on both outputs in the order of a terminal, and its exit code.
#[derive(Debug)]
struct Printed {
    text: String,
    exit: Option<i32>,
    /// Files in the folder are others than before.
    leaves_files: bool,
}

/// What was done before in the folder and has left something there, and the script.
type Past = Vec<String>;
type Known = HashMap<Past, Arc<OnceLock<Printed>>>;

/// Many pages show other lines of the same output: each such command is run once.
static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);

/// A page as it should be: with the output that its commands print now, and files as they are.
#[derive(Debug)]
pub struct Regenerated {
    pub text: String,
    /// What cannot be put right by writing the page again.
    pub faults: Vec<String>,
}

pub fn regenerated(page: &Page, originals: &Originals) -> Regenerated {
    let mut session = Session { originals, folder: None, past: Past::new() };
    // What the block of commands above the current one printed.
    let mut printed = None;
    let mut faults = Vec::new();
    let mut lines: Vec<String> = Vec::new();
    let mut copied = 0;
    for block in &page.blocks {
        let body = page.body(block);
        let new = match &block.kind {
            Kind::Commands { exit } => {
                printed = Some(session.run(&script(&body), *exit));
                None
            }
            Kind::Output { keep } => Some(match &printed {
                Some(Ok(output)) => kept(output, keep, Some("...")),
                Some(Err(_)) => Ok(body),
                None => Err("no command prints this; a drawing is a ```text drawing".to_owned()),
            }),
            Kind::Markdown { command, keep } => {
                let output = session.run(&script(command), 0);
                Some(output.and_then(|output| kept(&output, keep, None)))
            }
            Kind::Written { file, .. } => {
                session.write(file, &body);
                None
            }
            Kind::Shown { file } => {
                let text = fs::read_to_string(root().join(file));
                Some(text.map_err(|error| format!("{file}: {error}")))
            }
            Kind::NeedsGpu | Kind::OtherTools => {
                printed = None;
                None
            }
            Kind::Drawing | Kind::Scenario | Kind::TomlPart | Kind::Code => None,
        };
        let failed = printed.as_mut().filter(|_| matches!(block.kind, Kind::Commands { .. }));
        if let Some(Err(fault)) = failed {
            faults.push(format!("{}: {fault}\n", page.place(block)));
        }
        match new {
            Some(Ok(new)) => {
                lines.extend_from_slice(&page.lines[copied..block.body.start]);
                lines.extend(new.lines().map(|line| line.trim_end().to_owned()));
                copied = block.body.end;
            }
            Some(Err(fault)) => faults.push(format!("{}: {fault}\n", page.place(block))),
            None => {}
        }
    }
    lines.extend_from_slice(&page.lines[copied..]);
    Regenerated { text: lines.join("\n") + "\n", faults }
}

/// The commands as a test runs them: with the binary that was built with it.
fn script(commands: &str) -> String {
    commands.replace("cargo run --", "hallway")
}

/// The lines that contain one of the phrases, or all; `gap` stands for those left out between
/// two of them.
fn kept(output: &str, phrases: &[String], gap: Option<&str>) -> Result<String, String> {
    if phrases.is_empty() {
        return Ok(output.to_owned());
    }
    // Lines of Markdown are not folded.
    let folded = match gap {
        Some(_) => unfolded(output),
        None => output.lines().map(|line| vec![line]).collect(),
    };
    let has = |lines: &[&str], phrase: &String| lines.join(" ").contains(phrase.as_str());
    let is_there = |phrase: &&String| folded.iter().any(|lines| has(lines, phrase));
    if let Some(phrase) = phrases.iter().find(|phrase| !is_there(phrase)) {
        return Err(format!("no line has {phrase:?} any more in\n{output}"));
    }
    let mut kept: Vec<&str> = Vec::new();
    let mut is_gap = false;
    for lines in folded {
        if phrases.iter().any(|phrase| has(&lines, phrase)) {
            kept.extend(gap.filter(|_| is_gap && !kept.is_empty()));
            kept.extend(lines);
            is_gap = false;
        } else {
            // Nobody misses empty lines and the rules of tables.
            is_gap |= lines[0].chars().any(|c| !c.is_whitespace() && c != '─');
        }
    }
    Ok(kept.iter().map(|line| format!("{line}\n")).collect())
}

/// Lines that were one before they were folded to [`WIDTH`].
fn unfolded(output: &str) -> Vec<Vec<&str>> {
    let mut all: Vec<Vec<&str>> = Vec::new();
    for line in output.lines() {
        let is_below_label = line.len() - line.trim_start().len() == LABEL;
        let goes_on = |lines: &Vec<&str>| {
            let Some(word) = line.split_whitespace().next() else { return false };
            if is_below_label {
                return true;
            }
            let before = lines.last().expect("never empty");
            // Two spaces are between the columns of a table.
            let is_full = before.chars().count() + 1 + word.chars().count() > WIDTH;
            is_full && !before.contains("  ")
        };
        match all.last_mut().filter(|lines| goes_on(lines)) {
            Some(lines) => lines.push(line),
            None => all.push(vec![line]),
        }
    }
    all
}

/// A folder with what commands read, made when it is first needed.
struct Session<'a> {
    originals: &'a Originals,
    folder: Option<tempfile::TempDir>,
    past: Past,
}

impl Session<'_> {
    fn folder(&mut self) -> PathBuf {
        let made = self.folder.get_or_insert_with(|| {
            let folder = tempfile::tempdir().expect("a folder");
            self.originals.linked_in(folder.path());
            folder
        });
        made.path().to_owned()
    }

    fn write(&mut self, file: &str, text: &str) {
        let path = self.folder().join(file);
        fs::create_dir_all(path.parent().expect("below the folder")).expect("a folder");
        fs::write(path, text).expect("written");
        self.past.push(format!("{file}\n{text}"));
    }

    /// What the commands print.
    ///
    /// # Errors
    /// If they end with another exit code, or leave files although one of them was refused: pages
    /// that try several commands in one block print `(exit 2)` behind such a one.
    fn run(&mut self, script: &str, exit: i32) -> Result<String, String> {
        let past: Past = self.past.iter().cloned().chain([script.to_owned()]).collect();
        let known = Arc::clone(KNOWN.lock().expect("whole").entry(past.clone()).or_default());
        let folder = self.folder();
        let mut is_run_here = false;
        let printed = known.get_or_init(|| {
            is_run_here = true;
            run(script, &folder)
        });
        if printed.leaves_files {
            // Another page's run has left its files elsewhere.
            if !is_run_here {
                run(script, &folder);
            }
            self.past = past;
        }
        let is_refused = printed.text.contains("(exit 2)");
        if is_refused && printed.leaves_files {
            return Err(format!("what is refused leaves files\n{script}\n{}", printed.text));
        }
        if printed.exit == Some(exit) {
            Ok(printed.text.clone())
        } else {
            let code = printed.exit.map_or("none".to_owned(), |code| code.to_string());
            Err(format!("exit code {code}, not {exit}\n{script}\n{}", printed.text))
        }
    }
}

fn run(script: &str, folder: &Path) -> Printed {
    let binary = Path::new(env!("CARGO_BIN_EXE_hallway"));
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", binary.parent().expect("in a folder").display());
    let before = files(folder);
    let output = Command::new("sh")
        .args(["-euc", &format!("exec 2>&1\n{script}")])
        .current_dir(folder)
        .env("PATH", path)
        .env("NO_COLOR", "1")
        .env("COLUMNS", WIDTH.to_string())
        .stdin(Stdio::null())
        .output()
        .expect("a shell");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    Printed { text, exit: output.status.code(), leaves_files: before != files(folder) }
}

/// Every file and every link below a folder, with its size and age.
fn files(folder: &Path) -> Vec<(PathBuf, u64, SystemTime)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("readable") {
        let path = entry.expect("readable").path();
        let about = fs::symlink_metadata(&path).expect("readable");
        if about.is_dir() {
            found.extend(files(&path));
        } else {
            found.push((path, about.len(), about.modified().expect("known")));
        }
    }
    found.sort();
    found
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("readable") {
        let path = entry.expect("readable").path();
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).expect("copied");
        }
    }
}

/// The commands in a block, one a line, without comments.
pub fn commands(page: &Page, block: &Block) -> Vec<String> {
    let text = page.body(block).replace("\\\n", "");
    let lines = text.lines().map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect()
}
