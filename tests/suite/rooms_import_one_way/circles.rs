//! No circle of files inside a room: whoever reads a file finds what it builds on in files that do
//! not build on it.

use super::{ROOMS, Source, sources};
use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use std::collections::BTreeMap;

/// The modules of a room by their paths below it, such as `streams::marks`.
type Modules<'s> = BTreeMap<Vec<&'s str>, &'s Source>;

fn modules<'s>(room: &str, all: &'s [Source]) -> Modules<'s> {
    let below = format!("src/{room}/");
    let inside = all.iter().filter_map(|source| Some((source.path.strip_prefix(&below)?, source)));
    let name = |path: &'s str| {
        let path = path.trim_end_matches(".rs");
        path.trim_end_matches("/mod").split('/').collect::<Vec<_>>()
    };
    inside.map(|(path, source)| (name(path), source)).filter(|(name, _)| name != &["mod"]).collect()
}

/// The `use` declarations outside of tests, each without `use` and `;`.
fn declarations(text: &str) -> impl Iterator<Item = String> {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let lines = code.lines().map(|line| line.split("//").next().unwrap_or_default());
    let code: Vec<&str> = lines.collect();
    let code = code.join(" ");
    let found: Vec<String> = code
        .split("use ")
        .skip(1)
        .filter_map(|rest| Some(rest.split_once(';')?.0.to_owned()))
        .collect();
    found.into_iter()
}

/// The paths that a declaration names: `a::{b, c::d}` is `a::b` and `a::c::d`.
fn paths(declaration: &str) -> Vec<Vec<String>> {
    let segments = |text: &str| {
        let names = text.split("::").map(|name| name.trim().to_owned());
        names.filter(|name| !name.is_empty()).collect::<Vec<_>>()
    };
    let Some((before, inside)) = declaration.split_once('{') else {
        return vec![segments(declaration)];
    };
    let inside = inside.trim_end().trim_end_matches('}');
    let (mut depth, mut parts) = (0, vec![String::new()]);
    for sign in inside.chars() {
        match sign {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        match sign {
            ',' if depth == 0 => parts.push(String::new()),
            _ => parts.last_mut().expect("never empty").push(sign),
        }
    }
    let parts = parts.iter().filter(|part| !part.trim().is_empty());
    let below = parts.flat_map(|part| paths(part.trim()));
    below.map(|path| segments(before).into_iter().chain(path).collect()).collect()
}

/// The module that a name which a room hands out comes from.
fn origins<'s>(room: &str, all: &'s [Source]) -> BTreeMap<String, Vec<String>> {
    let front = format!("src/{room}/mod.rs");
    let front: Vec<&'s Source> = all.iter().filter(|source| source.path == front).collect();
    let paths = front.iter().flat_map(|source| declarations(&source.text)).flat_map(|d| paths(&d));
    let entry = |mut path: Vec<String>| Some((path.pop()?, path));
    paths.filter_map(entry).collect()
}

/// Where a path leads from a module, as a path below the room; `None` if it leaves the room.
fn resolved(path: &[String], from: &[&str], room: &str) -> Option<Vec<String>> {
    let mut base: Vec<String> = from.iter().map(|&name| name.to_owned()).collect();
    let mut rest = path;
    match rest.first()?.as_str() {
        "crate" if rest.get(1)? == room => (base, rest) = (Vec::new(), &rest[2..]),
        "self" => rest = &rest[1..],
        "super" => {
            while rest.first().is_some_and(|name| name == "super") {
                base.pop()?;
                rest = &rest[1..];
            }
        }
        // A module of the file's own, or the name of another crate.
        _ => {}
    }
    Some(base.into_iter().chain(rest.iter().cloned()).collect())
}

/// The circles of a room, each a sorted list of its files.
fn circles(room: &str, all: &[Source]) -> Vec<Vec<String>> {
    let (modules, origins) = (modules(room, all), origins(room, all));
    let names: Vec<String> = modules.keys().map(|name| name.join("::")).collect();
    let longest_known = |path: &[String]| {
        let prefixes = (1..=path.len()).rev().map(|length| path[..length].join("::"));
        prefixes.into_iter().find_map(|prefix| names.iter().position(|name| *name == prefix))
    };
    let mut imports: Vec<(u32, u32)> = Vec::new();
    for (at, (name, source)) in modules.iter().enumerate() {
        for path in declarations(&source.text).flat_map(|declaration| paths(&declaration)) {
            let Some(path) = resolved(&path, name, room) else { continue };
            // A name that the room's front hands out stands for the file that it comes from.
            let given = path.first().filter(|_| longest_known(&path).is_none());
            let origin = given.and_then(|name| origins.get(name)).unwrap_or(&path);
            if let Some(other) = longest_known(origin).filter(|&other| other != at) {
                imports.push((at as u32, other as u32));
            }
        }
    }
    let graph = DiGraph::<(), ()>::from_edges(imports);
    let circle = |files: Vec<NodeIndex>| {
        let named = files.into_iter().map(|file| names[file.index()].clone());
        let mut files: Vec<String> = named.collect();
        files.sort();
        files
    };
    tarjan_scc(&graph).into_iter().filter(|files| files.len() > 1).map(circle).collect()
}

#[test]
fn no_circle_of_files_is_inside_a_room() {
    let all = sources("src");
    for (room, _) in ROOMS {
        let found = circles(room, &all);
        assert!(found.is_empty(), "{room}: {found:#?}");
    }
}

#[test]
fn circles_are_seen() {
    let file = |path: &str, text: &str| Source { path: path.to_owned(), text: text.to_owned() };
    let front = file("src/a/mod.rs", "mod b;\nmod c;\npub use b::{B, Other};\n");
    let b = |text: &str| file("src/a/b.rs", text);
    let uses_front = file("src/a/c.rs", "use super::{\n    B,\n};\nuse crate::d::E;\n");
    let round = [front, b("use crate::a::c::C;\n"), uses_front];
    assert_eq!(circles("a", &round), [["b", "c"]]);
    let [front, _, uses_front] = round;
    let in_tests = "use crate::d::E;\n#[cfg(test)]\nmod tests {\n    use super::c::C;\n}\n";
    assert!(circles("a", &[front, b(in_tests), uses_front]).is_empty());
    let parent = b("mod c;\nuse c::C;\nuse std::fs;\n");
    let child = |text: &str| file("src/a/b/c.rs", text);
    assert_eq!(circles("a", &[parent, child("use super::B;\n")]), [["b", "b::c"]]);
    let parent = file("src/a/b/mod.rs", "mod c;\npub use c::C;\n");
    assert!(circles("a", &[parent, child("use crate::d::E;\n")]).is_empty());
}
