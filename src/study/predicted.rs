//! Workloads whose plans are predicted, and a digest that says so.

use super::shard::Shard;
use crate::files;
use crate::profile::Profile;
use crate::program::{Program, Whose, check_fits};
use crate::scenario::Workload;
use crate::search::{Candidates, Ranked, Ranking, rank_counted};
use crate::simulate::{Draws, Tally};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use serde_json::json;
use std::collections::BTreeSet;

/// A workload with its plans, each with its prediction or the reason why there is none.
#[derive(Debug, Clone)]
pub struct Predicted {
    pub workload: Workload,
    pub ranking: Ranking,
}

/// Predicts plans of a workload from so many draws with a seed.
pub fn predict(
    workload: Workload,
    plans: Candidates,
    profile: &Profile,
    draws: Draws,
    done: &Tally,
) -> Predicted {
    let ranking = rank_counted(plans, profile, draws, done);
    Predicted { workload, ranking }
}

impl Predicted {
    /// The kernels in whose place stand-ins run, by their names.
    pub fn stand_ins(&self) -> Vec<String> {
        let plans = self.ranking.plans.iter();
        let names = plans.flat_map(|ranked| ranked.plan.program.stood_in_for());
        let names: BTreeSet<&str> = names.collect();
        names.into_iter().map(str::to_owned).collect()
    }

    /// The programs that can be run on the machine of the profile: also those that the profile does
    /// not know enough about. Each comes with its identity.
    pub fn programs(&self, profile: &Profile) -> Vec<(&Program, String)> {
        let Ranking { plans, unknown, .. } = &self.ranking;
        let plans = plans.iter().map(|ranked| &ranked.plan);
        let plans = plans.chain(unknown.iter().map(|(plan, _)| plan));
        let capacities = profile.machine.capacities();
        let fits = |program: &&Program| check_fits(program, capacities, Whose::Machine).is_ok();
        let programs = plans.map(|plan| &plan.program).filter(fits);
        let mut seen = BTreeSet::new();
        let named = programs.map(|program| (program, program.identity()));
        named.filter(|(_, identity)| seen.insert(identity.clone())).collect()
    }
}

/// Which plans are run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Which {
    /// Only those of one part.
    pub shard: Option<Shard>,
    /// The most plans of each workload: the one to choose, the best of each side, the
    /// fastest of each family, and some that are drawn.
    pub most: Option<usize>,
    /// Seed of the draw.
    pub seed: u64,
}

impl Which {
    /// Leaves as many programs of a workload as are to be run.
    fn few(self, of: &Predicted, programs: &mut Vec<(&Program, String)>) {
        let Some(most) = self.most else { return };
        let Ranking { plans, .. } = &of.ranking;
        let sides = [of.ranking.winner(), of.ranking.best_on_cpu(), of.ranking.best_on_gpu()];
        let mut families = BTreeSet::new();
        let family = |one: &&Ranked| one.plan.strategy.map(|strategy| strategy.family_name());
        let of_families = plans.iter().filter(|one| families.insert(family(one)));
        let first: Vec<String> =
            sides.into_iter().flatten().chain(of_families).map(|one| one.plan.identity()).collect();
        programs.shuffle(&mut ChaCha8Rng::seed_from_u64(self.seed));
        let rank = |identity: &String| first.iter().position(|one| one == identity);
        programs.sort_by_key(|(_, identity)| rank(identity).unwrap_or(usize::MAX));
        programs.truncate(most);
    }
}

/// The programs to run of each workload.
pub(super) fn dealt<'p>(
    all: &'p [Predicted],
    profile: &Profile,
    which: Which,
) -> Vec<Vec<(&'p Program, String)>> {
    let mut programs: Vec<_> = all.iter().map(|one| one.programs(profile)).collect();
    for (one, programs) in all.iter().zip(&mut programs) {
        which.few(one, programs);
    }
    if let Some(shard) = which.shard {
        let cells = all.iter().zip(&programs).enumerate().flat_map(|(index, (one, programs))| {
            programs.iter().map(move |(_, identity)| (&*one.workload.name, &**identity, index))
        });
        let mine: BTreeSet<(usize, String)> = shard
            .of(cells.collect())
            .into_iter()
            .map(|(_, identity, index)| (index, identity.to_owned()))
            .collect();
        for (index, programs) in programs.iter_mut().enumerate() {
            programs.retain(|(_, identity)| mine.contains(&(index, identity.clone())));
        }
    }
    programs
}

/// Sixteen hexadecimal digits that stand for the profile, the programs and all that was predicted
/// of them. Whoever knows them before the runs can tell that no prediction was changed afterwards.
pub fn digest(profile: &Profile, all: &[Predicted]) -> String {
    let mut text = String::new();
    let mut add = |value: &serde_json::Value| text += &format!("{value}\n");
    add(&serde_json::to_value(profile).expect("a profile is plain data"));
    for Predicted { workload, ranking } in all {
        add(&json!(workload.name));
        for ranked in &ranking.plans {
            let (low, high) = ranked.forecast.interval();
            let times = [ranked.makespan(), low, high].map(|span| span.nanos());
            add(&json!([ranked.plan.identity(), times]));
        }
        for (plan, unknown) in &ranking.unknown {
            add(&json!([plan.identity(), unknown.what()]));
        }
    }
    files::digest(text.as_bytes())
}
