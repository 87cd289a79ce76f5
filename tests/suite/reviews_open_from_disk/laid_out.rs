//! What a reader looks at: labels keep apart, colours mean the same everywhere, bars have axes, and
//! tables say where there is more.

use super::browser::Browser;
use super::made::{LONG, Made, a_scenario, opened, plots, report, review};
use super::shipped;
use crate::predicted::repository;
use std::path::{Path, PathBuf};

const STENCIL: &str = "stencil-halo.toml";

/// Texts of the page whose letters touch others', and texts that the window cuts off. What a box
/// scrolls out of sight does not count.
pub const CLASHES: &str = r"(() => {
  const found = [], top = document.documentElement;
  const walk = document.createTreeWalker(top, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    const parent = node.parentElement;
    if (!node.data.trim() || parent.closest('script, style, title, desc, option, .tip')) continue;
    if (!parent.checkVisibility({ visibilityProperty: true })) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const box = parent.closest('.scroll')?.getBoundingClientRect();
    for (const rect of range.getClientRects()) {
      let { left, right, top, bottom } = rect;
      if (box) { left = Math.max(left, box.left); right = Math.min(right, box.right); }
      if (right - left < 1 || bottom - top < 1) continue;
      // Letters do not fill their line.
      const slack = (bottom - top) * 0.15;
      found.push({ node, left, right, top: top + slack, bottom: bottom - slack });
    }
  }
  found.sort((one, other) => one.top - other.top);
  const said = [], width = document.documentElement.clientWidth;
  found.forEach((one, at) => {
    if (one.left < -1 || one.right > width + 1) said.push(`cut off: ${one.node.data.trim()}`);
    for (let next = at + 1; next < found.length && found[next].top < one.bottom; next++) {
      const other = found[next];
      if (one.node === other.node) continue;
      const wide = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      const high = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
      if (wide > 1 && high > 1) said.push(`${one.node.data.trim()} | ${other.node.data.trim()}`);
    }
  });
  return said.join('\n');
})()";

/// Text on the first timeline, which a script writes, that lies on other text or is cut off.
const CLASHES_DRAWN: &str = r"(() => {
  const one = hallway.timelines.get('0'), boxes = [], { context } = one;
  const write = context.fillText;
  context.fillText = function (text, x, y) {
    const wide = this.measureText(text).width;
    const before = { center: wide / 2, right: wide }[this.textAlign] ?? 0, left = x - before;
    boxes.push({ text, left, right: left + wide, top: y - 5, bottom: y + 5 });
    write.call(this, text, x, y);
  };
  one.paint();
  context.fillText = write;
  const said = [];
  boxes.forEach((a, at) => {
    if (a.left < -1 || a.right > one.width + 1) said.push(`cut off: ${a.text}`);
    for (const b of boxes.slice(at + 1)) {
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (wide > 1 && high > 1) said.push(`${a.text} | ${b.text}`);
    }
  });
  return said.join('\n');
})()";

#[test]
fn labels_keep_apart_at_every_width() {
    let Some(mut browser) = Browser::start() else { return };
    let pages = [
        review(STENCIL),
        report(&[shipped("programs/loader.toml"), shipped("graphs/both-processors.toml")]),
        report(&[shipped("programs/small-arrays.toml"), shipped("small-scale.toml")]),
        Made::new(&a_scenario(LONG, 1 << 22, 256)).report(),
    ];
    for page in &pages {
        for width in [400, 1400] {
            browser.open(&page.path(), (width, 900));
            let wide = browser.number("document.documentElement.scrollWidth");
            assert!(wide <= f64::from(width), "{wide} pixels in a window of {width}");
            assert_eq!(browser.text(CLASHES), "", "at {width} pixels");
            assert_eq!(browser.text(CLASHES_DRAWN), "", "drawn at {width} pixels");
        }
    }
}

#[test]
fn labels_of_plots_keep_apart() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = plots(&[shipped(STENCIL), shipped("small-scale.toml")]);
    let mut drawn = 0;
    for entry in std::fs::read_dir(folder.path()).expect("readable") {
        let path = entry.expect("readable").path();
        browser.open(&path, (1600, 1400));
        assert_eq!(browser.text(CLASHES), "", "{}", path.display());
        drawn += 1;
    }
    assert!(drawn >= 6, "{drawn} pictures");
}

#[test]
fn names_break_where_they_may() {
    let Some((mut browser, _page)) = opened(STENCIL, (400, 900)) else { return };
    // Between two lines of a name there is a space or a hyphen.
    let broken = browser.text(
        r"[...document.querySelectorAll('td.name, td.name button')].flatMap(cell => {
            const found = [], walk = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
            for (let node = walk.nextNode(); node; node = walk.nextNode()) {
              const range = document.createRange();
              let before = null;
              for (let at = 0; at < node.data.length; at++) {
                range.setStart(node, at);
                range.setEnd(node, at + 1);
                const [rect] = range.getClientRects();
                if (!rect || node.data[at] === ' ') continue;
                if (before !== null && rect.top > before + 4 && !/[-\s]/.test(node.data[at - 1])) {
                  found.push(node.data);
                }
                before = rect.top;
              }
            }
            return found;
          }).join()",
    );
    assert_eq!(broken, "");
}

#[test]
fn tables_that_go_on_say_so() {
    let Some((mut browser, _page)) = opened(STENCIL, (400, 900)) else { return };
    let plans = "document.querySelector('table.plans').closest('.scroll')";
    let hint = format!("getComputedStyle({plans}, '::before')");
    browser.wait(&format!("{plans}.classList.contains('more')"));
    assert!(browser.text(&format!("{hint}.content")).contains("scroll sideways"));
    assert_eq!(browser.text(&format!("{hint}.visibility")), "visible");
    assert_eq!(browser.number(&format!("{plans}.tabIndex")), 0.0, "keys reach it");
    browser.value(&format!("{plans}.scrollLeft = 10_000"));
    browser.wait(&format!("{hint}.visibility === 'hidden'"));
    browser.resize(1400, 900);
    browser.wait(&format!("!{plans}.classList.contains('more')"));
    assert_eq!(browser.text(&format!("{hint}.content")), "none");
}

/// `#1f78b4` as a browser writes it.
fn rgb(hex: &str) -> String {
    let part = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal");
    format!("rgb({}, {}, {})", part(1), part(3), part(5))
}

/// The value of a property of the page's first rule: what holds in every theme.
fn property(page: &str, name: &str) -> String {
    let begin = format!("--{name}:");
    let (_, rest) = page.split_once(&begin).unwrap_or_else(|| panic!("no {begin}"));
    rest[..7].to_owned()
}

#[test]
fn a_side_has_one_colour_in_every_picture_and_theme() {
    let page = review("graphs/both-processors.toml");
    let sides = ["cpu", "gpu", "both"].map(|side| property(&page.text, side));
    // In plots: bars of all three sides, and the rows of a timeline.
    let folder = plots(&[shipped("graphs/both-processors.toml")]);
    let read = |name: &str| {
        let text = std::fs::read_to_string(folder.path().join(name)).expect("drawn");
        text.to_lowercase()
    };
    let bars = read("both-processors-plans.svg");
    for side in &sides {
        assert!(bars.contains(&format!("fill=\"{side}\"")), "no bar is {side}");
    }
    let rows = read("both-processors-gantt.svg");
    for lane in ["host", "h2d", "kernels", "d2h"] {
        let colour = property(&page.text, lane);
        assert!(rows.contains(&format!("fill=\"{colour}\"")), "no {lane} is {colour}");
    }
    let curves = read("both-processors-chunks.svg");
    assert!(curves.contains(&format!("stroke=\"{}\"", sides[1])), "no curve is {}", sides[1]);
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&page.path(), (1200, 900));
    for scheme in ["light", "dark"] {
        browser.media("screen", scheme);
        for (side, hex) in ["cpu", "gpu", "both"].iter().zip(&sides) {
            let style = |what: &str, property: &str| {
                format!("getComputedStyle(document.querySelector('{what}')).{property}")
            };
            let bar = style(&format!(".plans .fill.{side}"), "backgroundColor");
            assert_eq!(browser.text(&bar), rgb(hex), "bars in {scheme}");
            let line = style(&format!(".line.{side}"), "stroke");
            assert_eq!(browser.text(&line), rgb(hex), "lines in {scheme}");
            let card = style(&format!(".figures > .{side}"), "borderLeftColor");
            assert_eq!(browser.text(&card), rgb(hex), "figures in {scheme}");
        }
        let drawn = "hallway.palette(document.querySelector('.timeline'))";
        assert_eq!(browser.text(&format!("{drawn}.host")), rgb(&sides[0]), "{scheme}");
        assert_eq!(browser.text(&format!("{drawn}.kernels")), rgb(&sides[1]), "{scheme}");
    }
}

/// Colours written anywhere else would drift away from the palette.
#[test]
fn the_palette_alone_names_colours() {
    let folders = ["src/report", "src/report/html", "src/report/plot"];
    let files = folders.iter().flat_map(|folder| {
        let entries = std::fs::read_dir(repository().join(folder)).expect("readable");
        entries.map(|entry| entry.expect("readable").path())
    });
    let files: Vec<PathBuf> = files.filter(|path| path.is_file()).collect();
    assert!(files.len() > 50, "{} files", files.len());
    for path in files.iter().filter(|path| !path.ends_with("palette.rs")) {
        let text = std::fs::read_to_string(path).expect("text");
        for (number, line) in text.lines().enumerate() {
            assert!(!names_a_colour(line), "{}:{}: {line}", path.display(), number + 1);
        }
    }
}

fn names_a_colour(line: &str) -> bool {
    let is_hex = |rest: &str| {
        let digits = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
        let ends = !rest[digits..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '-');
        ends && matches!(digits, 3 | 6 | 8)
    };
    let in_hex = line.match_indices('#').any(|(at, _)| is_hex(&line[at + 1..]));
    let in_numbers = line
        .match_indices("RGBColor(")
        .any(|(at, found)| line[at + found.len()..].starts_with(|c: char| c.is_ascii_digit()));
    in_hex || in_numbers
}

#[test]
fn bars_have_an_axis_and_measured_values_their_figures() {
    let Some((mut browser, _page)) = opened(STENCIL, (1400, 900)) else { return };
    // The label of a time is above the end of a bar of that time.
    let off = browser.text(
        r"(() => {
          const units = { us: 1e3, ms: 1e6, s: 1e9 };
          const nanos = text => text.split(' ').reduce((value, unit) => value * units[unit]);
          const said = [];
          for (const table of document.querySelectorAll('table.plans, table.waterfall')) {
            const labels = [...table.querySelectorAll('.axis span')].map(one => one.textContent);
            if (labels.length < 3) said.push(`labels: ${labels}`);
            const axis = table.querySelector('.axis').getBoundingClientRect();
            const [first, last] = [labels[0], labels[labels.length - 1]];
            const marks = [...table.querySelectorAll('.axis span')];
            const place = parseFloat(marks.pop().style.left) / 100;
            const end = nanos(last) / place;
            if (nanos(first) !== 0) said.push(`begins at ${first}`);
            const heads = [...table.querySelectorAll('thead th')];
            const column = heads.findIndex(one => one.textContent === 'Time');
            for (const row of table.querySelectorAll('tbody tr:not(.total)')) {
              const fill = row.querySelector('.fill');
              if (fill.classList.contains('cut')) continue;
              const wide = fill.getBoundingClientRect().width / axis.width;
              const expected = nanos(row.cells[column].textContent) / end;
              if (Math.abs(wide - expected) <= 0.02) continue;
              said.push(`${row.textContent}: ${wide} for ${expected}`);
            }
          }
          return said.join('\n');
        })()",
    );
    assert_eq!(off, "");
    // Each diamond has its figure in the column of measured times.
    let without = browser.text(
        r"(() => {
          const table = document.querySelector('table.plans');
          const heads = [...table.querySelectorAll('thead th')];
          const column = heads.findIndex(one => one.textContent === 'Measured');
          const hasTime = row => /^[\d.]+ .?s$/.test(row.cells[column].textContent);
          return [...table.querySelectorAll('tbody tr')]
            .filter(row => row.querySelector('.measured') && !hasTime(row))
            .map(row => row.textContent).join();
        })()",
    );
    assert_eq!(without, "");
    assert!(browser.number("document.querySelectorAll('.plans .measured').length") > 5.0);
    // A waterfall fills its own axis, whatever other plans take.
    let ends = browser.text(
        "[...document.querySelectorAll('table.waterfall')].map(table => \
           Math.max(...[...table.querySelectorAll('.fill')].map(one => \
             one.getBoundingClientRect().right)) / table.querySelector('.track')\
             .getBoundingClientRect().right).map(share => share.toFixed(2)).join()",
    );
    assert_eq!(ends, "1.00,1.00");
}

#[test]
fn words_for_the_best_plan_are_the_same_all_over_the_page() {
    let page = review(STENCIL).text;
    for words in ["Best on the GPU", "best on the GPU", "chosen<"] {
        assert!(!page.contains(words), "`{words}`");
    }
    // Here a program stays on the CPU whose passes are faster on the GPU: the page says why.
    let rows: Vec<&str> = page.split("<tr>").collect();
    let roles = |role: &str| {
        let label = format!("<span class=\"role\">{role}</span>");
        let of_plans = rows.iter().filter(|row| row.contains("button class=\"plan\""));
        of_plans.filter(|row| row.contains(&label)).count()
    };
    let all = ["fastest", "recommended", "recommended on the GPU", "naive"];
    assert_eq!(all.map(roles), [1, 1, 1, 1]);
    for words in ["or more runs, the GPU is faster.", "<dt>One run</dt>"] {
        assert!(page.contains(words), "no `{words}`");
    }
    // What is to choose with the GPU uses both processors: the GPU alone stands beside it.
    let both = review("graphs/both-processors.toml").text;
    for card in
        ["Recommended on both processors", "Recommended on the GPU", "Recommended on the CPU"]
    {
        assert!(both.contains(&format!("<dt>{card}</dt>")), "no `{card}`");
    }
}

#[test]
fn measured_passes_are_drawn_with_their_spread() {
    let page = review(STENCIL).text;
    let (_, part) = page.split_once("Measured runs: ").expect("there are runs");
    let (part, _) = part.split_once("</section>").expect("it ends");
    let shapes = part.matches("class=\"shape ").count();
    assert!(shapes > 10, "{shapes} shapes");
    assert_eq!(part.matches("class=\"median\"").count(), shapes);
    assert!(!part.contains("d=\"\""), "a shape is empty");
    let without = review("programs/loader.toml").text;
    assert!(!without.contains("Measured runs"), "nobody has run it");
}

/// On paper too, nothing is cut off and no table needs to be scrolled.
#[test]
fn paper_has_room_for_all() {
    // A4 between margins, at 96 pixels per inch.
    let Some((mut browser, page)) = opened(STENCIL, (718, 1000)) else { return };
    browser.media("print", "light");
    assert_eq!(browser.text(CLASHES), "");
    let cut = browser.text(
        "[...document.querySelectorAll('.scroll')].filter(box => \
           box.getBoundingClientRect().width && box.scrollWidth > box.clientWidth + 1)\
           .map(box => box.textContent.slice(0, 60)).join()",
    );
    assert_eq!(cut, "");
    assert!(Path::new(&page.path()).exists());
}
