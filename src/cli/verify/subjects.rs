//! What `hallway verify` predicts and runs.

use crate::cli::new_process::Reread;
use crate::cli::profiles::{LoadedProfile, RANDOM_RUNS, runs_in};
use crate::cli::{Failure, Predicting};
use crate::runs::RunSet;
use crate::scenario::Workload;
use crate::search::{Candidates, Plan, candidates_for};
use crate::study::{Drawn, Shard, draw};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The workloads and the plans to predict, and where their runs are kept.
pub(super) struct Subjects {
    pub all: Vec<(Workload, Candidates)>,
    pub folder: PathBuf,
    /// Scenarios that were drawn, with the files that show them.
    pub texts: Vec<(PathBuf, String)>,
    /// Where each workload can be read again, by its name.
    pub sources: BTreeMap<String, Reread>,
}

impl Subjects {
    /// The plans of the scenarios, or so many `random` ones; with a `shard`, runs are kept in its
    /// folder. If runs are `recorded`, the plans that were run count, and not those that today's
    /// search finds.
    pub fn new(
        predicting: &Predicting,
        (random, shard): (Option<u32>, Option<Shard>),
        recorded: bool,
        found: &LoadedProfile,
    ) -> Result<Self, Failure> {
        let runs = found.runs();
        let in_part = |folder: PathBuf| match shard {
            Some(shard) => folder.join(shard.folder()),
            None => folder,
        };
        let Some(plans) = random else {
            let all = predicting.workloads()?;
            let sources = all.iter().zip(&predicting.scenarios).map(|(workload, path)| {
                (workload.name.clone(), Reread { path: path.clone(), text: None })
            });
            let (folder, sources) = (in_part(runs), sources.collect());
            let all = all.into_iter().map(|workload| {
                let kept = recorded.then(|| RunSet::load(&runs_in(&folder, &workload)));
                let mut plans = candidates_for(&workload, &found.profile);
                // The plans that were run are those that the search of that time found.
                if let Some(Ok(runs)) = kept {
                    let names = runs.runs.iter().map(|run| run.plan.as_str()).collect();
                    let is_known = |plan: &Plan| runs.run_of(&plan.identity()).is_some();
                    plans.found_before(&workload, names, is_known);
                }
                (workload, plans)
            });
            return Ok(Self { all: all.collect(), folder, texts: Vec::new(), sources });
        };
        let folder = runs.join(format!("{RANDOM_RUNS}{}", predicting.seed));
        let (mut all, mut texts, mut sources) = (Vec::new(), Vec::new(), BTreeMap::new());
        for Drawn { text, workload, plans } in draw(plans as usize, predicting.seed) {
            let path = folder.join(format!("{}.toml", workload.name));
            let reread = Reread { path: path.clone(), text: Some(text.clone()) };
            sources.insert(workload.name.clone(), reread);
            texts.push((path, text));
            all.push((workload, plans));
        }
        Ok(Self { all, folder: in_part(folder), texts, sources })
    }

    /// Refuses a plan that no scenario has before minutes are spent on the others.
    pub fn check_names(&self, names: &[String]) -> Result<(), Failure> {
        let plans = || self.all.iter().flat_map(|(_, candidates)| &candidates.plans);
        let unknown = |name: &&String| plans().all(|plan| plan.name() != **name);
        names.iter().find(unknown).map_or(Ok(()), |name| {
            Err(Failure::refused(
                format!("no scenario has a plan named `{name}`"),
                "`hallway evaluate --all` lists all plans; put the whole name in quotes",
            ))
        })
    }

    /// Whether any plan needs a GPU.
    pub fn need_gpu(&self) -> bool {
        let mut plans = self.all.iter().flat_map(|(_, candidates)| &candidates.plans);
        plans.any(|plan| plan.program.needs_device())
    }
}
