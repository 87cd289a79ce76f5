//! `hallway report` writes one file that has every part of a review, asks for nothing, is the same
//! for the same inputs, and works in a browser.

mod browser;
mod charts;
mod laid_out;
mod made;
mod seen;

use super::predicted::{repository, scenarios};
use made::{LONG, Made, a_scenario, report, review, written};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The headings of a scenario's parts, by how they begin.
const PARTS: [&str; 9] = [
    "How sure",
    "Plans: ",
    "Timeline",
    "Critical path: ",
    "Break-even: ",
    "Chunks and streams: ",
    "Set-up",
    "Assumptions",
    "Accuracy",
];

fn shipped(name: &str) -> PathBuf {
    repository().join("scenarios").join(name)
}

#[test]
fn every_part_of_a_review_is_there() {
    let page = review("option-pricing.toml").text;
    for part in PARTS {
        let is_there = ["<h3>", "\">"].iter().any(|tag| page.contains(&format!("{tag}{part}")));
        assert!(is_there, "no part `{part}`");
    }
    for words in [
        "Is it worth sending three arrays for the one that comes back?",
        "Stay on the CPU for 100 runs in a new process",
        "the chance that the CPU is faster over 100 runs is more than 99%",
        ">120</td><td>plans of small random workloads, each run and predicted",
        "plans of this scenario ran on the machine",
        "NVIDIA H200",
        "2026-11-27",
        "What the words mean",
        "The chain of steps that determines a plan's time.",
    ] {
        assert!(page.contains(words), "does not say `{words}`");
    }
}

/// Scenarios with a kernel that the committed profile has no time of: for some of their results, no
/// plan can be predicted.
const NOT_MEASURED: [&str; 3] = ["rectangular-product", "tiled-blur", "triad"];

/// All have an answer but those that are not measured, which are named.
#[track_caller]
fn are_answered(some: &[PathBuf], code: Option<i32>, said: &str) {
    let unknown = "no plan could be predicted; the page lists what is unknown";
    let named = said.lines().map(|line| line.split_once(": ").expect("a scenario and a sentence"));
    let named = named.map(|(name, what)| {
        assert_eq!(what, unknown, "{said}");
        name
    });
    let names = some.iter().filter_map(|path| path.file_stem()?.to_str());
    let expected: BTreeSet<&str> = names.filter(|name| NOT_MEASURED.contains(name)).collect();
    assert_eq!(named.collect::<BTreeSet<&str>>(), expected, "{said}");
    assert_eq!(code, Some(i32::from(!expected.is_empty())), "{said}");
}

#[test]
fn shipped_scenarios_have_reviews() {
    let files = scenarios(&["", "faq", "graphs", "kernels", "memory", "programs"]);
    assert!(files.len() > 80, "{} scenarios", files.len());
    // A review takes half a second. These are of every folder, and all that have no answer.
    let is_wanted = |(at, path): &(usize, PathBuf)| {
        at.is_multiple_of(7)
            || NOT_MEASURED.iter().any(|name| path.ends_with(format!("{name}.toml")))
    };
    let files: Vec<PathBuf> =
        files.into_iter().enumerate().filter(is_wanted).map(|(_, path)| path).collect();
    // Several in one file, as a reader would have them.
    for some in files.chunks(24) {
        let found = written(some);
        are_answered(some, found.code, found.said.trim());
        let page = &found.text;
        for (number, path) in some.iter().enumerate() {
            let id = format!("id=\"s{}\"", number + 1);
            assert!(page.contains(&id), "{}", path.display());
            assert!(page.contains(&format!("href=\"#s{}\"", number + 1)), "{}", path.display());
        }
    }
}

/// Elements and attributes are the page's own: what a scenario says is text.
#[test]
fn names_are_text_whatever_is_in_them() {
    let evil = r#"</script><script>alert(1)</script><img src=x onerror="alert(1)">&amp;"#;
    let question = format!("\"{}\"", evil.replace('"', "'"));
    let scenario = a_scenario("evil", 4_096, 4).replace("\"?\"", &question);
    let page = report(&[Made::new(&scenario).path()]).text;
    assert!(!page.contains("<img") && !page.contains("<script>alert"), "markup got through");
    assert!(page.contains("&lt;/script&gt;&lt;script&gt;alert(1)"), "the question is not shown");
    // What the page brings itself: two kinds of data, six scripts, and no more.
    assert_eq!(page.matches("<script").count(), 8);
    assert_eq!(page.matches("</script>").count(), 8);
}

#[test]
fn a_review_asks_for_nothing() {
    let page = review("small-scale.toml").text;
    for lead in ["http:", "https:", "src=", "@import", "url(", "fetch(", "XMLHttp"] {
        assert!(!page.contains(lead), "the page has `{lead}`");
    }
    assert!(page.contains("default-src 'none'"));
    // No element refers to an id that is not there.
    for piece in page.split("href=\"#").skip(1) {
        let id = piece.split('"').next().expect("one");
        assert!(page.contains(&format!("id=\"{id}\"")), "no #{id}");
    }
}

#[test]
fn equal_inputs_give_equal_bytes() {
    let again = report(&[shipped("stencil-halo.toml")]).text;
    assert!(again == review("stencil-halo.toml").text, "two reports differ");
}

#[test]
fn a_review_with_64_chunks_takes_less_than_a_mebibyte() {
    let page = report(&[Made::new(&a_scenario(LONG, 1 << 24, 64)).path()]).text;
    assert!(page.contains("64"), "no plan of 64 chunks");
    assert!(page.len() < 1 << 20, "{} bytes", page.len());
    let all = review("stencil-halo.toml").text;
    assert!(all.len() < 1 << 20, "{} bytes", all.len());
}

#[test]
fn without_an_answer_the_page_says_why() {
    let scenario = a_scenario("unknown", 4_096, 4);
    let scenario = scenario.replace("kernel = \"scale\"", "kernel = \"mine\"");
    let scenario = scenario.replace("split = { along = \"elements\" }\n", "") + MINE;
    let made = Made::new(&scenario);
    let code = "__global__ void mine(const float *x, float *out) {}";
    std::fs::write(made.path().with_file_name("mine.cu"), code).expect("written");
    let found = made.report();
    assert_eq!(found.code, Some(1), "{}", found.said);
    assert!(found.text.contains("Not predicted"), "the page does not say why");
}

/// A kernel that nobody has measured, on either side.
const MINE: &str = r#"
[[kernel]]
name = "mine"
source = "mine.cu"
entry = "mine"
reads = ["x"]
writes = ["out"]
parameters = ["x", "out"]
block = [256]
grid = [1]
"#;
