//! One page for a design review: everything that is known of some scenarios on one machine, in a
//! file that opens from disk.
//!
//! The page asks for nothing: its style and its scripts are in it, and a policy of its own forbids
//! the rest. Text and tables are there without scripts; these draw the timelines, which come as
//! packed columns of numbers.
//!
//! Invariant: every text goes through [`maud`], which escapes it; what does not is the page's own,
//! or JSON in which no element can end.

mod assumptions;
mod bars;
mod chart;
mod chunks;
mod columns;
mod critical;
mod machine;
mod passes;
mod remedies;
mod setup;
mod sizes;
mod style;
mod timelines;
mod verdict;
mod what_if;
mod words;

use super::said::Line;
use super::{AdviceReport, Evaluation, palette};
use crate::families::Family;
use crate::findings::{Answer, Assessment};
use crate::machine::Side;
use crate::profile::Profile;
use crate::runs::RunSet;
use crate::scenario::Workload;
use crate::search::{AtSize, Ranked, Ranking};
use crate::timeline::Timeline;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use style::{chip, rich, scrolled};

/// What a page is made of.
#[derive(Debug)]
pub struct Review<'a> {
    pub evaluation: &'a Evaluation,
    pub profile: &'a Profile,
    /// The scenarios of the evaluation, in its order.
    pub subjects: Vec<Subject<'a>>,
}

/// One scenario, with what its assessment was drawn up from.
#[derive(Debug)]
pub struct Subject<'a> {
    pub workload: &'a Workload,
    pub ranking: &'a Ranking,
    /// Runs on the machine of the profile.
    pub runs: Option<&'a RunSet>,
    /// What each side takes at other sizes.
    pub sizes: &'a [AtSize],
    /// What would help its program, if that was asked for.
    pub remedies: Option<&'a Remedies>,
}

/// Advice on the program of a scenario, with the timelines that it speaks of.
#[derive(Debug)]
pub struct Remedies {
    pub report: AdviceReport,
    pub before: Timeline,
    /// With the best combination. Its body may make several passes.
    pub after: Option<Timeline>,
}

const STYLE: &str = include_str!("page.css");
const SCRIPTS: [&str; 6] = [
    include_str!("unpack.js"),
    include_str!("paint.js"),
    include_str!("timeline.js"),
    include_str!("overview.js"),
    include_str!("find.js"),
    include_str!("page.js"),
];

/// Scripts and styles of the page itself are all that a browser may use.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

/// The page.
pub fn review(of: &Review<'_>) -> String {
    let assessed = of.evaluation.scenarios.iter().zip(&of.subjects).enumerate();
    let cases: Vec<Case<'_>> = assessed
        .map(|(number, (assessment, subject))| Case { number, assessment, subject })
        .collect();
    let title = match &of.evaluation.scenarios[..] {
        [only] => only.scenario.clone(),
        several => format!("{} scenarios", several.len()),
    };
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="generator" content={ "hallway " (env!("CARGO_PKG_VERSION")) };
                title { (title) " on " (of.profile.machine.gpu) }
                link rel="icon" href="data:,";
                style { (PreEscaped(palette::css())) (PreEscaped(STYLE)) }
            }
            body {
                (header(of, &title))
                main {
                    @if cases.len() > 1 { (contents(&cases)) }
                    @for case in &cases { (case.section(of)) }
                    (machine::section(of))
                    (words::section())
                }
                (timelines::reasons())
                @for script in SCRIPTS { script { (PreEscaped(script)) } }
            }
        }
    };
    page.into_string() + "\n"
}

fn header(of: &Review<'_>, title: &str) -> Markup {
    let origin = &of.evaluation.profile;
    html! {
        header.page {
            div {
                p.kicker { "hallway: is the GPU worth it?" }
                h1 { (title) }
                p.machine {
                    (origin.gpu)
                    @if let Some(day) = &origin.calibrated {
                        ", calibrated " span.nowrap { (day) }
                    }
                }
            }
            button type="button" id="theme" aria-label="Switch between light and dark" hidden {
                "Light / dark"
            }
        }
    }
}

/// The scenarios with their answers.
fn contents(cases: &[Case<'_>]) -> Markup {
    html! {
        nav.contents aria-label="Scenarios" {
            (scrolled(&html! { table {
                thead { tr {
                    th { "Scenario" } th { "Answer" } th { "Recommended plan" }
                    th.number { "Time per run" } th.number { "Faster in one run" }
                } }
                tbody { @for case in cases {
                    @let best = case.chosen();
                    tr {
                        td { a href={ "#" (case.id("")) } {
                            (case.assessment.scenario)
                            @if let Some(part) = &case.assessment.part { ": " (part) }
                        } }
                        td { (chip(case.assessment.verdict.answer)) }
                        td.name { @if let Some(best) = best { (best.plan.name()) } }
                        td.number { @if let Some(best) = best { (best.makespan()) } }
                        td.number { (verdict::against(case).unwrap_or_default()) }
                    }
                } }
            } }))
        }
    }
}

/// A scenario on its way to the page.
struct Case<'a> {
    number: usize,
    assessment: &'a Assessment,
    subject: &'a Subject<'a>,
}

impl<'a> Case<'a> {
    /// The name by which a part of it is linked to. The scenario's own name may have any letters.
    fn id(&self, part: &str) -> String {
        format!("s{}{part}", self.number + 1)
    }

    fn section(&self, of: &Review<'_>) -> Markup {
        let Assessment { scenario, part, question, .. } = self.assessment;
        html! {
            section.scenario id=(self.id("")) aria-labelledby=(self.id("-name")) {
                h2 id=(self.id("-name")) {
                    (scenario) @if let Some(part) = part { ": " (part) }
                }
                @if !question.is_empty() { p.question { (question) } }
                (verdict::section(self, of))
                (bars::section(self))
                (passes::section(self))
                (remedies::section(self))
                (timelines::section(self))
                (critical::section(self))
                (sizes::section(self))
                (chunks::section(self))
                (what_if::section(self))
                (setup::section(self))
                (assumptions::section(self, of))
            }
        }
    }

    /// A heading with what belongs below it.
    fn part(&self, name: &str, title: &str, body: &Markup) -> Markup {
        let id = self.id(&format!("-{name}"));
        html! {
            section.part aria-labelledby=(id) {
                h3 id=(id) { (title) }
                (body)
            }
        }
    }

    /// The plan to choose for a pass on the side that the verdict is for, if any was predicted.
    fn chosen(&self) -> Option<&'a Ranked> {
        let ranking = self.subject.ranking;
        match self.assessment.verdict.answer {
            Answer::Cpu => ranking.best_on_cpu(),
            Answer::Gpu | Answer::Both => ranking.best_on_gpu(),
            Answer::Plan | Answer::Tie | Answer::NothingToCompare => ranking.winner(),
        }
    }

    /// What one would write first: copies in and out around every task, each waited for; of
    /// programs that the scenario spells out, the first.
    fn naive(&self) -> Option<&'a Ranked> {
        let plans = self.subject.ranking.plans.iter().filter(|ranked| !ranked.is_cpu());
        let programs = &self.subject.workload.programs;
        let spelled_out = |ranked: &&'a Ranked| {
            programs.first().is_some_and(|one| one.label == ranked.plan.program.label)
        };
        let is_plain = |ranked: &&'a Ranked| {
            ranked.plan.strategy.is_some_and(|strategy| {
                matches!(strategy.family, Family::RoundTrip(_)) && !strategy.graph
            })
        };
        let plain = plans.clone().filter(is_plain);
        plain.min_by_key(|ranked| ranked.plan.host_memory()).or(plans.clone().find(spelled_out))
    }

    /// The time of a run of the plan on the machine.
    fn measured(&self, ranked: &Ranked) -> Option<&'a crate::runs::Run> {
        self.subject.runs?.run_of(&ranked.plan.identity())
    }
}

/// Each plan once, in the order in which plans first occur.
fn distinct<'a>(plans: impl IntoIterator<Item = Option<&'a Ranked>>) -> Vec<&'a Ranked> {
    let mut found: Vec<&Ranked> = Vec::new();
    for one in plans.into_iter().flatten() {
        if found.iter().all(|other| !std::ptr::eq(*other, one)) {
            found.push(one);
        }
    }
    found
}

/// A line of findings as a paragraph.
fn noted(line: &Line) -> Markup {
    html! { p { (rich(&format!("{}: {}.", line.label, line.text))) } }
}

/// What a plan is to a scenario, as labels beside its name, in the same words all over the page.
///
/// `fastest` is the plan with the least predicted time of a pass. `to choose` is the plan that the
/// answer is about: the simplest of those that tie with the fastest on the side of the answer. The
/// same on the other side is `to choose on` that. `naive` is what one would write first.
fn roles(case: &Case<'_>, ranked: &Ranked) -> Markup {
    let is_it = |one: Option<&Ranked>| one.is_some_and(|one| std::ptr::eq(one, ranked));
    let ranking = case.subject.ranking;
    let is_on_its_side = is_it(ranking.best_on_gpu()) || is_it(ranking.best_on_cpu());
    let beside = format!("recommended {}", place(ranked.plan.side()));
    let all = [
        ("fastest", is_it(ranking.fastest())),
        ("recommended", is_it(case.chosen())),
        (&beside, is_on_its_side && !is_it(case.chosen())),
        ("naive", is_it(case.naive())),
    ];
    html! {
        @for (role, _) in all.iter().filter(|(_, is_it)| *is_it) { " " span.role { (role) } }
    }
}

/// Where a plan computes: `on the GPU`.
const fn place(side: Side) -> &'static str {
    match side {
        Side::Cpu => "on the CPU",
        Side::Gpu => "on the GPU",
        Side::Both => "on both processors",
    }
}
