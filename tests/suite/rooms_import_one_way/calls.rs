//! Kinds of calls are named in few files, and memory has one history.

use super::{Complaints, Source, sources};

/// A new kind of call touches no more files than that, and where it is made.
const MOST_FILES: usize = 6;

/// The types that remember who used memory, each with the files of `src/cost` that may name them
/// besides its own.
const LEDGERS: [(&str, &str, &[&str]); 4] = [
    ("Uses", "uses.rs", &["caches.rs", "pages.rs", "written.rs", HISTORY]),
    ("CpuCaches", "caches.rs", &[HISTORY]),
    ("DeviceCaches", "caches.rs", &[HISTORY]),
    ("Pages", "pages.rs", &[HISTORY]),
];
const HISTORY: &str = "history.rs";

/// The kinds of calls, from the source that declares them.
fn kinds(sources: &[Source]) -> Vec<&str> {
    let call = sources.iter().find(|source| source.path == "src/program/call.rs");
    let text = &call.expect("calls are declared there").text;
    let (_, declared) = text.split_once("pub enum Call {\n").expect("it is declared there");
    let (declared, _) = declared.split_once("\n}").expect("it ends");
    let lines = declared.lines().filter_map(|line| line.strip_prefix("    "));
    let names = lines.filter(|line| line.starts_with(|first: char| first.is_ascii_uppercase()));
    names.map(|line| line.split([' ', '(', ',']).next().unwrap_or(line)).collect()
}

/// Whether a line names something by itself, not as a part of a longer name.
fn names(line: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(name).any(|(at, _)| {
        !line[..at].ends_with(is_part) && !line[at + name.len()..].starts_with(is_part)
    })
}

#[test]
fn each_kind_of_call_is_named_in_few_files() {
    let sources = sources("src");
    let kinds = kinds(&sources);
    assert!(kinds.len() > 10 && kinds.contains(&"Launch"), "{kinds:?}");
    for kind in kinds {
        let wanted = format!("Call::{kind}");
        let is_named = |source: &&Source| source.code().any(|(_, line)| names(line, &wanted));
        let files: Vec<&str> =
            sources.iter().filter(is_named).map(|source| source.path.as_str()).collect();
        assert!(files.len() <= MOST_FILES, "{wanted} is named in {}: {files:?}", files.len());
    }
}

/// Each ledger is told of what calls touch by the one walk of the history.
#[test]
fn memory_has_one_history() {
    let mut complaints = Complaints::default();
    for source in sources("src") {
        let file = source.path.strip_prefix("src/cost/").unwrap_or_default();
        for (ledger, own, users) in LEDGERS {
            for (line, code) in source.code() {
                let may_name =
                    file == own || users.contains(&file) || !source.path.contains("/cost/");
                if !may_name && names(code, ledger) {
                    complaints.add(&source, line, format!("keeps a history in `{ledger}`"));
                }
            }
        }
    }
    complaints.none();
}

#[test]
fn names_are_whole_words() {
    assert!(names("    Call::Use(device) => x,", "Call::Use"));
    assert!(!names("TimedCall::UseDevice | Call::Used", "Call::Use"));
    assert!(!names("ApiCall::Use(one)", "Call::Use"));
}
