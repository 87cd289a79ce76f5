//! How sentences are worded: those of answers, of other sizes, of calibrations and of scores, each
//! where it is said. The texts are in `tests/said`.

use super::scored::verification;
use super::*;
use crate::said::is_as_blessed;
use hallway::profile::Unknown;
use hallway::report::{RangesHeld, RangesTried};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Titles, each with the lines below it that stand nowhere above.
#[derive(Default)]
struct Page {
    text: String,
    lines: BTreeSet<String>,
}

impl Page {
    fn add(&mut self, title: &str, text: &str) {
        let _ = writeln!(self.text, "=== {title}");
        for line in text.lines().filter(|line| !line.is_empty()) {
            if self.lines.insert(line.to_owned()) {
                let _ = writeln!(self.text, "{line}");
            }
        }
        self.text.push('\n');
    }
}

/// Rankings of each outcome, once over so many runs that set-up decides nothing and once over one.
#[test]
fn of_answers() {
    let mut page = Page::default();
    let close: &[u64] = &[5_930, 5_900, 5_950, 5_800];
    for (title, cpu, gpu, answer) in [
        ("the GPU wins", Some(SLOW), Some(FAST), Answer::Gpu),
        ("the CPU wins", Some(FAST), Some(SLOW), Answer::Cpu),
        ("scatter leaves it open", Some(FAST), Some(close), Answer::Tie),
        ("scatter leaves it open, too", Some(close), Some(FAST), Answer::Tie),
        ("both are the same", Some(FAST), Some(FAST), Answer::Tie),
        ("the GPU alone", None, Some(FAST), Answer::NothingToCompare),
        ("the CPU alone", Some(FAST), None, Answer::NothingToCompare),
        ("no plan", None, None, Answer::NothingToCompare),
    ] {
        let ranking = ranking(cpu, gpu);
        for runs in [1_000_000, 1] {
            let assessment = Assessment::new(&scaling(), runs, &ranking, None);
            if runs > 1 {
                let verdict = &assessment.verdict;
                assert_eq!((verdict.answer, verdict.run_answer), (answer, answer), "{title}");
            }
            page.add(&format!("{title}, {runs} runs"), &said::text(&assessment, &machine()));
        }
    }
    is_as_blessed("tests/said/answers.txt", &page.text);
}

/// What was found of other sizes never contradicts the answer.
#[test]
fn of_other_sizes() {
    let [gpu, cpu, tie] =
        [(SLOW, FAST), (FAST, SLOW), (FAST, FAST)].map(|(cpu, gpu)| ranking(Some(cpu), Some(gpu)));
    let until = Wins { until: Some(Setting(5_000.0)), ..EVERYWHERE };
    let sure =
        Wins { until_range: Some([4_600, 5_200].map(|end| Some(Setting(end.into())))), ..until };
    let too_large = BreakEven { too_large_for_gpu: Some(200_000), ..from(1_300_000) };
    let mut page = Page::default();
    for (title, ranking, found) in [
        ("the GPU wins from a larger size on", &cpu, from(1_300_000)),
        ("a tie here", &tie, from(1_300_000)),
        ("too large for the GPU from some size on", &cpu, too_large),
        ("the GPU wins here, and from a larger size on", &gpu, from(1_300_000)),
        ("the GPU wins here and nowhere", &gpu, wins(vec![])),
        ("the CPU wins here, and the GPU from a smaller size on", &cpu, from(20_000)),
        ("the GPU wins everywhere", &gpu, wins(vec![EVERYWHERE])),
        ("the CPU wins everywhere", &cpu, wins(vec![])),
        ("two stretches", &gpu, wins([vec![until], from(20_000).gpu_wins].concat())),
        ("a turn with a range", &cpu, wins(vec![sure])),
        (
            "a range that is open",
            &cpu,
            wins(vec![Wins { until_range: Some([sure.until, None]), ..sure }]),
        ),
    ] {
        let assessment = Assessment::new(&scaling(), 1, ranking, Some(found));
        let text = said::text(&assessment, &machine());
        let lines = ["Break-even", "Sizes"].map(|label| said::labelled(&text, label).join(" "));
        page.add(title, &lines.join("\n"));
    }
    is_as_blessed("tests/said/other-sizes.txt", &page.text);
}

/// What qualifies an answer.
#[test]
fn of_what_is_not_known() {
    let mut page = Page::default();
    let mut missing = ranking(Some(SLOW), Some(FAST));
    let plan = candidates(&scaling()).plans.into_iter().find(|one| one.program.needs_device());
    missing.unknown = vec![(plan.expect("one"), Unknown::new("something")); 7];
    let missing = Assessment::new(&scaling(), 1, &missing, None);
    assert_eq!((missing.unknown.len(), missing.verdict.run_answer), (7, Answer::Gpu));
    page.add("seven plans were not predicted", &said::text(&missing, &machine()));
    let kernels = [Kernel::Matmul, Kernel::Fft].map(|kernel| kernel.to_string());
    let untried = Assessment::new(&scaling(), 1, &ranking(Some(SLOW), Some(FAST)), None);
    let untried = Assessment { untried: Some(kernels.to_vec()), ..untried };
    page.add("kernels that no trial had", &said::text(&untried, &machine()));
    let mut all = said::evaluation(untried, &machine());
    all.context_ns = Some(Span::from_millis(124));
    for in_new_process in [true, false] {
        all.context_in_new_process = in_new_process;
        page.add(
            &format!("a context, in a new process: {in_new_process}"),
            &all.text_within(Rows::All, None),
        );
    }
    all.context_ns = None;
    let (median_error, p95_error, in_range) = (0.02, 0.08, 0.91);
    all.ranges = Some(RangesTried { trials: 120, median_error, p95_error, in_range });
    all.ranges_held = Some(RangesHeld { share: in_range, tries: 120, of_trials: true });
    page.add("no context, and ranges that trials have widened", &all.text_within(Rows::All, None));
    // Pinning what is new in every run is refused, and the machine has no twin.
    let mut profile = machine();
    profile.twins.clear();
    let mut fresh = scaling();
    fresh.buffers[1].fresh = true;
    let refused = rank(candidates(&fresh), &profile, 5, 1);
    let refused = Assessment::new(&fresh, 1, &refused, None);
    page.add("plans that are refused", &said::text(&refused, &profile));
    is_as_blessed("tests/said/what-is-not-known.txt", &page.text);
}

#[test]
fn of_calibrations() {
    let mut page = Page::default();
    let mut profile = machine();
    page.add("with all paths", &report::calibration(&profile, None));
    profile.machine.nvml = Some("not found: nobody looked".to_owned());
    profile.machine.host_pages = Some(HostPages {
        bytes: Bytes::kib(4),
        huge: Some("madvise".to_owned()),
        defrag: None,
        allocator: "as usual".to_owned(),
    });
    let state = |sm_mhz, temperature| {
        Some(Condition { sm_mhz: Some(sm_mhz), temperature, ..Condition::default() })
    };
    profile.conditions = Some(Conditions {
        measurements: 200,
        disturbed: 3,
        before: state(1_980, Some(41)),
        after: state(1_965, None),
        reasons: [("software power cap".to_owned(), 3)].into(),
    });
    let (median_error, p95_error, coverage) = (0.0211, 0.0804, 0.917);
    for repeatability in [None, Some(0.0149)] {
        let margins = Vec::new();
        let trials = 120;
        profile.accuracy =
            Some(Accuracy { trials, median_error, p95_error, repeatability, coverage, margins });
        let text = report::calibration(&profile, None);
        page.add(&format!("disturbed and tried, repeatability: {repeatability:?}"), &text);
    }
    page.add("its origin", &Origin::new("profile.toml", &profile).to_string());
    is_as_blessed("tests/said/calibrations.txt", &page.text);
}

#[test]
fn of_scores() {
    let right = score(vec![cell("cpu", 2_000, 2_010), cell("resident, pinned", 1_000, 1_010)]);
    let mut shared = cell("resident, pinned", 1_000, 1_010);
    shared.scored.passes_beside = 20;
    let beside = score(vec![cell("cpu", 2_000, 2_010), shared]);
    let late = score(vec![cell("cpu", 4_000, 2_000)]);
    let mut page = Page::default();
    for (title, scores, passes) in [
        ("as predicted", vec![right.clone(), right], true),
        ("some passes beside others", vec![beside], true),
        ("runs that fit no plan", vec![score(Vec::new())], false),
        ("twice as fast as predicted", vec![late], false),
    ] {
        let verification = verification(&scores);
        assert_eq!(verification.passed(), passes, "{title}");
        page.add(title, &verification.text_within(None));
        page.add(&format!("{title}, for a page"), &verification.markdown());
    }
    is_as_blessed("tests/said/scores.txt", &page.text);
}
