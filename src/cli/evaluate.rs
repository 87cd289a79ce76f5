//! `hallway evaluate`: predict and rank.

use super::outputs::check_outputs;
use super::profiles::deliver;
use super::{Failure, Format, Outcome, Predicting};
use crate::kernels::Kernel;
use crate::report::{Assessment, Evaluation, Origin, Rows};
use crate::search::{break_even, shortages};
use crate::trials::TRIAL_KERNELS;
use clap::Args;
use std::collections::BTreeSet;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(super) struct EvaluateArguments {
    #[command(flatten)]
    predicting: Predicting,
    /// Passes over the workload in one program: 1 to 1000000 [default: as the scenario says]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    runs: Option<u64>,
    /// Show every plan, not only the fastest and the best of each kind
    #[arg(long)]
    all: bool,
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    /// Write here instead of to standard output
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) fn run(arguments: &EvaluateArguments) -> Result<Outcome, Failure> {
    let predicting = &arguments.predicting;
    let found = predicting.profile()?;
    let workloads = predicting.workloads()?;
    check_outputs(predicting.inputs(&found), arguments.output.as_deref())?;
    let assess = |workload| {
        let ranking = predicting.ranking(workload, &found);
        let runs = arguments.runs.unwrap_or(workload.runs);
        let sizes = break_even(workload, &found.profile);
        let short_of = shortages(workload, &ranking, &found.profile);
        let assessment = Assessment::new(workload, runs, &ranking, sizes).short_of(&short_of);
        if found.profile.accuracy.is_none() {
            return assessment;
        }
        let kernels: BTreeSet<Kernel> = workload.tasks.iter().map(|task| task.kernel).collect();
        assessment.without_trials_of(kernels.into_iter().filter(|one| !TRIAL_KERNELS.contains(one)))
    };
    let evaluation = Evaluation {
        profile: Origin::new(&found.path.display().to_string(), &found.profile),
        seed: predicting.seed,
        draws: predicting.draws.into(),
        trials: found.profile.accuracy.as_ref().map_or(0, |found| found.trials),
        context_ns: found.profile.setup.context.map(|context| context.span()),
        scenarios: workloads.iter().map(assess).collect(),
    };
    let text = match arguments.format {
        Format::Table if arguments.all => evaluation.text(Rows::All),
        Format::Table => evaluation.text(Rows::Notable),
        Format::Json => evaluation.json(),
    };
    deliver(&text, arguments.output.as_deref())?;
    let unanswered: Vec<&str> = evaluation.unanswered().collect();
    for name in &unanswered {
        eprintln!("{name}: no plan can be predicted; the notes under its name tell why");
    }
    Ok(if unanswered.is_empty() { Outcome::Done } else { Outcome::NoAnswer })
}
