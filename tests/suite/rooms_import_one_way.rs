//! The rules of the house, read from the sources: rooms import one way, files and
//! functions stay short, and dependencies come from the registry.

mod calls;
mod circles;
mod one_table;

use super::predicted::repository;
use std::fmt::Write;
use std::path::PathBuf;

/// Every room with the rooms that it may import. A room stands below all rooms that it
/// imports.
///
/// Nouns come before verbs: a room that holds data knows nothing of those that make or
/// print it.
const ROOMS: [(&str, &str); 30] = [
    ("units", ""),
    ("files", ""),
    ("stats", ""),
    ("machine", "units"),
    ("kernels", "units files"),
    ("program", "units files machine kernels"),
    ("scenario", "units files machine kernels program"),
    ("families", "units machine kernels program scenario"),
    ("timeline", "units machine"),
    ("record", ""),
    ("trace", "units files stats machine kernels program scenario timeline record"),
    ("samples", "units files machine kernels"),
    ("profile", "units files stats machine kernels program samples"),
    ("runs", "units files stats timeline"),
    ("fit", "units stats machine kernels samples profile"),
    ("cost", "units stats machine kernels program profile"),
    ("simulate", "units stats machine program timeline profile cost"),
    ("schedule", "units machine kernels program scenario families profile cost simulate"),
    (
        "search",
        "units stats machine kernels program scenario families timeline profile cost simulate \
         schedule",
    ),
    ("what_if", "units machine kernels program samples profile scenario search"),
    ("advise", "units machine kernels program timeline profile cost simulate"),
    (
        "findings",
        "units stats machine kernels program scenario families timeline profile cost simulate \
         search what_if",
    ),
    ("compare", "units stats machine timeline profile"),
    (
        "report",
        "units stats machine kernels program scenario families timeline trace samples profile runs \
         cost simulate search what_if advise findings compare",
    ),
    ("gpu", "units machine kernels"),
    ("host", "units machine kernels"),
    ("calibrate", "units stats machine kernels samples gpu host"),
    ("execute", "units machine kernels program scenario families timeline runs gpu host"),
    (
        "study",
        "units files stats machine kernels program scenario timeline trace samples profile runs \
         fit cost simulate search compare gpu host calibrate execute",
    ),
    (
        "cli",
        "units files stats machine kernels program scenario families timeline record trace \
         samples profile runs fit cost simulate search what_if advise findings compare report gpu \
         host calibrate execute study",
    ),
];

const LONGEST_LINE: usize = 100;
const LONGEST_FILE: usize = 420;
const LONGEST_FUNCTION: usize = 75;

/// A source file of this repository.
struct Source {
    /// Path relative to the repository, with slashes.
    path: String,
    text: String,
}

impl Source {
    /// Lines of code with their numbers, without comments.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.text.lines().enumerate().map(|(index, line)| (index + 1, line));
        lines.map(|(number, line)| (number, line.split("//").next().unwrap_or(line)))
    }

    /// The room of a file below `src/`, and how many modules deep in the room the file
    /// is.
    fn room(&self) -> Option<(&str, usize)> {
        let (room, rest) = self.path.strip_prefix("src/")?.split_once('/')?;
        let modules = rest.split('/').filter(|part| *part != "mod.rs").count();
        Some((room, modules))
    }
}

fn sources(folder: &str) -> Vec<Source> {
    let mut to_do = vec![repository().join(folder)];
    let mut paths: Vec<PathBuf> = Vec::new();
    while let Some(folder) = to_do.pop() {
        for entry in std::fs::read_dir(&folder).expect("our own folders can be read") {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                to_do.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                paths.push(path);
            }
        }
    }
    paths.sort();
    let read = |path: &PathBuf| {
        let below = path.strip_prefix(repository()).expect("found below it");
        let parts: Vec<_> = below.iter().map(|part| part.to_string_lossy()).collect();
        let text = std::fs::read_to_string(path).expect("sources are text");
        Source { path: parts.join("/"), text }
    };
    paths.iter().map(read).collect()
}

fn everything() -> Vec<Source> {
    let mut all = sources("src");
    all.append(&mut sources("tests"));
    all
}

/// Collects all violations, so that one run of the test shows every one.
#[derive(Default)]
struct Complaints(String);

impl Complaints {
    fn add(&mut self, source: &Source, line: usize, complaint: impl std::fmt::Display) {
        writeln!(self.0, "{}:{line}: {complaint}", source.path)
            .expect("writing to a string cannot fail");
    }

    #[track_caller]
    fn none(&self) {
        assert!(self.0.is_empty(), "\n{}", self.0);
    }
}

/// The names that follow each occurrence of `prefix` in a line.
fn names_after<'a>(line: &'a str, prefix: &'a str) -> impl Iterator<Item = &'a str> {
    line.match_indices(prefix).map(move |(at, _)| {
        let rest = &line[at + prefix.len()..];
        let end = rest.find(|c: char| !c.is_ascii_lowercase() && c != '_');
        &rest[..end.unwrap_or(rest.len())]
    })
}

#[test]
fn the_table_of_rooms_has_no_way_back() {
    for (index, (room, imports)) in ROOMS.iter().enumerate() {
        for import in imports.split_whitespace() {
            let place = ROOMS.iter().position(|(name, _)| *name == import);
            let place = place.unwrap_or_else(|| panic!("{room} imports {import}: no such room"));
            assert!(place < index, "{room} imports {import}, which comes later");
        }
    }
}

#[test]
fn rooms_import_what_the_table_allows() {
    let mut complaints = Complaints::default();
    for source in sources("src") {
        let Some((room, modules)) = source.room() else { continue };
        let Some((_, allowed)) = ROOMS.iter().find(|(name, _)| *name == room) else {
            complaints.add(&source, 1, format!("room `{room}` is not in the table"));
            continue;
        };
        for (line, code) in source.code() {
            for import in names_after(code, "crate::") {
                if import != room && !allowed.split(' ').any(|one| one == import) {
                    complaints.add(&source, line, format!("`{room}` must not import `{import}`"));
                }
            }
            // A file must import from another room by that room's name, so that this test
            // sees it.
            if code.contains(&"super::".repeat(modules + 1)) {
                complaints.add(&source, line, "leaves the room through `super`");
            }
        }
    }
    complaints.none();
}

#[test]
fn only_gpu_names_the_cuda_bindings() {
    let mut complaints = Complaints::default();
    for source in sources("src") {
        let is_gpu = source.room().is_some_and(|(room, _)| room == "gpu");
        for (line, code) in source.code() {
            if code.contains("cudarc") && !is_gpu {
                complaints.add(&source, line, "names cudarc");
            }
        }
    }
    complaints.none();
}

#[test]
fn report_touches_no_files() {
    let mut complaints = Complaints::default();
    let report = sources("src").into_iter().filter(|source| source.path.contains("/report/"));
    for source in report {
        for (line, code) in source.code() {
            for forbidden in ["std::fs", "File::", "println!", "std::env"] {
                if code.contains(forbidden) {
                    complaints.add(&source, line, format!("names {forbidden}"));
                }
            }
        }
    }
    complaints.none();
}

#[test]
fn lines_files_and_functions_are_short() {
    let mut complaints = Complaints::default();
    for source in everything() {
        let lines: Vec<&str> = source.text.lines().collect();
        if lines.len() > LONGEST_FILE {
            complaints.add(&source, lines.len(), format!("more than {LONGEST_FILE} lines"));
        }
        for (index, line) in lines.iter().enumerate() {
            if line.chars().count() > LONGEST_LINE {
                complaints.add(&source, index + 1, format!("more than {LONGEST_LINE} characters"));
            }
            let length = function_length(&lines[index..]);
            if length > LONGEST_FUNCTION {
                complaints.add(&source, index + 1, format!("a function of {length} lines"));
            }
        }
    }
    complaints.none();
}

/// The number of lines of the function that starts on the first line, or 0 if none does.
/// In rustfmt's layout, a function ends at the first closing brace with its own indent.
fn function_length(lines: &[&str]) -> usize {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let before_name = lines[0].split("fn ").next().unwrap_or_default();
    let modifiers = ["pub", "const", "unsafe", "extern", "async"];
    let is_modifier = |word: &str| modifiers.iter().any(|modifier| word.starts_with(modifier));
    let declares = lines[0].contains("fn ") && before_name.split_whitespace().all(is_modifier);
    if !declares {
        return 0;
    }
    let ends = |line: &&&str| {
        indent(line) == indent(lines[0]) && (line.ends_with('}') || line.ends_with(';'))
    };
    lines.iter().position(|line| ends(&line)).map_or(lines.len(), |last| last + 1)
}

#[test]
fn function_lengths_are_counted_right() {
    assert_eq!(function_length(&["fn one() {}", "fn two() {}"]), 1);
    assert_eq!(function_length(&["    pub(super) const fn two(", "    );", "    }"]), 2);
    assert_eq!(function_length(&["fn three() {", "    if x {}", "}", "}"]), 3);
    assert_eq!(function_length(&["let f: fn (u8) = g;"]), 0);
    assert_eq!(function_length(&["// the fn that", "}"]), 0);
}

#[test]
fn nothing_is_left_undone() {
    // The words are put together here, so that this file does not find itself.
    let macros = ["todo", "unimplemented", "dbg"].map(|name| format!("{name}!("));
    let attribute = format!("#[{}", "ignore");
    let mut complaints = Complaints::default();
    for source in everything() {
        for (line, code) in source.code() {
            for forbidden in macros.iter().chain([&attribute]) {
                if code.contains(forbidden.as_str()) {
                    complaints.add(&source, line, format!("`{forbidden}` is left"));
                }
            }
        }
    }
    complaints.none();
}

#[test]
fn every_room_states_its_invariant() {
    let mut complaints = Complaints::default();
    for source in sources("src").iter().filter(|source| source.path.ends_with("/mod.rs")) {
        let docs = source.text.lines().take_while(|line| line.starts_with("//!"));
        if !docs.into_iter().any(|line| line.contains("Invariant")) {
            complaints.add(source, 1, "its opening docs state no Invariant");
        }
    }
    complaints.none();
}

fn manifest(name: &str) -> toml::Table {
    let text = std::fs::read_to_string(repository().join(name)).expect("readable");
    text.parse().expect("TOML")
}

#[test]
fn dependencies_come_from_the_registry() {
    let manifest = manifest("Cargo.toml");
    for section in manifest.keys() {
        assert!(!["patch", "replace", "target"].contains(&section.as_str()), "[{section}]");
    }
    for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
        let Some(dependencies) = manifest.get(section).and_then(toml::Value::as_table) else {
            continue;
        };
        // Its own tests need hallway with a feature that others do without.
        for (name, dependency) in dependencies.iter().filter(|(name, _)| *name != "hallway") {
            for key in ["path", "git", "registry"] {
                assert!(dependency.get(key).is_none(), "{name} comes from a {key}");
            }
        }
    }
    let packages = manifest_packages();
    let ours = packages.iter().filter(|package| package.get("source").is_none()).count();
    assert_eq!(ours, 1, "only hallway itself has no source");
    for package in &packages {
        let source = package.get("source").and_then(toml::Value::as_str).unwrap_or_default();
        assert!(source.is_empty() || source.starts_with("registry+"), "{package}");
    }
}

fn manifest_packages() -> Vec<toml::Table> {
    let lock = manifest("Cargo.lock");
    let packages = lock["package"].as_array().expect("a list").iter();
    packages.map(|package| package.as_table().expect("a table").clone()).collect()
}

/// Pictures must be the same on a machine without fonts.
#[test]
fn plots_need_no_fonts_of_the_system() {
    let manifest = manifest("Cargo.toml");
    let plotters = &manifest["dependencies"]["plotters"];
    assert_eq!(plotters["default-features"].as_bool(), Some(false));
    for feature in plotters["features"].as_array().expect("a list") {
        let feature = feature.as_str().expect("a name");
        assert!(!feature.contains("ttf") && !feature.contains("font"), "{feature}");
    }
    for package in manifest_packages() {
        let name = package["name"].as_str().expect("a name");
        assert!(!name.contains("font"), "{name} looks for fonts");
    }
}
