//! A page of Markdown as far as the tests read it: fences, marked output, headings, links.

pub use crate::predicted::repository as root;
use std::ops::Range;
use std::path::PathBuf;

/// A page, by its path below the repository.
#[derive(Debug)]
pub struct Page {
    pub path: String,
    pub lines: Vec<String>,
    pub blocks: Vec<Block>,
}

/// A fenced block, or the output between `<!-- printed by: ... -->` and `<!-- end -->`.
#[derive(Debug, Clone)]
pub struct Block {
    /// The lines within, counted from 0.
    pub body: Range<usize>,
    pub kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// ```` ```sh ````: run from the repository's root; `exit=2` names another exit code than 0.
    Commands { exit: i32 },
    /// ```` ```sh gpu ````: commands of hallway that need a GPU, or that say what this machine has.
    NeedsGpu,
    /// ```` ```sh other ````: commands of other tools, such as `cargo test`.
    OtherTools,
    /// ```` ```text ```` or ```` ```json ````: what the commands above print. `keep: A / B` shows
    /// only the lines that contain `A` or `B`, and `...` for those left out between them.
    Output { keep: Vec<String> },
    /// `<!-- printed by: COMMAND -->`: output that is Markdown itself; `<!-- keep: A / B -->`
    /// on the line above leaves out other lines.
    Markdown { command: String, keep: Vec<String> },
    /// ```` ```text drawing ````: nobody prints it.
    Drawing,
    /// `write=NAME`, in any language: the commands below find it as that file.
    Written { file: String, is_scenario: bool },
    /// `file=PATH`, in any language: shows a file of the repository.
    Shown { file: String },
    /// ```` ```toml ````: a scenario.
    Scenario,
    /// ```` ```toml part ````: some lines of a TOML file.
    TomlPart,
    /// Another language, such as Rust or YAML, which is for readers only.
    Code,
}

impl Page {
    /// The README, the log of measurements, the pages of `docs` and those of `tests/said`, which
    /// hold what commands refuse, in order of their paths.
    pub fn all() -> Vec<Self> {
        let mut paths = vec!["README.md".to_owned(), "calibration/README.md".to_owned()];
        let mut folders = vec![PathBuf::from("docs"), PathBuf::from("tests/said")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(root().join(&folder)).expect("readable") {
                let path = folder.join(entry.expect("readable").file_name());
                if root().join(&path).is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "md") {
                    paths.push(path.to_str().expect("UTF-8").to_owned());
                }
            }
        }
        paths.sort();
        paths.iter().map(|path| Self::load(path)).collect()
    }

    pub fn load(path: &str) -> Self {
        let text = std::fs::read_to_string(root().join(path)).expect("readable");
        Self::parse(path, &text)
    }

    pub fn parse(path: &str, text: &str) -> Self {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let mut blocks = Vec::new();
        let mut at = 0;
        while at < lines.len() {
            let place = format!("{path}:{}", at + 1);
            let line = lines[at].trim_start();
            let (kind, end) = if let Some(info) = line.strip_prefix("```") {
                (kind_of(info, &place), "```")
            } else if let Some(command) = line.strip_prefix("<!-- printed by: ") {
                let command = command.strip_suffix(" -->").expect(&place).to_owned();
                let above = at.checked_sub(1).map_or("", |above| lines[above].as_str());
                let keep = above.strip_prefix("<!-- ").and_then(|above| above.strip_suffix(" -->"));
                (
                    Kind::Markdown { command, keep: keep.map(keeps).unwrap_or_default() },
                    "<!-- end -->",
                )
            } else {
                at += 1;
                continue;
            };
            let rest = &lines[at + 1..];
            let length = rest.iter().position(|line| line.trim() == end);
            let length = length.unwrap_or_else(|| panic!("{place}: this block has no end"));
            blocks.push(Block { body: at + 1..at + 1 + length, kind });
            at += length + 2;
        }
        Self { path: path.to_owned(), lines, blocks }
    }

    /// The lines of a block, each with its end.
    pub fn body(&self, block: &Block) -> String {
        self.lines[block.body.clone()].iter().map(|line| format!("{line}\n")).collect()
    }

    /// Where a block stands, for messages.
    pub fn place(&self, block: &Block) -> String {
        format!("{}:{}", self.path, block.body.start)
    }

    /// Lines outside of fences, with numbers from 1.
    pub fn prose(&self) -> impl Iterator<Item = (usize, &str)> {
        let is_fenced = |at: &usize| {
            let fences =
                self.blocks.iter().filter(|one| !matches!(one.kind, Kind::Markdown { .. }));
            fences.map(|block| &block.body).any(|body| (body.start - 1..=body.end).contains(at))
        };
        let lines = self.lines.iter().enumerate();
        lines.filter(move |(at, _)| !is_fenced(at)).map(|(at, line)| (at + 1, line.as_str()))
    }

    /// The anchors that links may name, as GitHub makes them from headings.
    pub fn anchors(&self) -> Vec<String> {
        let mut anchors: Vec<String> = Vec::new();
        for (_, line) in self.prose().filter(|(_, line)| line.starts_with('#')) {
            let heading = line.trim_start_matches('#').trim().to_lowercase();
            let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
            let slug: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
            let again = anchors.iter().filter(|other| **other == slug).count();
            anchors.push(if again > 0 { format!("{slug}-{again}") } else { slug });
        }
        anchors
    }

    /// The targets of links and pictures, with the numbers of their lines.
    pub fn links(&self) -> Vec<(usize, String)> {
        let mut links = Vec::new();
        for (number, line) in self.prose() {
            // What is between backquotes is shown as it stands.
            let plain: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
            for (at, start) in plain.match_indices("](") {
                let rest = &plain[at + start.len()..];
                let target = rest.split([')', ' ']).next().unwrap_or_default();
                links.push((number, target.to_owned()));
            }
        }
        links
    }
}

/// What a fence holds, by the words behind its backquotes.
fn kind_of(info: &str, place: &str) -> Kind {
    let (language, rest) = info.split_once(' ').unwrap_or((info, ""));
    let rest = rest.trim();
    let value = |key: &str| rest.split(' ').find_map(|word| word.strip_prefix(key));
    if let Some(file) = value("write=") {
        let is_scenario = language == "toml" && !rest.contains("part");
        return Kind::Written { file: file.to_owned(), is_scenario };
    }
    if let Some(file) = value("file=") {
        return Kind::Shown { file: file.to_owned() };
    }
    match (language, rest) {
        ("sh", "") => Kind::Commands { exit: 0 },
        ("sh", "gpu") => Kind::NeedsGpu,
        ("sh", "other") => Kind::OtherTools,
        ("sh", _) if value("exit=").is_some() => {
            Kind::Commands { exit: value("exit=").and_then(|code| code.parse().ok()).expect(place) }
        }
        ("text", "drawing") => Kind::Drawing,
        ("text" | "json", "") => Kind::Output { keep: Vec::new() },
        ("text" | "json", keep) if keep.starts_with("keep: ") => Kind::Output { keep: keeps(keep) },
        ("toml", "") => Kind::Scenario,
        ("toml", "part") => Kind::TomlPart,
        ("rust" | "yaml", "") => Kind::Code,
        _ => panic!("{place}: no test knows what ```{info} is"),
    }
}

/// The phrases of `keep: A / B`.
fn keeps(words: &str) -> Vec<String> {
    let list = words.strip_prefix("keep: ").unwrap_or_default();
    list.split(" / ").filter(|phrase| !phrase.is_empty()).map(str::to_owned).collect()
}
