//! Charts: lines that coincide are one, what is open is shaded once, and axes keep their marks.

use super::browser::Browser;
use super::laid_out::CLASHES;
use super::made::opened;

#[test]
fn lines_that_coincide_are_one_with_all_names() {
    let Some((mut browser, _page)) = opened("stencil-halo.toml", (1200, 900)) else { return };
    let chart = "[...document.querySelectorAll('.part')].find(part => \
                 part.textContent.startsWith('Chunks and streams'))";
    let count = |browser: &mut Browser, what: &str| {
        browser.number(&format!("{chart}.querySelectorAll('{what}').length"))
    };
    let lines = count(&mut browser, ".area path.line");
    assert_eq!(lines, count(&mut browser, ".strand"));
    assert_eq!(count(&mut browser, ".strand .name"), 6.0);
    assert!(lines < 6.0, "{lines} lines of six kinds, most of which coincide");
    // Looks of lines differ.
    let looks = browser.number(&format!(
        "new Set([...{chart}.querySelectorAll('.area path.line')]\
         .map(one => one.getAttribute('class'))).size"
    ));
    assert_eq!(looks, lines);
    // What is said of a point names all that have it.
    let names = browser.number(&format!(
        "Math.max(...[...{chart}.querySelectorAll('.dot title')]\
         .map(one => one.textContent.split('\\n').length))"
    ));
    assert!(names >= 2.0, "{names} names");
}

/// The GPU wins at two stretches of sizes: what is open around their ends overlaps.
#[test]
fn open_sizes_are_shaded_once_and_explained() {
    let Some((mut browser, _page)) = opened("three-task-graph.toml", (1200, 900)) else { return };
    for shades in [".strip .fill.open", "path.shade"] {
        let overlaps = browser.text(&format!(
            "(all => all.length + ': ' + all.filter((one, at) => all.slice(at + 1).some(other => \
               one.left < other.right - 1 && other.left < one.right - 1)).length)\
             ([...document.querySelectorAll('{shades}')].map(one => one.getBoundingClientRect()))"
        ));
        assert!(overlaps.ends_with(": 0") && !overlaps.starts_with('0'), "{overlaps}");
    }
    let legend = "document.querySelector('.sample.shaded').parentElement.textContent";
    assert!(browser.text(legend).starts_with("undecided ("));
}

/// The first mark behind zero has a label, and so has every other on a wide axis.
#[test]
fn axes_keep_their_marks() {
    let Some((mut browser, _page)) = opened("reduce-sum.toml", (1400, 900)) else { return };
    let labels = "[...document.querySelectorAll('table.plans .axis span')]\
                  .filter(one => one.checkVisibility()).map(one => one.textContent).join()";
    assert_eq!(browser.text(labels), "0 ms,1 ms,2 ms,3 ms,4 ms");
    // Lines stay where labels have no room.
    browser.resize(400, 900);
    browser.settle();
    assert!(browser.text(labels).split(',').count() < 5);
    let lines = browser
        .number("document.querySelectorAll('table.plans .track')[0].querySelectorAll('i').length");
    assert_eq!(lines, 4.0);
    assert_eq!(browser.text(CLASHES), "");
}
