//! What else could be chosen for one run, and what that takes.

use super::line::{Line, side_name};
use crate::findings::{Answer, Assessment, Comparison, Contender, times_as_long};
use crate::report::words::more;

/// The plan to choose on the GPU, what simpler ways to use it take, and the other side if a whole
/// program has another answer.
pub(super) fn one_run(assessment: &Assessment) -> Option<Line> {
    let verdict = &assessment.verdict;
    let sides = verdict.run.as_ref().filter(|_| verdict.answer != verdict.run_answer);
    let simpler = assessment.gpu_alone.iter().chain(&assessment.simpler_on_gpu);
    let compared: Vec<&Comparison> = simpler.chain(sides).collect();
    let subject = &compared.first()?.chosen;
    let mut others: Vec<(&Contender, String)> =
        compared.iter().filter_map(|one| against(assessment, subject, one)).collect();
    others.sort_by_key(|(other, _)| other.time_ns);
    let others: Vec<String> = others.into_iter().map(|(_, said)| said).collect();
    let subject = format!("{} {}", side_name(subject.side), subject.time_ns);
    let text = format!("{subject}; {}", others.join("; "));
    (!others.is_empty()).then(|| Line::new("One run", text))
}

/// The contender that the subject is compared with: what it is, and how much longer it takes.
fn against<'a>(
    assessment: &Assessment,
    subject: &Contender,
    compared: &'a Comparison,
) -> Option<(&'a Contender, String)> {
    let other = compared.contenders().find(|one| one.plan != subject.plan)?;
    let is_side = compared.is_between_sides();
    let what = match assessment.plan(&other.plan)?.family.as_str() {
        _ if is_side => side_name(other.side).to_owned(),
        "resident" => "`resident` (all copied at once)".to_owned(),
        "round-trip" => "`round-trip` (copied for each task)".to_owned(),
        _ if subject.side != other.side => format!("{} alone", side_name(other.side)),
        _ => format!("`{}`", other.plan),
    };
    let factor = times_as_long(other.time_ns, subject.time_ns);
    let longer = match compared.answer {
        Answer::Tie => ", a tie".to_owned(),
        _ => format!(", {}", more(factor)),
    };
    Some((other, format!("{what} {}{longer}", other.time_ns)))
}
