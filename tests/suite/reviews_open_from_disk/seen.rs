//! What a reader sees and does in a browser: nothing fails, nothing is asked for, every theme,
//! width and gesture works, and a hundred thousand spans are as quick as ten.

use super::browser::Browser;
use super::made::{LONG, Made, a_program_of_spans, a_scenario, opened, report, review};
use super::shipped;
use serde_json::json;
use std::path::Path;
use std::time::Duration;

const STAGE: &str = "document.querySelector('.timeline')";

/// A pass in which the browser said nothing and asked for its page alone.
fn had_nothing_to_say(browser: &Browser, page: &Path) {
    assert!(browser.complaints.is_empty(), "{:#?}", browser.complaints);
    let own = format!("file://{}", page.display());
    let others: Vec<&String> = browser
        .requests
        .iter()
        .filter(|url| **url != own && !url.starts_with("data:") && *url != "about:blank")
        .collect();
    assert!(others.is_empty(), "{others:?}");
}

/// A point of the first timeline, by its shares of the canvas.
fn point(browser: &mut Browser, (x, y): (f64, f64)) -> (f64, f64) {
    browser.value(&format!("{STAGE}.scrollIntoView({{ block: 'center' }})"));
    browser.settle();
    let side = |browser: &mut Browser, side: &str| {
        browser.number(&format!(
            "{STAGE}.querySelector('canvas.lanes').getBoundingClientRect().{side}"
        ))
    };
    let [left, top, width, height] =
        ["left", "top", "width", "height"].map(|one| side(browser, one));
    (left + x * width, top + y * height)
}

fn window(browser: &mut Browser) -> (f64, f64) {
    browser.settle();
    let of = |browser: &mut Browser, end: &str| browser.number(&format!("{STAGE}.dataset.{end}"));
    (of(browser, "from"), of(browser, "to"))
}

#[test]
fn pages_are_quiet_at_every_width_in_both_themes() {
    let Some(mut browser) = Browser::start() else { return };
    let page = report(&[shipped("option-pricing.toml"), shipped("programs/ten-times.toml")]);
    let long = Made::new(&a_scenario(LONG, 1 << 22, 256)).report();
    for path in [page.path(), long.path()] {
        browser.requests.clear();
        for width in [360, 800, 1600] {
            browser.open(&path, (width, 900));
            // Nothing makes the page wider than its window.
            let wide = browser.number("document.documentElement.scrollWidth");
            assert!(wide <= f64::from(width), "{wide} pixels in a window of {width}");
        }
        let ground = "getComputedStyle(document.body).backgroundColor";
        let corner = format!("{STAGE}.querySelector('canvas.lanes').toDataURL()");
        browser.media("screen", "light");
        let (light, drawn_light) = (browser.text(ground), browser.text(&corner));
        browser.media("screen", "dark");
        let (dark, drawn_dark) = (browser.text(ground), browser.text(&corner));
        assert_ne!(light, dark);
        assert_ne!(drawn_light, drawn_dark, "the timeline keeps the other theme's colours");
        // The switch goes the other way, whatever the system says.
        browser.value("document.getElementById('theme').click()");
        browser.settle();
        assert_eq!(browser.text(ground), light);
        browser.media("print", "dark");
        assert_eq!(browser.text(ground), "rgb(255, 255, 255)", "paper is white");
        let paper = browser.call("Page.printToPDF", &json!({ "printBackground": false }));
        assert!(paper["data"].as_str().expect("a document").len() > 10_000);
        browser.media("", "light");
        had_nothing_to_say(&browser, &path);
    }
}

#[test]
fn timelines_zoom_move_and_tell() {
    let Some((mut browser, page)) = opened("option-pricing.toml", (1200, 900)) else { return };
    let middle = point(&mut browser, (0.5, 0.45));
    let whole = window(&mut browser);
    // The wheel scrolls the page until somebody has clicked.
    browser.wheel(middle, -400.0);
    assert_eq!(window(&mut browser), whole);
    let middle = point(&mut browser, (0.5, 0.45));
    browser.click(middle);
    browser.wheel(middle, -400.0);
    let near = window(&mut browser);
    assert!(near.1 - near.0 < 0.5 * (whole.1 - whole.0), "{near:?} of {whole:?}");
    // Dragging to the left goes on in time, by as much as the pointer goes.
    let pressed = json!({ "button": "left", "buttons": 1, "clickCount": 1 });
    browser.mouse("mousePressed", middle, &pressed);
    browser.mouse("mouseMoved", (middle.0 - 100.0, middle.1), &pressed);
    browser.mouse("mouseReleased", (middle.0 - 100.0, middle.1), &pressed);
    let later = window(&mut browser);
    assert!(later.0 > near.0 && ((later.1 - later.0) - (near.1 - near.0)).abs() < 2.0);
    // Keys.
    for (key, holds) in [
        ("+", (|now, before| now < before) as fn(f64, f64) -> bool),
        ("-", |now, before| now > before),
    ] {
        let before = window(&mut browser);
        browser.key(key);
        let now = window(&mut browser);
        assert!(holds(now.1 - now.0, before.1 - before.0), "{key}: {before:?} to {now:?}");
    }
    let before = window(&mut browser);
    browser.key("ArrowLeft");
    assert!(window(&mut browser).0 < before.0);
    browser.key("0");
    assert_eq!(window(&mut browser), whole);
    had_nothing_to_say(&browser, &page.path());
}

#[test]
fn tooltips_say_why_something_did_not_start_sooner() {
    let Some((mut browser, page)) = opened("stencil-halo.toml", (1200, 900)) else { return };
    let tip = format!("{STAGE}.querySelector('.tip')");
    // The first thing in the lane of copies to the device.
    let lane = "hallway.timelines.get('0').panels[0].lanes.find(lane => lane.name === 'H2D')";
    let y = browser.number(&format!("{lane}.top + {lane}.line / 2"));
    let top = browser.number(&format!("{STAGE}.querySelector('canvas.lanes').clientHeight"));
    let at = point(&mut browser, (0.35, y / top));
    browser.mouse("mouseMoved", at, &json!({}));
    browser.settle();
    assert_eq!(browser.text(&format!("{tip}.hidden")), "false");
    let said = browser.text(&format!("{tip}.innerText"));
    for words in ["cudaMemcpyAsync", "H2D", "stream", "MiB", "GB/s", "not sooner", "call"] {
        assert!(said.contains(words), "no `{words}` in {said}");
    }
    // With keys: the next one, and what it waited for.
    let canvas = format!("{STAGE}.querySelector('canvas.lanes')");
    browser.value(&format!("{canvas}.focus()"));
    browser.key("n");
    let next = browser.text(&format!("{tip}.innerText"));
    assert_ne!(said, next);
    browser.key("c");
    assert_ne!(next, browser.text(&format!("{tip}.innerText")));
    browser.key("Escape");
    assert_eq!(browser.text(&format!("{tip}.hidden")), "true");
    // A plan that is picked in the table is drawn, measured below predicted if it was traced.
    let measured = "[...document.querySelectorAll('.timeline option')].find(one => \
                    one.text.includes('also measured')).value";
    let rank = browser.text(measured);
    browser.value("document.querySelector('button.plan[data-plan=\"0\"]').click()");
    browser.wait(&format!("{STAGE}.dataset.shown === '0'"));
    browser.value(&format!(
        "(one => {{ one.value = '{rank}'; one.dispatchEvent(new Event('change')); }})\
         ({STAGE}.querySelector('select'))"
    ));
    browser.wait(&format!("{STAGE}.dataset.shown === '{rank}'"));
    let panels = "hallway.timelines.get('0').panels.map(panel => panel.title).join()";
    let panels = browser.text(panels);
    assert!(panels.contains("predicted: ") && panels.contains("measured: "), "{panels}");
    // By stream, and as a table.
    browser.value(&format!("{STAGE}.querySelector('[data-do=rows]').click()"));
    browser.value(&format!("{STAGE}.querySelector('details').open = true"));
    browser.settle();
    browser.wait(&format!("{STAGE}.querySelectorAll('tbody tr').length > 20"));
    had_nothing_to_say(&browser, &page.path());
}

/// The share of a lane of the first timeline that is drawn, by the pixels of its canvas, and the
/// share that is written beside it. A gap of one pixel keeps two bars apart.
const DRAWN: &str = r"(name => {
  const one = hallway.timelines.get('0'), [panel] = one.panels;
  const lane = panel.lanes.find(lane => lane.name === name);
  const copy = document.createElement('canvas');
  [copy.width, copy.height] = [one.canvas.width, one.canvas.height];
  const context = copy.getContext('2d', { willReadFrequently: true });
  context.drawImage(one.canvas, 0, 0);
  const { data } = context.getImageData(0, lane.top + lane.line - 3, copy.width, 1);
  const numbers = colour => colour.match(/\d+/g).slice(0, 3).join();
  const grounds = ['ground', 'rule'].map(name => numbers(one.palette[name]));
  const drawn = [];
  for (let x = one.gutter; x < one.width; x++) {
    const [red, green, blue, alpha] = data.slice(4 * x, 4 * x + 4);
    drawn.push(alpha > 128 && !grounds.includes([red, green, blue].join()));
  }
  const covered = drawn.filter((is, x) => is || (drawn[x - 1] && drawn[x + 1])).length;
  return [covered / drawn.length, lane.busy / panel.end].join();
})";

/// A call that holds the host for most of a pass begins in the same pixel as short ones before it.
#[test]
fn rows_are_drawn_for_the_share_that_they_say() {
    let Some((mut browser, page)) = opened("programs/loader.toml", (1200, 900)) else { return };
    for plan in 0..3 {
        browser.value(&format!("hallway.timelines.get('0').show({plan})"));
        browser.wait(&format!("{STAGE}.dataset.shown === '{plan}'"));
        browser.settle();
        for lane in ["host", "kernels"] {
            let found = browser.text(&format!("{DRAWN}('{lane}')"));
            let (drawn, said) = found.split_once(',').expect("two shares");
            let [drawn, said] = [drawn, said].map(|share| share.parse::<f64>().expect("a share"));
            assert!((drawn - said).abs() < 0.03, "{lane} of plan {plan}: {drawn} for {said}");
        }
    }
    // The pass of a plan that a loader has spelled out is the host's from its beginning to its end.
    let said = browser.text(&format!("{DRAWN}('host')"));
    assert!(said.ends_with(",1") || said.contains(",0.99"), "{said}");
    had_nothing_to_say(&browser, &page.path());
}

#[test]
fn a_strip_shows_the_whole_pass_and_moves_the_view() {
    let Some((mut browser, page)) = opened("stencil-halo.toml", (1200, 900)) else { return };
    point(&mut browser, (0.5, 0.5));
    let whole = window(&mut browser);
    let strip = |browser: &mut Browser, share: f64| {
        let one = "hallway.timelines.get('0')";
        let box_of = format!("{one}.overview.getBoundingClientRect()");
        let x = format!("{box_of}.left + {one}.gutter + {share} * ({one}.width - {one}.gutter)");
        // The end of the time is where the strip ends: its last pixel is still on it.
        let x = format!("Math.min({x}, {box_of}.right - 1)");
        let y = format!("{box_of}.top + {box_of}.height / 2");
        (browser.number(&x), browser.number(&y))
    };
    let drag = |browser: &mut Browser, from: f64, to: f64| {
        let pressed = json!({ "button": "left", "buttons": 1, "clickCount": 1 });
        let (from, to) = (strip(browser, from), strip(browser, to));
        browser.mouse("mouseMoved", from, &json!({}));
        browser.mouse("mousePressed", from, &pressed);
        browser.mouse("mouseMoved", to, &pressed);
        browser.mouse("mouseReleased", to, &json!({ "button": "left", "clickCount": 1 }));
        browser.settle();
    };
    let share = |(from, to): (f64, f64)| [from / whole.1, to / whole.1];
    let is_near = |found: [f64; 2], wanted: [f64; 2]| {
        let off = found.iter().zip(wanted).map(|(found, wanted)| (found - wanted).abs());
        assert!(off.fold(0.0, f64::max) < 0.02, "{found:?} for {wanted:?}");
    };
    // An edge, the other one, the window itself, and a click beside it.
    drag(&mut browser, 1.0, 0.5);
    is_near(share(window(&mut browser)), [0.0, 0.5]);
    drag(&mut browser, 0.0, 0.25);
    is_near(share(window(&mut browser)), [0.25, 0.5]);
    drag(&mut browser, 0.375, 0.625);
    is_near(share(window(&mut browser)), [0.5, 0.75]);
    drag(&mut browser, 0.2, 0.2);
    is_near(share(window(&mut browser)), [0.075, 0.325]);
    // What the strip shows does not depend on the view.
    let lane = "hallway.timelines.get('0').sketched.toDataURL()";
    let before = browser.text(lane);
    browser.value("hallway.timelines.get('0').look(0, 1e5)");
    browser.settle();
    assert_eq!(browser.text(lane), before);
    had_nothing_to_say(&browser, &page.path());
}

#[test]
fn calls_are_found_by_what_they_are_called() {
    let Some((mut browser, page)) = opened("programs/loader.toml", (1200, 900)) else { return };
    let field = format!("{STAGE}.querySelector('input[type=search]')");
    let type_in = |browser: &mut Browser, text: &str| {
        browser.value(&format!(
            "(one => {{ one.focus(); one.value = '{text}'; \
             one.dispatchEvent(new Event('input')); }})({field})"
        ));
        browser.settle();
        browser.text(&format!("{STAGE}.querySelector('.find output').textContent"))
    };
    let plain = browser.text(&format!("{STAGE}.querySelector('canvas.lanes').toDataURL()"));
    // Each of 64 products has a bar on the host and one on the device.
    assert_eq!(type_in(&mut browser, "matmul"), "128 found");
    let pale = browser.text(&format!("{STAGE}.querySelector('canvas.lanes').toDataURL()"));
    assert_ne!(plain, pale, "what was not found is not pale");
    assert_eq!(type_in(&mut browser, "H2D in0"), "16 found");
    assert_eq!(type_in(&mut browser, "nobody"), "nothing found");
    // A number is a call's: its bar on the host and the one on the device.
    assert_eq!(type_in(&mut browser, "7"), "2 found");
    // Enter goes through what was found, in order of time, and shows it.
    assert_eq!(type_in(&mut browser, "matmul"), "128 found");
    browser.value("hallway.timelines.get('0').look(0, 1e6)");
    let tip = format!("{STAGE}.querySelector('.tip')");
    let output = format!("{STAGE}.querySelector('.find output').textContent");
    let held = "hallway.timelines.get('0').held";
    let start = format!("{held}.panel.spans.start[{held}.span]");
    let mut last = -1.0;
    for turn in 1..=5 {
        browser.key("Enter");
        assert_eq!(browser.text(&output), format!("{turn} of 128"));
        assert!(browser.text(&format!("{tip}.innerText")).contains("matmul"));
        let now = browser.number(&start);
        assert!(now >= last, "{now} after {last}");
        last = now;
    }
    // The last one is out of view until somebody goes to it.
    browser.value(&format!("{STAGE}.querySelector('[data-do=before]').click()"));
    browser.value("hallway.timelines.get('0').nth = 0");
    browser.value(&format!("{STAGE}.querySelector('[data-do=before]').click()"));
    assert_eq!(browser.text(&output), "128 of 128");
    assert!(window(&mut browser).0 > 1e6, "the view stays where it was");
    // Another plan is searched for the same; Escape ends it.
    browser.value("hallway.timelines.get('0').show(2)");
    browser.wait(&format!("{STAGE}.dataset.shown === '2' && {output} === '128 found'"));
    browser.value(&format!("{field}.focus()"));
    browser.key("Escape");
    assert_eq!(browser.text(&output), "");
    had_nothing_to_say(&browser, &page.path());
}

#[test]
fn two_fingers_zoom() {
    let Some(mut browser) = Browser::start() else { return };
    let page = review("small-scale.toml");
    browser.call(
        "Emulation.setTouchEmulationEnabled",
        &json!({ "enabled": true, "maxTouchPoints": 2 }),
    );
    browser.open(&page.path(), (800, 900));
    let whole = window(&mut browser);
    let (x, y) = point(&mut browser, (0.5, 0.4));
    browser.touch("touchStart", &[(x - 30.0, y), (x + 30.0, y)]);
    for step in 1..=6 {
        let apart = 30.0 + 20.0 * f64::from(step);
        browser.touch("touchMove", &[(x - apart, y), (x + apart, y)]);
    }
    browser.touch("touchEnd", &[]);
    let near = window(&mut browser);
    assert!(near.1 - near.0 < 0.5 * (whole.1 - whole.0), "{near:?} of {whole:?}");
    had_nothing_to_say(&browser, &page.path());
}

#[test]
fn a_hundred_thousand_spans_open_within_two_seconds_and_move() {
    let Some(mut browser) = Browser::start() else { return };
    let page = Made::new(&a_program_of_spans(102_000)).report();
    assert_eq!(page.code, Some(0), "{}", page.said);
    let took = browser.open(&page.path(), (1200, 900));
    let spans = browser.number("hallway.timelines.get('0').views[0].spans.count");
    assert!(spans >= 100_000.0, "{spans} spans");
    println!("{spans} spans: opened in {took:?}, {} bytes", page.text.len());
    assert!(took < Duration::from_secs(2), "{took:?}");
    // A frame of a moving timeline: all of it, and a part with single spans.
    for zooms in [0, 6, 12] {
        browser.value(&format!(
            "(one => {{ one.look(0, one.end); \
               for (let at = 0; at < {zooms}; at++) one.zoom(0.5); }})\
             (hallway.timelines.get('0'))"
        ));
        browser.settle();
        let took = browser.value(
            "(async one => { const took = []; for (let at = 0; at < 40; at++) { \
               one.move(0.01); const begun = performance.now(); one.paint(); \
               took.push(performance.now() - begun); \
               await new Promise(done => requestAnimationFrame(done)); } \
             took.sort((a, b) => a - b); return took[36]; })(hallway.timelines.get('0'))",
        );
        let took = took.as_f64().expect("a time");
        println!("zoomed {zooms} times: nine frames of ten are painted in {took:.1} ms");
        assert!(took < 33.0, "{took} ms for a frame");
        let drawn = browser.number(&format!("{STAGE}.dataset.drawn"));
        assert!(drawn < 20_000.0, "{drawn} boxes");
    }
    had_nothing_to_say(&browser, &page.path());
}
